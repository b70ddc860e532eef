/** The machine's clock against what the store holds. */
import { isClockJump } from "../../control/retention-time.ts"
import { instant, minuteMs } from "../../model/date-time.ts"
import type { AppId, MatchSeq } from "../../model/ids.ts"
import type { KnownTime } from "../../model/known-time.ts"
import { fault, good, warning, type Finding } from "../finding.ts"
import { duration } from "./quantities.ts"

/** A moment that the store holds, and of what. */
export interface StoredMoment {
  readonly what: string
  readonly atMs: number
}

/** Two successive entries of a log, of which the second was appended at an earlier time. */
export interface ClockStep {
  readonly appId: AppId
  readonly after: MatchSeq
  readonly before: MatchSeq
  readonly backMs: number
}

/** The machine's clock against what the store holds. */
export function clockFindings(found: {
  readonly nowMs: number
  readonly moments: readonly StoredMoment[]
  readonly steps: readonly ClockStep[]
  /** The time as retention last saw it. */
  readonly known?: KnownTime | undefined
}): readonly Finding[] {
  const { nowMs, moments, steps, known } = found
  const newest = moments.reduce<StoredMoment | undefined>(
    (a, b) => (a === undefined || b.atMs > a.atMs ? b : a),
    undefined,
  )
  const aheadMs = newest === undefined ? 0 : newest.atMs - nowMs
  const jumped = known === undefined ? [] : jumpFindings(known, nowMs)
  const stepped = steps
    .filter(({ backMs }) => backMs > minuteMs)
    .map(({ appId, after, before, backMs }) =>
      warning(
        "clock",
        `The clock was set back by ${duration(backMs)} between the matches ${after} and ${before} of app ${appId}.`,
        "Backfill, replays and retention find matches by time, and may take the wrong ones around there.",
      ),
    )
  if (newest !== undefined && aheadMs > minuteMs) {
    return [
      fault(
        "clock",
        `The clock says ${instant(nowMs)}, and ${newest.what} is from ${instant(newest.atMs)}, ` +
          `${duration(aheadMs)} later.`,
        "Set the clock right, and keep it so with NTP; until then retention and challenges are late.",
      ),
      ...stepped,
    ]
  }
  if (stepped.length > 0 || jumped.length > 0) return [...jumped, ...stepped]
  const latest = newest === undefined ? "" : `; the newest time in the store is ${instant(newest.atMs)}`
  return [good("clock", `The clock says ${instant(nowMs)}${latest}.`)]
}

/** No server ran before 2000: a time that is believed and earlier began with a damaged record (`noKnownTime`). */
const beginMs = Date.UTC(2000, 0)

/** Findings about the time that retention last saw: whether it goes by the clock. */
function jumpFindings({ believedMs, clockMs }: KnownTime, nowMs: number): readonly Finding[] {
  if (believedMs < beginMs) {
    return [
      warning(
        "clock",
        "The store does not know when it was served last, so retention deletes nothing until the clock has been steady " +
          "for an hour.",
        "If the clock is wrong, set it right. If it is right, wait for that hour, or start with clockJump: believe.",
      ),
    ]
  }
  const believed = `Retention deletes by ${instant(believedMs)}`
  if (isClockJump(clockMs - believedMs)) {
    return [
      warning(
        "clock",
        `${believed}, since the clock jumped ahead by ${duration(clockMs - believedMs)}.`,
        "If the clock is wrong, set it right. If it is right, wait until it has been steady, or start with clockJump: believe.",
      ),
    ]
  }
  if (!isClockJump(nowMs - believedMs)) return []
  return [
    good(
      "clock",
      `The clock says ${instant(nowMs)}. No server has run since ${instant(believedMs)}: ` +
        "the next one deletes nothing by the clock until that has been steady for an hour.",
    ),
  ]
}
