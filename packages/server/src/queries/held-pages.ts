/** Bounds the memory of pages of posts and lists of rules, from their read until their clients have received them. */
import { tooManyPages } from "../model/problem.ts"
import { ByteBudget, type HeldBytes } from "../runtime/byte-budget.ts"

/** Bytes that a page takes before its size is known: about the most that it may have. Ours. */
export const pageBytesMax = 2_097_152

/** Bounds for all apps and for one app, and the number of pages of one app that may wait. Ours. */
const bounds = { bytesMax: 67_108_864, shareMax: 8_388_608, waitingMax: 1_000 }

/** The pages of all apps. */
export class HeldPages {
  readonly #budget = new ByteBudget(bounds)

  /** Bytes of all pages at this moment. */
  get bytes(): number {
    return this.#budget.bytes
  }

  /** Waits for room for a page of the app, until `signal` aborts. Throws 503 when too many pages of the app wait. */
  async hold(appId: string, signal: AbortSignal): Promise<HeldBytes> {
    const bytes = await this.#budget.take(appId, pageBytesMax, signal)
    if (bytes === undefined) throw tooManyPages()
    return bytes
  }
}
