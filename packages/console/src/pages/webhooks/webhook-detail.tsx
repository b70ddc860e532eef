/** One webhook: how its delivery does, and all that was sent, is to be sent, and can be changed. */
import type { WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { Link, useLocation } from "wouter"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { Button } from "../../components/button.tsx"
import { MoreMenu } from "../../components/overlays/menu.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { EmptyState, ErrorNote, ErrorState, PageSkeleton } from "../../components/states.tsx"
import { Tabs } from "../../components/tabs.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { Attempts } from "./deliveries/attempts.tsx"
import { DeadLetters } from "./deliveries/dead-letters.tsx"
import { DeleteWebhook, LinkWebhook, UnlinkWebhook } from "./link-dialogs.tsx"
import { Replays } from "./replays.tsx"
import { SigningKey } from "./signing-key.tsx"
import { Summary } from "./summary.tsx"
import styles from "./webhooks.module.css"

/** Time between two reads of the state. */
const refetchMs = 2_000

/** The page of a webhook; `view` names the tab. */
export function WebhookDetail({ id, view }: { readonly id: string; readonly view: string | undefined }): ReactNode {
  const [isPaused, setIsPaused] = useState(false)
  const query = useApi("webhookDetail", { parameters: { webhook_id: id } }, { refetchMs: isPaused ? false : refetchMs })
  const back = (
    <div className={styles["top"]}>
      <Link href="/" className={styles["back"]}>
        ← Webhooks and links
      </Link>
      <AutoRefresh isPaused={isPaused} onChange={setIsPaused} />
    </div>
  )
  if (query.data === undefined) {
    if (!query.isError) return <PageSkeleton />
    return (
      <>
        {back}
        <ErrorState isPage error={query.error} onRetry={() => void query.refetch()} />
      </>
    )
  }
  return (
    <>
      {back}
      <Webhook webhook={query.data.data} view={view} isPaused={isPaused} />
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
  const { id, url, link } = webhook
  const [dialog, setDialog] = useState<"link" | "unlink" | "delete">()
  const [, navigate] = useLocation()
  const toast = useToast()
  const challenge = useApiChange("PUT", "webhook", { invalidates: ["webhookDetail", "webhookDetails"] })
  const close = (): void => setDialog(undefined)
  return (
    <>
      <PageHeader
        title={<span className={styles["title"]}>{url}</span>}
        actions={
          <>
            <Button
              isBusy={challenge.isPending}
              onClick={() =>
                challenge.mutate(
                  { parameters: { webhook_id: id } },
                  {
                    onSuccess: ({ data }) =>
                      toast(data.valid ? "The endpoint passed the challenge." : "The endpoint failed the challenge."),
                  },
                )
              }
            >
              Challenge now
            </Button>
            {link === undefined ? (
              <Button kind="primary" onClick={() => setDialog("link")}>
                Link to the stream
              </Button>
            ) : (
              <Button onClick={() => setDialog("unlink")}>Unlink</Button>
            )}
            <MoreMenu
              label="the webhook"
              items={[{ text: "Delete the webhook …", isDanger: true, onChoose: () => setDialog("delete") }]}
            />
          </>
        }
      />
      <ErrorNote error={challenge.error} />
      <Summary webhook={webhook} />
      {link === undefined ? (
        <EmptyState
          title="Nothing is sent to it"
          action={
            <Button kind="primary" onClick={() => setDialog("link")}>
              Link to the stream
            </Button>
          }
        >
          The webhook is registered, and not linked to the stream. Once it is, it gets every match from then on.
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
                content: <DeadLetters webhookId={id} isPaused={isPaused} />,
              },
              { id: "replays", title: "Replays", content: <Replays webhook={webhook} isPaused={isPaused} /> },
              { id: "key", title: "Signing key", content: <SigningKey webhookId={id} /> },
            ]}
          />
        </div>
      )}
      {dialog === "link" && <LinkWebhook webhookId={id} onClose={close} />}
      {dialog === "unlink" && <UnlinkWebhook webhook={webhook} onClose={close} />}
      {dialog === "delete" && <DeleteWebhook webhook={webhook} onClose={close} onDeleted={() => navigate("/")} />}
    </>
  )
}
