/**
 * One run of a replay: a segment of an app's log, or what a backfill has found, sent to one webhook.
 *
 *     read up to the end ───► entry ─► attempt ─ 2xx ─► finished ─► head ─► save ─► its slot is free
 *                                        ▲  └─ else ─► delay ─┘
 *                                        └──────── up to 5 attempts, then failed
 *
 * It is a second cursor, next to the link's own: it has its own slots and moves nothing of the link, so live deliveries
 * do not depend on it. Attempts may finish in any order. The position that is saved is the finished head, and a job
 * that is resumed begins there. A match has its slot until the head has passed it and that is saved, so a process that
 * is killed leaves at most `slotsMax` of them to be repeated.
 *
 * An endpoint that takes none of as many matches in a row as there are slots is down: the remaining matches are given
 * up, and the end of the job says so. X's words for it: "please retry your replay job". While the webhook is invalid
 * the job waits.
 */
import { faultOf } from "@sluice/api"
import type { MatchSeq } from "../../model/ids.ts"
import { selectionOfQuery } from "../../model/link-query.ts"
import type { LinkToDeliver } from "../../model/link.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { PostShape } from "../../model/post.ts"
import { shapeFor } from "../../model/render-post.ts"
import type { Replay, ReplayProgress } from "../../model/replay.ts"
import { DeliveryRate } from "../sending/delivery-rate.ts"
import { readAgainMs } from "../sending/read-again.ts"
import { endpointPauseMs, retryDelayMs, type RetryPolicy } from "../sending/retry-delay.ts"
import type { LinkSender } from "../sending/sender.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"
import { WakeUp } from "../wake-up.ts"
import { ReplayCursor } from "./replay-cursor.ts"
import { sourceOf, type ReplaySource } from "./replay-source.ts"

/** Most attempts for one match of a replay, and for its completion event. Ours. */
export const replayAttemptsMax = 5

/** Delays between them: short, since the caller waits for the replay. Ours. */
export const replayRetryPolicy: RetryPolicy = { baseMs: 1_000, maxMs: 30_000 }

/** Most matches of a replay in flight, or finished and not saved. Ours. */
const slotsMax = 8

/** Longest sleep where a wake-up is certain. */
const idleMs = 60_000

/** The result of a match. `unsent`: there was nothing to send, since its post is damaged or deleted. */
type MatchEnd = "delivered" | "failed" | "unsent"

/** Dependencies of a job. */
interface ReplayJobDeps extends Pick<SendingDeps, "store" | "clock" | "random" | "deliveriesPerLinkPerSecondMax"> {
  readonly sender: LinkSender
  /** The link's lease, under which the job runs. */
  readonly lease: number
}

interface ReadEntry {
  readonly entry: MatchEntry
  /** By the monotonic clock. */
  readonly readAtMs: number
}

/** One run of a replay, from its position on. */
export class ReplayJob {
  readonly #deps: ReplayJobDeps
  readonly #replay: Replay
  readonly #cursor: ReplayCursor
  readonly #source: ReplaySource
  readonly #sending = new Set<Promise<void>>()
  readonly #wakeUp = new WakeUp()
  readonly #rate: DeliveryRate
  readonly #shape: PostShape
  #link: LinkToDeliver
  #linkChanged = Promise.withResolvers<void>()
  /** Number of saved matches among those that the head has passed. */
  #savedCount = 0
  #saving: Promise<void> | undefined
  /** Matches that failed since one was delivered. */
  #failedInARow = 0
  /** Nothing is sent before, as the endpoint requested. By the monotonic clock. */
  #pausedUntilMs = 0
  /** An unexpected error, which ends the run. */
  #failure: { readonly error: unknown } | undefined

  constructor(replay: Replay, link: LinkToDeliver, deps: ReplayJobDeps) {
    this.#deps = deps
    this.#replay = replay
    this.#link = link
    this.#shape = shapeFor(selectionOfQuery(link.query))
    this.#cursor = new ReplayCursor(replay)
    this.#source = sourceOf(replay, deps)
    this.#rate = new DeliveryRate(deps.deliveriesPerLinkPerSecondMax)
  }

  /** Takes over what has changed of its link. Throws when the link's secrets cannot be opened. */
  update(link: LinkToDeliver): void {
    this.#deps.sender.update(link)
    this.#link = link
    this.#notifyLinkChanged()
  }

  /** The position of the job. */
  get progress(): ReplayProgress {
    return this.#cursor.progress
  }

