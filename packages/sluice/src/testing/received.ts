/** Deliveries at a webhook and posts of a stream, for which a test waits. A wait that ends says what it was for. */
import { setTimeout as delay } from "node:timers/promises"
import type { CreateLinkQuery, PostIn, StreamedBody } from "@sluice/api"

/** Longest wait of a test for something to arrive, in real time. Ours: below the limit that test runners have for a test. */
export const waitMsMax = 4_000

/** Time between two checks of what is waited for. Ours. */
const againMs = 5

/** The matches that come, and what they show. */
export interface MatchOptions {
  /** Rules to add to the app's. */
  readonly rules?: readonly string[]
  /** By X's names: `{ "tweet.fields": ["lang"], expansions: ["author_id"] }`. */
  readonly fields?: CreateLinkQuery
}

/** Options of a receiver. */
export interface ReceiveOptions extends MatchOptions {
  /** The status of the response to a delivery; 200 when it returns none. When it throws, 500. */
  readonly respond?: (delivery: ReceivedDelivery) => number | void | Promise<number | void>
}

/** A delivery whose signature was right. */
export interface ReceivedDelivery {
  /** The event id, the same for each attempt. */
  readonly id: string
  /** Whether an attempt with this event id came before. */
  readonly isRepeat: boolean
  readonly post: PostIn<"old">
  readonly body: StreamedBody
  readonly headers: Headers
  /** The body as it came. */
  readonly text: string
}

/** A webhook of the app, with its endpoint in the test. */
export interface TestReceiver extends AsyncDisposable {
  readonly url: string
  readonly webhookId: string
  /** The oldest delivery that `next` has not returned. Waits for one; rejects with the state of the link after 4 s. */
  next(): Promise<ReceivedDelivery>
  /** All deliveries so far, repeats included. */
  all(): readonly ReceivedDelivery[]
  /**
   * Waits until nothing is to be delivered now: each match was, is a dead letter, or waits for a retry at a later time.
   * Returns all deliveries.
   */
  settled(): Promise<readonly ReceivedDelivery[]>
  /** Removes the webhook, and the rules that came with it. */
  close(): Promise<void>
}

/** An open stream of the app. */
export interface TestStream extends AsyncDisposable {
  /** The oldest line that `next` has not returned, whose post is `data`. Waits for one; rejects after 4 s. */
  next(): Promise<StreamedBody>
  /** All lines so far. */
  all(): readonly StreamedBody[]
  /** Ends the connection. */
  close(): Promise<void>
}

/** Items in the order in which they came, and the waits for more. */
export class Received<Item> {
  readonly #items: Item[] = []
  #returned = 0
  #arrived = Promise.withResolvers<void>()
  #failure: { readonly error: unknown } | undefined

  get items(): readonly Item[] {
    return [...this.#items]
  }

  add(item: Item): void {
    this.#items.push(item)
    this.#wake()
  }

  /** Nothing more comes: `next` throws the error once all was returned. */
  fail(error: unknown): void {
    this.#failure = { error }
    this.#wake()
  }

  /** The next one. Throws an error with the text of `waitingFor` when none comes in time. */
  async next(waitingFor: () => Promise<string>): Promise<Item> {
    const late = AbortSignal.timeout(waitMsMax)
    const isLate = new Promise<void>((resolve) => late.addEventListener("abort", () => resolve(), { once: true }))
    for (;;) {
      const item = this.#items[this.#returned]
      if (item !== undefined) {
        this.#returned += 1
        return item
      }
      if (this.#failure !== undefined) throw this.#failure.error
      if (late.aborted) throw new Error(await waitingFor())
      await Promise.race([this.#arrived.promise, isLate])
    }
  }

  #wake(): void {
    this.#arrived.resolve()
    this.#arrived = Promise.withResolvers()
  }
}

/** Waits until `holds`, for 4 s at most; then throws an error with the text of `waitingFor`. */
export async function until(holds: () => Promise<boolean>, waitingFor: () => Promise<string>): Promise<void> {
  const endsAtMs = performance.now() + waitMsMax
  while (!(await holds())) {
    if (performance.now() >= endsAtMs) throw new Error(await waitingFor())
    await delay(againMs)
  }
}
