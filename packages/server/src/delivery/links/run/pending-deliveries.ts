import type { AppId, MatchSeq, PostId } from "../../../model/ids.ts"

/** A match on its way to an endpoint, from when it is taken from the log until it is delivered or a dead letter. */
export interface Delivery {
  readonly seq: MatchSeq
  readonly postId: PostId
  /** The same over every attempt. Absent when the entry is damaged, or its post deleted. */
  readonly body: Uint8Array | undefined
  readonly isDeleted: boolean
  /** When the entry was read, by the monotonic clock. */
  readonly readAtMs: number
  /** Failures that count against the match; 0 when none has failed. */
  failures: number
  /** Failed attempts, which determine the next delay. */
  tries: number
  /** By the monotonic clock. */
  dueAtMs: number
}

/** Most pending deliveries of a link. Ours. */
const countMax = 1_000

/** Most bytes of their bodies; the last one may go over it. Ours. */
const bytesMax = 16_777_216

/** Bytes that every link may have pending, however much others have: a slow one blocks no other. Ours. */
const bytesOfEachMax = 1_048_576

/** Most bytes that the links of one app have pending together beyond that, and those of all apps. Ours. */
const appBytesMax = 64 * 1_048_576
const allBytesMax = 256 * 1_048_576

/** Bytes of the pending bodies of all links of a thread. */
export class PendingBytes {
  readonly #threads: number
  readonly #ofApp = new Map<AppId, number>()
  #bytes = 0

  /** For one of so many threads, which has an equal share of the bounds. */
  constructor(threads = 1) {
    this.#threads = threads
  }

  /** Counts so many more, or fewer. */
  add(appId: AppId, bytes: number): void {
    const ofApp = (this.#ofApp.get(appId) ?? 0) + bytes
    if (ofApp === 0) this.#ofApp.delete(appId)
    else this.#ofApp.set(appId, ofApp)
    this.#bytes += bytes
  }

  /** True when the links of the app, or all links, have as much pending as they may. */
  isFull(appId: AppId): boolean {
    const ofApp = this.#ofApp.get(appId) ?? 0
    return this.#bytes * this.#threads >= allBytesMax || ofApp * this.#threads >= appBytesMax
  }
}

/** The deliveries that a link keeps in memory: its in-flight window and its retry queue. */
export class PendingDeliveries {
  readonly #appId: AppId
  readonly #all: PendingBytes
  #count = 0
  #bytes = 0
  /** By when they are due. */
  #retries: Delivery[] = []

  constructor(appId: AppId, all: PendingBytes) {
    this.#appId = appId
    this.#all = all
  }

  /** Number of deliveries in flight or waiting for a retry. */
  get count(): number {
    return this.#count
  }

  /** So much is pending that no match may be taken before something of it has ended. */
  get isFull(): boolean {
    if (this.#count >= countMax || this.#bytes >= bytesMax) return true
    return this.#bytes >= bytesOfEachMax && this.#all.isFull(this.#appId)
  }

  /** Adds one, as in flight. */
  add({ body }: Delivery): void {
    this.#count += 1
    this.#addBytes(body?.length ?? 0)
  }

  /** Removes one that is in flight. */
  remove({ body }: Delivery): void {
    this.#count -= 1
    this.#addBytes(-(body?.length ?? 0))
  }

  /** Removes all. */
  clear(): void {
    this.#count = 0
    this.#retries = []
    this.#addBytes(-this.#bytes)
  }

  /** Moves one that is in flight to the retry queue, until it is due. */
  queueRetry(delivery: Delivery): void {
    const later = this.#retries.findLastIndex(({ dueAtMs }) => dueAtMs <= delivery.dueAtMs) + 1
    this.#retries.splice(later, 0, delivery)
  }

  /** The next retry, which may not be due: the one due first, or else the oldest. */
  nextRetry(order: "due" | "oldest"): Delivery | undefined {
    if (order === "due") return this.#retries[0]
    return this.#retries.reduce<Delivery | undefined>(
      (oldest, each) => (oldest === undefined || each.seq < oldest.seq ? each : oldest),
      undefined,
    )
  }

  /** Moves one from the retry queue to the in-flight window. */
  startRetry(delivery: Delivery): void {
    this.#retries.splice(this.#retries.indexOf(delivery), 1)
  }

  /** Sets when the retries are due. */
  reschedule(dueAtMs: (delivery: Delivery) => number): void {
    for (const delivery of this.#retries) delivery.dueAtMs = dueAtMs(delivery)
    this.#retries.sort((a, b) => a.dueAtMs - b.dueAtMs)
  }

  /** Makes these due at once, if they are in the retry queue. */
  makeDueNow(seqs: ReadonlySet<MatchSeq>): void {
    this.reschedule(({ seq, dueAtMs }) => (seqs.has(seq) ? 0 : dueAtMs))
  }

  #addBytes(bytes: number): void {
    this.#bytes += bytes
    this.#all.add(this.#appId, bytes)
  }
}
