/**
 * A replay at work: a stretch of an app's log, sent to one webhook once more.
 *
 *     follow up to the end ─► entry ─► attempt ─ 2xx ─► done ─► the finished head ─► save ─► its slot is free
 *                                        ▲  └─ else ─► wait ─┘
 *                                        └──────── up to 5 times, then failed
 *
 * It is a cursor beside the link's own: it has slots of its own and moves nothing of the link, so live deliveries
 * know nothing of it. Sends may end in any order; the position that is saved is the finished head, and a job that is
 * taken up again begins there. A match has its slot until the head has passed it and that is saved, so a process
 * that is killed leaves at most `slotsMax` of them to be repeated.
 *
 * An endpoint that takes none of as many matches in a row as there are slots is down: what is left is given up, and
 * the end of the job says so. X's words for it: "please retry your replay job". While the webhook is invalid the job
 * waits.
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import { faultOf } from "@sluice/api"
import type { MatchSeq } from "../model/ids.ts"
import { selectionOfQuery } from "../model/link-fields.ts"
import type { LinkToDeliver } from "../model/link.ts"
import type { MatchEntry } from "../model/match.ts"
import { shapeFor } from "../model/render-post.ts"
import type { Replay, ReplayProgress } from "../model/replay.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Random } from "../runtime/random.ts"
import { follow } from "../store/follow.ts"
import type { Store } from "../store/store.ts"
import type { AttemptResult } from "./attempt.ts"
import { DeliveryRate } from "./delivery-rate.ts"
import type { LinkSender } from "./link-sender.ts"
import { retireWebhook } from "./retire-webhook.ts"
import { retryDelayMs, type RetryPolicy } from "./retry-delay.ts"
import { WakeUp } from "./wake-up.ts"

/** Most matches of a replay on their way. Ours. */
const slotsMax = 8

/** Most attempts for one match. Ours. */
export const replayAttemptsMax = 5

/** Waits between them: short, since whoever asked for the replay is waiting. Ours. */
const retryPolicy: RetryPolicy = { baseMs: 1_000, maxMs: 30_000 }

/** Entries read at a time. */
const batchMax = 100

/** Longest sleep where a wake-up is certain. */
const idleMs = 60_000

/** What came of a match. `damaged`: there was nothing to send. */
type MatchEnd = "delivered" | "failed" | "damaged"

/** What a job needs. */
export interface ReplayJobDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly events: Events
  readonly sender: LinkSender
  /** 0 is without a bound. */
  readonly deliveriesPerLinkPerSecondMax: number
}

/** One replay, from its position on. */
export class ReplayJob {
  readonly #deps: ReplayJobDeps
  readonly #replay: Replay
  readonly #head: FinishedHead
  readonly #sending = new Set<Promise<void>>()
  readonly #woken = new WakeUp()
  readonly #rate: DeliveryRate
  #link: LinkToDeliver
  #linkChanged = Promise.withResolvers<void>()
  /** Of the matches that are done, how many are saved as done. */
  #savedCount = 0
  #saving: Promise<void> | undefined
  /** Matches that the endpoint has not taken since it took one. */
  #failedInARow = 0
  /** What must not happen, and ends the run. */
  #failure: { readonly error: unknown } | undefined

  constructor(replay: Replay, link: LinkToDeliver, deps: ReplayJobDeps) {
    this.#deps = deps
    this.#replay = replay
    this.#link = link
    this.#head = new FinishedHead(replay)
    this.#rate = new DeliveryRate(deps.deliveriesPerLinkPerSecondMax)
  }

  /** Tells the job how its link is now. Throws when its secrets cannot be opened. */
  update(link: LinkToDeliver): void {
    this.#deps.sender.update(link)
    this.#link = link
    this.#tellLinkChanged()
  }

  /** How far the job has come. */
  get progress(): ReplayProgress {
    return this.#head.progress
  }

