/** The dead letters of a webhook: inspected, and redelivered one by one, several or all. */
import type { DeadLetter, WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useApiPages } from "../../../api/use-api-pages.ts"
import { useApi, useApiChange } from "../../../api/use-api.ts"
import { Button } from "../../../components/button.tsx"
import { countText } from "../../../components/counts.ts"
import { DataTable, type Column } from "../../../components/lists/data-table.tsx"
import { Muted } from "../../../components/muted.tsx"
import { Dialog } from "../../../components/overlays/dialog.tsx"
import { useToast } from "../../../components/overlays/toast.tsx"
import { Panel } from "../../../components/panel.tsx"
import { Stack } from "../../../components/stack.tsx"
import { EmptyState, ErrorState, Skeleton } from "../../../components/states.tsx"
import { Time } from "../../../components/time.tsx"
import { VisuallyHidden } from "../../../components/visually-hidden.tsx"
import { AttemptDetails } from "./attempt-details.tsx"
import { Outcome } from "./outcome.tsx"
import { RedeliveryButtons } from "./redelivery-buttons.tsx"
import { redeliveredText, redeliveryChanges } from "./use-redelivery.ts"
import { useSelection } from "../../../components/lists/use-selection.ts"

const refetchMs = 3_000
const pageSize = 100

/** Most ids of one request, and most attempts of one response. Source: the routes' schemas. */
const idsMax = 1_000
const attemptsMax = 1_000

/** The dead letters of a webhook. */
export function DeadLetters({
  webhook,
  isPaused,
}: {
  readonly webhook: WebhookDetail
  readonly isPaused: boolean
}): ReactNode {
  const [inspected, setInspected] = useState<DeadLetter>()
  const { keys, toggle, clear } = useSelection()
  const toast = useToast()
  const list = useApiPages("deadLetters", { webhook_id: webhook.id, max_results: pageSize }, { refetchMs, isPaused })
  const redeliver = useApiChange("POST", "redeliver", { invalidates: redeliveryChanges })
  const send = (body: { readonly ids: string[] } | { readonly all: true; readonly webhook_id: string }): void =>
    redeliver.mutate(
      { body },
      {
        onSuccess: ({ data: { redelivered } }) => {
          toast(redeliveredText(redelivered))
          clear()
        },
      },
    )
  if (list.error !== null) return <ErrorState of={list} />
  if (list.rows?.length === 0) {
    return (
      <Panel>
        <EmptyState title="No dead letters">
          A match that its endpoint keeps rejecting becomes a dead letter, so that it does not hold up others.
        </EmptyState>
      </Panel>
    )
  }
  const columns = columnsOf({
    isSelected: (id) => keys.has(id),
    onSelect: toggle,
    onInspect: setInspected,
    onRedeliver: (id) => send({ ids: [id] }),
  })
  return (
    <Panel
      isFlush
      title="Dead letters"
      error={redeliver.error}
      actions={
        <RedeliveryButtons
          selectedCount={keys.size}
          isBusy={redeliver.isPending}
          onSelected={() => send({ ids: [...keys].slice(0, idsMax) })}
          allText="Redeliver all"
          onAll={() => send({ all: true, webhook_id: webhook.id })}
        />
      }
      foot={
        list.hasMore && (
          <Button isBusy={list.isReadingMore} onClick={list.readMore}>
            Show more
          </Button>
        )
      }
    >
      <DataTable label="Dead letters" rows={list.rows} rowKey={({ id }) => id} columns={columns} />
      {inspected !== undefined && (
        <Inspected letter={inspected} url={webhook.url} onClose={() => setInspected(undefined)} />
      )}
    </Panel>
  )
}

function columnsOf(actions: {
  readonly isSelected: (id: string) => boolean
  readonly onSelect: (id: string) => void
  readonly onInspect: (letter: DeadLetter) => void
  readonly onRedeliver: (id: string) => void
}): readonly Column<DeadLetter>[] {
  const actionButton = (text: string, { event_id: eventId }: DeadLetter, onClick: () => void): ReactNode => (
    <Button size="small" kind="quiet" aria-label={`${text} ${eventId}`} onClick={onClick}>
      {text}
    </Button>
  )
  return [
    {
      id: "select",
      title: <VisuallyHidden>Select</VisuallyHidden>,
      width: "40px",
      cell: ({ id, event_id: eventId }) => (
        <input
          type="checkbox"
          aria-label={`Select ${eventId}`}
          checked={actions.isSelected(id)}
          onChange={() => actions.onSelect(id)}
        />
      ),
    },
    { id: "at", title: "Dead-lettered", cell: ({ dead_lettered_at: at }) => <Time at={at} /> },
    {
      id: "reason",
      title: "Reason",
      cell: ({ outcome, error }) => (
        <Stack isRow>
          <Outcome outcome={outcome} />
          <Muted>{error}</Muted>
        </Stack>
      ),
    },
    { id: "failures", title: "Failures", align: "end", isSecondary: true, cell: ({ failures }) => countText(failures) },
    {
      id: "post",
      title: "Post",
      isSecondary: true,
      cell: ({ post_id: postId }) => <Link href={`~/console/posts/${postId}`}>{postId}</Link>,
    },
    {
      id: "actions",
      title: <VisuallyHidden>Actions</VisuallyHidden>,
      align: "end",
      cell: (letter) => (
        <>
          {actionButton("Inspect", letter, () => actions.onInspect(letter))}
          {actionButton("Redeliver", letter, () => actions.onRedeliver(letter.id))}
        </>
      ),
    },
  ]
}

/** A dead letter with its last attempt, while that attempt is kept. */
function Inspected({
  letter,
  url,
  onClose,
}: {
  readonly letter: DeadLetter
  readonly url: string
  readonly onClose: () => void
}): ReactNode {
  const { webhook_id: webhookId, event_id: eventId } = letter
  const attempts = useApi("attempts", {
    parameters: { webhook_id: webhookId },
    query: { max_results: attemptsMax },
  })
  const last = attempts.data?.data.find((attempt) => attempt.event_id === eventId)
  return (
    <Dialog
      isWide
      onClose={onClose}
      title={`Dead letter of ${url}`}
      description={
        <>
          <code>{eventId}</code>: matched <Time at={letter.matched_at} />, dead-lettered{" "}
          <Time at={letter.dead_lettered_at} /> after {countText(letter.failures)} failed attempts. The last one:
        </>
      }
    >
      {attempts.data === undefined ? (
        <Skeleton height="180px" />
      ) : last === undefined ? (
        <p>Its attempts are no longer kept.</p>
      ) : (
        <AttemptDetails webhookId={webhookId} attemptId={last.id} />
      )}
    </Dialog>
  )
}