  /**
   * Sends until the end, or until `signal`. Attempts in flight finish first, and progress is saved. Rejects when the
   * log cannot be read or progress cannot be saved; another job can then continue from what is saved.
   */
  async run(signal: AbortSignal): Promise<"finished" | "stopped"> {
    const { store } = this.#deps
    const stop = (): void => this.#notifyLinkChanged()
    signal.addEventListener("abort", stop)
    try {
      await this.#sendAll(signal)
    } finally {
      await Promise.all(this.#sending)
      await this.#saving
      signal.removeEventListener("abort", stop)
    }
    if (this.#failure !== undefined) throw this.#failure.error
    // The event of the end goes to the same endpoint.
    await this.#sleepUntil(() => this.#pausedUntilMs, signal)
    // Matches of the end that retention has deleted never came, and those that were given up never will.
    if (!signal.aborted) this.#cursor.failUpTo(this.#replay.endSeq)
    await store.saveReplay({ ...this.#cursor.progress, lease: this.#deps.lease })
    return signal.aborted ? "stopped" : "finished"
  }

  async #sendAll(signal: AbortSignal): Promise<void> {
    const shape = this.#shape
    for await (const entries of this.#source.entries(this.#cursor.position, shape, signal)) {
      const readAtMs = this.#deps.clock.monotonicMs()
      for (const entry of entries) {
        if (!(await this.#hasFreeSlot(signal))) break
        this.#start({ entry, readAtMs }, signal)
      }
      if (this.#isOver(signal)) break
    }
  }

  /** No other match is to be started. */
  #isOver(signal: AbortSignal): boolean {
    return signal.aborted || this.#failedInARow >= slotsMax || this.#failure !== undefined
  }

  /** Waits for a slot. False when no other match is to be started. */
  async #hasFreeSlot(signal: AbortSignal): Promise<boolean> {
    while (!this.#isOver(signal)) {
      if (this.#link.valid && this.#cursor.startedCount - this.#savedCount < slotsMax) return true
      await this.#wakeUp.wait(this.#deps.clock, idleMs, signal)
    }
    return false
  }

  #start(read: ReadEntry, signal: AbortSignal): void {
    this.#cursor.start(read.entry.seq)
    const sending = this.#send(read, signal).finally(() => {
      this.#sending.delete(sending)
      this.#wakeUp.call()
    })
    this.#sending.add(sending)
  }

  /** Never rejects: an unexpected error ends the run. */
  async #send(read: ReadEntry, signal: AbortSignal): Promise<void> {
    try {
      const end = await this.#deliver(read, signal)
      // One that was stopped has not ended, and is sent by the job that continues.
      if (end !== undefined) this.#finish(read.entry.seq, end)
    } catch (error) {
      this.#failure ??= { error }
    }
  }

  /** The result of the match; `undefined` when the job was stopped first. */
  async #deliver({ entry: first, readAtMs }: ReadEntry, signal: AbortSignal): Promise<MatchEnd | undefined> {
    const { sender, clock, random } = this.#deps
    if (first.isDeleted === true) return "unsent"
    let [entry, failures] = [first, 0]
    for (let tries = 0; await this.#maySend(signal); tries += 1) {
      if (tries > 0 || clock.monotonicMs() - readAtMs >= readAgainMs) {
        const now = await this.#source.entry(entry.seq, this.#shape)
        // Retention has taken the match: what it was may be deleted since.
        if (now === undefined) return "unsent"
        entry = now
      }
      if (entry.isDeleted === true) return "unsent"
      const body = sender.render(entry)
      if (body === undefined) {
        this.#source.refuseDamaged(entry.seq)
        return "unsent"
      }
      const result = await this.#source.send(entry, body)
      const { outcome, retryAfterMs } = result
      if (outcome === "delivered") return "delivered"
      const pausedUntilMs = clock.monotonicMs() + endpointPauseMs(replayRetryPolicy, result)
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, pausedUntilMs)
      if (outcome === "gone") await this.#invalidateWebhook()
      // A failure on this machine is not the endpoint's.
      if (faultOf(outcome) === "endpoint") failures += 1
      if (failures === replayAttemptsMax) return "failed"
      const delayMs = retryDelayMs(replayRetryPolicy, Math.max(1, failures), random.fraction(), retryAfterMs)
      await clock.sleep(delayMs, signal)
    }
    return undefined
  }

  /** Sleeps until a time by the monotonic clock, which other matches may put off meanwhile, or until `signal`. */
  async #sleepUntil(atMs: () => number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    const leftMs = (): number => Math.ceil(atMs() - clock.monotonicMs())
    for (let ms = leftMs(); ms > 0 && !signal.aborted; ms = leftMs()) await clock.sleep(ms, signal)
  }

  /** Waits until the webhook is valid, the endpoint's pause is over and the rate allows a send. False when stopped first. */
  async #maySend(signal: AbortSignal): Promise<boolean> {
    while (!this.#link.valid && !signal.aborted) await this.#linkChanged.promise
    await this.#sleepUntil(() => Math.max(this.#rate.nextAtMs, this.#pausedUntilMs), signal)
    if (signal.aborted) return false
    this.#rate.note(this.#deps.clock.monotonicMs())
    return true
  }

  /** The endpoint wants no more deliveries, live or replayed. */
  async #invalidateWebhook(): Promise<void> {
    if (!this.#link.valid) return
    this.#link = { ...this.#link, valid: false }
    await this.#deps.sender.invalidateWebhook()
  }

  #finish(seq: MatchSeq, end: MatchEnd): void {
    // A match of which nothing was sent says nothing about the endpoint.
    if (end === "delivered") this.#failedInARow = 0
    else if (end === "failed") this.#failedInARow += 1
    this.#cursor.finish(seq, end === "delivered")
    // A save that has nothing to do would end before it is assigned, and prevent the next one.
    if (this.#savedCount < this.#cursor.doneCount) this.#saving ??= this.#saveWhileItMoves()
  }

  /** One save at a time; the next one includes all progress made meanwhile. */
  async #saveWhileItMoves(): Promise<void> {
    try {
      while (this.#savedCount < this.#cursor.doneCount) {
        const { doneCount, progress } = this.#cursor
        await this.#deps.store.saveReplay({ ...progress, lease: this.#deps.lease })
        this.#savedCount = doneCount
        this.#wakeUp.call()
      }
    } catch (error) {
      this.#failure ??= { error }
      this.#wakeUp.call()
    } finally {
      this.#saving = undefined
    }
  }

  #notifyLinkChanged(): void {
    this.#linkChanged.resolve()
    this.#linkChanged = Promise.withResolvers()
    this.#wakeUp.call()
  }
}
