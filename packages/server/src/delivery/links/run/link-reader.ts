/**
 * Reads a link's log ahead of its deliveries: entries when they may be sent, few at a time while nothing is delivered,
 * so that a link that waits keeps little in memory except its retries. The next ones are read while the last are sent:
 * a store on another machine takes as long to read them as an endpoint to respond.
 */
import type { MatchSeq } from "../../../model/ids.ts"
import type { MatchEntry } from "../../../model/match.ts"
import { follow, type LogSpan } from "../../../store/follow.ts"
import type { SendingDeps } from "../../sending/sending-deps.ts"

/** The link that a reader reads for. */
interface ReadingLink {
  /**
   * How many entries to read at a time, when no more than half as many are left. 0: none, for as long as the webhook is
   * invalid.
   */
  entriesMax(): number
  /** True when there is room for another delivery. */
  hasRoom(): boolean
  /** Entries have been read. */
  onRead(): void
}

/** An entry as it was read. */
export interface ReadEntry {
  readonly entry: MatchEntry
  /** By the monotonic clock. */
  readonly readAtMs: number
}

/** The entries of a link's log that are read and not sent. */
export class LinkReader {
  readonly #deps: Pick<SendingDeps, "store" | "clock">
  readonly #link: ReadingLink
  /** Read and not sent, the next one last. */
  #unsent: ReadEntry[] = []
  /** The last entry that was taken to be sent, or skipped. */
  #taken: MatchSeq
  /** Aborted when entries were dropped that were read: reading begins again at the first of them. */
  #reading = new AbortController()
  /** Called when entries are wanted. */
  #onWanted: (() => void) | undefined
  #isStopped = false

  /** Reads entries after `after`. */
  constructor(deps: Pick<SendingDeps, "store" | "clock">, link: ReadingLink, after: MatchSeq) {
    this.#deps = deps
    this.#link = link
    this.#taken = after
  }

  /** True when there is no entry to take. */
  get isEmpty(): boolean {
    return this.#unsent.length === 0
  }

  /** Takes the next entry. */
  take(): ReadEntry | undefined {
    const read = this.#unsent.pop()
    if (read !== undefined) this.#taken = read.entry.seq
    return read
  }

  /** Skips the entries up to `position` that were not taken: retention has deleted them. */
  skipTo(position: MatchSeq): void {
    this.#unsent = this.#unsent.filter(({ entry: { seq } }) => seq > position)
    if (position > this.#taken) this.#taken = position
  }

  /** Call it whenever `entriesMax` or `hasRoom` may have changed, or entries were taken. */
  update(): void {
    // Entries that wait without end would stay in memory; they are read again.
    const spare = this.#unsent.length - this.#keptMax()
    if (spare > 0) {
      this.#unsent.splice(0, spare)
      this.#reading.abort()
    }
    if (this.#isWanted()) this.#onWanted?.()
  }

  /** Reads until aborted. Rejects when the store does. */
  async run(from: Pick<LogSpan, "appId" | "shape">, signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#stop())
    if (signal.aborted) this.#stop()
    while (!signal.aborted) {
      await this.#wanted()
      const entriesMax = this.#link.entriesMax()
      if (entriesMax > 0) await this.#readOn(from, entriesMax, signal)
    }
  }

  /** Reads entries and hands them on to be sent, for as long as so many may be read at a time. */
  async #readOn(from: Pick<LogSpan, "appId" | "shape">, entriesMax: number, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    const reading = new AbortController()
    this.#reading = reading
    const span = { ...from, after: this.#read, batchMax: entriesMax }
    for await (const entries of follow(store, clock, span, AbortSignal.any([signal, reading.signal]))) {
      if (reading.signal.aborted || this.#link.entriesMax() !== entriesMax) return
      // Entries that retention deleted meanwhile were skipped, and have their gap marker.
      const readAtMs = clock.monotonicMs()
      const found = entries
        .filter(({ seq }) => seq > this.#taken)
        .map((entry) => ({ entry, readAtMs }))
        .toReversed()
      this.#unsent = this.#unsent.length === 0 ? found : [...found, ...this.#unsent]
      this.#link.onRead()
      await this.#wanted()
      if (this.#link.entriesMax() !== entriesMax) return
    }
  }

  /** Up to where the log was read, without what was dropped to be read again. */
  get #read(): MatchSeq {
    return this.#unsent[0]?.entry.seq ?? this.#taken
  }

  #stop(): void {
    this.#isStopped = true
    this.#onWanted?.()
  }

  /** Waits until few entries are left, and more may be taken. */
  #wanted(): Promise<void> {
    if (this.#isWanted()) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onWanted = resolve
    })
  }

  #isWanted(): boolean {
    if (this.#isStopped) return true
    const entriesMax = this.#link.entriesMax()
    return entriesMax > 0 && this.#unsent.length <= Math.floor(entriesMax / 2) && this.#link.hasRoom()
  }

  /** Size of a read while as much is left as may be. */
  #keptMax(): number {
    const entriesMax = this.#link.entriesMax()
    return entriesMax + Math.floor(entriesMax / 2)
  }
}
