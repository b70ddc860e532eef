import type { ChangeLinkBody, WebhookDetail } from "@sluice/api"
import type { ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { countText, nounText } from "../../components/counts.ts"
import { Fact, Facts } from "../../components/facts.tsx"
import { Muted } from "../../components/muted.tsx"
import { Panel } from "../../components/panel.tsx"
import { ErrorNote } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { conditionOf } from "./condition.ts"
import styles from "./summary.module.css"

type LinkDetail = Exclude<WebhookDetail["link"], undefined>

/** The state of a webhook, and how many of its matches are in each delivery state. */
export function Summary({ webhook }: { readonly webhook: WebhookDetail }): ReactNode {
  const { valid, invalid_reason: reason, checked_at: checkedAt, link } = webhook
  const { tone, text } = conditionOf(webhook)
  return (
    <Panel title="State" actions={<Badge tone={tone}>{text}</Badge>}>
      <Facts>
        <Fact name="Validity">
          {valid ? "valid" : "invalid: deliveries are stopped"}
          <Muted>
            {valid ? "last challenge " : reason === undefined ? "" : `The endpoint ${reason}. Last success `}
            <Time at={checkedAt} />
          </Muted>
        </Fact>
        {link !== undefined && <LinkFacts link={link} />}
        <Fact name="Added">
          <Time at={webhook.created_at} form="absolute" />
        </Fact>
      </Facts>
      {link !== undefined && link.gaps.length > 0 && <Gaps link={link} />}
    </Panel>
  )
}

function LinkFacts({ link }: { readonly link: LinkDetail }): ReactNode {
  const { total } = link
  return (
    <>
      <LinkSwitch
        name="Deliveries"
        link={link}
        body={{ paused: !link.paused }}
        action={link.paused ? "Resume" : "Pause"}
      >
        {link.paused ? "paused" : "on"}
        {link.paused_since !== undefined && (
          <Muted>
            since <Time at={link.paused_since} />
          </Muted>
        )}
      </LinkSwitch>
      <Fact name="Endpoint">
        {link.paused
          ? "nothing is sent to it"
          : link.down
            ? "down: probed with one match at a time"
            : link.failing_since === undefined
              ? "up"
              : "failing"}
        {link.failing_since !== undefined && (
          <Muted>
            since <Time at={link.failing_since} />
          </Muted>
        )}
        {link.next_attempt_at !== undefined && (
          <Muted>
            next attempt <Time at={link.next_attempt_at} />
          </Muted>
        )}
      </Fact>
      <Fact name="Undelivered">
        {nounText(link.undelivered, "match", "matches")}
        {link.oldest_undelivered_at !== undefined && (
          <Muted>
            oldest from <Time at={link.oldest_undelivered_at} />
          </Muted>
        )}
      </Fact>
      <Fact name="Position">
        {countText(link.position)} of {countText(link.head)}
        <Muted>{countText(link.in_flight)} in flight</Muted>
      </Fact>
      <Fact name="Since it was linked">
        {countText(total.delivered)} delivered
        <Muted>
          {countText(total.retrying)} retrying, {nounText(total.dead_letters, "dead letter")}
          {total.expired > 0 && `, ${countText(total.expired)} expired`}
          {total.missed > 0 && `, ${countText(total.missed)} missed`}
          {total.withdrawn > 0 && `, ${countText(total.withdrawn)} withdrawn`}
        </Muted>
      </Fact>
      <LinkSwitch
        name="Order"
        link={link}
        body={{ ordered: !link.ordered }}
        action={link.ordered ? "Allow any order" : "Use strict order"}
      >
        {link.ordered ? "strict: one at a time" : "any: the fastest"}
      </LinkSwitch>
      <Fact name="Delivered fields">
        {link.fields.length === 0 ? "id and text, the default" : <code>{link.fields.join(" ")}</code>}
      </Fact>
    </>
  )
}

/** A state of the link that its app chooses, with a button that changes it. */
function LinkSwitch({
  name,
  link,
  body,
  action,
  children,
}: {
  readonly name: string
  readonly link: LinkDetail
  /** The change that the button makes. */
  readonly body: ChangeLinkBody
  readonly action: string
  readonly children: ReactNode
}): ReactNode {
  const change = useApiChange("PATCH", "linkDetail", {
    invalidates: ["webhookDetail", "webhookDetails", "linkDetails", "overview"],
  })
  return (
    <Fact name={name}>
      {children}
      <Button
        size="small"
        isBusy={change.isPending}
        onClick={() => change.mutate({ parameters: { webhook_id: link.webhook_id }, body })}
      >
        {action}
      </Button>
      <ErrorNote error={change.error} />
    </Fact>
  )
}

/** Matches that retention deleted before they were delivered. */
function Gaps({ link }: { readonly link: LinkDetail }): ReactNode {
  return (
    <details className={styles["gaps"]}>
      <summary>Retention deleted {nounText(link.total.missed, "undelivered match", "undelivered matches")}</summary>
      <ul>
        {link.gaps.toReversed().map(({ from, to, at }) => (
          <li key={from}>
            positions {countText(from)} to {countText(to)}, <Time at={at} />
          </li>
        ))}
      </ul>
    </details>
  )
}
