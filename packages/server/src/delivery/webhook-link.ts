/**
 * A webhook link at work: the durable cursor on an app's match log that sends what it reads to an endpoint.
 *
 *     follow ─► entry ─► attempt ─ 2xx ─► cursor ─► save ─► the attempt's slot is free
 *                          ▲  └─ else ─► retry ─┘
 *                          └──────────────┘ each at its own time
 *
 * `pump` starts what may be started, retries that are due before new entries, and runs again whenever a slot becomes
 * free or a retry falls due. Nothing queues up in between: the log is the queue, and no new entry is sent when
 *
 * - `concurrencyPerLink` slots are taken. An attempt has its slot until what came of it is saved, so a process that
 *   is killed leaves at most that many deliveries of a link to be repeated by the next,
 * - `windowMax` entries, or `heldBytesMax` bytes of them, are held: under way, or retries. Others are delivered
 *   around those that fail until then,
 * - the endpoint is down: as many deliveries as may run at once have failed, in a row. Then only what has failed
 *   is tried, one at a time, and the first success sends the rest at once,
 * - the webhook is invalid. What is under way ends; nothing else happens until it is valid.
 *
 * With a concurrency of 1, deliveries are strictly in order: a failing one holds up those behind it.
 */
import type { FieldSelection } from "../model/field-selection.ts"
import type { MatchSeq } from "../model/ids.ts"
import { selectionOfQuery } from "../model/link-fields.ts"
import type { LinkProgress, LinkToDeliver, RetryEntry } from "../model/link.ts"
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
import { LinkCursor } from "./link-cursor.ts"
import type { ProgressSaves, ProgressSource } from "./progress-saves.ts"
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
  readonly saves: ProgressSaves
}

/** What outlives a run of a link that failed and was started again. */
export interface LinkCounters {
  delivered: number
  failed: number
  /** Since when every attempt has failed. */
  failingSinceMs: number | undefined
}

/** Most entries that are sent and not delivered. */
const windowMax = 1_000

/** Most bytes of their bodies; the last one may go over it. */
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

/** One run of a link, from its position and retries on. */
export class WebhookLink implements ProgressSource {
  readonly #deps: WebhookLinkDeps
  readonly #counters: LinkCounters
  readonly #selection: FieldSelection
  readonly #cursor: LinkCursor
  readonly #windowMax: number
  readonly #failed = new AbortController()
  readonly #until: AbortSignal
  readonly #entryTaken = new WakeUp()
  /** Those under way, and those whose end is not saved. */
  readonly #attempts = new Set<Promise<void>>()
  #link: LinkToDeliver
  #keys: DeliveryKeys
  /** Read and not yet sent, the next one last. */
  #unsent: MatchEntry[] = []
  /** What is to be tried again and not under way, by when it is due. */
  readonly #retries: Delivery[]
  #inFlight = 0
  #heldBytes = 0
  /** Deliveries that have failed and are not delivered. */
  #failing = 0
  #failuresInARow = 0

  /** `retries` as the store has them with the link's position. Starts with `run`, ends with `signal`. */
  constructor(
    link: LinkToDeliver,
    retries: readonly RetryEntry[],
    deps: WebhookLinkDeps,
    counters: LinkCounters,
    signal: AbortSignal,
  ) {
    this.#deps = deps
    this.#link = link
    this.#keys = keysOf(link, deps.secretBox)
    this.#selection = selectionOfQuery(link.query)
    this.#cursor = new LinkCursor(link.position, retries)
    this.#windowMax = deps.concurrencyPerLink === 1 ? 1 : windowMax
    this.#counters = counters
    this.#until = AbortSignal.any([signal, this.#failed.signal])
    this.#retries = retries.map((retry) => this.#resumed(retry)).toSorted((a, b) => a.dueAtMs - b.dueAtMs)
    this.#failing = retries.filter(({ failures }) => failures > 0).length
  }

  /** Where its cursor is: everything up to here is delivered, or a retry. */
  get position(): MatchSeq {
    return this.#cursor.position
  }

  /** Everything up to here is delivered. */
  get deliveredUpTo(): MatchSeq {
    return this.#cursor.deliveredUpTo
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

  takeProgress(): LinkProgress {
    return { linkId: this.#link.id, ...this.#cursor.take() }
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
   * Delivers until aborted, and resolves when what is under way has ended and is saved. Rejects, after that too, when
   * the store fails; the link then goes on from `position` in another run.
   */
  async run(): Promise<void> {
    const { store, clock } = this.#deps
    const from = {
      appId: this.#link.appId,
      after: this.#cursor.position,
      shape: shapeFor(this.#selection),
      batchMax,
    }
    try {
      for (const { dueAtMs } of this.#retries.slice()) void this.#pumpAt(dueAtMs)
      for await (const entries of follow(store, clock, from, this.#until)) {
        this.#unsent = entries.toReversed()
        this.#pump()
        while (this.#unsent.length > 0 && !this.#until.aborted) {
          await this.#entryTaken.wait(clock, idleMs, this.#until)
        }
      }
    } finally {
      this.#failed.abort()
      await Promise.all(this.#attempts)
    }
    if (this.#failed.signal.reason instanceof Failure) throw this.#failed.signal.reason.cause
  }

  /** Starts what may be started. Called whenever that may have changed. */
  #pump(): void {
    try {
      while (this.#mayAttempt()) {
        const delivery = this.#dueRetry() ?? this.#nextDelivery()
        if (delivery === undefined) return
        this.#start(delivery)
      }
    } catch (error) {
      this.#failed.abort(new Failure(error))
    }
  }

  #start(delivery: Delivery): void {
    const attempt = this.#attempt(delivery).finally(() => {
      this.#attempts.delete(attempt)
      this.#pump()
    })
    this.#attempts.add(attempt)
  }

  #mayAttempt(): boolean {
    if (this.#until.aborted || !this.#link.valid) return false
    return this.#attempts.size < (this.#isDown() ? 1 : this.#deps.concurrencyPerLink)
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
    const isWindowFull = this.#cursor.openCount >= this.#windowMax || this.#heldBytes >= heldBytesMax
    if (isWindowFull || this.#isDown()) return undefined
    const entry = this.#unsent.pop()
    if (entry === undefined) return undefined
    if (this.#unsent.length === 0) this.#entryTaken.call()
    this.#cursor.start(entry.seq)
    return this.#delivery(entry, 0, 0)
  }

  /** A retry of the store's. Its time is by a clock that may have stepped, so it waits no longer than any does. */
  #resumed({ entry, failures, dueAtMs }: RetryEntry): Delivery {
    const { clock, retry } = this.#deps
    const waitMs = Math.min(Math.max(0, dueAtMs - clock.nowMs()), retry.maxMs)
    return this.#delivery(entry, failures, clock.monotonicMs() + waitMs)
  }

  #delivery(entry: MatchEntry, failures: number, dueAtMs: number): Delivery {
    const { seq } = entry
    const body = Buffer.from(renderDelivery(entry, this.#selection))
    this.#heldBytes += body.length
    return { seq, eventId: `msg_${this.#link.id}_${seq}`, body, failures, dueAtMs }
  }

  /** Resolves when what came of it is saved. Never rejects: what must not happen here ends the run. */
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
    await this.#deps.saves.save(this)
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
    this.#cursor.deliver(delivery.seq)
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
    const { seq, failures } = delivery
    this.#cursor.fail({ seq, failures, dueAtMs: clock.nowMs() + delayMs })
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
