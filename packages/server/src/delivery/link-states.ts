/**
 * How links stand: one by one for whoever asks, and summed up for the metrics.
 *
 * A run of a link knows better than the store, which hears of everything a little later; what no run knows comes from
 * the store. Nothing is left out of the sums: a link whose webhook is invalid, or whose run fails, counts like others.
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import type { LinkState } from "@sluice/api"
import { beforeFirstMatch, type LinkId, type MatchSeq } from "../model/ids.ts"
import type { LinkToDeliver } from "../model/link.ts"
import type { Clock } from "../runtime/clock.ts"
import type { LinksMeasured } from "../runtime/events.ts"
import type { Store } from "../store/store.ts"
import { LinkCursor } from "./link-cursor.ts"
import type { LinkCounters } from "./link-memory.ts"
import type { WebhookLink } from "./webhook-link.ts"

/** A link with its present run, and what is remembered over all its runs. */
export interface LinkAtWork {
  readonly link: LinkToDeliver
  readonly current: WebhookLink | undefined
  readonly counters: LinkCounters
}

/** Most links that are read about in one turn of the event loop, since reads do not leave it. */
const readsPerTurn = 50

/** Most links that are looked at in one turn. */
const looksPerTurn = 1_000

/** Least time between two counts of a link's dead letters, for the sums: there may be very many. */
const countMs = 60_000

/** Gap markers that a state shows. A link that is slower than its log gets a new one at each pass of retention. */
const gapsMax = 100

/** How far a link was, so that one which stands still costs no reads. */
interface Reached {
  readonly deliveredUpTo: MatchSeq
  /** Of the match after that. */
  readonly oldestAtMs: number | undefined
}

/** A count of a link's dead letters, with the link's counters and the monotonic time then. */
interface Counted {
  readonly deadLetters: number
  readonly died: number
  readonly redeliveries: number
  readonly countedMs: number
}

/** States of links, at work or not, and the sums over those at work. */
export class LinkStates {
  readonly #store: Store
  readonly #clock: Clock
  readonly #atWork: ReadonlyMap<LinkId, LinkAtWork>
  readonly #reached = new WeakMap<LinkAtWork, Reached>()
  readonly #counted = new WeakMap<LinkAtWork, Counted>()

  constructor(
    { store, clock }: { readonly store: Store; readonly clock: Clock },
    atWork: ReadonlyMap<LinkId, LinkAtWork>,
  ) {
    this.#store = store
    this.#clock = clock
    this.#atWork = atWork
  }

