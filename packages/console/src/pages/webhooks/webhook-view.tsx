/** One webhook: its state, its deliveries, and the changes to it. */
import type { WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useLocation } from "wouter"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { Icon } from "../../components/icon.tsx"
import { Menu } from "../../components/overlays/menu.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { EmptyState, ErrorNote, ErrorState, PageSkeleton } from "../../components/states.tsx"
import { Tabs } from "../../components/tabs.tsx"
import { ViewTop } from "../../components/view-top.tsx"
import { Attempts } from "./deliveries/attempts.tsx"
import { DeadLetters } from "./deliveries/dead-letters.tsx"
import { DescribeWebhook } from "./describe-webhook.tsx"
import { LinkWebhook, useDeleteWebhook, useUnlinkWebhook } from "./link-dialogs.tsx"
import { Replays } from "./replays.tsx"
import { useTest } from "./send-test.tsx"
import { SigningKey } from "./signing-key.tsx"
import { Summary } from "./summary.tsx"
import styles from "./webhook-view.module.css"

/** Time between two reads of the state. */
const refetchMs = 2_000

/** The view of a webhook; `view` names the tab. */
export function WebhookView({ id, view }: { readonly id: string; readonly view: string | undefined }): ReactNode {
  const [isPaused, setIsPaused] = useState(false)
  const query = useApi("webhookDetail", { parameters: { webhook_id: id } }, { refetchMs, isPaused })
  if (query.isPending) return <PageSkeleton />
  return (
    <>
      <ViewTop list="Webhooks and links" isPaused={isPaused} onChange={setIsPaused} />
      {query.data === undefined ? (
        <ErrorState isPage of={query} />
      ) : (
        <Webhook webhook={query.data.data} view={view} isPaused={isPaused} />
      )}
    </>
  )
}

function Webhook({
  webhook,
  view = "attempts",
  isPaused,
}: {
  readonly webhook: WebhookDetail
  readonly view: string | undefined
  readonly isPaused: boolean
}): ReactNode {
  const { id, url, name, description, link } = webhook
  const [isLinking, setIsLinking] = useState(false)
  const [isDescribing, setIsDescribing] = useState(false)
  const [, navigate] = useLocation()
  const toast = useToast()
  const unlink = useUnlinkWebhook()
  const remove = useDeleteWebhook(() => navigate("/"))
  const challenge = useApiChange("PUT", "webhook", { invalidates: ["webhookDetail", "webhookDetails"] })
  const test = useTest(webhook)
  const linkButton = (
    <Button kind="primary" onClick={() => setIsLinking(true)}>
      Link to the stream
    </Button>
  )
  return (
    <>
      <PageHeader
        title={<span className={styles["title"]}>{name ?? url}</span>}
        actions={
          <>
            <Button
              isBusy={challenge.isPending}
              onClick={() =>
                challenge.mutate(
                  { parameters: { webhook_id: id } },
                  { onSuccess: ({ data }) => toast(`${url} ${data.valid ? "passed" : "failed"} the challenge.`) },
                )
              }
            >
              Challenge now
            </Button>
            {test.button}
            {link === undefined ? linkButton : <Button onClick={() => unlink.ask(webhook)}>Unlink</Button>}
            <Menu
              button={<Button aria-label="More actions for the webhook" />}
              items={[
                { text: "Name and describe …", onChoose: () => setIsDescribing(true) },
                { text: "Delete the webhook …", isDanger: true, onChoose: () => remove.ask(webhook) },
              ]}
            >
              <Icon name="more" />
            </Menu>
          </>
        }
      >
        {name !== undefined && <span className={styles["title"]}>{url}</span>}
        {name !== undefined && description !== undefined && <br />}
        {description !== undefined && <span className={styles["title"]}>{description}</span>}
      </PageHeader>
      <ErrorNote error={challenge.error} />
      {test.result}
      <Summary webhook={webhook} />
      {link === undefined ? (
        <EmptyState title="Not linked to the stream" action={linkButton}>
          The webhook is registered, but receives nothing. Once it is linked, it receives every match from then on.
        </EmptyState>
      ) : (
        <div className={styles["tabs"]}>
          <Tabs
            label="About this webhook"
            current={view}
            onChange={(next) => navigate(`/${id}/${next}`, { replace: true })}
            tabs={[
              { id: "attempts", title: "Attempts", content: <Attempts webhookId={id} isPaused={isPaused} /> },
              {
                id: "dead-letters",
                title: link.total.dead_letters === 0 ? "Dead letters" : `Dead letters (${link.total.dead_letters})`,
                content: <DeadLetters webhook={webhook} isPaused={isPaused} />,
              },
              { id: "replays", title: "Replays", content: <Replays webhook={webhook} isPaused={isPaused} /> },
              { id: "key", title: "Signing key", content: <SigningKey webhook={webhook} /> },
            ]}
          />
        </div>
      )}
      {isDescribing && <DescribeWebhook webhook={webhook} onClose={() => setIsDescribing(false)} />}
      {isLinking && <LinkWebhook webhook={webhook} onClose={() => setIsLinking(false)} />}
      {unlink.dialog}
      {remove.dialog}
    </>
  )
}
