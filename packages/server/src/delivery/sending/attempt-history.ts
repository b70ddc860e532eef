/**
 * The attempts of all links, on their way to the store.
 *
 * The history is information only, so nothing waits for it. It is saved apart from the progress of links, once a second,
 * and of very many attempts only some. A save that fails is reported and dropped, one that hangs blocks nothing else, and
 * while nothing can be saved the oldest attempts are dropped. So a failure of it can neither delay, fail nor repeat a
 * delivery.
 */
import type { Attempt } from "../../model/attempt.ts"
import type { ReceivedResponse } from "../../runtime/outbound/outbound.ts"
import { keptResponse } from "./kept-response.ts"
import type { SendingDeps } from "./sending-deps.ts"

/** Time between two saves. */
const flushMs = 1_000

/**
 * Most attempts that are saved of a second. Ours: one costs the store several times what the progress of its delivery
 * costs, so of a server that makes thousands of attempts a second the history holds some.
 */
const savedMax = 1_000

/** Most attempts in one write, so that posts and progress wait for a few milliseconds at most. Ours. */
const savedAtOnce = 50

/** Most attempts that wait to be saved, over all links, and most characters of them. Beyond it the oldest half is dropped. */
const pendingMax = 20_000
const pendingCharactersMax = 8 * 1_048_576

/** Characters of an attempt but for its response. */
const attemptCharacters = 400

/** An attempt that has ended, with its whole response: what is kept of that is made when it is saved, for few are. */
export interface EndedAttempt extends Pick<Attempt, "linkId" | "seq" | "atMs" | "durationMs" | "outcome" | "bytes"> {
  readonly status: Attempt["status"] | undefined
  readonly error: Attempt["error"] | undefined
  readonly signatures: Attempt["signatures"] | undefined
  /** `undefined` when no response began. */
  readonly received: ReceivedResponse | undefined
}

/** Dependencies of a history. */
interface AttemptHistoryDeps extends Pick<
  SendingDeps,
  "clock" | "events" | "attemptsKeptPerLink" | "attemptResponseBytesMax" | "deliveryThreads"
> {
  readonly store: Pick<SendingDeps["store"], "recordAttempts">
}

/** Collects attempts and saves them in the background. */
export class AttemptHistory {
  readonly #deps: AttemptHistoryDeps
  /** Oldest first. */
  #pending: EndedAttempt[] = []
  #pendingCharacters = 0
  /** The save in progress or planned; there is one while something is pending. */
  #flushing: Promise<void> | undefined
  readonly #closing = new AbortController()

  constructor(deps: AttemptHistoryDeps) {
    this.#deps = deps
  }

  /** Never throws, and never waits. */
  add(attempt: EndedAttempt): void {
    if (this.#pending.length >= pendingMax || this.#pendingCharacters >= pendingCharactersMax) {
      for (const dropped of this.#pending.splice(0, Math.ceil(this.#pending.length / 2)))
        this.#pendingCharacters -= charactersOf(dropped)
    }
    this.#pending.push(attempt)
    this.#pendingCharacters += charactersOf(attempt)
    this.#flushing ??= this.#flush()
  }

  /** Saves what is left at once. Stays pending when the store does. */
  async close(): Promise<void> {
    this.#closing.abort()
    while (this.#flushing !== undefined) await this.#flushing
  }

  async #flush(): Promise<void> {
    const { store, clock, events, attemptsKeptPerLink: keptPerLink, attemptResponseBytesMax } = this.#deps
    const countMax = Math.floor(savedMax / (this.#deps.deliveryThreads ?? 1))
    while (this.#pending.length > 0) {
      await clock.sleep(flushMs, this.#closing.signal)
      const attempts = attemptsToSave(this.#pending, { keptPerLink, countMax })
      this.#pending = []
      this.#pendingCharacters = 0
      try {
        for (let at = 0; at < attempts.length; at += savedAtOnce) {
          const saved = attempts.slice(at, at + savedAtOnce).map((one) => keptAttempt(one, attemptResponseBytesMax))
          await store.recordAttempts(saved, { keptPerLink })
        }
      } catch (error) {
        events.failed({ where: "attempt history", error })
      }
    }
    this.#flushing = undefined
  }
}

function charactersOf({ received }: EndedAttempt): number {
  if (received === undefined) return attemptCharacters
  let characters = attemptCharacters + received.bodyStart.length
  for (const name in received.headers) characters += name.length + String(received.headers[name]).length
  return characters
}

function keptAttempt(
  { durationMs, status, error, signatures, received, ...attempt }: EndedAttempt,
  bytesMax: number,
): Attempt {
  const response = received && keptResponse(received, bytesMax)
  return {
    ...attempt,
    durationMs: Math.round(durationMs),
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error }),
    ...(signatures !== undefined && { signatures }),
    ...(response !== undefined && { response }),
  }
}

/**
 * At most `countMax` of these attempts, oldest first of each link: as many of each link as of any other that has more, but
 * never more than `keptPerLink`; those that failed before those that delivered, and of either kind the newest.
 */
function attemptsToSave(
  attempts: readonly EndedAttempt[],
  { keptPerLink, countMax }: { readonly keptPerLink: number; readonly countMax: number },
): readonly EndedAttempt[] {
  const ofLinks = [...Map.groupBy(attempts, ({ linkId }) => linkId).values()].toSorted((a, b) => a.length - b.length)
  let left = countMax
  return ofLinks.flatMap((ofLink, index) => {
    const share = Math.min(ofLink.length, keptPerLink, Math.ceil(left / (ofLinks.length - index)))
    left -= share
    if (share === ofLink.length) return ofLink
    const failed = newest(ofLink.filter(isFailed), share)
    const delivered = newest(
      ofLink.filter((one) => !isFailed(one)),
      share - failed.length,
    )
    const kept = new Set([...failed, ...delivered])
    return ofLink.filter((one) => kept.has(one))
  })
}

function isFailed({ outcome }: EndedAttempt): boolean {
  return outcome !== "delivered"
}

function newest(attempts: readonly EndedAttempt[], count: number): readonly EndedAttempt[] {
  return attempts.slice(Math.max(0, attempts.length - count))
}
