/**
 * The one way to read a log: from a cursor, forward.
 *
 *     read after cursor ──► entries? ── yes ─► yield them, move the cursor
 *            ▲                  └────── no ──► wait for a change
 *            └────────────────────────────────────┘
 *
 * Catching up and following live are the same loop, so there is no hand-over between them in which an entry
 * could be lost or doubled. The announcement of a change is only a hint, so the wait also ends by itself.
 */
import type { AppId, MatchSeq } from "../model/ids.ts"
import type { MatchEntry } from "../model/match.ts"
import type { PostShape } from "../model/post.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Store } from "./store.ts"

/** Longest wait without a hint. Ours: a lost hint delays a match by at most this. */
const pollMs = 10_000

/** Entries of an app's match log after `after`, in order, in batches of at most `batchMax`, until `signal`. */
export async function* follow(
  store: Pick<Store, "matches" | "onChange">,
  clock: Clock,
  from: { appId: AppId; after: MatchSeq; shape: PostShape; batchMax: number },
  signal: AbortSignal,
): AsyncGenerator<readonly MatchEntry[], void, void> {
  let after = from.after
  let wake = (): void => undefined
  let hasChanged = false
  const stopListening = store.onChange((change) => {
    if (change.kind !== "matches" || !change.appIds.includes(from.appId)) return
    hasChanged = true
    wake()
  })
  const onAbort = (): void => wake()
  signal.addEventListener("abort", onAbort, { once: true })
  try {
    while (!signal.aborted) {
      hasChanged = false
      const entries = await store.matches({ ...from, after, limit: from.batchMax })
      const last = entries.at(-1)
      if (last !== undefined) {
        after = last.seq
        yield entries
      } else if (!hasChanged && !signal.aborted) {
        const wait = new AbortController()
        wake = () => wait.abort()
        await clock.sleep(pollMs, wait.signal)
      }
    }
  } finally {
    stopListening()
    signal.removeEventListener("abort", onAbort)
  }
}
