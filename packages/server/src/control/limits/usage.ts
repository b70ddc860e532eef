/**
 * Usage: how many posts each app got, each once per app and UTC day, whichever way it was read.
 *
 *     response, stream, delivery ──► ids in memory ── every 2 s, and at the end ──► the store, which knows those of today
 *
 * No reader waits for a count, so a process that is killed loses the counts of its last seconds: too few posts are counted
 * then, never too many. The store keeps counts of 90 days and ids of two.
 *
 * Each way of reading counts at one place: pages of posts in `http/routes/send-posts.ts`, streams in
 * `delivery/streams/stream-connection.ts`, and deliveries here, by the event of an attempt.
 */
import { usageDays } from "@sluice/api"
import type { App } from "../../model/app.ts"
import { asId, type AppId, type PostId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { DailyUsage, UsageReads, UsageWrites, UsedPosts } from "../../store/port/usage-store.ts"
import { limitsOf, type ServerLimits } from "./app-limits.ts"

const dayMs = 86_400_000

/** Time between two counts in the store: what a process that is killed loses. Ours. */
const pauseMs = 2_000

/** Most posts in one count of the store: a transaction of some milliseconds. Ours. */
const countMax = 5_000

/** Posts in memory, over all apps, at which they are counted at once. Ours. */
const countedEarlyFrom = 50_000

/** Most posts in memory, over all apps; more are not counted, and that is reported. Ours: some 100 MB. */
const waitingMax = 1_000_000

/** Longest that the usage of a month is taken as it was read: other processes add to it. Ours. */
const monthMsMax = 5_000

/** Most apps whose month is remembered; of more those that were read first are read again. Ours. */
const monthsMax = 10_000

/** The usage of an app. */
export interface AppUsage {
  /** The days that were asked for, oldest first; days without any posts are left out. */
  readonly days: readonly DailyUsage[]
  /** Posts of the month so far. */
  readonly month: number
}

/** Usage, as those who read posts for an app see it. */
export interface UsageCounts {
  /** Counts posts that an app got. Returns at once. */
  count(appId: AppId, postIds: Iterable<PostId>): void
  /** Whether the app has got as many posts in this month as it may. */
  isCapped(app: Pick<App, "id" | "limits">): Promise<boolean>
}

/** Dependencies of usage. */
interface UsageDeps {
  readonly store: UsageReads & Pick<UsageWrites, "countUsage">
  readonly clock: Clock
  readonly limits: ServerLimits
  readonly events: Pick<Events, "failed">
}

/** Counts usage. */
export class Usage implements UsageCounts {
  readonly #deps: UsageDeps
  /** Posts that are to be counted, by day and app. */
  readonly #waiting = new Map<number, Map<AppId, Set<PostId>>>()
  #waitingCount = 0
  /** Posts that found no room since the last report. */
  #dropped = 0
  #flushing: Promise<void> = Promise.resolve()
  /** The store did not count what waited last: it is not asked again before its time. */
  #hasFailed = false
  #wake = new AbortController()
  /** Posts of this month that the store has counted. */
  readonly #months = new Map<AppId, { readonly fromDay: number; readonly posts: number; readonly atMs: number }>()

  constructor(deps: UsageDeps) {
    this.#deps = deps
  }

  /** The same events, observed here too: a delivery counts when it has arrived. */
  observe(events: Events): Events {
    return {
      ...events,
      attemptFinished: (event) => {
        const { appId, outcome, postId } = event
        if (outcome === "delivered" && postId !== undefined) this.count(asId(appId), [asId<PostId>(postId)])
        events.attemptFinished(event)
      },
    }
  }

  count(appId: AppId, postIds: Iterable<PostId>): void {
    const posts = this.#waitingOf(dayOf(this.#deps.clock.nowMs()), appId)
    const before = posts.size
    for (const id of postIds) {
      if (this.#waitingCount + posts.size - before < waitingMax) posts.add(id)
      else this.#dropped += 1
    }
    this.#waitingCount += posts.size - before
    if (this.#waitingCount >= countedEarlyFrom && !this.#hasFailed) this.#wake.abort()
  }

  /** Usage of an app, what waits in this process included. `days`: how many, this one among them. */
  async of(app: Pick<App, "id" | "limits">, days: number): Promise<AppUsage> {
    await this.flush()
    const today = dayOf(this.#deps.clock.nowMs())
    const first = today - days + 1
    const monthFrom = this.#monthFrom()
    const all = await this.#deps.store.usage(app.id, { fromDay: Math.min(first, monthFrom), toDay: today })
    return { days: all.filter(({ day }) => day >= first), month: sumFrom(all, monthFrom) }
  }

  async isCapped(app: Pick<App, "id" | "limits">): Promise<boolean> {
    const { postsPerMonthMax: max } = limitsOf(this.#deps.limits, app)
    if (max === undefined) return false
    const waiting = this.#waiting.values().reduce((sum, apps) => sum + (apps.get(app.id)?.size ?? 0), 0)
    if ((await this.#month(app.id)) + waiting < max) return false
    // Some that wait may have been counted today already.
    if (waiting > 0) await this.flush()
    return (await this.#month(app.id)) >= max
  }

  /** Has the store count all that waits. Does not reject: what it did not count goes on waiting, and that is reported. */
  async flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#flushAll())
    await this.#flushing
  }

  /** Counts every two seconds until aborted, and then once more. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.clock.pause(pauseMs, AbortSignal.any([signal, this.#wake.signal]))
      this.#wake = new AbortController()
      await this.flush()
    }
  }

  /** Posts that wait to be counted. */
  get waiting(): number {
    return this.#waitingCount
  }

  #waitingOf(day: number, appId: AppId): Set<PostId> {
    const apps = this.#waiting.get(day) ?? new Map<AppId, Set<PostId>>()
    this.#waiting.set(day, apps)
    const posts = apps.get(appId) ?? new Set<PostId>()
    apps.set(appId, posts)
    return posts
  }

  async #flushAll(): Promise<void> {
    const { store, events } = this.#deps
    try {
      for (let part = this.#nextPart(); part.length > 0; part = this.#nextPart()) {
        await store.countUsage(part)
        for (const used of part) this.#remove(used)
      }
      this.#hasFailed = false
    } catch (error) {
      this.#hasFailed = true
      events.failed({ where: "usage", error })
    }
    if (this.#dropped === 0) return
    const error = new Error(`${this.#dropped} posts were not counted: too many waited for the store`)
    this.#dropped = 0
    events.failed({ where: "usage", error })
  }

  #nextPart(): readonly UsedPosts[] {
    const part: UsedPosts[] = []
    let room = countMax
    for (const [day, apps] of this.#waiting) {
      for (const [appId, posts] of apps) {
        if (room === 0) return part
        const postIds = [...posts.values().take(room)]
        room -= postIds.length
        part.push({ appId, day, postIds })
      }
    }
    return part
  }

  #remove({ appId, day, postIds }: UsedPosts): void {
    const apps = this.#waiting.get(day)
    const posts = apps?.get(appId)
    for (const id of postIds) if (posts?.delete(id) === true) this.#waitingCount -= 1
    if (posts?.size === 0) apps?.delete(appId)
    if (apps?.size === 0) this.#waiting.delete(day)
    this.#months.delete(appId)
  }

  async #month(appId: AppId): Promise<number> {
    const { store, clock } = this.#deps
    const fromDay = this.#monthFrom()
    const known = this.#months.get(appId)
    if (known?.fromDay === fromDay && clock.monotonicMs() - known.atMs < monthMsMax) return known.posts
    const posts = sumFrom(await store.usage(appId, { fromDay, toDay: dayOf(clock.nowMs()) }), fromDay)
    this.#months.delete(appId)
    this.#months.set(appId, { fromDay, posts, atMs: clock.monotonicMs() })
    for (const [oldest] of this.#months) {
      if (this.#months.size <= monthsMax) break
      this.#months.delete(oldest)
    }
    return posts
  }

  /** The first day of this month of usage. */
  #monthFrom(): number {
    return dayOf(monthBegin(this.#deps.clock.nowMs(), this.#deps.limits.capResetDay))
  }
}

/** Days since 1970 of a moment, in UTC. */
export function dayOf(atMs: number): number {
  return Math.floor(atMs / dayMs)
}

/** The beginning of a day as Unix ms. */
export function beginOfDay(day: number): number {
  return day * dayMs
}

/** The beginning of the month of usage in which a moment is, as Unix ms. */
export function monthBegin(atMs: number, resetDay: number): number {
  const at = new Date(atMs)
  const isBefore = at.getUTCDate() < resetDay
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - (isBefore ? 1 : 0), resetDay)
}

/** The end of that month, as Unix ms. */
export function monthEnd(atMs: number, resetDay: number): number {
  const begin = new Date(monthBegin(atMs, resetDay))
  return Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1, resetDay)
}

function sumFrom(days: readonly DailyUsage[], fromDay: number): number {
  return days.reduce((sum, { day, posts }) => sum + (day >= fromDay ? posts : 0), 0)
}

/** Days of which the numbers are kept. */
export const usageKeptDays = usageDays.max
