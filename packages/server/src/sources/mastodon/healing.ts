/**
 * Reads timelines upwards from the newest status that is stored, until the live events go on from there.
 *
 *     newest stored ─► page of 40 above it ─► page ─► … ─► a page that is not full, up to a new status that is held from the
 *                                              │           live stream, or nothing more
 *                                              └─ more than `healMax`: marked as a gap, and on with the newest page
 *
 * A subscription is not confirmed, so for its first two seconds an empty page proves nothing.
 * Source: mastodon/documentation, "timelines": `min_id` gives the statuses immediately above an id.
 */
import type { Clock } from "../../runtime/clock.ts"
import { arrivalOfStatus } from "../../conversion/foreign-ids.ts"
import { itemsOf, memberOf } from "../../conversion/records.ts"
import { isDateTime } from "../../model/date-time.ts"
import type { RecordSink } from "../positioned/positioned-source.ts"
import type { HeldEvents } from "./held-events.ts"
import { InstanceRefused } from "./instance-refusals.ts"
import type { InstanceRequests } from "./instance-requests.ts"
import {
  compareStatusIds,
  idAtTime,
  idBefore,
  isStatusId,
  newStatusMs,
  type MastodonPosition,
} from "./mastodon-position.ts"
import type { RecordLines } from "./record-lines.ts"
import type { MastodonStream } from "./streams.ts"

/** Statuses of a page. Source: mastodon/documentation, "timelines": the most. */
const pageSize = 40

/** Statuses come a little out of order, so a timeline is read again from so long before the newest one. Ours. */
const rewindMs = 10_000

/** A subscription counts as made after this time. Ours: there is no answer to it. */
const subscribedMs = 2_000

/** Shortest wait when the instance limits requests, which may not say until when, or by another clock. Ours. */
const limitedMs = 5_000

/** Gaps that are shorter are not marked for lost edits and deletions. Ours. */
const unmarkedMs = 60_000

/** Dependencies of the healing. */
export interface HealingDeps {
  readonly requests: InstanceRequests
  readonly lines: RecordLines
  readonly held: HeldEvents
  readonly sink: RecordSink
  readonly clock: Clock
  /** The position from which the source is read. */
  readonly position: MastodonPosition
  readonly healMax: number
  /** When the streams were subscribed to, Unix ms. */
  readonly subscribedAtMs: number
}

/** A status of a timeline. */
interface TimelineStatus {
  readonly id: string
  readonly status: unknown
}

/**
 * Reads all that the streams have brought since the position, and marks what cannot be read. Live events go on behind it:
 * none of those that are held is dropped any more.
 */
export async function healStreams(
  streams: readonly MastodonStream[],
  deps: HealingDeps,
  signal: AbortSignal,
): Promise<void> {
  const { held, position, subscribedAtMs, sink } = deps
  let isFirst = true
  let drops: number
  do {
    // Held posts that are dropped meanwhile are in the timelines: those are read once more.
    drops = held.drops
    for (const stream of streams) await new Healing(stream, deps, signal).run(isFirst)
    isFirst = false
  } while (held.drops !== drops)
  held.keepAll()
  const { atMs } = position
  if (atMs === undefined || subscribedAtMs - atMs <= unmarkedMs) return
  await sink.gap({
    fromMs: atMs,
    toMs: subscribedAtMs,
    reason: "Edits and deletions of this time are lost: the instance gives posts afterwards, and never those.",
  })
}

/** The healing of one stream. */
class Healing {
  readonly #stream: MastodonStream
  readonly #deps: HealingDeps
  readonly #signal: AbortSignal

  constructor(stream: MastodonStream, deps: HealingDeps, signal: AbortSignal) {
    this.#stream = stream
    this.#deps = deps
    this.#signal = signal
  }

  async run(isFirst: boolean): Promise<void> {
    try {
      const after = await this.#begin(isFirst)
      if (after !== undefined) await this.#readFrom(after)
    } catch (error) {
      if (!(error instanceof InstanceRefused) || ![403, 404, 422].includes(error.status)) throw error
      await this.#noteUnreadable(error)
    }
  }

