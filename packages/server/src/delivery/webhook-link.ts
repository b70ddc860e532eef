/**
 * A webhook link at work: the durable cursor on an app's match log that sends what it reads to an endpoint.
 *
 *     follow ─► entry ─► attempt ─ 2xx ─► cursor ─► save ─► the attempt's slot is free
 *                          ▲  └─ else ─► retry, or dead letter ─┘
 *                          └──────────────┘ each at its own time
 *
 * `pump` starts what may be started, retries that are due before new entries, and runs again whenever a slot becomes
 * free or a moment comes that it waits for. Nothing queues up in between: the log is the queue, and no new entry is
 * sent when
 *
 * - `concurrencyPerLink` slots are taken. An attempt has its slot until what came of it is saved, so a process that
 *   is killed leaves at most that many deliveries of a link to be repeated by the next,
 * - `windowMax` entries, or `heldBytesMax` bytes of them, are held: under way, or retries. Others are delivered
 *   around those that fail until then,
 * - the endpoint is down (`breaker.ts`). Then what has failed is tried, one at a time, and now and then a new entry
 *   in its place. The first success has what was missed tried at once, through few slots at first,
 * - what is sent does not leave this server, so many times in a row. Then too only what has failed is tried,
 * - the endpoint asks for time by a 429 or 503 with `Retry-After`. Until then nothing is sent at all,
 * - so many were sent within a second (`delivery-rate.ts`),
 * - the webhook is invalid. What is under way ends; nothing else happens until it is valid.
 *
 * Entries are read when they may be sent, and few at a time while nothing gets through: a link that waits keeps little
 * in memory but its retries.
 *
 * A match whose attempts are spent becomes a dead letter. A failure counts against its match while others get through;
 * while nothing does, it tells of the endpoint, and none but the first of a match counts, unless so many are held that
 * no other could show that the endpoint is there. What this server failed to send is nobody's failure, and is tried
 * for ever.
 *
 * A link in strict order has one slot and a window of 1. A match that fails holds up those behind it until it is
 * delivered or, after its attempts and no matter why they failed, dead. A concurrency of 1 is strict order too.
 */
import { faultOf } from "@sluice/api"
import type { MatchSeq } from "../model/ids.ts"
import { selectionOfQuery } from "../model/link-fields.ts"
import type { LinkProgress, LinkToDeliver, RetryEntry } from "../model/link.ts"
import type { MatchEntry } from "../model/match.ts"
import type { PostShape } from "../model/post.ts"
import { shapeFor } from "../model/render-post.ts"
import type { Random } from "../runtime/random.ts"
import { follow } from "../store/follow.ts"
import type { Store } from "../store/store.ts"
import { Alarm } from "./alarm.ts"
import type { AttemptResult } from "./attempt.ts"
import { Breaker } from "./breaker.ts"
import { DeliveryRate } from "./delivery-rate.ts"
import { LinkCursor } from "./link-cursor.ts"
import { LinkSender, type LinkSenderDeps } from "./link-sender.ts"
import type { ProgressSaves, ProgressSource } from "./progress-saves.ts"
import { retireWebhook } from "./retire-webhook.ts"
import { grantedDelayMs, retryDelayMs, type RetryPolicy } from "./retry-delay.ts"

/** What a link's delivery needs. */
export interface WebhookLinkDeps extends LinkSenderDeps {
  readonly store: Store
  readonly random: Random
  readonly concurrencyPerLink: number
  readonly deliveryAttemptsMax: number
  /** 0 is without a bound. */
  readonly deliveriesPerLinkPerSecondMax: number
  readonly retry: RetryPolicy
  readonly saves: ProgressSaves
  /** How many looks at the links of the store have begun. */
  readonly looksBegun: () => number
}

/** What a link has come to over all its runs in this process. */
export interface LinkCounters {
  delivered: number
  failed: number
  died: number
  /** Since when every attempt has failed. */
  failingSinceMs: number | undefined
}

/** What a link knows of its endpoint, over all its runs in this process. */
export interface EndpointMemory {
  readonly breaker: Breaker
  readonly rate: DeliveryRate
  /** Nothing is sent before, as the endpoint asked. By the clock that never steps back. */
  heldUntilMs: number
  /**
   * The endpoint has said that it wants no more. That was written down when this many looks at the links had begun, so
   * these may have missed it; `undefined` when a later one has been taken in.
   */
  goneAtLook: number | undefined
}

