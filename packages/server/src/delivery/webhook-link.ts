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
 * - as much is held as may be (`held-deliveries.ts`): under way, or retries. Others are delivered around those that
 *   fail until then,
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
 * What the end of an attempt means for all this says `delivery-outcomes.ts`.
 *
 * A link in strict order has one slot and a window of 1. A match that fails holds up those behind it until it is
 * delivered or, after its attempts and no matter why they failed, dead. A concurrency of 1 is strict order too.
 */
import type { MatchSeq } from "../model/ids.ts"
import { selectionOfQuery } from "../model/link-fields.ts"
import type { LinkProgress, LinkToDeliver, RetryEntry } from "../model/link.ts"
import type { MatchEntry } from "../model/match.ts"
import type { PostShape } from "../model/post.ts"
import { shapeFor } from "../model/render-post.ts"
import { follow } from "../store/follow.ts"
import type { Store } from "../store/store.ts"
import { Alarm } from "./alarm.ts"
import type { Breaker } from "./breaker.ts"
import { DeliveryOutcomes, type DeliveryOutcomesDeps } from "./delivery-outcomes.ts"
import { HeldDeliveries, type Delivery } from "./held-deliveries.ts"
import { LinkCursor } from "./link-cursor.ts"
import type { EndpointMemory, LinkMemory } from "./link-memory.ts"
import { LinkSender, type LinkSenderDeps } from "./link-sender.ts"
import type { ProgressSaves, ProgressSource } from "./progress-saves.ts"
import { retireWebhook } from "./retire-webhook.ts"

/** What a link's delivery needs. */
export interface WebhookLinkDeps extends LinkSenderDeps, DeliveryOutcomesDeps {
  readonly store: Store
  readonly concurrencyPerLink: number
  readonly saves: ProgressSaves
  /** How many looks at the links of the store have begun. */
  readonly looksBegun: () => number
}

/** Entries read at a time, unless nothing gets through. */
const batchMax = 100

/** One run of a link, from its position and retries on. */
export class WebhookLink implements ProgressSource {
  readonly #deps: WebhookLinkDeps
  readonly #endpoint: EndpointMemory
  readonly #breaker: Breaker
  readonly #shape: PostShape
  readonly #sender: LinkSender
  readonly #cursor: LinkCursor
  readonly #held = new HeldDeliveries()
  readonly #outcomes: DeliveryOutcomes
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
  /** Attempts under way, and those whose end is not saved. */
  #slotsTaken = 0
  /** Called when the last of these is given back. */
  #onDrained: (() => void) | undefined
  #inFlight = 0
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
    memory: LinkMemory,
    signal: AbortSignal,
  ) {
    this.#deps = deps
    this.#link = link
    this.#redeliveries = link.redeliveries
    this.#shape = shapeOf(link)
    this.#sender = new LinkSender(link, deps)
    this.#cursor = new LinkCursor(link.position, retries)
    this.#taken = link.position
    this.#endpoint = memory.endpoint
    this.#signal = signal
    this.#alarm = new Alarm(deps.clock, () => this.#pump())
    this.#breaker = memory.endpoint.breaker
    this.#breaker.isOrdered = this.#isOrdered()
    this.#breaker.resume(retries.filter(({ failures }) => failures > 0).length)
    const { webhookId } = link
    const judged = { webhookId, memory, cursor: this.#cursor, held: this.#held, sender: this.#sender }
    this.#outcomes = new DeliveryOutcomes(judged, deps)
    for (const retry of retries) this.#resume(retry)
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
      if (link.valid && !before.valid) this.#outcomes.noteValidated()
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
    return this.#unsent.length === 0 && this.#link.valid && !this.#held.isFull
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
    return this.#held.next(this.#isOrdered() ? "oldest" : "due")
  }

  #dueRetry(): Delivery | undefined {
    const next = this.#nextRetry()
    if (next === undefined || !this.#isDue(next)) return undefined
    this.#held.start(next)
    return next
  }

  #isDue({ dueAtMs }: Delivery): boolean {
    return dueAtMs <= this.#deps.clock.monotonicMs()
  }

  #mayTakeEntry(): boolean {
    if (this.#unsent.length === 0) return false
    if (this.#isOrdered()) return this.#held.count === 0
    if (this.#held.isFull) return false
    if (!this.#breaker.isDown && !this.#breaker.isStuck) return true
    // In the place of a retry, or when there is nothing else to try.
    const next = this.#nextRetry()
    return next === undefined || (this.#breaker.isFirstDue && this.#isDue(next))
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

  /** Takes up a retry of the store's. Its time is by a clock that may have stepped: none waits longer than any does. */
  #resume({ entry, failures, dueAtMs }: RetryEntry): void {
    const { clock, retry } = this.#deps
    const waitMs = Math.min(Math.max(0, dueAtMs - clock.nowMs()), retry.maxMs)
    this.#held.wait(this.#delivery(entry, failures, clock.monotonicMs() + waitMs))
  }

  #delivery(entry: MatchEntry, failures: number, dueAtMs: number): Delivery {
    const body = this.#sender.render(entry)
    const delivery = { seq: entry.seq, body, failures, tries: failures, dueAtMs }
    this.#held.hold(delivery)
    return delivery
  }

  /** Has its slot until what came of it is saved. Never rejects: what must not happen here ends the run. */
  async #attempt(delivery: Delivery): Promise<void> {
    const { seq, body } = delivery
    this.#slotsTaken += 1
    try {
      if (body === undefined) {
        this.#outcomes.note(delivery, this.#sender.refuseDamaged(seq))
      } else {
        this.#endpoint.rate.note(this.#deps.clock.monotonicMs())
        this.#inFlight += 1
        const result = await this.#sender.send(seq, body)
        this.#inFlight -= 1
        this.#outcomes.note(delivery, result)
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
        for (const retry of found) this.#resume(retry)
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
