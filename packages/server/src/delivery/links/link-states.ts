/**
 * The states of links: one by one, and summed up for the metrics.
 *
 * A run of a link is ahead of the store, which gets its progress a little later; what no run has comes from the store.
 * So does what another process knows of a link that it drives, a second or two old (`publish-link-states.ts`).
 * Nothing is left out of the sums: a link whose webhook is invalid, or whose run fails, counts like others.
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import { beforeFirstMatch, type AppId, type LinkId, type MatchSeq, type WebhookId } from "../../model/ids.ts"
import type { GapMarker, LinkTally, LinkToDeliver } from "../../model/link.ts"
import type { LinksMeasured } from "../../runtime/events/events.ts"
import { undrivenState, type DrivenState, type SharedLinkStates } from "../../store/shared-link-states.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"
import { LinkCursor } from "./run/link-cursor.ts"
import type { LinkMemory } from "./run/link-memory.ts"
import type { WebhookLink } from "./run/webhook-link.ts"

/** The state of a link: how far it is, what is in its way, and where its matches went. */
export interface LinkState {
  readonly webhookId: WebhookId
  readonly appId: AppId
  readonly valid: boolean
  /** Why the webhook is not valid. */
  readonly invalidReason: string | undefined
  readonly isOrdered: boolean
  /** Since when it is paused; then it is not down, and does not fail. */
  readonly pausedAtMs: number | undefined
  /** The endpoint is down, as far as deliveries show. */
  readonly isDown: boolean
  /** Everything up to here is delivered. */
  readonly position: MatchSeq
  /** Position of the newest match of the log. */
  readonly head: MatchSeq
  /** Matches up to `head` that are neither delivered nor dead letters. */
  readonly undelivered: number
  readonly inFlight: number
  readonly oldestUndeliveredAtMs: number | undefined
  readonly failingSinceMs: number | undefined
  readonly nextAttemptAtMs: number | undefined
  /** Deliveries and failed attempts since the process that drives it took it over, or started. */
  readonly delivered: number
  readonly failed: number
  /** Since the link was made; absent when the store has none. */
  readonly tally: LinkTally | undefined
  /** Form of its deliveries, as the link was created with. */
  readonly query: string
  /** The newest 100, oldest first. */
  readonly gaps: readonly GapMarker[]
}

/** A link with its present run, and what is remembered over all its runs. */
export interface RunningLink extends LinkMemory {
  link: LinkToDeliver
  /** The lease that all its runs are under. */
  readonly lease: number
  current: WebhookLink | undefined
}

/** The state of a link that runs here. */
export function drivenStateOf({ counters, current }: Pick<RunningLink, "counters" | "current">): DrivenState {
  return {
    isDown: current?.isDown ?? false,
    inFlight: current?.inFlight ?? 0,
    failingSinceMs: counters.failingSinceMs,
    nextAttemptAtMs: current?.nextAttemptAtMs,
    delivered: counters.delivered,
    failed: counters.failed,
  }
}

/** The state that its driver knows, without what does not hold while nothing is sent. */
function shownState({ valid, pausedAtMs }: LinkToDeliver, driven: DrivenState): DrivenState {
  if (pausedAtMs !== undefined)
    return { ...driven, isDown: false, failingSinceMs: undefined, nextAttemptAtMs: undefined }
  return valid ? driven : { ...driven, nextAttemptAtMs: undefined }
}

/** Most links that are summed up in one turn of the event loop. */
const linksPerTurn = 1_000

/** Least time between two counts of a link's dead letters, for the sums: there may be very many. */
const countMs = 60_000

/** Gap markers that a state shows. A link that is slower than its log gets a new one at each pass of retention. */
const gapsMax = 100

/** The last known position of a link, so that a link that has not moved costs no reads. */
interface Reached {
  readonly deliveredUpTo: MatchSeq
  /** Time of the match after that. */
  readonly oldestAtMs: number | undefined
}

