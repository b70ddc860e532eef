/** The attempts of a link as a timeline, newest first: each with what was sent, what came back and how long it took. */
import type { LinkAttempt } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi } from "../../../api/use-api.ts"
import { Badge } from "../../../components/badge.tsx"
import { Button } from "../../../components/button.tsx"
import { Icon } from "../../../components/icon.tsx"
import { Panel } from "../../../components/panel.tsx"
import { EmptyState, ErrorNote, ErrorState, Skeleton } from "../../../components/states.tsx"
import { Time } from "../../../components/time.tsx"
import { VirtualList } from "../../../components/lists/virtual-list.tsx"
import { AttemptDetails } from "./attempt-details.tsx"
import { countText } from "../condition.ts"
import { useRedelivery } from "./use-redelivery.ts"
import { useSelection } from "./use-selection.ts"
import styles from "../webhooks.module.css"

/** Time between two reads. */
const refetchMs = 1_500

/** Attempts that are read at first, and at most: as many as the API returns. */
const firstCount = 200
const allCount = 1_000

/** A duration that fills the bar of an attempt: the time limit of an attempt. */
const wholeBarMs = 10_000

/** The timeline. */
export function Attempts({
  webhookId,
  isPaused,
}: {
  readonly webhookId: string
  readonly isPaused: boolean
}): ReactNode {
  const [count, setCount] = useState(firstCount)
  const [isFailedOnly, setIsFailedOnly] = useState(false)
  const [open, setOpen] = useState<string>()
  const selection = useSelection()
  const redelivery = useRedelivery()
  const query = useApi(
    "attempts",
    { parameters: { webhook_id: webhookId }, query: { max_results: count } },
    { refetchMs: isPaused ? false : refetchMs, keepPrevious: true },
  )
  const all = query.data?.data
  const shown = all?.filter(({ outcome }) => !isFailedOnly || outcome !== "delivered") ?? []
  const { chosen } = selection
  const renderAttempt = (attempt: LinkAttempt): ReactNode => (
    <AttemptRow
      attempt={attempt}
      webhookId={webhookId}
      isOpen={open === attempt.id}
      onOpen={(isOpen) => setOpen(isOpen ? attempt.id : undefined)}
      isChosen={chosen.has(attempt.event_id)}
      onChoose={() => selection.toggle(attempt.event_id)}
      onRedeliver={() => redelivery.send({ eventIds: [attempt.event_id] })}
    />
  )
  if (query.isError && all === undefined) {
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  }
  return (
    <Panel
      isFlush
      title={
        <label className={styles["check"]}>
          <input type="checkbox" checked={isFailedOnly} onChange={(event) => setIsFailedOnly(event.target.checked)} />
          Only failed
        </label>
      }
      actions={
        <>
          <Button
            disabled={chosen.size === 0}
            isBusy={redelivery.isPending}
            onClick={() => redelivery.send({ eventIds: [...chosen] }, () => selection.set([]))}
          >
            Redeliver {chosen.size === 0 ? "selected" : countText(chosen.size)}
          </Button>
          <Button isBusy={redelivery.isPending} onClick={() => redelivery.send({ failedOf: webhookId })}>
            Redeliver all that failed
          </Button>
        </>
      }
    >
      {redelivery.error !== null && (
        <div className={styles["padded"]}>
          <ErrorNote error={redelivery.error} />
        </div>
      )}
      {all === undefined ? (
        <div className={styles["padded"]} aria-busy="true">
          <Skeleton height="160px" />
        </div>
      ) : shown.length === 0 ? (
        <NoAttempts isFiltered={all.length > 0} />
      ) : (
        <VirtualList
          label="Attempts, newest first"
          rows={shown}
          rowKey={({ id }) => id}
          rowHeight={46}
          height="620px"
          onEnd={() => all.length >= count && setCount(allCount)}
          row={renderAttempt}
        />
      )}
    </Panel>
  )
}

function AttemptRow({
  attempt,
  webhookId,
  isOpen,
  onOpen,
  isChosen,
  onChoose,
  onRedeliver,
}: {
  readonly attempt: LinkAttempt
  readonly webhookId: string
  readonly isOpen: boolean
  readonly onOpen: (isOpen: boolean) => void
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly onRedeliver: () => void
}): ReactNode {
  const { id, at, event_id: eventId, outcome, status, duration_ms: durationMs } = attempt
  const isDelivered = outcome === "delivered"
  return (
    <div className={styles["attempt"]} data-tone={isDelivered ? "good" : "bad"}>
      <div className={styles["attemptRow"]}>
        <input type="checkbox" aria-label={`Select ${eventId}`} checked={isChosen} onChange={onChoose} />
        <button
          type="button"
          className={styles["opener"]}
          aria-expanded={isOpen}
          aria-controls={`attempt-${id}`}
          onClick={() => onOpen(!isOpen)}
        >
          <span className={isOpen ? styles["chevronOpen"] : styles["chevron"]}>
            <Icon name="chevron" size={14} />
          </span>
          <span className={styles["time"]}>
            <Time at={at} form="absolute" />
          </span>
          <span className={styles["outcome"]}>
            <Badge tone={isDelivered ? "good" : "bad"}>{outcome.replaceAll(/[_-]/g, " ")}</Badge>
            {status !== undefined && <span className="numeric">{status}</span>}
          </span>
          <span className={styles["duration"]}>
            <span className={styles["bar"]} aria-hidden="true">
              <span style={{ width: `${Math.max(1, Math.min(100, (durationMs / wholeBarMs) * 100))}%` }} />
            </span>
            <span className="numeric">{countText(durationMs)} ms</span>
          </span>
          <code className={styles["event"]}>{eventId}</code>
        </button>
        <Button size="small" kind="quiet" onClick={onRedeliver} aria-label={`Redeliver ${eventId}`}>
          Redeliver
        </Button>
      </div>
      {isOpen && (
        <div id={`attempt-${id}`} className={styles["details"]}>
          <AttemptDetails webhookId={webhookId} attemptId={id} />
        </div>
      )}
    </div>
  )
}

function NoAttempts({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  return isFiltered ? (
    <EmptyState title="None of the kept attempts failed">Uncheck “Only failed” to see all of them.</EmptyState>
  ) : (
    <EmptyState title="Nothing was sent to it yet">
      The next post that matches a rule is sent at once, and shows here. <code>sluice trigger</code> makes one.
    </EmptyState>
  )
}