/** What outlives a run of a link that failed and was started again. */
export interface LinkMemory {
  readonly counters: LinkCounters
  readonly endpoint: EndpointMemory
}

/** A link of which nothing is known yet. */
export function newLinkMemory(
  deps: Pick<WebhookLinkDeps, "concurrencyPerLink" | "deliveriesPerLinkPerSecondMax">,
): LinkMemory {
  return {
    counters: { delivered: 0, failed: 0, died: 0, failingSinceMs: undefined },
    endpoint: {
      breaker: new Breaker(deps.concurrencyPerLink),
      rate: new DeliveryRate(deps.deliveriesPerLinkPerSecondMax),
      heldUntilMs: 0,
      goneAtLook: undefined,
    },
  }
}

/** Most entries that are sent and not delivered. */
const windowMax = 1_000

/** Most bytes of their bodies; the last one may go over it. */
const heldBytesMax = 16_777_216

/** Entries read at a time, unless nothing gets through. */
const batchMax = 100

/** Answers whose `Retry-After` is about the endpoint, not about one request. Source: RFC 6585, 4; RFC 9110, 15.6.4. */
const asksForTime: ReadonlySet<number | undefined> = new Set([429, 503])

interface Delivery {
  readonly seq: MatchSeq
  /** The same over every attempt. Absent when the entry is damaged. */
  readonly body: Uint8Array | undefined
  /** Those that count against the match; 0 when none has failed. */
  failures: number
  /** Attempts that failed, by which the next one waits. */
  tries: number
  /** By the clock that never steps back. */
  dueAtMs: number
}

/** One run of a link, from its position and retries on. */
export class WebhookLink implements ProgressSource {
  readonly #deps: WebhookLinkDeps
  readonly #counters: LinkCounters
  readonly #endpoint: EndpointMemory
  readonly #breaker: Breaker
  readonly #shape: PostShape
  readonly #sender: LinkSender
  readonly #cursor: LinkCursor
  readonly #alarm: Alarm
  readonly #signal: AbortSignal
  /** Aborted when the run is to end; by a `Failure` when it fails. */
  readonly #ending = new AbortController()
  #link: LinkToDeliver
  /** Redeliveries whose retries are taken up. */
  #redeliveries: number
  #isResuming = false
  /** Read and not yet sent, the next one last. */
  #unsent: MatchEntry[] = []
  /** The last entry that was taken to be sent, or passed. */
  #taken: MatchSeq
  /** Called when more are to be read. */
  #onWanted: (() => void) | undefined
  /** What is to be tried again and not under way, by when it is due. */
  #retries: Delivery[]
  /** Attempts under way, and those whose end is not saved. */
  #slotsTaken = 0
  /** Called when the last of these is given back. */
  #onDrained: (() => void) | undefined
  #inFlight = 0
  #heldBytes = 0
  /** The endpoint has said that it wants no more, and that is being written down. */
  #isTurning = false

  /**
   * `retries` as the store has them with the link's position. Starts with `run`, ends with `signal`. Throws when the
   * link's secrets cannot be opened.
   */
  constructor(
    link: LinkToDeliver,
    retries: readonly RetryEntry[],
    deps: WebhookLinkDeps,
    { counters, endpoint }: LinkMemory,
    signal: AbortSignal,
  ) {
    this.#deps = deps
    this.#link = link
    this.#redeliveries = link.redeliveries
    this.#shape = shapeOf(link)
    this.#sender = new LinkSender(link, deps)
    this.#cursor = new LinkCursor(link.position, retries)
    this.#taken = link.position
    this.#counters = counters
    this.#endpoint = endpoint
    this.#signal = signal
    this.#alarm = new Alarm(deps.clock, () => this.#pump())
    this.#breaker = endpoint.breaker
    this.#breaker.isOrdered = this.#isOrdered()
    this.#breaker.resume(retries.filter(({ failures }) => failures > 0).length)
    this.#retries = retries.map((retry) => this.#resumed(retry)).toSorted(byDueTime)
  }

