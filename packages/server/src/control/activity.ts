/**
 * The activity of the last hour, in steps of ten seconds, for all apps together and for each alone.
 *
 * It is for charts, not for accounts: kept in memory, bounded, and empty after a start. Counts come from the events that
 * metrics are made of, matches from the heads of the logs.
 */
import { LRUCache } from "lru-cache"
import type { AppId, MatchSeq } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"
import type { Store } from "../store/store.ts"

/** Length of a step. Ours: as often as links are measured. */
const stepMs = 10_000

/** Steps that are kept: an hour. */
const stepsMax = 360

/** Most apps with activity; beyond it the apps with the oldest events lose theirs. An app takes 7 KiB. Ours. */
const appsMax = 1_000

/** Time for which a report counts that rules of an app were skipped. */
const skippedMs = 3_600_000

const names = ["posts", "matches", "deliveries", "failures", "lag", "oldestUndeliveredAgeMs"] as const
type Name = (typeof names)[number]

/** Steps of one subject, oldest first, all lists equally long. The last one ended at `untilMs`, Unix time. */
export interface ActivitySeries extends Readonly<Record<Name, readonly number[]>> {
  readonly stepMs: number
  readonly untilMs: number
}

/** One ring for each name, and what has been counted since the last step. */
class Subject {
  readonly rings = Object.fromEntries(names.map((name) => [name, new Float32Array(stepsMax)])) as Record<
    Name,
    Float32Array
  >
  readonly counted = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>

  /** Ends the step `step`. Counters begin again; lag and age stay what they were measured to be. */
  end(step: number): void {
    for (const name of names) this.rings[name][step % stepsMax] = this.counted[name]
    for (const name of ["posts", "matches", "deliveries", "failures"] as const) this.counted[name] = 0
  }
}

/** Dependencies of the activity. */
interface ActivityDeps {
  readonly store: Pick<Store, "heads" | "recentPosts">
  readonly clock: Clock
}

/** The activity of the last hour. */
export class Activity {
  readonly #store: ActivityDeps["store"]
  readonly #clock: Clock
  readonly #startedMs: number
  readonly #all = new Subject()
  readonly #apps = new LRUCache<string, Subject>({ max: appsMax })
  readonly #skippedMs = new LRUCache<string, number>({ max: appsMax })
  /** Absent until they could be read. */
  #heads: ReadonlyMap<AppId, MatchSeq> | undefined
  #stepsEnded = 0
  #hasPosts = false

  private constructor({ store, clock }: ActivityDeps, heads: ReadonlyMap<AppId, MatchSeq> | undefined) {
    this.#store = store
    this.#clock = clock
    this.#heads = heads
    this.#startedMs = clock.monotonicMs()
  }

  /**
   * Begins to count. Earlier entries of the logs are not counted: begin before the first post is accepted. A log that cannot
   * be read stops no start: readiness reports it, and counting begins once it can be read.
   */
  static async begin(deps: ActivityDeps): Promise<Activity> {
    return new Activity(deps, await deps.store.heads().catch(() => undefined))
  }

  /** The same events, observed here too. */
  observe(events: Events): Events {
    return {
      ...events,
      postsAccepted: (event) => {
        this.#all.counted.posts += event.accepted
        events.postsAccepted(event)
      },
      attemptFinished: (event) => {
        const name = event.outcome === "delivered" ? "deliveries" : "failures"
        this.#all.counted[name] += 1
        this.#of(event.appId).counted[name] += 1
        events.attemptFinished(event)
      },
      linksMeasured: (event) => {
        this.#measured(event)
        events.linksMeasured(event)
      },
      rulesSkipped: (event) => {
        this.#skippedMs.set(event.appId, this.#clock.monotonicMs())
        events.rulesSkipped(event)
      },
    }
  }

  /** The last hour, or as much of it as the server has run, of an app or of all together. Posts are always all. */
  series(appId?: AppId): ActivitySeries {
    const subject = appId === undefined ? this.#all : (this.#apps.peek(appId) ?? new Subject())
    const count = Math.min(this.#stepsEnded, stepsMax)
    const listOf = (ring: Float32Array): number[] =>
      Array.from({ length: count }, (_, index) => ring[(this.#stepsEnded - count + index) % stepsMax] ?? 0)
    const lists = Object.fromEntries(names.map((name) => [name, listOf(subject.rings[name])])) as Record<Name, number[]>
    const sinceEndMs = this.#clock.monotonicMs() - this.#startedMs - this.#stepsEnded * stepMs
    return { ...lists, posts: listOf(this.#all.rings.posts), stepMs, untilMs: this.#clock.nowMs() - sinceEndMs }
  }

  /** True if any post is stored, or was. */
  async hasPosts(): Promise<boolean> {
    if (!this.#hasPosts) {
      const newest = this.#store.recentPosts({ limit: 1, bytesMax: 1 })[Symbol.asyncIterator]()
      this.#hasPosts = (await newest.next()).done !== true
      await newest.return?.()
    }
    return this.#hasPosts
  }

  /** True for an app whose rules were skipped within the last hour, because it had used its steps for a post. */
  skipsRules(appId: AppId): boolean {
    const atMs = this.#skippedMs.get(appId)
    return atMs !== undefined && this.#clock.monotonicMs() - atMs < skippedMs
  }

  /** Ends a step every ten seconds, until aborted. */
  async run(signal: AbortSignal, failed: (error: unknown) => void): Promise<void> {
    while (!signal.aborted) {
      const dueMs = this.#startedMs + (this.#stepsEnded + 1) * stepMs
      await this.#clock.pause(Math.max(0, dueMs - this.#clock.monotonicMs()), signal)
      if (signal.aborted) return
      // The chart has a step without matches; nothing else depends on it.
      await this.#countMatches().catch(failed)
      const due = Math.floor((this.#clock.monotonicMs() - this.#startedMs) / stepMs)
      // After a pause what was counted belongs to its last step; the steps before it are empty.
      while (this.#stepsEnded < due - 1) this.#endStep(false)
      this.#endStep(true)
    }
  }

  #endStep(isLast: boolean): void {
    const subjects = [this.#all, ...this.#apps.values()]
    for (const subject of subjects) {
      if (isLast) subject.end(this.#stepsEnded)
      else for (const name of names) subject.rings[name][this.#stepsEnded % stepsMax] = 0
    }
    this.#stepsEnded += 1
  }

  async #countMatches(): Promise<void> {
    const heads = await this.#store.heads()
    const before = this.#heads
    this.#heads = heads
    if (before === undefined) return
    for (const [appId, head] of heads) {
      const matches = head - (before.get(appId) ?? 0)
      if (matches <= 0) continue
      this.#of(appId).counted.matches += matches
      this.#all.counted.matches += matches
    }
  }

  #measured(event: Parameters<Events["linksMeasured"]>[0]): void {
    const { lag, oldestUndeliveredAgeMs, byApp } = event
    Object.assign(this.#all.counted, { lag, oldestUndeliveredAgeMs })
    for (const [appId, { counted }] of this.#apps.entries()) {
      Object.assign(counted, byApp.get(appId) ?? { lag: 0, oldestUndeliveredAgeMs: 0 })
    }
    for (const [appId, measured] of byApp) if (measured.lag > 0) Object.assign(this.#of(appId).counted, measured)
  }

  #of(appId: string): Subject {
    const known = this.#apps.get(appId)
    if (known !== undefined) return known
    const subject = new Subject()
    this.#apps.set(appId, subject)
    return subject
  }
}
