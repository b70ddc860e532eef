/** One replay or backfill: its state, its rules and its progress. */
import type { ReplayState } from "@sluice/api"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { countText, nounText } from "../../components/counts.ts"
import { Muted } from "../../components/muted.tsx"
import { RuleText } from "../../components/posts/rule-text.tsx"
import { Progress } from "../../components/progress.tsx"
import { Stack } from "../../components/stack.tsx"
import { Time } from "../../components/time.tsx"
import styles from "./replays.module.css"

const minuteMs = 60_000

const tones = {
  searching: "accent",
  running: "accent",
  complete: "good",
  incomplete: "bad",
  cancelled: "neutral",
} as const

/** Whether a replay in this state goes on. */
export function isUnfinished(state: string): boolean {
  return state === "searching" || state === "running"
}

/** A replay in a list, with its progress, and a button that cancels it while it goes on. */
export function Replay({
  replay,
  onCancel,
}: {
  readonly replay: ReplayState
  readonly onCancel: () => void
}): ReactNode {
  const { state, from_date: from, to_date: to, rules } = replay
  return (
    <li className={styles["replay"]}>
      <Stack isRow>
        <Badge tone={tones[state as keyof typeof tones]}>{state}</Badge>
        {rules !== undefined && <span>backfill</span>}
        <span>
          <Time at={minuteAtMs(from)} form="absolute" /> to <Time at={minuteAtMs(to)} form="absolute" />
        </span>
        <Muted>
          started <Time at={replay.created_at} />
        </Muted>
        {isUnfinished(state) && (
          <Button size="small" onClick={onCancel} aria-label={`Cancel replay ${replay.job_id}`}>
            Cancel
          </Button>
        )}
      </Stack>
      {rules !== undefined && <Rules rules={rules} />}
      {state === "searching" ? <SearchProgress replay={replay} /> : <SendProgress replay={replay} />}
    </li>
  )
}

/** The rules of a backfill, as they were when it was started. */
function Rules({ rules }: { readonly rules: NonNullable<ReplayState["rules"]> }): ReactNode {
  return (
    <ul className={styles["rules"]} aria-label="Rules">
      {rules.map(({ id, value, tag }) => (
        <li key={id}>
          <Link href={`~/console/rules/${id}`}>
            <RuleText value={value} isLine />
          </Link>
          {tag !== "" && <Badge>{tag}</Badge>}
        </li>
      ))}
    </ul>
  )
}

function SearchProgress({ replay }: { readonly replay: ReplayState }): ReactNode {
  const { job_id: id, from_date: from, to_date: to, searched_to: searchedTo } = replay
  const [fromMs, toMs] = [minuteAtMs(from), minuteAtMs(to) + minuteMs]
  const searchedMs = searchedTo === undefined ? fromMs : Date.parse(searchedTo)
  return (
    <>
      <Progress label={`Search of replay ${id}`} done={Math.max(0, searchedMs - fromMs)} all={toMs - fromMs} />
      <Muted>
        Searching the stored posts: done up to <Time at={searchedMs} form="absolute" />. Then the matches are sent.
      </Muted>
    </>
  )
}

function SendProgress({ replay }: { readonly replay: ReplayState }): ReactNode {
  const { job_id: id, delivered, failed, position, end, rules, state, searched_to: searchedTo } = replay
  const done = delivered + failed
  // The first match of the replay is not reported: what is left and what is done make up the whole.
  const all = Math.max(0, end - position) + done
  return (
    <>
      <Progress label={`Progress of replay ${id}`} done={done} all={all} />
      <Muted>
        {countText(delivered)} of {nounText(all, "match", "matches")} delivered
        {failed > 0 && `, ${countText(failed)} failed or deleted by retention`}
        {rules !== undefined && searchedTo !== undefined && (state === "incomplete" || state === "cancelled") && (
          <>
            ; posts searched up to <Time at={searchedTo} form="absolute" />
          </>
        )}
      </Muted>
    </>
  )
}

function minuteAtMs(text: string): number {
  const [, year, month, day, hour, minute] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text) ?? []
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute))
}
