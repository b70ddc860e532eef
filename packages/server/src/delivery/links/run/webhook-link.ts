/**
 * One run of a webhook link: the durable cursor on an app's match log that sends what it reads to an endpoint.
 *
 *     follow ─► entry ─► attempt ─ 2xx ─► cursor ─► save ─► the attempt's slot is free
 *                          ▲  └─ else ─► retry, or dead letter ─┘
 *                          └──────────────┘ each at its own time
 *
 * `pump` starts what may be started, and runs again whenever a slot becomes free or the time of a retry comes. Nothing
 * queues up in between: the log is the queue, and no new entry is sent when
 *
 * - `concurrencyPerLink` slots are taken. An attempt has its slot until its result is saved, so a process that is
 *   killed leaves at most that many deliveries of a link to be repeated. With many slots, at most half are in flight,
 * - as much is pending as may be (`pending-deliveries.ts`), in flight or retries. Until then, others are delivered
 *   around those that fail,
 * - the endpoint is down, or what is sent does not leave this server (`breaker.ts`, `link-schedule.ts`): then one match at
 *   a time probes it, a second later, two, four, up to ten, and no sooner than a failed match is due by its own schedule
 *   (in strict order the oldest one),
 * - the endpoint asked for time by a 429 or 503 with `Retry-After`. Until then nothing is sent at all,
 * - the rate is reached (`delivery-rate.ts`),
 * - the webhook is invalid, or the link is paused. Attempts in flight end; nothing else happens until that is over.
 *
 * `delivery-outcomes.ts` says what the end of an attempt means for all this.
 */
import { selectionOfQuery } from "../../../model/link-query.ts"
import type { LinkProgress, LinkToDeliver, RetryEntry } from "../../../model/link.ts"
import type { PostShape } from "../../../model/post.ts"
import { shapeFor } from "../../../model/render-post.ts"
import type { Leases } from "../../../store/leases.ts"
import type { Store } from "../../../store/store.ts"
import { readAgainMs } from "../../sending/read-again.ts"
import { LinkSender, type LinkSenderDeps } from "../../sending/sender.ts"
import { hasSameKeys } from "../../sending/signing-keys.ts"
import { Alarm } from "./alarm.ts"
import { DeliveryOutcomes, type DeliveryOutcomesDeps } from "./delivery-outcomes.ts"
import type { FairStarts } from "./fair-starts.ts"
import { LinkCursor } from "./link-cursor.ts"
import { noProbe, type EndpointMemory, type LinkMemory } from "./link-memory.ts"
import { LinkReader, type ReadEntry } from "./link-reader.ts"
import { LinkSchedule } from "./link-schedule.ts"
import { PendingDeliveries, type Delivery, type PendingBytes } from "./pending-deliveries.ts"
import type { ProgressSaves, ProgressSource } from "./progress-saves.ts"

/** Dependencies of a link's delivery. */
export interface WebhookLinkDeps extends Omit<LinkSenderDeps, "events">, DeliveryOutcomesDeps {
  readonly store: Store
  readonly leases: Leases
  readonly concurrencyPerLink: number
  readonly saves: ProgressSaves
  readonly pendingBytes: PendingBytes
  readonly starts: FairStarts
  /** Number of times that reconciling the links of the store has begun. */
  readonly reconcileGeneration: () => number
}

/** Entries read at a time, unless nothing is delivered. */
const batchMax = 100

const stopped = Symbol("stopped")

/** One run of a link, from its position and retries on. */
export class WebhookLink implements ProgressSource {
  readonly #deps: WebhookLinkDeps
  readonly #endpoint: EndpointMemory
  readonly #shape: PostShape
  readonly #sender: LinkSender
  readonly #cursor: LinkCursor
  readonly #pending: PendingDeliveries
  readonly #reader: LinkReader
  readonly #schedule: LinkSchedule
  readonly #outcomes: DeliveryOutcomes
  readonly #alarm: Alarm
  readonly #signal: AbortSignal
  /** Aborted when the run is to end: with `stopped` as the reason, or with the error by which it fails. */
  readonly #ending = new AbortController()
  #link: LinkToDeliver
  /** Redeliveries whose retries have been read. */
  #redeliveries: number
  #isResuming = false
  /** Attempts in flight, and those whose result is not saved. */
  #slotsTaken = 0
  /** Those of them whose attempt has ended and whose result waits for the next save, or is being saved. */
  #unsaved = 0
  #saving = 0
  /** Called when the last of these slots is free. */
  #onDrained: (() => void) | undefined
  #inFlight = 0
  /** The webhook is being invalidated in the store. */
  #isInvalidating = false
  readonly #lease: number
  /** The lease was not renewed in time when that mattered last: nothing was started that might have been. */
  #wasWithoutLease = false

