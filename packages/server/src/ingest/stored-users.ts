/**
 * The users of posts that were stored before users were kept: taken once after an upgrade, while posts come in.
 *
 *     position ─► the next posts, newest first ─► their users, by the rule of new posts ─► position, in one transaction
 *        ▲                                                                                   │ pause
 *        └───────────────────────────────────────────────────────────────────────────────────┘
 *
 * The position lies in the store, so a restart goes on where the pass was, and a pass that is done never runs again. A
 * damaged post brings no users. One of several processes on a store takes them.
 */
import { asId, type PostId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"
import type { Leases } from "../store/leases.ts"
import type { PostStore } from "../store/port/post-store.ts"
import { lastScanned } from "../store/posts-scan.ts"
import type { UserReads, UserWrites } from "../store/port/user-store.ts"
import { readEnvelope } from "./read-envelope.ts"

/** Most posts of a step. Ours: some milliseconds. */
const stepPostsMax = 50

/** Most bytes of the posts of a step; the last one may go over it. Ours. */
const stepBytesMax = 262_144

/** Between two steps, so that ingest and requests run. Ours: a million posts take some minutes. */
const pauseMs = 10

/** Before the next try after a failure, and between two looks at what another process does. Ours. */
const waitMs = 5_000

/** Dependencies of the pass. */
export interface StoredUsersDeps {
  readonly store: Pick<PostStore, "posts"> & Pick<UserReads, "userFill"> & UserWrites
  readonly leases: Pick<Leases, "has">
  readonly clock: Clock
  readonly events: Pick<Events, "failed" | "storedUsersBegun" | "storedUsersTaken">
}

/** Takes the users of stored posts, if that is still to be done. Resolves when it is, or `signal` aborts; never rejects. */
export async function takeStoredUsers(deps: StoredUsersDeps, signal: AbortSignal): Promise<void> {
  const { store, leases, clock, events } = deps
  let posts: number | undefined
  while (!signal.aborted) {
    try {
      const upTo = await store.userFill()
      if (upTo === undefined) break
      if (!leases.has("retention")) {
        await clock.sleep(waitMs, signal)
        continue
      }
      if (posts === undefined) events.storedUsersBegun({ upTo })
      posts = (posts ?? 0) + (await takeStep(deps, upTo))
      await clock.sleep(pauseMs, signal)
    } catch (error) {
      events.failed({ where: "users of stored posts", error })
      await clock.sleep(waitMs, signal)
    }
  }
  if (posts !== undefined && !signal.aborted) events.storedUsersTaken({ posts })
}

/** Returns how many posts it has read. */
async function takeStep({ store, clock }: StoredUsersDeps, upTo: PostId): Promise<number> {
  const from = asId<PostId>(String(BigInt(upTo) + 1n))
  const range = { direction: "older", from, limit: stepPostsMax, bytesMax: stepBytesMax } as const
  const scan = await store.posts(range)
  const posts = scan.posts.flatMap(({ json }) => {
    const read = readEnvelope(json, clock.nowMs())
    return read.ok ? [read.post] : []
  })
  await store.takeUsers(posts, before(lastScanned(scan, range)))
  return scan.posts.length
}

/** The greatest id that is still to be read; undefined after the last post. */
function before(lowest: PostId | undefined): PostId | undefined {
  return lowest === undefined || lowest === "0" ? undefined : asId<PostId>(String(BigInt(lowest) - 1n))
}