  /** The id above which the timeline is read; undefined for an empty one. */
  async #begin(isFirst: boolean): Promise<string | undefined> {
    const { lines, position, sink, subscribedAtMs } = this.#deps
    const { name } = this.#stream
    const newest = lines.newest(name)
    if (newest !== undefined) return isFirst ? idBefore(newest, rewindMs) : newest
    const [last] = await this.#page({ limit: "1" })
    if (last === undefined) return undefined
    const fromMs = position.fromMs ?? position.atMs
    const after = fromMs === undefined ? undefined : idAtTime(fromMs, last.id)
    if (after !== undefined) return after
    lines.note({ stream: name, id: last.id })
    if (fromMs !== undefined) {
      const reason = `Posts of the stream ${name} cannot be read from a time on: the ids of the instance do not tell theirs.`
      await sink.gap({ fromMs, toMs: subscribedAtMs, reason })
    }
    return last.id
  }

  async #readFrom(start: string): Promise<void> {
    const { held, clock, healMax, subscribedAtMs } = this.#deps
    let after = start
    let taken = 0
    for (;;) {
      const isSubscribed = clock.nowMs() - subscribedAtMs >= subscribedMs
      const page = await this.#page({ min_id: after, limit: String(pageSize) }, after)
      const last = page.at(-1)
      if (last === undefined) {
        if (isSubscribed) return
        await clock.sleep(Math.max(0, subscribedAtMs + subscribedMs - clock.nowMs()), this.#signal)
        this.#signal.throwIfAborted()
        continue
      }
      await this.#take(page)
      after = last.id
      // A held post may be some seconds late: behind a full page others follow that are not held.
      if (page.length < pageSize && held.hasFrom(this.#stream.name, after)) return
      if (this.#isSinceSubscribed(after)) return
      taken += page.length
      if (taken < healMax) continue
      taken = 0
      after = await this.#skipTo(last)
    }
  }

  /** Whether a status has come well after the subscription, by its id: so later ones are held, though the clocks may differ. */
  #isSinceSubscribed(id: string): boolean {
    const arrivedMs = arrivalOfStatus(id)
    return arrivedMs !== undefined && arrivedMs - this.#deps.subscribedAtMs >= subscribedMs + newStatusMs
  }

  /** Takes the newest page, and marks what is between. Returns the id of the newest status. */
  async #skipTo(last: TimelineStatus): Promise<string> {
    const page = await this.#page({ limit: String(pageSize) }, last.id)
    const first = page[0]
    if (first === undefined) return last.id
    // A page that is not full ends at the last status, so nothing is between.
    if (page.length >= pageSize) await this.#noteSkipped(last, first)
    await this.#take(page)
    return page.at(-1)?.id ?? last.id
  }

  async #noteSkipped(last: TimelineStatus, first: TimelineStatus): Promise<void> {
    const { sink, healMax } = this.#deps
    const [fromMs, toMs] = [timeOf(last), timeOf(first)]
    await sink.gap({
      ...(fromMs !== undefined && { fromMs }),
      ...(toMs !== undefined && { toMs }),
      reason: `The stream ${this.#stream.name} had more than ${healMax} posts while it was not read. Those beyond it were left out; healMax sets the bound.`,
    })
  }

  async #noteUnreadable({ message }: InstanceRefused): Promise<void> {
    const { sink, position, subscribedAtMs } = this.#deps
    const fromMs = position.fromMs ?? position.atMs
    if (fromMs === undefined) return
    const reason = `The timeline of the stream ${this.#stream.name} cannot be read. ${message}`
    await sink.gap({ fromMs, toMs: subscribedAtMs, reason })
  }

  async #take(page: readonly TimelineStatus[]): Promise<void> {
    const { lines, clock } = this.#deps
    const stream = this.#stream.name
    for (const { id, status } of page) {
      this.#signal.throwIfAborted()
      const place = { stream, post: { stream, id }, receivedMs: clock.nowMs(), bytes: 0 }
      await lines.write({ ...place, event: "update", payload: status })
    }
  }

  /** Statuses of the timeline, the oldest first, those up to `after` left out. */
  async #page(query: Readonly<Record<string, string>>, after = ""): Promise<readonly TimelineStatus[]> {
    const { timeline, timelineQuery } = this.#stream
    const path = `/api/v1/timelines/${timeline}`
    const statuses = itemsOf(await this.#get(path, { ...timelineQuery, ...query }))
    return statuses
      .flatMap((status) => {
        const id = memberOf(status, "id")
        return isStatusId(id) && compareStatusIds(id, after) > 0 ? [{ id, status }] : []
      })
      .toSorted((a, b) => compareStatusIds(a.id, b.id))
  }

  async #get(path: string, query: Readonly<Record<string, string>>): Promise<unknown> {
    const { requests, clock } = this.#deps
    for (;;) {
      try {
        return await requests.get(path, query, this.#signal)
      } catch (error) {
        if (!(error instanceof InstanceRefused) || error.status !== 429) throw error
        await clock.sleep(Math.max(error.waitMs, limitedMs), this.#signal)
      }
    }
  }
}

/** When the instance got the status, else when it was written. */
function timeOf({ id, status }: TimelineStatus): number | undefined {
  const createdAt = memberOf(status, "created_at")
  const createdMs = typeof createdAt === "string" && isDateTime(createdAt) ? Date.parse(createdAt) : undefined
  return arrivalOfStatus(id) ?? createdMs
}
