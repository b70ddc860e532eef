/** The replays of a webhook, with their progress, and a form that starts one. */
import type { ReplayState, WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useSession } from "../../api/session.ts"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { TextField } from "../../components/field.tsx"
import { useConfirmedChange, type ConfirmedChange } from "../../components/overlays/use-confirmed-change.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorNote, ErrorState, Skeleton } from "../../components/states.tsx"
import { isUnfinished, Replay } from "./replay.tsx"
import styles from "./replays.module.css"

const runningRefetchMs = 1_000
const idleRefetchMs = 5_000
const minuteMs = 60_000

/** The replays of a webhook. */
export function Replays({
  webhook,
  isPaused,
}: {
  readonly webhook: WebhookDetail
  readonly isPaused: boolean
}): ReactNode {
  const [isRunning, setIsRunning] = useState(false)
  const cancel = useCancelReplay()
  const query = useApi("replays", {}, { isPaused, refetchMs: isRunning ? runningRefetchMs : idleRefetchMs })
  const replays = query.data?.data.filter(({ webhook_id: id }) => id === webhook.id)
  const runsNow = replays?.some(({ state }) => isUnfinished(state)) ?? false
  if (runsNow !== isRunning) setIsRunning(runsNow)
  return (
    <>
      <StartReplay webhook={webhook} isRunning={runsNow} />
      {query.isLoadingError ? (
        <ErrorState of={query} />
      ) : (
        <Panel title="Replays" isFlush={(replays?.length ?? 0) > 0}>
          {replays === undefined ? (
            <Skeleton height="60px" />
          ) : replays.length === 0 ? (
            <EmptyState title="No replays yet">
              A replay delivers the matches of a past period again, in addition to live deliveries. A backfill, which a
              rule's page starts, delivers what the rule would have matched before it was added.
            </EmptyState>
          ) : (
            <ul>
              {replays.map((replay) => (
                <Replay key={replay.job_id} replay={replay} onCancel={() => cancel.ask(replay)} />
              ))}
            </ul>
          )}
        </Panel>
      )}
      {cancel.dialog}
    </>
  )
}

/** Ends a replay that is searching or running. */
function useCancelReplay(): ConfirmedChange<ReplayState> {
  return useConfirmedChange("DELETE", "replay", {
    invalidates: ["replays"],
    request: ({ job_id }) => ({ parameters: { job_id } }),
    title: () => "Cancel this replay?",
    text: () => "It sends no further match. Delivered matches stay delivered.",
    action: "Cancel the replay",
    doneText: () => "Cancelled the replay.",
  })
}

function StartReplay({
  webhook,
  isRunning,
}: {
  readonly webhook: WebhookDetail
  readonly isRunning: boolean
}): ReactNode {
  const { posture } = useSession()
  const isDev = posture === "dev"
  // A development server does not enforce X's bounds.
  const [fromMin, toMin] = isDev ? [60, 0] : [90, 10]
  const [from, setFrom] = useState(() => localMinute(Date.now() - fromMin * minuteMs))
  const [to, setTo] = useState(() => localMinute(Date.now() - toMin * minuteMs))
  const toast = useToast()
  const start = useApiChange("POST", "webhookReplay", { invalidates: ["replays"] })
  return (
    <Panel title="Start a replay">
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault()
          start.mutate(
            { body: { webhook_id: webhook.id, from_date: utcMinute(from), to_date: utcMinute(to) } },
            { onSuccess: () => toast(`Started a replay to ${webhook.url}.`) },
          )
        }}
      >
        <TextField
          type="datetime-local"
          required
          label="First minute"
          hint={isDev ? "In your time zone." : "In your time zone, at least 31 minutes ago."}
          value={from}
          onChange={setFrom}
        />
        <TextField
          type="datetime-local"
          required
          label="Last minute"
          hint={isDev ? "The current minute or earlier." : "At least 10 minutes ago."}
          value={to}
          onChange={setTo}
        />
        <Button kind="primary" type="submit" isBusy={start.isPending} disabled={isRunning}>
          {isRunning ? "A replay is running" : "Start"}
        </Button>
      </form>
      <ErrorNote error={start.error} />
    </Panel>
  )
}

/** An instant as the value of a `datetime-local` input. */
function localMinute(atMs: number): string {
  const date = new Date(atMs)
  return new Date(atMs - date.getTimezoneOffset() * minuteMs).toISOString().slice(0, 16)
}

/** The value of a `datetime-local` input in the API's form: yyyymmddhhmm in UTC. */
function utcMinute(local: string): string {
  return new Date(local).toISOString().slice(0, 16).replaceAll(/\D/g, "")
}
