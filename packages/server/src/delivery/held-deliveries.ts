import type { MatchSeq } from "../model/ids.ts"

/** A match on its way to an endpoint, from when it is taken from the log until it is delivered or dead. */
export interface Delivery {
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

/** Most deliveries that a link holds. Ours. */
const countMax = 1_000

/** Most bytes of their bodies; the last one may go over it. Ours. */
const bytesMax = 16_777_216

/** The deliveries that a link holds in memory: those under way, and those that wait for their next attempt. */
export class HeldDeliveries {
  #count = 0
  #bytes = 0
  /** By when they are due. */
  #waiting: Delivery[] = []

  /** How many are under way or wait. */
  get count(): number {
    return this.#count
  }

  /** So much is held that no match may be taken before something of it is over. */
  get isFull(): boolean {
    return this.#count >= countMax || this.#bytes >= bytesMax
  }

  /** Takes one in, as under way. */
  hold({ body }: Delivery): void {
    this.#count += 1
    this.#bytes += body?.length ?? 0
  }

  /** One that is under way is over. */
  release({ body }: Delivery): void {
    this.#count -= 1
    this.#bytes -= body?.length ?? 0
  }

  /** One that is under way waits until it is due. */
  wait(delivery: Delivery): void {
    const later = this.#waiting.findLastIndex(({ dueAtMs }) => dueAtMs <= delivery.dueAtMs) + 1
    this.#waiting.splice(later, 0, delivery)
  }

  /** The one that is to be tried next, which may not be due: the one due first, or else the oldest. */
  next(order: "due" | "oldest"): Delivery | undefined {
    if (order === "due") return this.#waiting[0]
    return this.#waiting.reduce<Delivery | undefined>(
      (oldest, each) => (oldest === undefined || each.seq < oldest.seq ? each : oldest),
      undefined,
    )
  }

  /** One that waits is under way. */
  start(delivery: Delivery): void {
    this.#waiting.splice(this.#waiting.indexOf(delivery), 1)
  }

  /** Has those that wait be due when `dueAtMs` says. */
  reschedule(dueAtMs: (delivery: Delivery) => number): void {
    for (const delivery of this.#waiting) delivery.dueAtMs = dueAtMs(delivery)
    this.#waiting.sort((a, b) => a.dueAtMs - b.dueAtMs)
  }
}
