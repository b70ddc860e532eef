/**
 * A webhook link at work: the durable cursor on an app's match log that sends what it reads to an endpoint.
 *
 *     follow ─► entry ─► attempt ─ 2xx ─► finished head ─► cursor
 *                          ▲  └─ else ─► retries, each due at its own time
 *                          └──────────────┘
 *
 * `pump` starts what may be started, retries that are due before new entries, and runs again whenever an attempt
 * ends or falls due. Nothing queues up in between: the log is the queue, and no new entry is sent when
 *
 * - `concurrencyPerLink` attempts are under way,
 * - `windowMax` entries, or `heldBytesMax` bytes of them, lie between the cursor and the newest that was sent: one
 *   that always fails stops its link there, while others are delivered around it until then,
 * - the endpoint is down: as many deliveries as may run at once have failed, in a row. Then only what has failed
 *   is tried, one at a time, and the first success sends the rest at once,
 * - the webhook is invalid. What is under way ends; nothing else happens until it is valid.
 *
 * With a concurrency of 1, deliveries are strictly in order: a failing one holds up those behind it.
 */
import type { FieldSelection } from "../model/field-selection.ts"
import type { MatchSeq } from "../model/ids.ts"
import { selectionOfQuery } from "../model/link-fields.ts"
import type { LinkToDeliver } from "../model/link.ts"
import type { MatchEntry } from "../model/match.ts"
import { renderDelivery, shapeFor } from "../model/render-post.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Outbound } from "../runtime/outbound.ts"
import type { Random } from "../runtime/random.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import { follow } from "../store/follow.ts"
import type { Store } from "../store/store.ts"
import { attemptDelivery, deliveryHeaders, type DeliveryKeys } from "./attempt.ts"
import { FinishedHead } from "./finished-head.ts"
import { retryDelayMs, type RetryPolicy } from "./retry-delay.ts"
import { WakeUp } from "./wake-up.ts"

/** What a link's delivery needs. */
export interface WebhookLinkDeps {
  readonly store: Store
  readonly outbound: Outbound
  readonly secretBox: SecretBox
  readonly clock: Clock
  readonly random: Random
  readonly events: Events
  readonly concurrencyPerLink: number
  readonly attemptMsMax: number
  readonly retry: RetryPolicy
}

/** What outlives a run of a link that failed and was started again. */
export interface LinkCounters {
  delivered: number
  failed: number
  /** Since when every attempt has failed. */
  failingSinceMs: number | undefined
}

/** Most entries between the cursor and the newest that was sent. */
const windowMax = 1_000

/** Most bytes of bodies between the cursor and the newest that was sent; the last one may go over it. */
const heldBytesMax = 16_777_216

/** Entries read at a time. */
const batchMax = 100

/** Longest sleep where a wake-up is certain. */
const idleMs = 60_000

interface Delivery {
  readonly seq: MatchSeq
  /** The same over every repetition of this delivery. */
  readonly eventId: string
  /** The same over every attempt. */
  readonly body: Uint8Array
  failures: number
  /** By the clock that never steps back. */
  dueAtMs: number
}

/** One run of a link, from its position on. */
export class WebhookLink {
  readonly #deps: WebhookLinkDeps
  readonly #counters: LinkCounters
  readonly #onMoved: (position: MatchSeq) => void
  readonly #selection: FieldSelection
  readonly #head: FinishedHead
  readonly #windowMax: number
  readonly #failed = new AbortController()
  readonly #until: AbortSignal
  readonly #entryTaken = new WakeUp()
  readonly #attemptEnded = new WakeUp()
  #link: LinkToDeliver
  #keys: DeliveryKeys
  /** Read and not yet sent, the next one last. */
  #unsent: MatchEntry[] = []
  /** What has failed and is not under way, by when it is due. */
  #retries: Delivery[] = []
  #inFlight = 0
  #heldBytes = 0
  /** Deliveries that have failed and are not delivered. */
  #failing = 0
  #failuresInARow = 0

  /** `onMoved` hears of every move of the cursor, to save it. Starts with `run`, ends with `signal`. */
  constructor(
    link: LinkToDeliver,
    deps: WebhookLinkDeps,
    counters: LinkCounters,
    onMoved: (position: MatchSeq) => void,
    signal: AbortSignal,
  ) {
    this.#deps = deps
    this.#link = link
    this.#keys = keysOf(link, deps.secretBox)
    this.#selection = selectionOfQuery(link.query)
    this.#head = new FinishedHead(link.position)
    this.#windowMax = deps.concurrencyPerLink === 1 ? 1 : windowMax
    this.#counters = counters
    this.#onMoved = onMoved
    this.#until = AbortSignal.any([signal, this.#failed.signal])
  }

  /** Everything up to here is delivered. */
  get position(): MatchSeq {
    return this.#head.position
  }

  /** Attempts under way. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** When the next retry is due, Unix ms; `undefined` when there is none. */
  get nextAttemptAtMs(): number | undefined {
    const next = this.#retries[0]
    const { clock } = this.#deps
    return next === undefined ? undefined : clock.nowMs() + Math.max(0, next.dueAtMs - clock.monotonicMs())
  }