/** A count of a link's dead letters, with the link's counters and the monotonic time then. */
interface Counted {
  readonly deadLetters: number
  readonly deadLettered: number
  readonly redeliveries: number
  readonly countedMs: number
}

interface StatesDeps extends Pick<SendingDeps, "store" | "clock"> {
  readonly sharedLinkStates?: Pick<SharedLinkStates, "of"> | undefined
}

/** States of links, running or not, and the sums over those that run. */
export class LinkStates {
  readonly #deps: StatesDeps
  readonly #running: ReadonlyMap<LinkId, RunningLink>
  readonly #reached = new WeakMap<RunningLink, Reached>()
  readonly #counted = new WeakMap<RunningLink, Counted>()

  constructor(deps: StatesDeps, running: ReadonlyMap<LinkId, RunningLink>) {
    this.#deps = deps
    this.#running = running
  }

  /** States of these links, in their order. */
  async of(links: readonly LinkToDeliver[]): Promise<readonly LinkState[]> {
    const { store, sharedLinkStates } = this.#deps
    const elsewhere = links.map(({ id }) => id).filter((id) => !this.#running.has(id))
    const shared = elsewhere.length > 0 ? await sharedLinkStates?.of(elsewhere) : undefined
    const heads = links.length > 1 ? await store.heads() : undefined
    const states: LinkState[] = []
    for (const link of links) {
      const { appId } = link
      const head = heads === undefined ? await store.head(appId) : (heads.get(appId) ?? beforeFirstMatch)
      states.push(await this.#state(link, head, shared?.get(link.id)))
    }
    return states
  }

  /**
   * The sums over all running links. Costs reads only for those that have moved, and once a minute for those with
   * dead letters, of which some may have been sent again or have gone.
   */
  async measure(): Promise<LinksMeasured> {
    const heads = await this.#deps.store.heads()
    const sums = { links: 0, lag: 0, inFlight: 0, down: 0, paused: 0, invalid: 0, deadLetters: 0 }
    const nowMs = this.#deps.clock.nowMs()
    const byApp = new Map<AppId, { lag: number; oldestUndeliveredAgeMs: number }>()
    let oldestUndeliveredAgeMs = 0
    for (const entry of this.#running.values()) {
      const { link, current } = entry
      const head = heads.get(link.appId) ?? beforeFirstMatch
      const isMoving = !this.#isUnmoved(entry, head)
      const isCountDue = this.#isCountDue(entry)
      if (isMoving) this.#reached.set(entry, await this.#reach(entry, head))
      if (isCountDue) this.#counted.set(entry, await this.#count(entry))
      const lag = current?.cursor.undeliveredOf(head) ?? Math.max(0, head - link.position)
      const isPaused = link.pausedAtMs !== undefined
      // An app that pauses a link wants its matches to wait: their age is nothing to warn of.
      const ageMs = isPaused ? 0 : Math.max(0, nowMs - (this.#reached.get(entry)?.oldestAtMs ?? nowMs))
      const ofApp = byApp.get(link.appId) ?? { lag: 0, oldestUndeliveredAgeMs: 0 }
      ofApp.lag += lag
      ofApp.oldestUndeliveredAgeMs = Math.max(ofApp.oldestUndeliveredAgeMs, ageMs)
      byApp.set(link.appId, ofApp)
      oldestUndeliveredAgeMs = Math.max(oldestUndeliveredAgeMs, ageMs)
      sums.links += 1
      sums.lag += lag
      sums.inFlight += current?.inFlight ?? 0
      sums.down += Number(!isPaused && (current?.isDown ?? false))
      sums.paused += Number(isPaused)
      sums.invalid += Number(!link.valid)
      sums.deadLetters += this.#deadLettersOf(entry)
      if (sums.links % linksPerTurn === 0) await nextTurn()
    }
    return { ...sums, oldestUndeliveredAgeMs, byApp }
  }

  #isUnmoved(entry: RunningLink, head: MatchSeq): boolean {
    const { current } = entry
    const before = this.#reached.get(entry)
    if (before === undefined || current === undefined) return false
    const isLagging = current.cursor.undeliveredOf(head) > 0
    return (
      isLagging === (before.oldestAtMs !== undefined) &&
      (!isLagging || current.cursor.deliveredUpTo === before.deliveredUpTo)
    )
  }

  async #reach({ link }: RunningLink, head: MatchSeq): Promise<Reached> {
    const progress = await this.#progressOf(link)
    const { deliveredUpTo } = progress
    const oldestAtMs = await this.#oldestAtMs(link, deliveredUpTo, progress.undeliveredOf(head))
    return { deliveredUpTo, oldestAtMs }
  }

  /** Links that may have dead letters. Retention does not report how many it deletes of each link. */
  #isCountDue(entry: RunningLink): boolean {
    const { link, counters } = entry
    const before = this.#counted.get(entry)
    if (before === undefined) return true
    const hasNone =
      before.deadLetters === 0 &&
      counters.deadLettered === before.deadLettered &&
      link.redeliveries === before.redeliveries
    return !hasNone && this.#deps.clock.monotonicMs() - before.countedMs >= countMs
  }

  async #count({ link, counters }: RunningLink): Promise<Counted> {
    const { deadLettered } = counters
    const deadLetters = (await this.#deps.store.linkTally(link.id, link.appId))?.deadLetters ?? 0
    return {
      deadLetters,
      deadLettered,
      redeliveries: link.redeliveries,
      countedMs: this.#deps.clock.monotonicMs(),
    }
  }

  /** The last count, and dead letters since. */
  #deadLettersOf(entry: RunningLink): number {
    const counted = this.#counted.get(entry)
    return counted === undefined ? 0 : counted.deadLetters + entry.counters.deadLettered - counted.deadLettered
  }

