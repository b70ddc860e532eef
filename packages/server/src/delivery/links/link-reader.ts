/**
 * Reads a link's log ahead of its deliveries: entries when they may be sent, few at a time while nothing is delivered,
 * so that a link that waits keeps little in memory except its retries.
 */
import type { MatchSeq } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import { follow, type LogSpan } from "../../store/follow.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"

/** The link that a reader reads for. */
interface ReadingLink {
  /** How many entries to read at a time, and to keep of those read. 0: none, for as long as the webhook is invalid. */
  entriesMax(): number
  /** Whether there is room for another delivery. */
  hasRoom(): boolean
  /** Entries have been read. */
  onRead(): void
}

/** The entries of a link's log that are read and not sent. */
export class LinkReader {
  readonly #deps: Pick<SendingDeps, "store" | "clock">
  readonly #link: ReadingLink
  /** Read and not sent, the next one last. */
  #unsent: MatchEntry[] = []
  /** The last entry that was taken to be sent, or skipped. */
  #taken: MatchSeq
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
  take(): MatchEntry | undefined {
    const entry = this.#unsent.pop()
    if (entry !== undefined) this.#taken = entry.seq
    return entry
  }

  /** Skips the entries up to `position` that were not taken: retention has taken them away. */
  skipTo(position: MatchSeq): void {
    this.#unsent = this.#unsent.filter(({ seq }) => seq > position)
    if (position > this.#taken) this.#taken = position
  }

  /** Call it whenever `entriesMax` or `hasRoom` may have changed, or entries were taken. */
  update(): void {
    // Entries that wait without end would stay in memory; they are read again.
    const spare = this.#unsent.length - this.#link.entriesMax()
    if (spare > 0) this.#unsent.splice(0, spare)
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

  /** Reads entries and has them sent, for as long as so many may be read at a time. */
  async #readOn(from: Pick<LogSpan, "appId" | "shape">, entriesMax: number, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    const span = { ...from, after: this.#taken, batchMax: entriesMax }
    for await (const entries of follow(store, clock, span, signal)) {
      if (this.#link.entriesMax() !== entriesMax) return
      // What retention took meanwhile was skipped, and has its gap marker.
      this.#unsent = entries.filter(({ seq }) => seq > this.#taken).toReversed()
      this.#link.onRead()
      await this.#wanted()
      // Some may have been dropped, to be read again.
      const wasAllTaken = this.#taken >= (entries.at(-1)?.seq ?? 0)
      if (!wasAllTaken || this.#link.entriesMax() !== entriesMax) return
    }
  }

  #stop(): void {
    this.#isStopped = true
    this.#onWanted?.()
  }

  /** Waits until nothing read is left, and more may be taken. */
  #wanted(): Promise<void> {
    if (this.#isWanted()) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onWanted = resolve
    })
  }

  #isWanted(): boolean {
    return this.#isStopped || (this.isEmpty && this.#link.entriesMax() > 0 && this.#link.hasRoom())
  }
}