  /** Takes over what may change while a link lives: whether its webhook is valid, and the secrets. */
  update(link: LinkToDeliver): void {
    try {
      if (!hasSameSecrets(link, this.#link)) this.#keys = keysOf(link, this.#deps.secretBox)
      this.#link = link
    } catch (error) {
      this.#failed.abort(new Failure(error))
    }
    this.#pump()
  }

  /**
   * Delivers until aborted, and resolves when what is under way has ended. Rejects, after that too, when the store
   * fails; the link then goes on from `position` in another run.
   */
  async run(): Promise<void> {
    const { store, clock } = this.#deps
    const from = {
      appId: this.#link.appId,
      after: this.#head.position,
      shape: shapeFor(this.#selection),
      batchMax,
    }
    try {
      for await (const entries of follow(store, clock, from, this.#until)) {
        this.#unsent = entries.toReversed()
        this.#pump()
        while (this.#unsent.length > 0 && !this.#until.aborted) {
          await this.#entryTaken.wait(clock, idleMs, this.#until)
        }
      }
    } finally {
      this.#failed.abort()
      while (this.#inFlight > 0) await this.#attemptEnded.wait(clock, idleMs, never)
    }
    if (this.#failed.signal.reason instanceof Failure) throw this.#failed.signal.reason.cause
  }

  /** Starts what may be started. Called whenever that may have changed. */
  #pump(): void {
    try {
      while (this.#mayAttempt()) {
        const delivery = this.#dueRetry() ?? this.#nextDelivery()
        if (delivery === undefined) return
        void this.#attempt(delivery)
      }
    } catch (error) {
      this.#failed.abort(new Failure(error))
    }
  }

  #mayAttempt(): boolean {
    if (this.#until.aborted || !this.#link.valid) return false
    return this.#inFlight < (this.#isDown() ? 1 : this.#deps.concurrencyPerLink)
  }

  #isDown(): boolean {
    return Math.min(this.#failing, this.#failuresInARow) >= this.#deps.concurrencyPerLink
  }

  #dueRetry(): Delivery | undefined {
    const next = this.#retries[0]
    return next !== undefined && next.dueAtMs <= this.#deps.clock.monotonicMs()
      ? this.#retries.shift()
      : undefined
  }

  #nextDelivery(): Delivery | undefined {
    const isWindowFull = this.#head.span >= this.#windowMax || this.#heldBytes >= heldBytesMax
    if (isWindowFull || this.#isDown()) return undefined
    const entry = this.#unsent.pop()
    if (entry === undefined) return undefined
    if (this.#unsent.length === 0) this.#entryTaken.call()
    const body = Buffer.from(renderDelivery(entry, this.#selection))
    this.#head.start(entry.seq)
    this.#heldBytes += body.length
    return { seq: entry.seq, eventId: `msg_${this.#link.id}_${entry.seq}`, body, failures: 0, dueAtMs: 0 }
  }

  /** Never rejects: what must not happen here ends the run. */
  async #attempt(delivery: Delivery): Promise<void> {
    const { outbound, clock, events, attemptMsMax } = this.#deps
    const { eventId, body } = delivery
    const { url, webhookId } = this.#link
    this.#inFlight += 1
    try {
      const startedMs = clock.monotonicMs()
      const headers = deliveryHeaders(this.#keys, eventId, body, clock.nowMs())
      const result = await attemptDelivery(outbound, { url, headers, body, deadlineMs: attemptMsMax })
      events.attemptFinished({ webhookId, eventId, ...result, durationMs: clock.monotonicMs() - startedMs })
      if (result.outcome === "delivered") this.#noteDelivered(delivery)
      else this.#noteFailed(delivery)
    } catch (error) {
      this.#failed.abort(new Failure(error))
    }
    this.#inFlight -= 1
    this.#attemptEnded.call()
    this.#pump()
  }

  #noteDelivered(delivery: Delivery): void {
    const wasDown = this.#isDown()
    this.#counters.delivered += 1
    this.#counters.failingSinceMs = undefined
    this.#failuresInARow = 0
    if (delivery.failures > 0) this.#failing -= 1
    // The endpoint is back, so nothing that it missed has to wait for its time.
    if (wasDown) for (const retry of this.#retries) retry.dueAtMs = 0
    this.#heldBytes -= delivery.body.length
    if (this.#head.finish(delivery.seq)) this.#onMoved(this.#head.position)
  }

  #noteFailed(delivery: Delivery): void {
    const { clock, random, retry } = this.#deps
    if (delivery.failures === 0) this.#failing += 1
    delivery.failures += 1
    this.#counters.failed += 1
    this.#counters.failingSinceMs ??= clock.nowMs()
    this.#failuresInARow += 1
    const delayMs = retryDelayMs(retry, delivery.failures, random.fraction())
    delivery.dueAtMs = clock.monotonicMs() + delayMs
    const later = this.#retries.findLastIndex((other) => other.dueAtMs <= delivery.dueAtMs) + 1
    this.#retries.splice(later, 0, delivery)
    void this.#pumpAt(delivery.dueAtMs)
  }

  /** A sleep may end a little before its time, and a retry that is not quite due would be left lying. */
  async #pumpAt(dueAtMs: number): Promise<void> {
    const { clock } = this.#deps
    while (clock.monotonicMs() < dueAtMs && !this.#until.aborted) {
      await clock.sleep(Math.ceil(dueAtMs - clock.monotonicMs()), this.#until)
    }
    this.#pump()
  }
}

/** Why a run ended, as the reason of its signal. */
class Failure extends Error {
  override readonly name = "Failure"

  constructor(cause: unknown) {
    super("the link failed", { cause })
  }
}

const never = new AbortController().signal

/** A signing key is kept as Standard Webhooks writes it. */
function keysOf(link: LinkToDeliver, secretBox: SecretBox): DeliveryKeys {
  const signingKey = secretBox.open(link.signingKeySealed).replace(/^whsec_/, "")
  return {
    consumerSecret: secretBox.open(link.consumerSecretSealed),
    signingKey: Buffer.from(signingKey, "base64"),
  }
}

function hasSameSecrets(a: LinkToDeliver, b: LinkToDeliver): boolean {
  return (
    Buffer.compare(a.consumerSecretSealed, b.consumerSecretSealed) === 0 &&
    Buffer.compare(a.signingKeySealed, b.signingKeySealed) === 0
  )
}
