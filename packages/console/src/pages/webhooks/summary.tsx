import type { WebhookDetail } from "@sluice/api"
import type { ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { Panel } from "../../components/panel.tsx"
import { ErrorNote } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { conditionOf, countText, matchesText } from "./condition.ts"
import styles from "./webhooks.module.css"

type LinkDetail = Exclude<WebhookDetail["link"], undefined>

/** How the delivery to a webhook does, and where its matches are. */
export function Summary({ webhook }: { readonly webhook: WebhookDetail }): ReactNode {
  const { valid, invalid_reason: reason, checked_at: checkedAt, link } = webhook
  const { tone, text } = conditionOf(webhook)
  return (
    <Panel title="State" actions={<Badge tone={tone}>{text}</Badge>}>
      <dl className={styles["facts"]}>
        <Fact name="Validity">
          {valid ? "valid" : "invalid: nothing is sent"}
          <span className={styles["muted"]}>
            {valid ? "last challenge " : reason === undefined ? "" : `The endpoint ${reason}. Last success `}
            <Time at={checkedAt} />
          </span>
        </Fact>
        {link !== undefined && <LinkFacts link={link} />}
        <Fact name="Added">
          <Time at={webhook.created_at} form="absolute" />
        </Fact>
      </dl>
      {link !== undefined && link.gaps.length > 0 && <Gaps link={link} />}
    </Panel>
  )
}

function LinkFacts({ link }: { readonly link: LinkDetail }): ReactNode {
  const { total } = link
  return (
    <>
      <Fact name="Endpoint">
        {link.down ? "down: one match at a time probes it" : link.failing_since === undefined ? "up" : "failing"}
        {link.failing_since !== undefined && (
          <span className={styles["muted"]}>
            since <Time at={link.failing_since} />
          </span>
        )}
        {link.next_attempt_at !== undefined && (
          <span className={styles["muted"]}>
            next attempt <Time at={link.next_attempt_at} />
          </span>
        )}
      </Fact>
      <Fact name="Undelivered">
        {matchesText(link.undelivered)}
        {link.oldest_undelivered_at !== undefined && (
          <span className={styles["muted"]}>
            the oldest from <Time at={link.oldest_undelivered_at} />
          </span>
        )}
      </Fact>
      <Fact name="Position">
        {countText(link.position)} of {countText(link.head)}
        <span className={styles["muted"]}>{countText(link.in_flight)} in flight</span>
      </Fact>
      <Fact name="Since it was linked">
        {countText(total.delivered)} delivered
        <span className={styles["muted"]}>
          {countText(total.retrying)} retrying, {countText(total.dead_letters)} dead letters
          {total.expired > 0 && `, ${countText(total.expired)} expired`}
          {total.missed > 0 && `, ${countText(total.missed)} missed`}
        </span>
      </Fact>
      <Order link={link} />
      <Fact name="Deliveries show">
        {link.fields.length === 0 ? (
          "id and text, the default"
        ) : (
          <code className={styles["wrapped"]}>{link.fields.join(" ")}</code>
        )}
      </Fact>
    </>
  )
}

/** The order of deliveries, and its change. */
function Order({ link }: { readonly link: LinkDetail }): ReactNode {
  const change = useApiChange("PATCH", "linkDetail", {
    invalidates: ["webhookDetail", "webhookDetails", "linkDetails"],
  })
  return (
    <Fact name="Order">
      {link.ordered ? "strict: one at a time" : "any: the fastest"}
      <span className={styles["muted"]}>
        <Button
          size="small"
          isBusy={change.isPending}
          onClick={() =>
            change.mutate({ parameters: { webhook_id: link.webhook_id }, body: { ordered: !link.ordered } })
          }
        >
          {link.ordered ? "Allow any order" : "Use strict order"}
        </Button>
      </span>
      <ErrorNote error={change.error} />
    </Fact>
  )
}

/** What retention took before it was sent. */
function Gaps({ link }: { readonly link: LinkDetail }): ReactNode {
  return (
    <details className={styles["gaps"]}>
      <summary>
        {matchesText(link.total.missed)} {link.total.missed === 1 ? "was" : "were"} deleted by retention before{" "}
        {link.total.missed === 1 ? "it was" : "they were"} sent
      </summary>
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

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
