/**
 * Retention: what has been kept for its time goes, a little at a time.
 *
 *     every minute ─► each app with a log: trim a step · sleep · trim a step … done
 *                 └─► dead letters, and once an hour posts, in the same way
 *
 * The sleep between two steps lets ingest have its turn: the store has one writer. A cursor that is overtaken gets
 * a gap marker in the transaction that takes its matches; here it is told.
 *
 * Ages are those of a clock that may step. A step back only keeps things longer. A step forward would take away in
 * one pass what everybody had a day to read, so it is not believed before it has stood for the whole retention;
 * until then ages are counted by the clock that never steps.
 */
import type { AppId, PostId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Store, TrimmedMatches } from "../store/store.ts"

/** Trims the store. */
export interface Retention {
  /** Passes over everything now and every minute, until aborted. Does not throw: a pass that fails is told. */
  run(signal: AbortSignal): Promise<void>
}

/** Time between two passes. Posts are kept for days, and each look at them is a look at all, so it comes once an hour. */
const passMs = 60_000
const postPassMs = 3_600_000

/** Most that one step takes away: a transaction of some milliseconds. Ours. */
const stepMax = 500

/** Between two steps. Ours. */
const pauseMs = 5

/**
 * Matches stay for so much longer than the retention. Replays are asked for by the minute, so one may begin with the
 * whole of the minute that the retention reaches into: without this a part of it would be gone.
 */
const matchGraceMs = 60_000

/** Retention over a store. */
export function createRetention(deps: {
  store: Store
  clock: Clock
  events: Events
  matchRetentionMs: number
  /** 0 keeps posts for ever. */
  postRetentionMs: number
  deadLetterRetentionMs: number
}): Retention {
  const { store, clock, events, matchRetentionMs, postRetentionMs, deadLetterRetentionMs } = deps
  const matchAges = new CautiousTime(clock, matchRetentionMs)
  const postAges = new CautiousTime(clock, postRetentionMs)
  const deadLetterAges = new CautiousTime(clock, deadLetterRetentionMs)
  let postsPassedAtMs: number | undefined

  function tellGaps({ gaps }: TrimmedMatches): void {
    for (const { webhookId, from, to } of gaps) events.gapMade({ webhookId, from, to })
  }

  async function trimLog(appId: AppId, signal: AbortSignal): Promise<number> {
    const beforeMs = matchAges.nowMs() - matchRetentionMs - matchGraceMs
    let matches = 0
    while (!signal.aborted) {
      const step = await store.trimMatches(appId, { beforeMs, limit: stepMax })
      tellGaps(step)
      matches += step.trimmed
      if (step.isDone) break
      await clock.sleep(pauseMs, signal)
    }
    return matches
  }

  async function trimLogs(signal: AbortSignal): Promise<number> {
    let matches = 0
    for (const appId of (await store.heads()).keys()) {
      if (signal.aborted) break
      // One app's failure is no reason for the others' logs to grow.
      matches += await told(() => trimLog(appId, signal))
    }
    return matches
  }

  async function trimDeadLetters(signal: AbortSignal): Promise<number> {
    const beforeMs = deadLetterAges.nowMs() - deadLetterRetentionMs
    let deadLetters = 0
    while (!signal.aborted) {
      const trimmed = await store.trimDeadLetters({ beforeMs, limit: stepMax })
      deadLetters += trimmed
      if (trimmed < stepMax) break
      await clock.sleep(pauseMs, signal)
    }
    return deadLetters
  }

  async function trimPosts(signal: AbortSignal): Promise<number> {
    const beforeMs = postAges.nowMs() - postRetentionMs
    if (postRetentionMs === 0 || !isPostPassDue()) return 0
    let posts = 0
    let after: PostId | undefined
    do {
      const step = await store.trimPosts({ after, beforeMs, limit: stepMax })
      posts += step.trimmed
      after = step.next
      if (after !== undefined) await clock.sleep(pauseMs, signal)
    } while (after !== undefined && !signal.aborted)
    postsPassedAtMs = clock.monotonicMs()
    return posts
  }

  function isPostPassDue(): boolean {
    return postsPassedAtMs === undefined || clock.monotonicMs() - postsPassedAtMs >= postPassMs
  }

  /** 0 when it fails, which is told; the next pass tries again. */
  async function told(trim: () => Promise<number>): Promise<number> {
    try {
      return await trim()
    } catch (error) {
      events.failed({ where: "retention", error })
      return 0
    }
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        const matches = await told(() => trimLogs(signal))
        const deadLetters = await told(() => trimDeadLetters(signal))
        // Last: a post stays as long as a match or a dead letter needs it.
        const posts = await told(() => trimPosts(signal))
        events.retentionPassed({ matches, posts, deadLetters })
        await clock.sleep(passMs, signal)
      }
    },
  }
}

/** Smaller steps than this are corrections, and taken as they come. */
const stepMsMin = 60_000

/** The time of a clock, whose steps forward count once they have stood for `standMs`. */
class CautiousTime {
  readonly #clock: Clock
  readonly #standMs: number
  /** Unix time at 0 of the clock that never steps, as it is believed. */
  #epochMs: number
  /** Since when the clock has been ahead, by the one that never steps. */
  #aheadSinceMs: number | undefined

  constructor(clock: Clock, standMs: number) {
    this.#clock = clock
    this.#standMs = standMs
    this.#epochMs = clock.nowMs() - clock.monotonicMs()
  }

  /** Unix time. Ask again and again: a step is only seen when it is. */
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
    return this.#epochMs + monotonicMs
  }
}