  /** Where its cursor is: everything up to here is delivered, dead, or a retry. */
  get position(): MatchSeq {
    return this.#cursor.position
  }

  /** Everything up to here is delivered, or dead. */
  get deliveredUpTo(): MatchSeq {
    return this.#cursor.deliveredUpTo
  }

  /** Attempts under way. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether the endpoint is down, as far as attempts tell. */
  get isDown(): boolean {
    return this.#breaker.isDown
  }

  /** When the next attempt is due that waits for its time, Unix ms; `undefined` when none does. */
  get nextAttemptAtMs(): number | undefined {
    const { clock } = this.#deps
    const next = this.#nextRetry()
    if (
      next === undefined &&
      (this.#unsent.length === 0 || this.#endpoint.heldUntilMs <= clock.monotonicMs())
    ) {
      return undefined
    }
    const dueAtMs = Math.max(next?.dueAtMs ?? 0, this.#endpoint.heldUntilMs)
    return clock.nowMs() + Math.max(0, dueAtMs - clock.monotonicMs())
  }

  /** How many matches up to `head` are neither delivered nor dead. */
  undeliveredOf(head: MatchSeq): number {
    return this.#cursor.undeliveredOf(head)
  }

  takeProgress(): LinkProgress {
    return { linkId: this.#link.id, ...this.#cursor.take() }
  }

  /** Takes over what may change while a link lives. */
  update(link: LinkToDeliver): void {
    const before = this.#link
    this.#link = link
    // What follows is for the few that have changed; the many are looked at every few seconds.
    if (isUnchanged(before, link) && link.position <= this.#cursor.position) return
    try {
      this.#sender.update(link)
      this.#breaker.isOrdered = this.#isOrdered()
      if (link.valid && !before.valid) this.#comeBack()
      if (link.position > this.#cursor.position) this.#skipTo(link.position)
    } catch (error) {
      this.#fail(error)
    }
    if (link.redeliveries !== this.#redeliveries) void this.#resumeRedelivered()
    this.#pump()
  }

  /**
   * Delivers until aborted, and resolves when what is under way has ended and is saved. Rejects, after that too, when
   * the store fails; the link then goes on from `position` in another run.
   */
  async run(): Promise<void> {
    const { signal: ending } = this.#ending
    const end = (): void => this.#ending.abort()
    this.#signal.addEventListener("abort", end)
    ending.addEventListener("abort", () => this.#onWanted?.())
    if (this.#signal.aborted) end()
    try {
      this.#pump()
      while (!ending.aborted) {
        await this.#entriesWanted()
        const entriesMax = this.#readMax()
        if (entriesMax > 0) await this.#readOn(entriesMax)
      }
    } finally {
      this.#ending.abort()
      this.#signal.removeEventListener("abort", end)
      this.#alarm.stop()
      await this.#drained()
    }
    if (ending.reason instanceof Failure) throw ending.reason.cause
  }

  /** Reads entries and has them sent, as long as so many may be read at a time. */
  async #readOn(entriesMax: number): Promise<void> {
    const { store, clock } = this.#deps
    const from = {
      appId: this.#link.appId,
      after: this.#taken,
      shape: this.#shape,
      batchMax: entriesMax,
    }
    for await (const entries of follow(store, clock, from, this.#ending.signal)) {
      if (this.#readMax() !== entriesMax) return
      // What retention took meanwhile was left out of the cursor's way, and has its gap marker.
      this.#unsent = entries.filter(({ seq }) => seq > this.#taken).toReversed()
      this.#pump()
      await this.#entriesWanted()
      // Some may have been let go, to be read again.
      const wasAllTaken = this.#taken >= (entries.at(-1)?.seq ?? 0)
      if (!wasAllTaken || this.#readMax() !== entriesMax) return
    }
  }

  /** How many entries to read at a time, and to keep of those that were read. */
  #readMax(): number {
    if (!this.#link.valid) return 0
    return this.#breaker.isSilent ? 1 : batchMax
  }

  /** What waits without end would wait in memory. */
  #letGo(): void {
    const spare = this.#unsent.length - this.#readMax()
    if (spare > 0) this.#unsent.splice(0, spare)
  }

  /** Until nothing that was read is left, and more may be taken. */
  #entriesWanted(): Promise<void> {
    if (this.#wantsEntries()) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onWanted = resolve
    })
  }

  #wantsEntries(): boolean {
    if (this.#ending.signal.aborted) return true
    return this.#unsent.length === 0 && this.#link.valid && !this.#isFull()
  }

  /** Starts what may be started. Called whenever that may have changed. */
  #pump(): void {
    try {
      while (this.#mayStart()) {
        const delivery = this.#breaker.isFirstDue
          ? (this.#nextDelivery() ?? this.#dueRetry())
          : (this.#dueRetry() ?? this.#nextDelivery())
        if (delivery === undefined) break
        void this.#attempt(delivery)
      }
      this.#setAlarm()
      this.#letGo()
      if (this.#onWanted !== undefined && this.#wantsEntries()) this.#onWanted()
    } catch (error) {
      this.#fail(error)
    }
  }

  #mayStart(): boolean {
    return this.#hasFreeSlot() && this.#deps.clock.monotonicMs() >= this.#startableAtMs()
  }

  #hasFreeSlot(): boolean {
    if (this.#ending.signal.aborted || !this.#link.valid || this.#isTurning) return false
    return this.#slotsTaken < (this.#isOrdered() ? 1 : this.#breaker.slots)
  }

  /** From when on anything may be sent. */
  #startableAtMs(): number {
    return Math.max(this.#endpoint.heldUntilMs, this.#endpoint.rate.nextAtMs)
  }

  /** Whatever waits for a slot is started when one becomes free; this is for what waits for a moment. */
  #setAlarm(): void {
    if (!this.#hasFreeSlot()) return
    const readyAtMs = this.#mayTakeEntry() ? 0 : this.#nextRetry()?.dueAtMs
    if (readyAtMs !== undefined) this.#alarm.setFor(Math.max(readyAtMs, this.#startableAtMs()))
  }

  #isOrdered(): boolean {
    return this.#link.isOrdered || this.#deps.concurrencyPerLink === 1
  }

  /** In strict order the oldest comes first, though another may be due before it. */
  #nextRetry(): Delivery | undefined {
    if (!this.#isOrdered()) return this.#retries[0]
    return this.#retries.reduce<Delivery | undefined>(
      (oldest, each) => (oldest === undefined || each.seq < oldest.seq ? each : oldest),
      undefined,
    )
  }

  #dueRetry(): Delivery | undefined {
    const next = this.#nextRetry()
    if (next === undefined || !this.#isDue(next)) return undefined
    this.#retries.splice(this.#retries.indexOf(next), 1)
    return next
  }

  #isDue({ dueAtMs }: Delivery): boolean {
    return dueAtMs <= this.#deps.clock.monotonicMs()
  }

  #mayTakeEntry(): boolean {
    if (this.#unsent.length === 0) return false
    if (this.#isOrdered()) return this.#cursor.openCount === 0
    if (this.#isFull()) return false
    if (!this.#breaker.isDown && !this.#breaker.isStuck) return true
    // In the place of a retry, or when there is nothing else to try.
    const next = this.#nextRetry()
    return next === undefined || (this.#breaker.isFirstDue && this.#isDue(next))
  }

  /** So much is held that no entry may be taken before something of it is over. */
  #isFull(): boolean {
    return this.#cursor.openCount >= windowMax || this.#heldBytes >= heldBytesMax
  }

  #nextDelivery(): Delivery | undefined {
    if (!this.#mayTakeEntry()) return undefined
    const entry = this.#unsent.pop()
    if (entry === undefined) return undefined
    this.#taken = entry.seq
    this.#cursor.start(entry.seq)
    return this.#delivery(entry, 0, 0)
  }

  #drained(): Promise<void> {
    if (this.#slotsTaken === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onDrained = resolve
    })
  }

  /** A retry of the store's. Its time is by a clock that may have stepped, so it waits no longer than any does. */
  #resumed({ entry, failures, dueAtMs }: RetryEntry): Delivery {
    const { clock, retry } = this.#deps
    const waitMs = Math.min(Math.max(0, dueAtMs - clock.nowMs()), retry.maxMs)
    return this.#delivery(entry, failures, clock.monotonicMs() + waitMs)
  }

  #delivery(entry: MatchEntry, failures: number, dueAtMs: number): Delivery {
    const body = this.#sender.render(entry)
    this.#heldBytes += body?.length ?? 0
    return { seq: entry.seq, body, failures, tries: failures, dueAtMs }
  }

  /** Has its slot until what came of it is saved. Never rejects: what must not happen here ends the run. */
  async #attempt(delivery: Delivery): Promise<void> {
    const { seq, body } = delivery
    this.#slotsTaken += 1
    try {
      if (body === undefined) {
        this.#note(delivery, this.#sender.refuseDamaged(seq))
      } else {
        this.#endpoint.rate.note(this.#deps.clock.monotonicMs())
        this.#inFlight += 1
        const result = await this.#sender.send(seq, body)
        this.#inFlight -= 1
        this.#note(delivery, result)
        if (result.outcome === "gone") await this.#turnInvalid()
      }
    } catch (error) {
      this.#fail(error)
    }
    await this.#deps.saves.save(this)
    this.#slotsTaken -= 1
    if (this.#slotsTaken === 0) this.#onDrained?.()
    this.#pump()
  }

  #note(delivery: Delivery, result: AttemptResult): void {
    const wasDown = this.#breaker.isDown
    if (result.outcome === "delivered") this.#noteDelivered(delivery)
    else this.#noteFailed(delivery, result)
    const { isDown } = this.#breaker
    if (isDown === wasDown) return
    if (wasDown) this.#forgetOutage()
    this.#deps.events.endpointTurned({ webhookId: this.#link.webhookId, isDown })
  }

  #noteDelivered(delivery: Delivery): void {
    this.#counters.delivered += 1
    this.#counters.failingSinceMs = undefined
    this.#breaker.noteDelivered({ hasFailedBefore: delivery.failures > 0 })
    this.#heldBytes -= delivery.body?.length ?? 0
    this.#cursor.deliver(delivery.seq)
  }

  #noteFailed(delivery: Delivery, result: AttemptResult): void {
    const { clock } = this.#deps
    this.#counters.failed += 1
    this.#counters.failingSinceMs ??= clock.nowMs()
    delivery.tries += 1
    if (result.outcome === "damaged") {
      this.#bury(delivery, result)
    } else if (faultOf(result.outcome) === "server") {
      this.#breaker.noteOwnFailure()
      this.#tryAgain(delivery, this.#delayMs(delivery.tries))
    } else {
      this.#breaker.noteFailed({ hasFailedBefore: delivery.failures > 0 })
      const isBlamed = this.#mayBlame() && result.outcome !== "gone"
      if (isBlamed || delivery.failures === 0) delivery.failures += 1
      const grantedMs = this.#grantTime(result)
      if (isBlamed && delivery.failures >= this.#deps.deliveryAttemptsMax) this.#bury(delivery, result)
      else this.#tryAgain(delivery, Math.max(this.#delayMs(delivery.tries), grantedMs))
    }
  }

  /** Whether a failure tells of its match. Nothing could be sent past those that fill a link up, so it has to. */
  #mayBlame(): boolean {
    return this.#isOrdered() || !this.#breaker.isSilent || this.#isFull()
  }

  #delayMs(tries: number): number {
    return retryDelayMs(this.#deps.retry, tries, this.#deps.random.fraction())
  }

  /** Leaves the endpoint alone when it asks for that. Answers how long its match waits; 0 when it did not ask. */
  #grantTime({ status, retryAfterMs }: AttemptResult): number {
    if (retryAfterMs === undefined) return 0
    const grantedMs = grantedDelayMs(this.#deps.retry, retryAfterMs)
    if (asksForTime.has(status)) {
      this.#endpoint.heldUntilMs = Math.max(
        this.#endpoint.heldUntilMs,
        this.#deps.clock.monotonicMs() + grantedMs,
      )
    }
    return grantedMs
  }

