/**
 * What a reader of the stream missed between two connections, requested again, and what it has had dropped.
 *
 *     ── connection ──┤        gap        ├── connection ──
 *            │ minute │                       backfill_minutes: the whole gap and a minute before it
 *            └────────┴── start_time: the same, where the gap is longer than a backfill reaches
 *
 * The minute before holds what was matched before the last line came and was on its way. What comes twice is dropped by
 * the post's id: a server matches a post once. Source: docs.x.com, "Recovery and redundancy".
 */
import type { Query } from "./operations.ts"

const minuteMs = 60_000

/** Most minutes of a backfill. Source: docs.x.com, "Recovery and redundancy". */
const backfillMinutesMax = 5

/** How a connection begins: with what comes next, with some minutes before it, or as a recovery of a longer gap. */
export type Begin =
  | { readonly kind: "now" }
  | { readonly kind: "backfill"; readonly minutes: number }
  | { readonly kind: "recovery"; readonly startTime: Date }

/** How a connection begins after a gap that began at `sinceMs`, when nothing was missing yet. */
export function beginAfter(sinceMs: number, nowMs: number): Begin {
  const minutes = Math.ceil(Math.max(nowMs - sinceMs, 0) / minuteMs) + 1
  if (minutes <= backfillMinutesMax) return { kind: "backfill", minutes }
  return { kind: "recovery", startTime: new Date(sinceMs - minuteMs) }
}

/**
 * Whether, with this line, nothing is missing of what was matched so far. Lines of a backfill are of the past, as long as
 * no keep-alive says that there is nothing more, and as long as it may take to read; those of a recovery always are.
 */
export function isComplete({ kind }: Begin, line: string, openMs: number): boolean {
  if (kind === "recovery") return false
  return kind === "now" || line === "" || openMs >= backfillMinutesMax * minuteMs
}

/** The caller's query with that begin. */
export function queryFrom(query: Query | undefined, begin: Begin): Query | undefined {
  if (begin.kind === "now") return query
  const { backfill_minutes: _, ...others } =
    typeof query === "string" ? Object.fromEntries(new URLSearchParams(query)) : (query ?? {})
  return begin.kind === "backfill"
    ? { ...others, backfill_minutes: begin.minutes }
    : { ...others, start_time: begin.startTime.toISOString() }
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
