/** The attempts of a link as a timeline, newest first: the request, the response and the duration of each. */
import type { LinkAttempt } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi } from "../../../api/use-api.ts"
import { Button } from "../../../components/button.tsx"
import { Checkbox } from "../../../components/checkbox.tsx"
import { countText } from "../../../components/counts.ts"
import { Icon } from "../../../components/icon.tsx"
import { VirtualList } from "../../../components/lists/virtual-list.tsx"
import { Panel } from "../../../components/panel.tsx"
import { EmptyState, ErrorState, Skeleton } from "../../../components/states.tsx"
import { Time } from "../../../components/time.tsx"
import { AttemptDetails } from "./attempt-details.tsx"
import styles from "./attempts.module.css"
import { Outcome } from "./outcome.tsx"
import { RedeliveryButtons } from "./redelivery-buttons.tsx"
import { useRedelivery } from "./use-redelivery.ts"
import { useSelection } from "../../../components/lists/use-selection.ts"

const refetchMs = 1_500

/** Attempts that are read at first, and at the end of the list: the most that the API returns. */
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
  const { keys, toggle, clear } = useSelection()
  const redelivery = useRedelivery()
  const query = useApi(
    "attempts",
    { parameters: { webhook_id: webhookId }, query: { max_results: count } },
    { refetchMs, isPaused, keepPrevious: true },
  )
  const all = query.data?.data
  const shown = all?.filter(({ outcome }) => !isFailedOnly || outcome !== "delivered") ?? []
  if (query.isLoadingError) return <ErrorState of={query} />
  return (
    <Panel
      isFlush
      title={
        <Checkbox isChecked={isFailedOnly} onChange={setIsFailedOnly}>
          Only failed
        </Checkbox>
      }
      error={redelivery.error}
      actions={
        <RedeliveryButtons
          selectedCount={keys.size}
          isBusy={redelivery.isPending}
          onSelected={() => redelivery.send({ eventIds: [...keys] }, clear)}
          allText="Redeliver all that failed"
          onAll={() => redelivery.send({ failedOf: webhookId })}
        />
      }
    >
      {all === undefined ? (
        <div aria-busy="true">
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
          row={(attempt) => (
            <AttemptRow
              attempt={attempt}
              webhookId={webhookId}
              isOpen={open === attempt.id}
              onOpen={(isOpen) => setOpen(isOpen ? attempt.id : undefined)}
              isSelected={keys.has(attempt.event_id)}
              onSelect={() => toggle(attempt.event_id)}
              onRedeliver={() => redelivery.send({ eventIds: [attempt.event_id] })}
            />
          )}
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
  isSelected,
  onSelect,
  onRedeliver,
}: {
  readonly attempt: LinkAttempt
  readonly webhookId: string
  readonly isOpen: boolean
  readonly onOpen: (isOpen: boolean) => void
  readonly isSelected: boolean
  readonly onSelect: () => void
  readonly onRedeliver: () => void
}): ReactNode {
  const { id, at, event_id: eventId, outcome, status, duration_ms: durationMs } = attempt
  return (
    <div className={styles["attempt"]} data-tone={outcome === "delivered" ? "good" : "bad"}>
      <div className={styles["row"]}>
        <input type="checkbox" aria-label={`Select ${eventId}`} checked={isSelected} onChange={onSelect} />
        <button
          type="button"
          className={styles["opener"]}
          aria-expanded={isOpen}
          aria-controls={`attempt-${id}`}
          onClick={() => onOpen(!isOpen)}
        >
          <span className={styles["chevron"]}>
            <Icon name="chevron" size={14} />
          </span>
          <span className={styles["time"]}>
            <Time at={at} form="absolute" />
          </span>
          <span className={styles["outcome"]}>
            <Outcome outcome={outcome} />
            {status !== undefined && <span>{status}</span>}
          </span>
          <span className={styles["duration"]}>
            <span className={styles["bar"]} aria-hidden="true">
              <span style={{ width: `${Math.max(1, Math.min(100, (durationMs / wholeBarMs) * 100))}%` }} />
            </span>
            <span>{countText(durationMs)} ms</span>
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
    <EmptyState title="No kept attempt failed">Uncheck “Only failed” to see all attempts.</EmptyState>
  ) : (
    <EmptyState title="No attempts yet">
      The next post that matches a rule is delivered at once, and shows here. To send one, run{" "}
      <code>sluice trigger</code>.
    </EmptyState>
  )
}