  #tryAgain(delivery: Delivery, delayMs: number): void {
    const { clock } = this.#deps
    const { seq, failures } = delivery
    delivery.dueAtMs = clock.monotonicMs() + delayMs
    this.#cursor.fail({ seq, failures, dueAtMs: clock.nowMs() + delayMs })
    const later = this.#retries.findLastIndex((other) => other.dueAtMs <= delivery.dueAtMs) + 1
    this.#retries.splice(later, 0, delivery)
  }

  #bury({ seq, failures, body }: Delivery, { outcome, status, error }: AttemptResult): void {
    const { clock, events } = this.#deps
    if (failures > 0) this.#breaker.noteDead()
    this.#heldBytes -= body?.length ?? 0
    this.#counters.died += 1
    this.#cursor.die({
      seq,
      failures,
      outcome,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
      diedAtMs: clock.nowMs(),
    })
    const { webhookId } = this.#link
    events.matchDied({ webhookId, eventId: this.#sender.eventIdOf(seq), outcome, failures })
  }

  /** The endpoint wants no more: its webhook is invalid until its app has it validated. */
  async #turnInvalid(): Promise<void> {
    const { events } = this.#deps
    if (this.#isTurning || !this.#link.valid) return
    this.#isTurning = true
    try {
      await retireWebhook(this.#deps, this.#link.webhookId)
      this.#endpoint.goneAtLook = this.#deps.looksBegun()
      this.#link = { ...this.#link, valid: false }
    } catch (error) {
      // Its next 410 is another chance to write it down.
      events.failed({ where: "webhook link", error })
    }
    this.#isTurning = false
  }

  /** The endpoint has answered a challenge. */
  #comeBack(): void {
    const { webhookId } = this.#link
    if (this.#breaker.isDown) this.#deps.events.endpointTurned({ webhookId, isDown: false })
    this.#breaker.restart()
    this.#endpoint.heldUntilMs = 0
    for (const retry of this.#retries) retry.dueAtMs = 0
  }

  /**
   * The endpoint is back: what it missed is due at once. What had failed while others got through waits as long as
   * that deserves, and no longer than it has to: it would bring the link down again, each time that it comes up.
   */
  #forgetOutage(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    for (const retry of this.#retries) {
      retry.tries = retry.failures
      const waitMs = retry.failures > 1 ? this.#delayMs(retry.failures) : 0
      retry.dueAtMs = waitMs === 0 ? 0 : Math.min(retry.dueAtMs, nowMs + waitMs)
    }
    this.#retries.sort(byDueTime)
  }

  /** Retention has taken what was not started up to here. */
  #skipTo(position: MatchSeq): void {
    this.#unsent = this.#unsent.filter(({ seq }) => seq > position)
    if (position > this.#taken) this.#taken = position
    this.#cursor.skipTo(position)
  }

  /** Takes up retries that the store made of dead letters. */
  async #resumeRedelivered(): Promise<void> {
    if (this.#isResuming) return
    this.#isResuming = true
    try {
      while (this.#redeliveries !== this.#link.redeliveries && !this.#ending.signal.aborted) {
        const { id, redeliveries } = this.#link
        this.#cursor.watch()
        await this.#deps.saves.save(this)
        const found = this.#cursor.resume(await this.#deps.store.retries(id, this.#shape))
        const deliveries = found.map((retry) => this.#resumed(retry))
        this.#retries = [...this.#retries, ...deliveries].toSorted(byDueTime)
        this.#redeliveries = redeliveries
        this.#pump()
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#isResuming = false
  }

  /** Ends the run. What is under way ends first, and is saved. */
  #fail(error: unknown): void {
    this.#ending.abort(new Failure(error))
  }
}

/** Why a run ended, as the reason of its signal. */
class Failure extends Error {
  override readonly name = "Failure"

  constructor(cause: unknown) {
    super("the link failed", { cause })
  }
}

/** The shape in which a link's entries are read. */
export function shapeOf({ query }: Pick<LinkToDeliver, "query">): PostShape {
  return shapeFor(selectionOfQuery(query))
}

function byDueTime(a: Delivery, b: Delivery): number {
  return a.dueAtMs - b.dueAtMs
}

function isUnchanged(a: LinkToDeliver, b: LinkToDeliver): boolean {
  return (
    a.valid === b.valid &&
    a.url === b.url &&
    a.isOrdered === b.isOrdered &&
    a.redeliveries === b.redeliveries &&
    a.previousKey?.untilMs === b.previousKey?.untilMs &&
    Buffer.compare(a.consumerSecretSealed, b.consumerSecretSealed) === 0 &&
    Buffer.compare(a.signingKeySealed, b.signingKeySealed) === 0
  )
}
