/**
 * Deletions: of single posts and users when asked, and in the background of the rest.
 *
 *     delete ─► the store notes it, and deletes a part ──► pending? ─► another part · pause · … done
 *                                                                        │ a second without a deletion, or 30 s
 *                                                                        ▼
 *                                                         the files are cleared, as `store/erasure-time.ts` says
 *
 * A deletion is durable when `delete` resolves, and nothing of its post is shown from then on but for posts that others show
 * in very large numbers, and the posts of a user. One of several processes on a store does the rest. Retention forgets
 * deletions after their time.
 */
import type { DeletionOutcome, DeletionRequest } from "../model/deletion.ts"
import type { AppId, PostId, UserId } from "../model/ids.ts"
import { membersOf, textOf } from "../model/json-text.ts"
import { forbiddenPost } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"
import { ErasureTime } from "../store/erasure-time.ts"
import type { Leases } from "../store/leases.ts"
import type { Store } from "../store/store.ts"

/** Most deletions of one transaction. Ours: some milliseconds. */
const atOnceMax = 100

/** Between two parts, so that ingest runs. Ours. */
const pauseMs = 35

/** Between two looks at whether there is something to do. Ours. */
const pollMs = 200

/** After a step that failed. Ours. */
const failedPauseMs = 1_000

/** Between two parts that overwrite what deletions have left in the files, so that ingest runs. Ours. */
const overwritePauseMs = 300

/**
 * The same while deletions come without a pause, and nothing is left of them but their bytes: so that not more is left than
 * is overwritten. Ours.
 */
const busyOverwritePauseMs = 100

/** Between two checks whether something is pending that was not announced. Ours. */
const checkMs = 5_000

/** Deletes posts and users. */
export interface Deletions {
  /** Deletes posts and users, each id once. Returns what was there, in the order of the requests. */
  delete(requests: readonly DeletionRequest[]): Promise<readonly DeletionOutcome[]>
  /**
   * Deletes a post of a user, with all its versions. Returns false when it is not stored. Throws 403 for a post of another
   * user.
   */
  deleteOwn(id: PostId, caller: { readonly appId: AppId; readonly userId: UserId }): Promise<boolean>
  /** Does what deletions have left to do, until `signal` aborts. Never rejects: a step that fails is reported. */
  run(signal: AbortSignal): Promise<void>
}

/** Dependencies and settings of deletions. */
export interface DeletionDeps {
  readonly store: Pick<
    Store,
    "delete" | "continueDeletions" | "overwriteDeleted" | "eraseDeleted" | "onChange" | "post"
  >
  readonly leases: Pick<Leases, "has">
  readonly clock: Clock
  readonly events: Pick<Events, "failed" | "deletionsRequested">
}

/** Deletions over a store. */
export function createDeletions(deps: DeletionDeps): Deletions {
  const { store, clock, events } = deps
  const deletions: Deletions = {
    async deleteOwn(id, { appId, userId }) {
      const post = await store.post(id, appId)
      if (post === undefined) return false
      if (authorOf(post.json) !== userId) throw forbiddenPost("You are not allowed to delete this Tweet.")
      await deletions.delete([{ kind: "post", id }])
      return true
    },

    async delete(requests) {
      const unique = new Map(requests.map((request) => [keyOf(request), request]))
      const found = new Map<string, DeletionOutcome>()
      const all = [...unique.values()]
      for (let at = 0; at < all.length; at += atOnceMax) {
        const some = all.slice(at, at + atOnceMax)
        const outcomes = await store.delete(some, clock.nowMs())
        for (const [index, request] of some.entries())
          found.set(keyOf(request), outcomes[index] ?? { wasStored: false })
      }
      events.deletionsRequested({ way: "request", count: all.length })
      return requests.map((request) => found.get(keyOf(request)) ?? { wasStored: false })
    },
    run: (signal) => new Upkeep(deps).run(signal),
  }
  return deletions
}

/** The author of an envelope's post. */
function authorOf(envelope: string): string | undefined {
  return textOf(membersOf(membersOf(envelope).get("data") ?? "").get("author_id"))
}

function keyOf({ kind, id }: DeletionRequest): string {
  return `${kind} ${id}`
}

/** The work that deletions leave. */
class Upkeep {
  readonly #deps: DeletionDeps
  /** Something may be pending; so it is at the start. */
  #mayBePending = true
  /** Something may be left to erase; so it is at the start. */
  readonly #erasure = new ErasureTime()
  /** When the next part is overwritten, once the erasure is due. By the monotonic clock. */
  #overwritesAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: DeletionDeps) {
    this.#deps = deps
    this.#erasure.noteDeleted(deps.clock.monotonicMs())
  }

  async run(signal: AbortSignal): Promise<void> {
    const { store, leases, clock, events } = this.#deps
    const stopListening = store.onChange(({ kind }) => {
      if (kind !== "deletions") return
      this.#mayBePending = true
      this.#erasure.noteDeleted(clock.monotonicMs())
    })
    let checksAtMs = clock.monotonicMs() + checkMs
    while (!signal.aborted) {
      let waitMs = pollMs
      try {
        if (leases.has("retention")) {
          waitMs = await this.#step()
          if (clock.monotonicMs() >= checksAtMs) {
            // A hint of another process may be lost.
            this.#mayBePending = true
            checksAtMs = clock.monotonicMs() + checkMs
          }
        }
      } catch (error) {
        events.failed({ where: "deletions", error })
        // Perhaps the deletions of which the step was a part.
        this.#mayBePending = true
        waitMs = failedPauseMs
      }
      await clock.pause(waitMs, signal)
    }
    stopListening()
  }

  /**
   * Does a part, and returns how long to wait for the next one. Deletions that are pending go on between the parts of an
   * erasure: they may come without an end.
   */
  async #step(): Promise<number> {
    const nowMs = this.#deps.clock.monotonicMs()
    const isErasureDue = this.#erasure.isDue(nowMs)
    if (isErasureDue && nowMs >= this.#overwritesAtMs) {
      const waitMs = await this.#erase()
      this.#overwritesAtMs = this.#deps.clock.monotonicMs() + waitMs
      return this.#mayBePending ? pauseMs : Math.min(waitMs, pollMs)
    }
    if (!this.#mayBePending) return isErasureDue ? Math.min(this.#overwritesAtMs - nowMs, pollMs) : pollMs
    const isDone = await this.#continue()
    return isDone && !isErasureDue ? pollMs : pauseMs
  }

  /** Returns whether nothing is left. */
  async #continue(): Promise<boolean> {
    const { store, clock } = this.#deps
    this.#mayBePending = false
    const isDone = await store.continueDeletions(clock.nowMs())
    if (!isDone) this.#mayBePending = true
    return isDone
  }

  /** Returns how long to wait for the next part. */
  async #erase(): Promise<number> {
    const { store, clock } = this.#deps
    let isOverwritten = false
    await this.#erasure.erase(async () => {
      isOverwritten = await store.overwriteDeleted()
      // Readers in the way are gone at the next try.
      return isOverwritten && (await store.eraseDeleted())
    })
    if (isOverwritten) return pollMs
    const isQuiet = this.#erasure.isQuiet(clock.monotonicMs())
    return isQuiet || this.#mayBePending ? overwritePauseMs : busyOverwritePauseMs
  }
}
