/** Replays to a webhook: those that run, with their progress, those that ended, and how to start one. */
import type { ReplayState, WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useSession } from "../../api/session.ts"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { Field } from "../../components/field.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorNote, ErrorState, Skeleton } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { countText, matchesText } from "./condition.ts"
import styles from "./webhooks.module.css"

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
  const query = useApi("replays", {}, { refetchMs: isPaused ? false : isRunning ? runningRefetchMs : idleRefetchMs })
  const replays = query.data?.data.filter(({ webhook_id: id }) => id === webhook.id)
  const runsNow = replays?.some(({ state }) => state === "running") ?? false
  if (runsNow !== isRunning) setIsRunning(runsNow)
  return (
    <>
      <StartReplay webhook={webhook} isRunning={runsNow} />
      {query.isError && replays === undefined ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <Panel title="Replays" isFlush={(replays?.length ?? 0) > 0}>
          {replays === undefined ? (
            <Skeleton height="60px" />
          ) : replays.length === 0 ? (
            <EmptyState title="No replays yet">
              A replay sends the matches of a stretch of time again, beside what is delivered live.
            </EmptyState>
          ) : (
            <ul>
              {replays.map((replay) => (
                <Replay key={replay.job_id} replay={replay} />
              ))}
            </ul>
          )}
        </Panel>
      )}
    </>
  )
}

const tones = { running: "accent", complete: "good", incomplete: "bad" } as const

function Replay({ replay }: { readonly replay: ReplayState }): ReactNode {
  const { job_id: id, state, delivered, failed, position, end, from_date: from, to_date: to } = replay
  const done = delivered + failed
  // It began before the first match that it has come to.
  const all = Math.max(0, end - position) + done
  return (
    <li className={styles["replay"]}>
      <div className={styles["replayTop"]}>
        <Badge tone={tones[state as keyof typeof tones]}>{state}</Badge>
        <span>
          <Time at={minuteAtMs(from)} form="absolute" /> to <Time at={minuteAtMs(to)} form="absolute" />
        </span>
        <span className={styles["muted"]}>
          started <Time at={replay.created_at} />
        </span>
      </div>
      <progress value={all === 0 ? 1 : done} max={all === 0 ? 1 : all} aria-label={`Progress of replay ${id}`} />
      <p className={styles["muted"]}>
        {countText(delivered)} of {matchesText(all)} delivered
        {failed > 0 && `, ${countText(failed)} failed or no longer kept`}
      </p>
    </li>
  )
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
  // X's bounds, which a server for development does not have.
  const [fromMin, toMin] = isDev ? [60, 0] : [90, 10]
  const [from, setFrom] = useState(() => localMinute(Date.now() - fromMin * minuteMs))
  const [to, setTo] = useState(() => localMinute(Date.now() - toMin * minuteMs))
  const toast = useToast()
  const start = useApiChange("POST", "webhookReplay", { invalidates: ["replays"] })
  return (
    <Panel title="Start a replay">
      <form
        className={styles["replayForm"]}
        onSubmit={(event) => {
          event.preventDefault()
          start.mutate(
            { body: { webhook_id: webhook.id, from_date: utcMinute(from), to_date: utcMinute(to) } },
            { onSuccess: () => toast("The replay has started.") },
          )
        }}
      >
        <Field
          label="First minute"
          hint={isDev ? "In your time zone." : "In your time zone, 31 minutes ago or earlier."}
        >
          {(attributes) => (
            <input
              {...attributes}
              type="datetime-local"
              required
              value={from}
              onChange={(event) => setFrom(event.target.value)}
            />
          )}
        </Field>
        <Field label="Last minute" hint={isDev ? "Up to this minute." : "10 minutes ago or earlier."}>
          {(attributes) => (
            <input
              {...attributes}
              type="datetime-local"
              required
              value={to}
              onChange={(event) => setTo(event.target.value)}
            />
          )}
        </Field>
        <Button kind="primary" type="submit" isBusy={start.isPending} disabled={isRunning}>
          {isRunning ? "A replay is running" : "Start"}
        </Button>
      </form>
      <ErrorNote error={start.error} />
    </Panel>
  )
}

/** A moment as an input of a local minute has it. */
function localMinute(atMs: number): string {
  const date = new Date(atMs)
  return new Date(atMs - date.getTimezoneOffset() * minuteMs).toISOString().slice(0, 16)
}

/** A local minute as the API has it: yyyymmddhhmm in UTC. */
function utcMinute(local: string): string {
  return new Date(local).toISOString().slice(0, 16).replaceAll(/\D/g, "")
}

function minuteAtMs(text: string): number {
  const [, year, month, day, hour, minute] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text) ?? []
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute))
}
