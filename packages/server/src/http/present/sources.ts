/** Sources of posts as API bodies show them. */
import {
  recordBytesShownMax,
  type Source,
  type SourceDeadLetter as LetterShown,
  type SourceGap as GapShown,
} from "@sluice/api"
import { instant } from "../../model/date-time.ts"
import type { SourceDeadLetter } from "../../model/source.ts"
import type { RepeatedLetters, SeenSource } from "../../sources/source-control.ts"

/** A source and its state. */
export function presentSource(source: SeenSource): Source {
  const { name, type, activity, position, positionSavedAtMs, state, deadLetters, canRewind, gaps } = source
  const { connected, lastDeadLetter, lastFailure, measured, counts } = state
  const since = sinceMs(source)
  return {
    name,
    type,
    activity,
    ...(since !== undefined && { since: instant(since) }),
    ...(connected && { connected_to: connected.to }),
    started_at: instant(state.startedAtMs),
    ...(state.lastRecordAtMs !== undefined && { last_record_at: instant(state.lastRecordAtMs) }),
    records_per_second: Math.round(state.perSecond * 100) / 100,
    ...(measured && presentMeasured(measured)),
    ...(position !== undefined && { position }),
    ...(positionSavedAtMs !== undefined && { position_saved_at: instant(positionSavedAtMs) }),
    can_rewind: canRewind,
    counts: { ...counts },
    dead_letters: deadLetters,
    ...(lastDeadLetter && { last_dead_letter: timed(lastDeadLetter) }),
    ...(lastFailure && { last_error: timed(lastFailure) }),
    notices: state.notices.map(({ sinceMs: noticedMs, ...notice }) => ({ ...notice, since: instant(noticedMs) })),
    gaps: gaps.map(presentGap),
  }
}

/** Absent for a source that another process drives: this one does not know. */
function sinceMs({ activity, state }: SeenSource): number | undefined {
  if (activity === "elsewhere") return undefined
  return state.connected?.sinceMs ?? state.disconnectedAtMs ?? state.startedAtMs
}

function presentMeasured({
  behindMs,
  pending,
  inFlight,
  unacknowledged,
}: NonNullable<SeenSource["state"]["measured"]>) {
  return {
    ...(behindMs !== undefined && { lag_ms: Math.round(behindMs) }),
    ...(pending !== undefined && { pending }),
    ...(inFlight !== undefined && { in_flight: inFlight }),
    ...(unacknowledged !== undefined && { unacknowledged }),
  }
}

function timed<Report extends { readonly atMs: number }>({ atMs, ...report }: Report) {
  return { ...report, at: instant(atMs) }
}

function presentGap({ fromMs, toMs, reason, foundAtMs }: SeenSource["gaps"][number]): GapShown {
  return {
    ...(fromMs !== undefined && { from: instant(fromMs) }),
    ...(toMs !== undefined && { to: instant(toMs) }),
    reason,
    found_at: instant(foundAtMs),
  }
}

/** A dead letter with its record. */
export function presentSourceDeadLetter({ id, atMs, title, detail, record }: SourceDeadLetter): LetterShown {
  const shown = record.subarray(0, recordBytesShownMax)
  const text = textOf(shown)
  return {
    id,
    at: instant(atMs),
    title,
    detail,
    bytes: record.length,
    encoding: text === undefined ? "base64" : "utf-8",
    record: text ?? Buffer.from(shown).toString("base64"),
  }
}

/** The text without a character that is cut at its end; undefined for bytes that are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    // A stream waits for the rest of a character. A byte order mark belongs to the record.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true })
  } catch {
    return undefined
  }
}

/** The result of converting dead letters again. */
export function presentRepeated({ repeated, rejected }: RepeatedLetters) {
  return { data: { repeated, rejected } }
}

/** The number of dead letters that were deleted. */
export function presentDiscarded(discarded: number) {
  return { data: { discarded } }
}