  /** Of these links, in their order. */
  async of(links: readonly LinkToDeliver[]): Promise<readonly LinkState[]> {
    const heads = links.length > 1 ? await this.#store.heads() : undefined
    const states: LinkState[] = []
    for (const link of links) {
      const { appId } = link
      const head =
        heads === undefined ? await this.#store.head(appId) : (heads.get(appId) ?? beforeFirstMatch)
      states.push(await this.#state(link, head))
      if (states.length % readsPerTurn === 0) await nextTurn()
    }
    return states
  }

  /**
   * The sums over all links at work. Costs reads for those alone that have moved, and once a minute for those with
   * dead letters, of which some may have been sent again or have gone.
   */
  async measure(): Promise<LinksMeasured> {
    const heads = await this.#store.heads()
    const sums = { links: 0, lag: 0, inFlight: 0, down: 0, invalid: 0, deadLetters: 0 }
    let oldestAtMs = Number.POSITIVE_INFINITY
    let reads = 0
    for (const entry of this.#atWork.values()) {
      const { link, current } = entry
      const head = heads.get(link.appId) ?? beforeFirstMatch
      const isMoving = !this.#standsStill(entry, head)
      const isCountDue = this.#isCountDue(entry)
      if (isMoving) this.#reached.set(entry, await this.#reach(entry, head))
      if (isCountDue) this.#counted.set(entry, await this.#count(entry))
      if ((isMoving || isCountDue) && ++reads % readsPerTurn === 0) await nextTurn()
      oldestAtMs = Math.min(oldestAtMs, this.#reached.get(entry)?.oldestAtMs ?? Number.POSITIVE_INFINITY)
      sums.links += 1
      sums.lag += current?.undeliveredOf(head) ?? Math.max(0, head - link.position)
      sums.inFlight += current?.inFlight ?? 0
      sums.down += Number(current?.isDown ?? false)
      sums.invalid += Number(!link.valid)
      sums.deadLetters += this.#deadLettersOf(entry)
      if (sums.links % looksPerTurn === 0) await nextTurn()
    }
    return { ...sums, oldestUndeliveredAgeMs: Math.max(0, this.#clock.nowMs() - oldestAtMs) }
  }

  #standsStill(entry: LinkAtWork, head: MatchSeq): boolean {
    const { current } = entry
    const before = this.#reached.get(entry)
    if (before === undefined || current === undefined) return false
    const isLagging = current.undeliveredOf(head) > 0
    return (
      isLagging === (before.oldestAtMs !== undefined) &&
      (!isLagging || current.deliveredUpTo === before.deliveredUpTo)
    )
  }

  async #reach({ link }: LinkAtWork, head: MatchSeq): Promise<Reached> {
    const progress = await this.#progressOf(link)
    const { deliveredUpTo } = progress
    const oldestAtMs = await this.#oldestAtMs(link, deliveredUpTo, progress.undeliveredOf(head))
    return { deliveredUpTo, oldestAtMs }
  }

  /** Where there may be dead letters. What retention takes of them is not told, link by link. */
  #isCountDue(entry: LinkAtWork): boolean {
    const { link, counters } = entry
    const before = this.#counted.get(entry)
    if (before === undefined) return true
    const hasNone =
      before.deadLetters === 0 && counters.died === before.died && link.redeliveries === before.redeliveries
    return !hasNone && this.#clock.monotonicMs() - before.countedMs >= countMs
  }

  async #count({ link, counters }: LinkAtWork): Promise<Counted> {
    const { died } = counters
    const deadLetters = (await this.#store.linkTally(link.id))?.deadLetters ?? 0
    return { deadLetters, died, redeliveries: link.redeliveries, countedMs: this.#clock.monotonicMs() }
  }

  /** As counted last, and what has died since. */
  #deadLettersOf(entry: LinkAtWork): number {
    const counted = this.#counted.get(entry)
    return counted === undefined ? 0 : counted.deadLetters + entry.counters.died - counted.died
  }

  async #state(link: LinkToDeliver, head: MatchSeq): Promise<LinkState> {
    const { current, counters } = this.#atWork.get(link.id) ?? {}
    const progress = await this.#progressOf(link)
    const { deliveredUpTo: position } = progress
    const tally = await this.#store.linkTally(link.id)
    const gaps = await this.#store.gaps(link.id)
    const webhook = link.valid ? undefined : await this.#store.webhook(link.appId, link.webhookId)
    const oldestAtMs = await this.#oldestAtMs(link, position, progress.undeliveredOf(head))
    const nextAttemptAtMs = link.valid ? current?.nextAttemptAtMs : undefined
    const failingSinceMs = counters?.failingSinceMs
    return {
      webhook_id: link.webhookId,
      application_id: link.appId,
      valid: link.valid,
      ...(webhook?.invalidReason !== undefined && { invalid_reason: webhook.invalidReason }),
      ordered: link.isOrdered,
      down: current?.isDown ?? false,
      position,
      head,
      lag: Math.max(0, head - position),
      in_flight: current?.inFlight ?? 0,
      ...(oldestAtMs !== undefined && { oldest_undelivered_at: instant(oldestAtMs) }),
      ...(failingSinceMs !== undefined && { failing_since: instant(failingSinceMs) }),
      ...(nextAttemptAtMs !== undefined && { next_attempt_at: instant(nextAttemptAtMs) }),
      delivered: counters?.delivered ?? 0,
      failed: counters?.failed ?? 0,
      total: {
        delivered: tally?.delivered ?? 0,
        retrying: tally?.retries ?? 0,
        dead_letters: tally?.deadLetters ?? 0,
        expired: tally?.expired ?? 0,
        missed: tally?.missed ?? 0,
      },
      gaps: gaps.slice(-gapsMax).map(({ from, to, atMs }) => ({ from, to, at: instant(atMs) })),
    }
  }

  async #progressOf(link: LinkToDeliver): Promise<Pick<LinkCursor, "deliveredUpTo" | "undeliveredOf">> {
    return (
      this.#atWork.get(link.id)?.current ??
      new LinkCursor(link.position, await this.#store.retries(link.id, "core"))
    )
  }

  /** When the oldest match was appended that is not delivered. */
  async #oldestAtMs(
    { appId }: LinkToDeliver,
    deliveredUpTo: MatchSeq,
    lag: number,
  ): Promise<number | undefined> {
    if (lag === 0) return undefined
    const [oldest] = await this.#store.matches({ appId, after: deliveredUpTo, limit: 1, shape: "core" })
    return oldest?.atMs
  }
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString()
}
