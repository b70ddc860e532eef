/**
 * Retention: what has been kept for its time is deleted, a little at a time.
 *
 *     every minute ─► each app with a log: trim a step · sleep · trim a step … done
 *                 └─► dead letters, and once an hour posts, in the same way
 *
 * The sleep between two steps lets ingest run: the store has one writer. A cursor that is overtaken gets a gap marker in
 * the transaction that deletes its matches; here it is reported.
 *
 * Ages are measured by a clock that may step. A step back only keeps things longer. A step forward would delete in one
 * pass what readers had a day to read, so it counts only after it has lasted for the whole retention; until then ages
 * are measured by the monotonic clock.
 *
 * `config.ts` sets how long each kind is kept.
 */
import type { AppId, PostId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Leases } from "../store/leases.ts"
import type { Store } from "../store/store.ts"

/** Trims the store. */
export interface Retention {
  /** Passes over everything now and every minute, until aborted. Does not throw: a pass that fails is reported. */
  run(signal: AbortSignal): Promise<void>
}

/** Time between two passes. Posts are kept for days and a pass reads all of them, so it runs once an hour. */
const passMs = 60_000
const postPassMs = 3_600_000

/** Most that one step deletes: a transaction of some milliseconds. Ours. */
const stepMax = 500

/** Between two steps. Ours. */
const pauseMs = 5

/**
 * Matches stay for so much longer than the retention. A replay begins at a whole minute, so it may include the minute
 * in which the retention ends: without this a part of that minute would be gone.
 */
const matchGraceMs = 60_000

/** Retention over a store. */
export function createRetention(deps: {
  store: Store
  leases: Pick<Leases, "has">
  clock: Clock
  events: Events
  matchRetentionMs: number
  /** 0 keeps posts forever. */
  postRetentionMs: number
  deadLetterRetentionMs: number
}): Retention {
  const { store, leases, clock, events, matchRetentionMs, postRetentionMs, deadLetterRetentionMs } = deps
  const matchAges = new CautiousTime(clock, matchRetentionMs)
  const postAges = new CautiousTime(clock, postRetentionMs)
  const deadLetterAges = new CautiousTime(clock, deadLetterRetentionMs)
  let postsPassedAtMs: number | undefined

  /** Takes steps until one is the last or `signal` is aborted. Returns how many things they deleted. */
  async function inSteps(
    signal: AbortSignal,
    step: () => Promise<{ readonly trimmed: number; readonly isDone: boolean }>,
  ): Promise<number> {
    let count = 0
    while (!signal.aborted) {
      const { trimmed, isDone } = await step()
      count += trimmed
      if (isDone) break
      await clock.sleep(pauseMs, signal)
    }
    return count
  }

  async function trimLog(appId: AppId, signal: AbortSignal): Promise<number> {
    const beforeMs = matchAges.nowMs() - matchRetentionMs - matchGraceMs
    return inSteps(signal, async () => {
      const step = await store.trimMatches(appId, { beforeMs, limit: stepMax })
      for (const { webhookId, from, to } of step.gaps) events.gapMade({ webhookId, from, to })
      return step
    })
  }

  async function trimLogs(signal: AbortSignal): Promise<number> {
    let matches = 0
    for (const appId of (await store.heads()).keys()) {
      if (signal.aborted) break
      // One app's failure must not let the logs of others grow.
      matches += await reported(() => trimLog(appId, signal))
    }
    return matches
  }

  async function trimDeadLetters(signal: AbortSignal): Promise<number> {
    const beforeMs = deadLetterAges.nowMs() - deadLetterRetentionMs
    return inSteps(signal, async () => {
      const trimmed = await store.trimDeadLetters({ beforeMs, limit: stepMax })
      return { trimmed, isDone: trimmed < stepMax }
    })
  }

  async function trimPosts(signal: AbortSignal): Promise<number> {
    const beforeMs = postAges.nowMs() - postRetentionMs
    if (postRetentionMs === 0 || !isPostPassDue()) return 0
    let after: PostId | undefined
    const posts = await inSteps(signal, async () => {
      const { trimmed, next } = await store.trimPosts({ after, beforeMs, limit: stepMax })
      after = next
      return { trimmed, isDone: next === undefined }
    })
    postsPassedAtMs = clock.monotonicMs()
    return posts
  }

  function isPostPassDue(): boolean {
    return postsPassedAtMs === undefined || clock.monotonicMs() - postsPassedAtMs >= postPassMs
  }

  /** Returns 0 and reports the error when it fails; the next pass tries again. */
  async function reported(trim: () => Promise<number>): Promise<number> {
    try {
      return await trim()
    } catch (error) {
      events.failed({ where: "retention", error })
      return 0
    }
  }

  async function pass(signal: AbortSignal): Promise<void> {
    const matches = await reported(() => trimLogs(signal))
    const deadLetters = await reported(() => trimDeadLetters(signal))
    // Last: a post stays as long as a match or a dead letter needs it.
    const posts = await reported(() => trimPosts(signal))
    events.retentionPassed({ matches, posts, deadLetters })
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        // Two processes that trim at the same time only do some of it twice.
        if (leases.has("retention")) await pass(signal)
        await clock.sleep(passMs, signal)
      }
    },
  }
}

/** Smaller steps than this are corrections, and taken as they come. */
const stepMsMin = 60_000

/** The time of a clock, whose steps forward count once they have lasted for `standMs`. */
class CautiousTime {
  readonly #clock: Clock
  readonly #standMs: number
  /** Unix time at 0 of the monotonic clock, as far as it is trusted. */
  #epochMs: number
  /** Since when the clock has been ahead, by the monotonic clock. */
  #aheadSinceMs: number | undefined

  constructor(clock: Clock, standMs: number) {
    this.#clock = clock
    this.#standMs = standMs
    this.#epochMs = clock.nowMs() - clock.monotonicMs()
  }

  /** Unix time, whole ms. To be called regularly: a step is noticed only by a call. */
  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs()
    const epochMs = this.#clock.nowMs() - monotonicMs
    if (epochMs <= this.#epochMs + stepMsMin) {
      this.#aheadSinceMs = undefined
      this.#epochMs = epochMs
    } else {
      this.#aheadSinceMs ??= monotonicMs
      if (monotonicMs - this.#aheadSinceMs >= this.#standMs) this.#epochMs = epochMs
    }
    // The monotonic clock counts parts of milliseconds, and the store keeps whole ones.
    return Math.floor(this.#epochMs + monotonicMs)
  }
}
