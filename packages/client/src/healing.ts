/**
 * Requests again the matches that a reader of the stream missed between two connections, and drops those that it has had.
 *
 *     ── connection ──┤        gap        ├── connection ──
 *            │ minute │                       backfill_minutes: the whole gap and a minute before it
 *            └────────┴── start_time: the same, where the gap is longer than a backfill reaches
 *
 * The minute before holds matches that were on their way when the last line came. Repeats are dropped by the post's id: a
 * server matches a post once. A recovery that the server cuts short begins again at the same time, since
 * the reader cannot tell how far it had come. Source: docs.x.com, "Recovery and redundancy".
 */
import type { StreamedBody } from "@sluice/api"
import type { Query } from "./operations.ts"

const minuteMs = 60_000

/** Most minutes of a backfill. Source: docs.x.com, "Recovery and redundancy". */
const backfillMinutesMax = 5

/** Beginning of a connection: with the next match, with some minutes before it, or as a recovery of a longer gap. */
export type Begin =
  | { readonly kind: "now" }
  | { readonly kind: "backfill"; readonly minutes: number }
  | { readonly kind: "recovery"; readonly startTime: Date }

/** Beginning of a connection that the caller's query describes, as it is. */
export function beginOf(query: Query | undefined): Begin {
  const { backfill_minutes: backfillMinutes, start_time: startTime } = parametersOf(query)
  if (startTime !== undefined) return { kind: "recovery", startTime: new Date(String(startTime)) }
  const minutes = Number(backfillMinutes ?? 0)
  return minutes > 0 ? { kind: "backfill", minutes } : { kind: "now" }
}

/** Beginning of a connection after a gap that began at `sinceMs`; nothing was missing until then. */
export function beginAfter(sinceMs: number, nowMs: number): Begin {
  const minutes = Math.ceil(Math.max(nowMs - sinceMs, 0) / minuteMs) + 1
  if (minutes <= backfillMinutesMax) return { kind: "backfill", minutes }
  return { kind: "recovery", startTime: new Date(sinceMs - minuteMs) }
}

/** Until when no match is missing for a caller whose first connection has just opened, at `openedAtMs`. */
export function completeWhenOpened(begin: Begin, openedAtMs: number): number {
  if (begin.kind === "recovery") return begin.startTime.getTime()
  return begin.kind === "backfill" ? openedAtMs - begin.minutes * minuteMs : openedAtMs
}

/**
 * The end of a gap that the server refuses to heal from this beginning. After a refused recovery a backfill may still heal
 * the last minutes: three, since `beginAfter` rounds up and adds one.
 */
export function gapEndMs({ kind }: Begin, nowMs: number): number {
  return kind === "recovery" ? nowMs - (backfillMinutesMax - 2) * minuteMs : nowMs
}

/**
 * True if, with this line, no match so far is missing. Lines of a backfill are of the past until a keep-alive shows its end,
 * or for as long as it may take to read; lines of a recovery always are.
 */
export function isComplete({ kind }: Begin, line: string, openMs: number): boolean {
  if (kind === "recovery") return false
  return kind === "now" || line === "" || openMs >= backfillMinutesMax * minuteMs
}

/** True for the line with which a server ends a connection before its time. A post may have `errors` too. */
export function isDisconnectMessage(body: object | undefined): boolean {
  const { data, errors } = (body ?? {}) as StreamedBody
  return data === undefined && errors !== undefined
}

/** The caller's query with that begin. */
export function queryFrom(query: Query | undefined, begin: Begin): Query | undefined {
  if (begin.kind === "now") return query
  const { backfill_minutes: _, ...others } = parametersOf(query)
  return begin.kind === "backfill"
    ? { ...others, backfill_minutes: begin.minutes }
    : { ...others, start_time: begin.startTime.toISOString() }
}

function parametersOf(query: Query | undefined = {}): Exclude<Query, string> {
  return typeof query === "string" ? Object.fromEntries(new URLSearchParams(query)) : query
}

/** Ids of posts that are remembered. Ours: two minutes of 800 matches a second, and about 10 MB. */
const idsMaxDefault = 100_000

/** The newest posts that a reader has had. */
export class SeenPosts {
  readonly #ids = new Set<string>()
  readonly #idsMax: number

  constructor(idsMax: number = idsMaxDefault) {
    this.#idsMax = idsMax
  }

  /** Notes a post. Returns whether it is new. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    if (this.#ids.size > this.#idsMax) {
      const [oldest] = this.#ids
      if (oldest !== undefined) this.#ids.delete(oldest)
    }
    return true
  }
}
