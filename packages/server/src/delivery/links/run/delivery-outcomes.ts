/**
 * Effects of the end of an attempt: on its match, on the state of the endpoint, and on the other pending matches.
 *
 * A match whose attempts are exhausted becomes a dead letter. A failure counts against its match while others are
 * delivered. While none are, the failure says something about the endpoint instead, and only the first of a match
 * counts, unless so many are pending that no other match could show that the endpoint is up. A failure of this server
 * to send counts against neither, and is retried forever.
 */
import { faultOf } from "@sluice/api"
import type { WebhookId } from "../../../model/ids.ts"
import type { AttemptResult } from "../../sending/attempt.ts"
import { endpointPauseMs, retryDelayMs, type RetryPolicy } from "../../sending/retry-delay.ts"
import type { LinkSender } from "../../sending/sender.ts"
import type { SendingDeps } from "../../sending/sending-deps.ts"
import type { LinkCursor } from "./link-cursor.ts"
import { noProbe, type LinkMemory } from "./link-memory.ts"
import type { Delivery, PendingDeliveries } from "./pending-deliveries.ts"

/** Dependencies of outcomes. */
export interface DeliveryOutcomesDeps extends Pick<SendingDeps, "clock" | "random" | "events"> {
  readonly retry: RetryPolicy
  readonly deliveryAttemptsMax: number
}

/** The parts of a link's run that an outcome changes. */
interface AttemptingLink {
  readonly webhookId: WebhookId
  readonly memory: LinkMemory
  readonly cursor: LinkCursor
  readonly pending: PendingDeliveries
  readonly sender: Pick<LinkSender, "eventIdOf">
}

/** Longest wait between two probes of an endpoint that is down. Ours: so soon is it noticed that it is up again. */
const probeMsMax = 10_000

/** Applies the outcomes of the attempts of one run of a link. */
export class DeliveryOutcomes {
  readonly #deps: DeliveryOutcomesDeps
  readonly #link: AttemptingLink

  constructor(link: AttemptingLink, deps: DeliveryOutcomesDeps) {
    this.#deps = deps
    this.#link = link
  }

  /** An attempt has ended: its match is delivered, withdrawn, a dead letter, or a retry. */
  note(delivery: Delivery, result: AttemptResult): void {
    const { webhookId, memory } = this.#link
    const { breaker } = memory.endpoint
    const wasDown = breaker.isDown
    if (result.outcome === "delivered") this.#noteDelivered(delivery)
    else if (result.outcome === "post_deleted") this.#noteWithdrawn(delivery)
    else this.#noteFailed(delivery, result)
    // For these nothing was sent: they are no probes.
    if (result.outcome !== "post_deleted" && result.outcome !== "damaged") this.#scheduleProbe()
    const { isDown } = breaker
    if (isDown === wasDown) return
    if (wasDown) this.#forgetOutage()
    this.#deps.events.endpointStateChanged({ webhookId, isDown })
  }

  /** The endpoint has passed a challenge, or the link is resumed: all retries are due at once, through one slot at first. */
  noteReopened(): void {
    const { webhookId, memory, pending } = this.#link
    const { breaker } = memory.endpoint
    if (breaker.isDown) this.#deps.events.endpointStateChanged({ webhookId, isDown: false })
    breaker.restart()
    memory.endpoint.pausedUntilMs = 0
    memory.endpoint.probe = noProbe
    pending.reschedule(() => 0)
  }

