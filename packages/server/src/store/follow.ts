/**
 * The one way to read a log: from a cursor, forward.
 *
 *     read after cursor ──► entries? ── yes ─► yield them, move the cursor
 *            ▲                  └────── no ──► wait for a change
 *            └────────────────────────────────────┘
 *
 * Catching up and following live are the same loop, so there is no hand-over between them in which an entry
 * could be lost or repeated. The announcement of a change is only a hint, and a lost one is made up for by a poll
 * (`log-hints.ts`). Positions may jump: retention deletes the oldest entries.
 */
import type { AppId, MatchSeq } from "../model/ids.ts"
import type { MatchEntry } from "../model/match.ts"
import type { PostShape } from "../model/post.ts"
import type { Clock } from "../runtime/clock.ts"
import { openLogHint } from "./log-hints.ts"
import type { Store } from "./store.ts"

/**
 * Most bytes of posts and rules in a batch, but for the last one's. Readers can be very many, so each holds little;
 * entries that a socket does not accept are read again. Ours.
 */
const bytesMax = 262_144

/** The part of a log to read. */
export interface LogSpan {
  readonly appId: AppId
  /** Exclusive. */
  readonly after: MatchSeq
  /** Inclusive: the last to be read. Without it there is no end. */
  readonly upTo?: MatchSeq
  readonly shape: PostShape
  /** Most entries of a batch. */
  readonly batchMax: number
}

/** Entries of an app's match log, in order, in batches that are not empty, until `signal` or the end of the span. */
export async function* follow(
  store: Pick<Store, "matches" | "onChange" | "head" | "heads">,
  clock: Clock,
  { appId, after: from, upTo = Number.POSITIVE_INFINITY as MatchSeq, shape, batchMax }: LogSpan,
  signal: AbortSignal,
): AsyncGenerator<readonly MatchEntry[], void, void> {
  let after = from
  const hint = openLogHint(store, clock, appId)
  const onAbort = (): void => hint.call()
  signal.addEventListener("abort", onAbort, { once: true })
  // Asked before the read, so that a read that finds nothing has found the end.
  const isWritten = async (): Promise<boolean> => Number.isFinite(upTo) && (await store.head(appId)) >= upTo
  try {
    while (!signal.aborted && after < upTo) {
      hint.clear()
      const isEnding = await isWritten()
      const entries = await store.matches({ appId, after, limit: batchMax, bytesMax, shape })
      const last = entries.at(-1)
      if (last !== undefined) {
        after = last.seq
        const wanted = after <= upTo ? entries : entries.filter((entry) => entry.seq <= upTo)
        if (wanted.length > 0) yield wanted
      } else if (isEnding) {
        return
      } else if (!signal.aborted) {
        await hint.wait(after)
      }
    }
  } finally {
    hint.close()
    signal.removeEventListener("abort", onAbort)
  }
}
