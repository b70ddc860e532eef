/**
 * The next deliveries of a link, and their times.
 *
 * Retries that are due come before new entries. While the endpoint is down (`breaker.ts`), failed matches are tried,
 * and now and then a new entry instead; while nothing that is sent leaves this server, only failed matches. Then the
 * link has one slot and a schedule of its own, however many are due: hundreds of matches that have failed are no reason
 * to send hundreds of probes. A link that they fill has their own schedules alone: it can go on only past matches that
 * have had their attempts.
 *
 * A link in strict order has one slot and a window of 1: a match that fails blocks those behind it until it is
 * delivered or, after its attempts and no matter why they failed, a dead letter.
 */
import type { Clock } from "../../../runtime/clock.ts"
import type { EndpointMemory } from "./link-memory.ts"
import type { LinkReader } from "./link-reader.ts"
import type { Delivery, PendingDeliveries } from "./pending-deliveries.ts"

/** So many slots may all be in flight, and of more of them half. Ours: more connections make no fast endpoint faster. */
const inFlightAlways = 32

/** The parts of a link's run that a schedule reads. */
interface ScheduledLink {
  readonly endpoint: EndpointMemory
  readonly pending: PendingDeliveries
  readonly reader: LinkReader
  readonly clock: Clock
  /** Starts the delivery of the reader's next entry, if there is one. */
  readonly startEntry: () => Delivery | undefined
}

/** Decides which delivery of a link starts next. */
export class LinkSchedule {
  readonly #link: ScheduledLink

  constructor(link: ScheduledLink) {
    this.#link = link
  }

  /** Most attempts in flight or unsaved. */
  get slots(): number {
    const { breaker } = this.#link.endpoint
    return breaker.isOrdered ? 1 : breaker.slots
  }

  /** Most of these in flight: the rest is room for results that wait to be saved. */
  get inFlightMax(): number {
    const { slots } = this
    return Math.max(Math.min(slots, inFlightAlways), Math.ceil(slots / 2))
  }

  /** True when the endpoint and the rate allow an attempt now. */
  get isOpen(): boolean {
    return this.#link.clock.monotonicMs() >= this.#openAtMs
  }

  /** Takes the next delivery to attempt; `undefined` when none is due. */
  next(): Delivery | undefined {
    return this.#link.endpoint.breaker.isFirstDue
      ? (this.#nextEntry() ?? this.#dueRetry())
      : (this.#dueRetry() ?? this.#nextEntry())
  }

  /** When something can be started, if nothing else changes, by the monotonic clock; `undefined`: never. */
  get readyAtMs(): number | undefined {
    const readyAtMs = this.#mayTakeEntry() ? 0 : this.#nextRetry()?.dueAtMs
    return readyAtMs === undefined ? undefined : Math.max(readyAtMs, this.#openAtMs)
  }

  /** When the next attempt that waits for its time is due, Unix ms; `undefined` when none does. */
  get nextAttemptAtMs(): number | undefined {
    const { clock, reader } = this.#link
    const next = this.#nextRetry()
    const pausedUntilMs = this.#pausedUntilMs
    const isPaused = pausedUntilMs > clock.monotonicMs()
    if (next === undefined && (reader.isEmpty || !isPaused)) return undefined
    const dueAtMs = Math.max(next?.dueAtMs ?? 0, pausedUntilMs)
    return clock.nowMs() + Math.max(0, dueAtMs - clock.monotonicMs())
  }

  get #openAtMs(): number {
    return Math.max(this.#pausedUntilMs, this.#link.endpoint.rate.nextAtMs)
  }

  /** Until when nothing is sent, as the endpoint requested, or since it is down. */
  get #pausedUntilMs(): number {
    const { pending, endpoint } = this.#link
    const { pausedUntilMs, probe, breaker } = endpoint
    return breaker.isProbed && !pending.isFull ? Math.max(pausedUntilMs, probe.atMs) : pausedUntilMs
  }

  /** In strict order the oldest comes first, though another may be due before it. */
  #nextRetry(): Delivery | undefined {
    return this.#link.pending.nextRetry(this.#link.endpoint.breaker.isOrdered ? "oldest" : "due")
  }

  #dueRetry(): Delivery | undefined {
    const next = this.#nextRetry()
    if (next === undefined || !this.#isDue(next)) return undefined
    this.#link.pending.startRetry(next)
    return next
  }

  #isDue({ dueAtMs }: Delivery): boolean {
    return dueAtMs <= this.#link.clock.monotonicMs()
  }

  #nextEntry(): Delivery | undefined {
    return this.#mayTakeEntry() ? this.#link.startEntry() : undefined
  }

  #mayTakeEntry(): boolean {
    const { reader, pending, endpoint } = this.#link
    const { breaker } = endpoint
    if (reader.isEmpty) return false
    if (breaker.isOrdered) return pending.count === 0
    if (pending.isFull) return false
    if (!breaker.isProbed) return true
    // In the place of a retry, or when there is nothing else to try.
    const next = this.#nextRetry()
    return next === undefined || (breaker.isFirstDue && this.#isDue(next))
  }
}