  #noteDelivered(delivery: Delivery): void {
    const { memory, cursor, pending } = this.#link
    memory.counters.delivered += 1
    memory.counters.failingSinceMs = undefined
    memory.endpoint.breaker.noteDelivered({ hasFailedBefore: delivery.failures > 0 })
    pending.remove(delivery)
    cursor.deliver(delivery.seq)
  }

  /** Says nothing about the endpoint. */
  #noteWithdrawn(delivery: Delivery): void {
    const { memory, cursor, pending } = this.#link
    if (delivery.failures > 0) memory.endpoint.breaker.noteDropped()
    pending.remove(delivery)
    cursor.withdraw(delivery.seq)
  }

  #noteFailed(delivery: Delivery, result: AttemptResult): void {
    const { counters, endpoint } = this.#link.memory
    counters.failed += 1
    counters.failingSinceMs ??= this.#deps.clock.nowMs()
    delivery.tries += 1
    const delayMs = this.#delayMs(delivery.tries, result.retryAfterMs)
    if (result.outcome === "damaged") {
      this.#deadLetter(delivery, result)
    } else if (faultOf(result.outcome) === "server") {
      endpoint.breaker.noteOwnFailure()
      this.#retry(delivery, delayMs)
    } else {
      endpoint.breaker.noteFailed({ hasFailedBefore: delivery.failures > 0 })
      const isBlamed = this.#mayBlame() && result.outcome !== "gone"
      if (isBlamed || delivery.failures === 0) delivery.failures += 1
      this.#pauseEndpoint(result)
      if (isBlamed && delivery.failures >= this.#deps.deliveryAttemptsMax) this.#deadLetter(delivery, result)
      else this.#retry(delivery, delayMs)
    }
  }

  /**
   * While the endpoint is down each probe that fails delays the next. Attempts that were in flight when it went down
   * end before that time, and are no probes.
   */
  #scheduleProbe(): void {
    const { endpoint } = this.#link.memory
    const nowMs = this.#deps.clock.monotonicMs()
    if (!endpoint.breaker.isProbed) endpoint.probe = noProbe
    else if (nowMs >= endpoint.probe.atMs) {
      const failed = endpoint.probe.failed + 1
      const { baseMs, maxMs } = this.#deps.retry
      const policy = { baseMs, maxMs: Math.min(maxMs, Math.max(baseMs, probeMsMax)) }
      endpoint.probe = { failed, atMs: nowMs + retryDelayMs(policy, failed, this.#deps.random.fraction()) }
    }
  }

  /**
   * True when a failure counts against its match. It must when a link is full: nothing could be sent past the others.
   */
  #mayBlame(): boolean {
    const { memory, pending } = this.#link
    const { breaker } = memory.endpoint
    return breaker.isOrdered || !breaker.isSilent || pending.isFull
  }

  #delayMs(tries: number, retryAfterMs?: number): number {
    return retryDelayMs(this.#deps.retry, tries, this.#deps.random.fraction(), retryAfterMs)
  }

  /** Sends nothing to an endpoint for as long as a 429 or 503 asks. */
  #pauseEndpoint(result: AttemptResult): void {
    const pauseMs = endpointPauseMs(this.#deps.retry, result)
    if (pauseMs === 0) return
    const { endpoint } = this.#link.memory
    const untilMs = this.#deps.clock.monotonicMs() + pauseMs
    endpoint.pausedUntilMs = Math.max(endpoint.pausedUntilMs, untilMs)
  }

  #retry(delivery: Delivery, delayMs: number): void {
    const { clock } = this.#deps
    const { seq, failures } = delivery
    delivery.dueAtMs = clock.monotonicMs() + delayMs
    this.#link.cursor.fail({ seq, failures, dueAtMs: clock.nowMs() + delayMs })
    this.#link.pending.queueRetry(delivery)
  }

  #deadLetter(delivery: Delivery, { outcome, status, error }: AttemptResult): void {
    const { clock, events } = this.#deps
    const { webhookId, memory, cursor, pending, sender } = this.#link
    const { seq, failures } = delivery
    if (failures > 0) memory.endpoint.breaker.noteDropped()
    memory.counters.deadLettered += 1
    pending.remove(delivery)
    cursor.deadLetter({
      seq,
      failures,
      outcome,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
      deadLetteredAtMs: clock.nowMs(),
    })
    events.matchDeadLettered({ webhookId, eventId: sender.eventIdOf(seq), outcome, failures })
  }

  /**
   * The endpoint is up again: the matches that it missed are due at once. A match that failed while others were
   * delivered still waits for the delay of its own failures: it would take the link down again, each time that it is
   * up.
   */
  #forgetOutage(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    this.#link.pending.reschedule((delivery) => {
      delivery.tries = delivery.failures
      const waitMs = delivery.failures > 1 ? this.#delayMs(delivery.failures) : 0
      return waitMs === 0 ? 0 : Math.min(delivery.dueAtMs, nowMs + waitMs)
    })
  }
}
