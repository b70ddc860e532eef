/**
 * What the end of an attempt means: for its match, for what a link thinks of its endpoint, and for what else waits.
 *
 * A match whose attempts are spent becomes a dead letter. A failure counts against its match while others get through;
 * while nothing does, it tells of the endpoint, and none but the first of a match counts, unless so many are held that
 * no other could show that the endpoint is there. What this server failed to send is nobody's failure, and is tried
 * for ever.
 */
import { faultOf } from "@sluice/api"
import type { WebhookId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Random } from "../runtime/random.ts"
import type { AttemptResult } from "./attempt.ts"
import type { Delivery, HeldDeliveries } from "./held-deliveries.ts"
import type { LinkCursor } from "./link-cursor.ts"
import type { LinkMemory } from "./link-memory.ts"
import type { LinkSender } from "./link-sender.ts"
import { grantedDelayMs, retryDelayMs, type RetryPolicy } from "./retry-delay.ts"

/** What judging outcomes needs. */
export interface DeliveryOutcomesDeps {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events
  readonly retry: RetryPolicy
  readonly deliveryAttemptsMax: number
}

/** The parts of a link's run that an outcome changes. */
export interface JudgedLink {
  readonly webhookId: WebhookId
  readonly memory: LinkMemory
  readonly cursor: LinkCursor
  readonly held: HeldDeliveries
  readonly sender: Pick<LinkSender, "eventIdOf">
}

/** Answers whose `Retry-After` is about the endpoint, not about one request. Source: RFC 6585, 4; RFC 9110, 15.6.4. */
const asksForTime: ReadonlySet<number | undefined> = new Set([429, 503])

/** Judges how the attempts of one run of a link end. */
export class DeliveryOutcomes {
  readonly #deps: DeliveryOutcomesDeps
  readonly #link: JudgedLink

  constructor(link: JudgedLink, deps: DeliveryOutcomesDeps) {
    this.#deps = deps
    this.#link = link
  }

  /** An attempt has ended: its match is delivered, dead, or waits for the next. */
  note(delivery: Delivery, result: AttemptResult): void {
    const { webhookId, memory } = this.#link
    const { breaker } = memory.endpoint
    const wasDown = breaker.isDown
    if (result.outcome === "delivered") this.#noteDelivered(delivery)
    else this.#noteFailed(delivery, result)
    const { isDown } = breaker
    if (isDown === wasDown) return
    if (wasDown) this.#forgetOutage()
    this.#deps.events.endpointTurned({ webhookId, isDown })
  }

  /** The endpoint has answered a challenge: what waits is due at once. */
  noteValidated(): void {
    const { webhookId, memory, held } = this.#link
    const { breaker } = memory.endpoint
    if (breaker.isDown) this.#deps.events.endpointTurned({ webhookId, isDown: false })
    breaker.restart()
    memory.endpoint.heldUntilMs = 0
    held.reschedule(() => 0)
  }

  #noteDelivered(delivery: Delivery): void {
    const { memory, cursor, held } = this.#link
    memory.counters.delivered += 1
    memory.counters.failingSinceMs = undefined
    memory.endpoint.breaker.noteDelivered({ hasFailedBefore: delivery.failures > 0 })
    held.release(delivery)
    cursor.deliver(delivery.seq)
  }

  #noteFailed(delivery: Delivery, result: AttemptResult): void {
    const { counters, endpoint } = this.#link.memory
    counters.failed += 1
    counters.failingSinceMs ??= this.#deps.clock.nowMs()
    delivery.tries += 1
    if (result.outcome === "damaged") {
      this.#bury(delivery, result)
    } else if (faultOf(result.outcome) === "server") {
      endpoint.breaker.noteOwnFailure()
      this.#tryAgain(delivery, this.#delayMs(delivery.tries))
    } else {
      endpoint.breaker.noteFailed({ hasFailedBefore: delivery.failures > 0 })
      const isBlamed = this.#mayBlame() && result.outcome !== "gone"
      if (isBlamed || delivery.failures === 0) delivery.failures += 1
      const grantedMs = this.#grantTime(result)
      if (isBlamed && delivery.failures >= this.#deps.deliveryAttemptsMax) this.#bury(delivery, result)
      else this.#tryAgain(delivery, Math.max(this.#delayMs(delivery.tries), grantedMs))
    }
  }

  /** Whether a failure tells of its match. Nothing could be sent past those that fill a link up, so it has to. */
  #mayBlame(): boolean {
    const { memory, held } = this.#link
    const { breaker } = memory.endpoint
    return breaker.isOrdered || !breaker.isSilent || held.isFull
  }

  #delayMs(tries: number): number {
    return retryDelayMs(this.#deps.retry, tries, this.#deps.random.fraction())
  }

  /** Leaves the endpoint alone when it asks for that. Answers how long its match waits; 0 when it did not ask. */
  #grantTime({ status, retryAfterMs }: AttemptResult): number {
    if (retryAfterMs === undefined) return 0
    const { endpoint } = this.#link.memory
    const grantedMs = grantedDelayMs(this.#deps.retry, retryAfterMs)
    if (asksForTime.has(status)) {
      const untilMs = this.#deps.clock.monotonicMs() + grantedMs
      endpoint.heldUntilMs = Math.max(endpoint.heldUntilMs, untilMs)
    }
    return grantedMs
  }

  #tryAgain(delivery: Delivery, delayMs: number): void {
    const { clock } = this.#deps
    const { seq, failures } = delivery
    delivery.dueAtMs = clock.monotonicMs() + delayMs
    this.#link.cursor.fail({ seq, failures, dueAtMs: clock.nowMs() + delayMs })
    this.#link.held.wait(delivery)
  }

  #bury(delivery: Delivery, { outcome, status, error }: AttemptResult): void {
    const { clock, events } = this.#deps
    const { webhookId, memory, cursor, held, sender } = this.#link
    const { seq, failures } = delivery
    if (failures > 0) memory.endpoint.breaker.noteDead()
    memory.counters.died += 1
    held.release(delivery)
    cursor.die({
      seq,
      failures,
      outcome,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
      diedAtMs: clock.nowMs(),
    })
    events.matchDied({ webhookId, eventId: sender.eventIdOf(seq), outcome, failures })
  }

  /**
   * The endpoint is back: what it missed is due at once. What had failed while others got through waits as long as
   * that deserves, and no longer than it has to: it would bring the link down again, each time that it comes up.
   */
  #forgetOutage(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    this.#link.held.reschedule((delivery) => {
      delivery.tries = delivery.failures
      const waitMs = delivery.failures > 1 ? this.#delayMs(delivery.failures) : 0
      return waitMs === 0 ? 0 : Math.min(delivery.dueAtMs, nowMs + waitMs)
    })
  }
}