  async #state(link: LinkToDeliver, head: MatchSeq, shared: DrivenState = undrivenState): Promise<LinkState> {
    const { store } = this.#deps
    const { id, webhookId, appId, valid, isOrdered, pausedAtMs } = link
    const running = this.#running.get(id)
    const driven = shownState(link, running === undefined ? shared : drivenStateOf(running))
    const progress = await this.#progressOf(link)
    const { deliveredUpTo: position } = progress
    const tally = await store.linkTally(id, appId)
    const gaps = await store.gaps(id, appId)
    const webhook = valid ? undefined : await store.webhook(appId, webhookId)
    const oldestUndeliveredAtMs = await this.#oldestAtMs(link, position, progress.undeliveredOf(head))
    return {
      webhookId,
      appId,
      valid,
      invalidReason: webhook?.invalidReason,
      isOrdered,
      pausedAtMs,
      isDown: driven.isDown,
      position,
      head,
      undelivered: progress.undeliveredOf(head),
      inFlight: driven.inFlight,
      oldestUndeliveredAtMs,
      failingSinceMs: driven.failingSinceMs,
      nextAttemptAtMs: driven.nextAttemptAtMs,
      delivered: driven.delivered,
      failed: driven.failed,
      tally,
      query: link.query,
      gaps: gaps.slice(-gapsMax),
    }
  }

  async #progressOf(link: LinkToDeliver): Promise<Pick<LinkCursor, "deliveredUpTo" | "undeliveredOf">> {
    return (
      this.#running.get(link.id)?.current?.cursor ??
      new LinkCursor(link.position, await this.#deps.store.retries(link.id, "core", link.appId))
    )
  }

  /** When the oldest match was appended that is not delivered. */
  async #oldestAtMs({ appId }: LinkToDeliver, deliveredUpTo: MatchSeq, lag: number): Promise<number | undefined> {
    if (lag === 0) return undefined
    const first = { appId, after: deliveredUpTo, limit: 1, bytesMax: 1, shape: "core" } as const
    const [oldest] = await this.#deps.store.matches(first)
    return oldest?.atMs
  }
}
