/** Matches that a link has given up: looked into, and sent again, one, some or all. */
import type { DeadLetter } from "@sluice/api"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useSession } from "../../../api/session.ts"
import { useApi, useApiChange } from "../../../api/use-api.ts"
import { Badge } from "../../../components/badge.tsx"
import { Button } from "../../../components/button.tsx"
import { DataTable, type Column } from "../../../components/lists/data-table.tsx"
import { Dialog } from "../../../components/overlays/dialog.tsx"
import { Panel } from "../../../components/panel.tsx"
import { EmptyState, ErrorNote, ErrorState, Skeleton } from "../../../components/states.tsx"
import { Time } from "../../../components/time.tsx"
import { useToast } from "../../../components/overlays/toast.tsx"
import { AttemptDetails } from "./attempt-details.tsx"
import { countText, matchesText } from "../condition.ts"
import { useSelection } from "./use-selection.ts"
import styles from "../webhooks.module.css"

const refetchMs = 3_000
const pageSize = 100

/** Attempts among which the last one of a dead letter is looked for: all that the API returns. */
const attemptsMax = 1_000

/** The dead letters of a webhook. */
export function DeadLetters({
  webhookId,
  isPaused,
}: {
  readonly webhookId: string
  readonly isPaused: boolean
}): ReactNode {
  const { client, appId } = useSession()
  const [inspected, setInspected] = useState<DeadLetter>()
  const selection = useSelection()
  const toast = useToast()
  const query = useInfiniteQuery({
    queryKey: ["deadLetters", appId, webhookId],
    queryFn: ({ pageParam, signal }) =>
      client.request("GET", "deadLetters", {
        signal,
        query: {
          webhook_id: webhookId,
          max_results: pageSize,
          ...(pageParam !== "" && { pagination_token: pageParam }),
        },
      }),
    initialPageParam: "",
    getNextPageParam: ({ meta }) => meta.next_token,
    refetchInterval: isPaused ? false : refetchMs,
  })
  const redeliver = useApiChange("POST", "redeliver", {
    invalidates: ["deadLetters", "attempts", "webhookDetail", "webhookDetails"],
  })
  const send = (which: { readonly ids: string[] } | { readonly all: true; readonly webhook_id: string }): void =>
    redeliver.mutate(
      { body: which },
      {
        onSuccess: ({ data: { redelivered } }) => {
          toast(`${matchesText(redelivered)} ${redelivered === 1 ? "is" : "are"} sent again.`)
          selection.set([])
        },
      },
    )
  const letters = query.data?.pages.flatMap(({ data }) => data)
  const { chosen } = selection
  if (query.isError && letters === undefined)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (letters?.length === 0) {
    return (
      <Panel>
        <EmptyState title="No dead letters">
          A match that its endpoint rejects again and again ends here, so that it does not stay in the way of others.
        </EmptyState>
      </Panel>
    )
  }
  return (
    <Panel
      isFlush
      title="Given up"
      actions={
        <>
          <Button
            disabled={chosen.size === 0}
            isBusy={redeliver.isPending}
            onClick={() => send({ ids: [...chosen].slice(0, attemptsMax) })}
          >
            Redeliver {chosen.size === 0 ? "selected" : countText(chosen.size)}
          </Button>
          <Button isBusy={redeliver.isPending} onClick={() => send({ all: true, webhook_id: webhookId })}>
            Redeliver all
          </Button>
        </>
      }
    >
      {redeliver.error !== null && (
        <div className={styles["padded"]}>
          <ErrorNote error={redeliver.error} />
        </div>
      )}
      <DataTable
        label="Dead letters"
        rows={letters}
        rowKey={({ id }) => id}
        columns={columnsOf({
          isChosen: (id) => chosen.has(id),
          onChoose: selection.toggle,
          onInspect: setInspected,
          onRedeliver: (id) => send({ ids: [id] }),
        })}
      />
      {query.hasNextPage && (
        <div className={styles["padded"]}>
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
      {inspected !== undefined && <Inspected letter={inspected} onClose={() => setInspected(undefined)} />}
    </Panel>
  )
}

function columnsOf(actions: {
  readonly isChosen: (id: string) => boolean
  readonly onChoose: (id: string) => void
  readonly onInspect: (letter: DeadLetter) => void
  readonly onRedeliver: (id: string) => void
}): readonly Column<DeadLetter>[] {
  return [
    {
      id: "choose",
      title: <span className="visually-hidden">Select</span>,
      width: "40px",
      cell: ({ id, event_id: eventId }) => (
        <input
          type="checkbox"
          aria-label={`Select ${eventId}`}
          checked={actions.isChosen(id)}
          onChange={() => actions.onChoose(id)}
        />
      ),
    },
    { id: "died", title: "Given up", cell: ({ dead_lettered_at: at }) => <Time at={at} /> },
    {
      id: "why",
      title: "Why",
      cell: ({ outcome, error }) => (
        <span className={styles["outcome"]}>
          <Badge tone="bad">{outcome.replaceAll(/[_-]/g, " ")}</Badge>
          <span className={styles["muted"]}>{error}</span>
        </span>
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
      title: <span className="visually-hidden">Actions</span>,
      align: "end",
      cell: (letter) => (
        <span className={styles["rowActions"]}>
          <Button
            size="small"
            kind="quiet"
            aria-label={`Inspect ${letter.event_id}`}
            onClick={() => actions.onInspect(letter)}
          >
            Inspect
          </Button>
          <Button
            size="small"
            kind="quiet"
            aria-label={`Redeliver ${letter.event_id}`}
            onClick={() => actions.onRedeliver(letter.id)}
          >
            Redeliver
          </Button>
        </span>
      ),
    },
  ]
}

/** A dead letter with its last attempt, as long as that is kept. */
function Inspected({ letter, onClose }: { readonly letter: DeadLetter; readonly onClose: () => void }): ReactNode {
  const { webhook_id: webhookId, event_id: eventId } = letter
  const attempts = useApi("attempts", {
    parameters: { webhook_id: webhookId },
    query: { max_results: attemptsMax },
  })
  const last = attempts.data?.data.find((attempt) => attempt.event_id === eventId)
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title="Dead letter"
      description={
        <>
          <code className={styles["wrapped"]}>{eventId}</code>: matched <Time at={letter.matched_at} />, given up{" "}
          <Time at={letter.dead_lettered_at} /> after {countText(letter.failures)} failed attempts. This is the last
          one.
        </>
      }
    >
      {attempts.data === undefined ? (
        <Skeleton height="180px" />
      ) : last === undefined ? (
        <p>Its attempts are no longer among those that are kept.</p>
      ) : (
        <AttemptDetails webhookId={webhookId} attemptId={last.id} />
      )}
    </Dialog>
  )
}