  /**
   * Sends until the end, or until `signal`; what is under way ends first, and progress is saved. Rejects when the log
   * cannot be read or progress cannot be saved; then a job from what is saved can go on.
   */
  async run(signal: AbortSignal): Promise<"finished" | "stopped"> {
    const { store, clock } = this.#deps
    const { appId, endSeq } = this.#replay
    const shape = shapeFor(selectionOfQuery(this.#link.query))
    const span = { appId, after: this.#head.position, upTo: endSeq, shape, batchMax }
    const stop = (): void => this.#tellLinkChanged()
    signal.addEventListener("abort", stop)
    try {
      for await (const entries of follow(store, clock, span, signal)) {
        for (const entry of entries) {
          if (!(await this.#hasRoom(signal))) break
          this.#start(entry, signal)
        }
        if (this.#isOver(signal)) break
        // A long stretch must not keep everybody else waiting: reads of the embedded store never leave this turn.
        await nextTurn()
      }
    } finally {
      await Promise.all(this.#sending)
      await this.#saving
      signal.removeEventListener("abort", stop)
    }
    if (this.#failure !== undefined) throw this.#failure.error
    // What retention has taken of the end never came, and what was given up never will.
    if (!signal.aborted) this.#head.failUpTo(endSeq)
    await store.saveReplay(this.#head.progress)
    return signal.aborted ? "stopped" : "finished"
  }

  /** Nothing more is to be started. */
  #isOver(signal: AbortSignal): boolean {
    return signal.aborted || this.#failedInARow >= slotsMax || this.#failure !== undefined
  }

  /** Waits for a slot. False when nothing more is to be started. */
  async #hasRoom(signal: AbortSignal): Promise<boolean> {
    while (!this.#isOver(signal)) {
      if (this.#link.valid && this.#head.startedCount - this.#savedCount < slotsMax) return true
      await this.#woken.wait(this.#deps.clock, idleMs, signal)
    }
    return false
  }

  #start(entry: MatchEntry, signal: AbortSignal): void {
    this.#head.start(entry.seq)
    const sending = this.#send(entry, signal).finally(() => {
      this.#sending.delete(sending)
      this.#woken.call()
    })
    this.#sending.add(sending)
  }

  /** Never rejects: what must not happen here ends the run. */
  async #send(entry: MatchEntry, signal: AbortSignal): Promise<void> {
    try {
      const end = await this.#deliver(entry, signal)
      // One that was stopped is neither, and is sent by the job that goes on.
      if (end !== undefined) this.#finish(entry.seq, end)
    } catch (error) {
      this.#failure ??= { error }
    }
  }

  /** What came of it; absent when the job was stopped before that was clear. */
  async #deliver(entry: MatchEntry, signal: AbortSignal): Promise<MatchEnd | undefined> {
    const { sender, clock, random } = this.#deps
    const body = sender.render(entry)
    if (body === undefined) {
      sender.refuseDamaged(entry.seq)
      return "damaged"
    }
    let failures = 0
    while (await this.#maySend(signal)) {
      const result = await sender.send(entry.seq, body)
      if (result.outcome === "delivered") return "delivered"
      if (result.outcome === "gone") await this.#retireWebhook()
      // What failed on this machine says nothing of the endpoint.
      if (faultOf(result.outcome) === "endpoint") failures += 1
      if (failures === replayAttemptsMax) return "failed"
      await clock.sleep(replayRetryDelayMs(result, failures, random.fraction()), signal)
    }
    return undefined
  }

  /** Waits for the webhook to be valid, and for a turn. False when the job is stopped first. */
  async #maySend(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#deps
    while (!this.#link.valid && !signal.aborted) await this.#linkChanged.promise
    // Others may take the turn that was waited for.
    while (clock.monotonicMs() < this.#rate.nextAtMs && !signal.aborted) {
      await clock.sleep(Math.ceil(this.#rate.nextAtMs - clock.monotonicMs()), signal)
    }
    if (signal.aborted) return false
    this.#rate.note(clock.monotonicMs())
    return true
  }

  /** The endpoint wants no more, live or replayed. */
  async #retireWebhook(): Promise<void> {
    if (!this.#link.valid) return
    this.#link = { ...this.#link, valid: false }
    await retireWebhook(this.#deps, this.#link.webhookId)
  }

  #finish(seq: MatchSeq, end: MatchEnd): void {
    // What is damaged says nothing of the endpoint, good or bad.
    if (end === "delivered") this.#failedInARow = 0
    else if (end === "failed") this.#failedInARow += 1
    this.#head.finish(seq, end === "delivered")
    // It would be over before it was kept, and stand in the way of the next one.
    if (this.#savedCount < this.#head.doneCount) this.#saving ??= this.#saveWhileItMoves()
  }

  /** One save at a time; the next one holds whatever has come since. */
  async #saveWhileItMoves(): Promise<void> {
    try {
      while (this.#savedCount < this.#head.doneCount) {
        const { doneCount, progress } = this.#head
        await this.#deps.store.saveReplay(progress)
        this.#savedCount = doneCount
        this.#woken.call()
      }
    } catch (error) {
      this.#failure ??= { error }
      this.#woken.call()
    } finally {
      this.#saving = undefined
    }
  }

  #tellLinkChanged(): void {
    this.#linkChanged.resolve()
    this.#linkChanged = Promise.withResolvers()
    this.#woken.call()
  }
}

/** Wait before the next attempt of a replay. An endpoint that asks for a longer one gets it, within the bounds. */
export function replayRetryDelayMs(result: AttemptResult, failures: number, fraction: number): number {
  const askedMs = Math.min(result.retryAfterMs ?? 0, retryPolicy.maxMs)
  return Math.max(askedMs, retryDelayMs(retryPolicy, Math.max(1, failures), fraction))
}

/**
 * How far a replay is done without a hole, and what came of it until there. Positions that never come were taken away
 * by retention, and count as failed.
 */
class FinishedHead {
  readonly #id: Replay["id"]
  #position: MatchSeq
  #delivered: number
  #failed: number
  #startedCount = 0
  /** Started and beyond the head, in order; with what came of them once that is clear. */
  readonly #open = new Map<MatchSeq, boolean | undefined>()

  constructor({ id, position, delivered, failed }: Replay) {
    this.#id = id
    this.#position = position
    this.#delivered = delivered
    this.#failed = failed
  }

  get position(): MatchSeq {
    return this.#position
  }

  get startedCount(): number {
    return this.#startedCount
  }

  /** How many of them the head has passed. */
  get doneCount(): number {
    return this.#startedCount - this.#open.size
  }

  get progress(): ReplayProgress {
    return { id: this.#id, position: this.#position, delivered: this.#delivered, failed: this.#failed }
  }

  /** Each must come after those before. */
  start(seq: MatchSeq): void {
    this.#startedCount += 1
    this.#open.set(seq, undefined)
  }

  finish(finished: MatchSeq, isDelivered: boolean): void {
    this.#open.set(finished, isDelivered)
    for (const [seq, outcome] of this.#open) {
      if (outcome === undefined) return
      this.#open.delete(seq)
      this.#failed += seq - this.#position - (outcome ? 1 : 0)
      this.#delivered += outcome ? 1 : 0
      this.#position = seq
    }
  }

  /** Everything up to here that is not done has failed. To be called when nothing is under way. */
  failUpTo(seq: MatchSeq): void {
    if (seq <= this.#position) return
    this.#failed += seq - this.#position
    this.#position = seq
  }
}
