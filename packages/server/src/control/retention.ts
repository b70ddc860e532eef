/**
 * Retention: what has been kept for its time is deleted, a little at a time.
 *
 *     every minute ─► each app with a log: trim a step · sleep · trim a step … done
 *                 └─► dead letters, ended connections, and once an hour posts, in the same way
 *
 * The sleep between two steps lets ingest run: the store has one writer. A cursor that is overtaken gets a gap marker in
 * the transaction that deletes its matches; here it is reported.
 *
 * Ages are measured by a time that believes no jump of the clock (`retention-time.ts`). Matches that a link has not
 * delivered yet are deleted last: they have a longer time of their own than those that only streams and replays could
 * still read.
 *
 * `config.ts` sets how long each kind is kept.
 */
import { firstIdAt, type AppId, type PostId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"
import { endedConnectionsMax } from "../store/bounds.ts"
import type { Leases } from "../store/leases.ts"
import type { Store } from "../store/store.ts"
import { dayOf, usageKeptDays } from "./limits/usage.ts"
import { RetentionTime } from "./retention-time.ts"

/** Trims the store. */
export interface Retention {
  /** Milliseconds by which the clock is ahead of the time by which matches are deleted; 0 when it is believed. */
  readonly clockAheadMs: number
  /** Passes over everything now and every minute, until aborted. Does not throw: a pass that fails is reported. */
  run(signal: AbortSignal): Promise<void>
}

/** Time between two passes. Posts are kept for days and a pass reads all of them, so it runs once an hour. */
const passMs = 60_000
const postPassMs = 3_600_000

const dayMs = 86_400_000

/** Most that one step deletes: a transaction of some milliseconds. Ours. */
const stepMax = 500

/** Most posts that one step of usage forgets: they are a few bytes each. Ours. */
const usageStepMax = 5_000

/** Between two steps. Ours. */
const pauseMs = 5

/**
 * Matches stay for so much longer than the retention. A replay begins at a whole minute, so it may include the minute
 * in which the retention ends: without this a part of that minute would be gone.
 */
const matchGraceMs = 60_000

/** How long a stream connection is listed after its end. Ours: X does not say. */
const connectionRetentionMs = 7 * 24 * 3_600_000

/** Dependencies and settings of retention. */
export interface RetentionDeps {
  readonly store: Store
  readonly leases: Pick<Leases, "has">
  readonly clock: Clock
  readonly events: Events
  readonly matchRetentionMs: number
  /** Retention of a match that a link has still to deliver; at least `matchRetentionMs`. */
  readonly undeliveredRetentionMs: number
  /** 0 keeps posts forever. */
  readonly postRetentionMs: number
  readonly deadLetterRetentionMs: number
  /** How long a deleted id is remembered. */
  readonly deletionsRememberedMs: number
  /** The operator's word that the clock is right, however far it is ahead of the store. */
  readonly believesClock: boolean
}

/** Retention over a store. */
export function createRetention(deps: RetentionDeps): Retention {
  const { store, leases, clock, events, matchRetentionMs, believesClock } = deps
  let aheadMs = 0

  /** The time that the store knows; nothing is deleted before it is read. */
  async function begin(signal: AbortSignal): Promise<RetentionTime | undefined> {
    while (!signal.aborted) {
      try {
        const known = await store.knownTime()
        return new RetentionTime(clock, { known, believesJump: believesClock, matchStandMs: matchRetentionMs })
      } catch (error) {
        events.failed({ where: "retention", error })
        await clock.sleep(passMs, signal)
      }
    }
    return undefined
  }

  function observe(time: RetentionTime): void {
    time.observe()
    const before = aheadMs
    aheadMs = time.aheadMs
    events.clockChecked({ aheadMs, isNews: aheadMs > 0 !== before > 0 })
  }

  return {
    get clockAheadMs() {
      return aheadMs
    },
    async run(signal) {
      const time = await begin(signal)
      if (time === undefined) return
      const pass = passesOf(deps, time)
      while (!signal.aborted) {
        observe(time)
        // Two processes that trim at the same time only do some of it twice.
        if (leases.has("retention")) await pass(signal)
        await clock.pause(passMs, signal)
      }
    },
  }
}

/** Takes steps until one is the last or `signal` is aborted. Returns how many things they deleted. */
async function takeSteps(
  clock: Clock,
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

/** Passes over everything, by what is believed of the time. */
function passesOf(deps: RetentionDeps, time: RetentionTime): (signal: AbortSignal) => Promise<void> {
  const { store, clock, events, matchRetentionMs, undeliveredRetentionMs, postRetentionMs } = deps
  const { deadLetterRetentionMs, deletionsRememberedMs } = deps
  const postTime = time.ofKind(postRetentionMs)
  const usageTime = time.ofKind(usageKeptDays * dayMs)
  const beginOf = (keptMs: number): (() => number) => {
    const kind = time.ofKind(keptMs)
    return () => kind.nowMs() - keptMs
  }
  const deadLettersFrom = beginOf(deadLetterRetentionMs)
  const connectionsFrom = beginOf(connectionRetentionMs)
  const deletionsFrom = beginOf(deletionsRememberedMs)
  let postsPassedAtMs: number | undefined

  async function trimLog(appId: AppId, signal: AbortSignal): Promise<number> {
    const keptFromMs = time.matchNowMs() - matchGraceMs
    const beforeMs = keptFromMs - matchRetentionMs
    const owedBeforeMs = keptFromMs - undeliveredRetentionMs
    return takeSteps(clock, signal, async () => {
      const step = await store.trimMatches(appId, { beforeMs, owedBeforeMs, limit: stepMax })
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

  /** Deletes what is older than its time. */
  async function trimOlder(
    signal: AbortSignal,
    beginMs: () => number,
    trim: (options: { readonly beforeMs: number; readonly limit: number }) => Promise<number>,
  ): Promise<number> {
    const beforeMs = beginMs()
    return takeSteps(clock, signal, async () => {
      const trimmed = await trim({ beforeMs, limit: stepMax })
      return { trimmed, isDone: trimmed < stepMax }
    })
  }

  async function trimPosts(signal: AbortSignal): Promise<number> {
    const beforeMs = postTime.nowMs() - postRetentionMs
    if (postRetentionMs === 0 || !isPostPassDue()) return 0
    let after: PostId | undefined
    const posts = await takeSteps(clock, signal, async () => {
      const { trimmed, next } = await store.trimPosts({ after, beforeMs, limit: stepMax })
      after = next
      return { trimmed, isDone: next === undefined }
    })
    await trimNames(beforeMs, signal)
    postsPassedAtMs = clock.monotonicMs()
    return posts
  }

  /**
   * Forgets the ids that were assigned to names of posts that are gone by now: not even a match or a dead letter keeps one
   * that is so old. A name is kept as long as a deletion is, so that a source that repeats a post finds its id.
   */
  async function trimNames(postsBeforeMs: number, signal: AbortSignal): Promise<void> {
    const goneBeforeMs = Math.min(postsBeforeMs, deadLettersFrom(), time.matchNowMs() - undeliveredRetentionMs)
    const below = firstIdAt(goneBeforeMs - deletionsRememberedMs).toString() as PostId
    await takeSteps(clock, signal, async () => {
      const trimmed = await store.trimAssignedNames(below, stepMax)
      return { trimmed, isDone: trimmed < stepMax }
    })
  }

  /** A count may come after midnight, so the posts of the day before are still known. */
  async function trimUsage(signal: AbortSignal): Promise<number> {
    const today = dayOf(usageTime.nowMs())
    const options = { beforeDay: today - usageKeptDays + 1, postsBeforeDay: today - 1, limit: usageStepMax }
    return takeSteps(clock, signal, async () => ({ trimmed: 0, isDone: await store.trimUsage(options) }))
  }

  function isPostPassDue(): boolean {
    return postsPassedAtMs === undefined || clock.monotonicMs() - postsPassedAtMs >= postPassMs
  }

  async function saveTime(): Promise<number> {
    await store.saveKnownTime(time.known)
    return 0
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

  return async (signal) => {
    // First: a start after this one must not take the time that passes now for a jump.
    await reported(saveTime)
    const matches = await reported(() => trimLogs(signal))
    const deadLetters = await reported(() =>
      trimOlder(signal, deadLettersFrom, (options) => store.trimDeadLetters(options)),
    )
    await reported(() => trimUsage(signal))
    await reported(() =>
      trimOlder(signal, connectionsFrom, (options) =>
        store.trimConnections({ ...options, keptMax: endedConnectionsMax }),
      ),
    )
    await reported(() => trimOlder(signal, deletionsFrom, (options) => store.forgetDeletions(options)))
    // Last: a post stays as long as a match or a dead letter needs it.
    const posts = await reported(() => trimPosts(signal))
    events.retentionPassed({ matches, posts, deadLetters })
  }
}