  /**
   * `retries` as the store has them with the link's position, `lease` the one that the run is under. Starts with `run`,
   * ends with `signal`. Throws when the link's secrets cannot be opened.
   */
  constructor(
    { link, retries, lease }: { link: LinkToDeliver; retries: readonly RetryEntry[]; lease: number },
    deps: WebhookLinkDeps,
    memory: LinkMemory,
    signal: AbortSignal,
  ) {
    const { appId, webhookId, position } = link
    const { clock } = deps
    const { endpoint } = memory
    this.#deps = deps
    this.#link = link
    this.#lease = lease
    this.#redeliveries = link.redeliveries
    this.#shape = shapeOf(link)
    this.#sender = new LinkSender(link, deps)
    this.#cursor = new LinkCursor(position, retries)
    this.#endpoint = endpoint
    this.#signal = signal
    this.#alarm = new Alarm(clock, () => this.pump())
    endpoint.breaker.isOrdered = this.#isOrdered()
    const failing = retries.filter(({ failures }) => failures > 0)
    endpoint.breaker.resume({
      failing: failing.length,
      failures: failing.reduce((sum, { failures }) => sum + failures, 0),
    })
    this.#pending = new PendingDeliveries(appId, deps.pendingBytes)
    const reading = {
      entriesMax: () => this.#entriesMax(),
      hasRoom: () => !this.#pending.isFull,
      onRead: () => this.pump(),
    }
    this.#reader = new LinkReader(deps, reading, position)
    this.#schedule = new LinkSchedule({
      endpoint,
      pending: this.#pending,
      reader: this.#reader,
      clock,
      startEntry: () => this.#startEntry(),
    })
    this.#outcomes = new DeliveryOutcomes(
      { webhookId, memory, cursor: this.#cursor, pending: this.#pending, sender: this.#sender },
      deps,
    )
    for (const retry of retries) this.#resume(retry)
  }

  /** Its position. */
  get cursor(): Pick<LinkCursor, "position" | "deliveredUpTo" | "undeliveredOf"> {
    return this.#cursor
  }

  /** Attempts in flight. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** True when the endpoint is down, judging by its attempts. */
  get isDown(): boolean {
    return this.#endpoint.breaker.isDown
  }

  /** When the next attempt that waits for its time is due, Unix ms; `undefined` when none does. */
  get nextAttemptAtMs(): number | undefined {
    return this.#schedule.nextAttemptAtMs
  }

  takeProgress(): LinkProgress {
    this.#saving = this.#unsaved
    this.#unsaved = 0
    return { linkId: this.#link.id, lease: this.#lease, ...this.#cursor.take() }
  }

  progressSaved(): void {
    this.#slotsTaken -= this.#saving
    this.#saving = 0
    if (this.#slotsTaken === 0) this.#onDrained?.()
    this.pump()
  }

  /** Takes over what may change while a link exists. */
  update(link: LinkToDeliver): void {
    const before = this.#link
    this.#link = link
    // The rest is for the few that have changed; all of them are reconciled at every change.
    if (isUnchanged(before, link) && link.position <= this.#cursor.position && !this.#wasWithoutLease) return
    try {
      this.#sender.update(link)
      this.#endpoint.breaker.isOrdered = this.#isOrdered()
      if (mayDeliver(link) && !mayDeliver(before)) this.#outcomes.noteReopened()
      if (link.position > this.#cursor.position) {
        this.#reader.skipTo(link.position)
        this.#cursor.skipTo(link.position)
      }
    } catch (error) {
      this.#fail(error)
    }
    if (link.redeliveries !== this.#redeliveries) void this.#resumeRedelivered()
    this.pump()
  }

  /**
   * Delivers until aborted. Resolves when what is in flight has ended and is saved. Rejects, after that too, when the
   * store fails; the link then continues from `position` in another run.
   */
  async run(): Promise<void> {
    const { signal: ending } = this.#ending
    const end = (): void => this.#ending.abort(stopped)
    this.#signal.addEventListener("abort", end)
    if (this.#signal.aborted) end()
    try {
      this.pump()
      await this.#reader.run({ appId: this.#link.appId, shape: this.#shape }, ending)
    } finally {
      end()
      this.#signal.removeEventListener("abort", end)
      this.#alarm.stop()
      await this.#drained()
      this.#pending.clear()
    }
    if (ending.reason !== stopped) throw ending.reason
  }

  /** Number of entries to read at a time, and to keep of those that were read. */
  #entriesMax(): number {
    if (!mayDeliver(this.#link)) return 0
    return this.#endpoint.breaker.isSilent ? 1 : batchMax
  }

  /** Starts what may be started. Call it whenever that may have changed. */
  pump(): void {
    const { starts } = this.#deps
    try {
      let isItsTurn = true
      while (this.#hasFreeSlot() && this.#schedule.isOpen) {
        isItsTurn = starts.isOpenTo(this)
        const delivery = isItsTurn ? this.#schedule.next() : undefined
        if (delivery === undefined) break
        starts.note()
        void this.#attempt(delivery)
      }
      // Deliveries that wait for a slot or for their turn are started when that comes; the alarm is for those that wait
      // for a time.
      const readyAtMs = isItsTurn && this.#hasFreeSlot() ? this.#schedule.readyAtMs : undefined
      if (readyAtMs !== undefined) this.#alarm.setFor(readyAtMs)
      this.#reader.update()
    } catch (error) {
      this.#fail(error)
    }
  }

  #hasFreeSlot(): boolean {
    if (this.#ending.signal.aborted || !mayDeliver(this.#link) || this.#isInvalidating) return false
    this.#wasWithoutLease = this.#deps.leases.ofLink(this.#link.id) !== this.#lease
    if (this.#wasWithoutLease) return false
    return this.#slotsTaken < this.#schedule.slots && this.#inFlight < this.#schedule.inFlightMax
  }

  /** A concurrency of 1 is strict order too. */
  #isOrdered(): boolean {
    return this.#link.isOrdered || this.#deps.concurrencyPerLink === 1
  }

  #startEntry(): Delivery | undefined {
    const read = this.#reader.take()
    if (read === undefined) return undefined
    this.#cursor.start(read.entry.seq)
    return this.#delivery(read, 0, 0)
  }

  #drained(): Promise<void> {
    if (this.#slotsTaken === 0) return Promise.resolve()
    this.#deps.saves.flushNow()
    return new Promise((resolve) => {
      this.#onDrained = resolve
    })
  }

  /** Takes up a retry of the store. Its time is by a clock that may have stepped: no delay is longer than the maximum. */
  #resume({ entry, failures, dueAtMs }: RetryEntry): void {
    const { clock, retry } = this.#deps
    const delayMs = Math.min(Math.max(0, dueAtMs - clock.nowMs()), retry.maxMs)
    const readAtMs = clock.monotonicMs()
    this.#pending.queueRetry(this.#delivery({ entry, readAtMs }, failures, readAtMs + delayMs))
  }

  #delivery({ entry, readAtMs }: ReadEntry, failures: number, dueAtMs: number): Delivery {
    const body = this.#sender.render(entry)
    const { seq, postId, isDeleted = false } = entry
    const delivery = { seq, postId, body, isDeleted, readAtMs, failures, tries: failures, dueAtMs }
    this.#pending.add(delivery)
    return delivery
  }

  /** Has its slot until its result is saved. Never rejects: an unexpected error ends the run. */
  async #attempt(delivery: Delivery): Promise<void> {
    const { seq, body } = delivery
    this.#slotsTaken += 1
    try {
      if (delivery.isDeleted) {
        this.#outcomes.note(delivery, this.#sender.withdraw(seq))
      } else if (body === undefined) {
        this.#outcomes.note(delivery, this.#sender.refuseDamaged(seq))
      } else {
        this.#endpoint.rate.note(this.#deps.clock.monotonicMs())
        this.#inFlight += 1
        const bodyNow = this.#isToBeReadAgain(delivery) ? await this.#readAgain(delivery, body) : body
        const result = bodyNow === undefined ? this.#sender.withdraw(seq) : await this.#sender.send(delivery, bodyNow)
        this.#inFlight -= 1
        this.#outcomes.note(delivery, result)
        if (result.outcome === "gone") await this.#invalidateWebhook()
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#unsaved += 1
    const { saves } = this.#deps
    void saves.save(this)
    // Attempts in flight may be saved with it, as long as enough others can be sent meanwhile.
    if (this.#ending.signal.aborted || this.#unsaved * 2 >= this.#schedule.slots) saves.flushNow()
    this.pump()
  }

  /** Whether a delivery may hold what has been deleted since it was read. */
  #isToBeReadAgain({ readAtMs, tries }: Delivery): boolean {
    return tries > 0 || this.#deps.clock.monotonicMs() - readAtMs >= readAgainMs
  }

  /** The body of a match as it is stored now; `undefined` when its post is deleted. */
  async #readAgain({ seq, postId }: Delivery, before: Uint8Array): Promise<Uint8Array | undefined> {
    const { store } = this.#deps
    const entry = await store.match(this.#link.appId, seq, this.#shape)
    // Retention has taken the match.
    if (entry === undefined) return (await store.deletedPosts([postId])).has(postId) ? undefined : before
    return entry.isDeleted === true ? undefined : (this.#sender.render(entry) ?? before)
  }

  /** The endpoint wants no more deliveries until its app has validated the webhook again. */
  async #invalidateWebhook(): Promise<void> {
    if (this.#isInvalidating || !this.#link.valid) return
    this.#isInvalidating = true
    try {
      await this.#sender.invalidateWebhook()
      this.#endpoint.goneAtGeneration = this.#deps.reconcileGeneration()
      this.#link = { ...this.#link, valid: false }
    } catch (error) {
      // The next 410 is another chance to invalidate it.
      this.#deps.events.failed({ where: "webhook link", error })
    }
    this.#isInvalidating = false
  }

  /** Takes up retries that the store made of other matches, and those that it made due at once. */
  async #resumeRedelivered(): Promise<void> {
    if (this.#isResuming) return
    this.#isResuming = true
    try {
      while (this.#redeliveries !== this.#link.redeliveries && !this.#ending.signal.aborted) {
        const { id, appId, redeliveries } = this.#link
        this.#cursor.beginReread()
        const saved = this.#deps.saves.save(this)
        this.#deps.saves.flushNow()
        await saved
        const retries = await this.#deps.store.retries(id, this.#shape, appId)
        const found = this.#cursor.resume(retries)
        if (this.#ending.signal.aborted) break
        // The app wants it sent now, so an endpoint that is down is probed now.
        this.#endpoint.probe = noProbe
        this.#pending.makeDueNow(new Set(retries.filter(({ dueAtMs }) => dueAtMs === 0).map(({ seq }) => seq)))
        for (const retry of found) this.#resume(retry)
        this.#redeliveries = redeliveries
        this.pump()
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#isResuming = false
  }

  /** Ends the run. Attempts in flight end first, and are saved. */
  #fail(error: unknown): void {
    this.#ending.abort(error)
  }
}

/** The shape in which a link's entries are read. */
export function shapeOf({ query }: Pick<LinkToDeliver, "query">): PostShape {
  return shapeFor(selectionOfQuery(query))
}

/** Whether matches may be sent over a link at all. */
function mayDeliver({ valid, pausedAtMs }: LinkToDeliver): boolean {
  return valid && pausedAtMs === undefined
}

function isUnchanged(a: LinkToDeliver, b: LinkToDeliver): boolean {
  return (
    a.valid === b.valid &&
    a.url === b.url &&
    a.isOrdered === b.isOrdered &&
    a.pausedAtMs === b.pausedAtMs &&
    a.redeliveries === b.redeliveries &&
    hasSameKeys(a, b)
  )
}
