/**
 * The two kinds of replays: where their entries come from, and under which ids they are delivered.
 *
 *     of the match log   follow up to the end          msg_<link>_<position>, as the first time
 *     of a backfill      what its search has found     replay_<job>_<number>
 */
import type { MatchSeq } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { PostShape } from "../../model/post.ts"
import type { Replay } from "../../model/replay.ts"
import { follow } from "../../store/follow.ts"
import type { AttemptResult } from "../sending/attempt.ts"
import type { LinkSender } from "../sending/sender.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"

/** Entries read at a time, and most bytes of them but for the last one's. Ours. */
const batchMax = 100
const batchBytesMax = 262_144

/** The entries of a replay, and how they are sent. */
export interface ReplaySource {
  /** Entries after a position up to the end of the replay, in batches that are not empty, until `signal`. */
  entries(after: MatchSeq, shape: PostShape, signal: AbortSignal): AsyncIterable<readonly MatchEntry[]>
  /** An entry as it is stored now; `undefined` when retention has deleted it. */
  entry(seq: MatchSeq, shape: PostShape): Promise<MatchEntry | undefined>
  /** One attempt. Never rejects for what the world does. */
  send(entry: Pick<MatchEntry, "seq" | "postId">, body: Uint8Array): Promise<AttemptResult>
  /** Notes that nothing of an entry can be sent. */
  refuseDamaged(seq: MatchSeq): void
}

/** Dependencies of a source. */
export interface ReplaySourceDeps extends Pick<SendingDeps, "store" | "clock"> {
  readonly sender: LinkSender
}

/** The source of a replay. */
export function sourceOf(replay: Replay, deps: ReplaySourceDeps): ReplaySource {
  return replay.backfill === undefined ? logSource(replay, deps) : backfillSource(replay, deps)
}

function logSource({ appId, endSeq }: Replay, { store, clock, sender }: ReplaySourceDeps): ReplaySource {
  return {
    entries: (after, shape, signal) => follow(store, clock, { appId, after, upTo: endSeq, shape, batchMax }, signal),
    entry: (seq, shape) => store.match(appId, seq, shape),
    send: (entry, body) => sender.send(entry, body),
    refuseDamaged: (seq) => void sender.refuseDamaged(seq),
  }
}

/** A post that a backfill found has no position in the log, so its attempts are not in the history of the link. */
function backfillSource({ id }: Replay, { store, sender }: ReplaySourceDeps): ReplaySource {
  return {
    async *entries(from, shape, signal) {
      for (let after = from; !signal.aborted;) {
        const found = await store.backfillMatches({ id, after, limit: batchMax, bytesMax: batchBytesMax, shape })
        const last = found.at(-1)
        if (last === undefined) return
        after = last.seq
        yield found
      }
    },
    async entry(seq, shape) {
      const after = (seq - 1) as MatchSeq
      const [found] = await store.backfillMatches({ id, after, limit: 1, bytesMax: 1, shape })
      return found?.seq === seq ? found : undefined
    },
    send: ({ seq, postId }, body) => sender.sendEvent(`replay_${id}_${seq}`, body, { postId }),
    refuseDamaged: () => undefined,
  }
}
