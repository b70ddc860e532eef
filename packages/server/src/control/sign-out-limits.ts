/**
 * How often the sessions of one token may be signed out. Each sign-out is a row that the store keeps for up to 36 hours,
 * and anyone who has a token may begin as many sessions as they like.
 */
import { LRUCache } from "lru-cache"
import { RateLimited } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"

/** Time in which sign-outs are counted. Ours. */
const windowMs = 15 * 60_000

/** Most sign-outs of a token's sessions in 15 minutes. Ours: far more than people need. */
const signOutsMax = 60

/** Most tokens that are counted; beyond it the one that signed out longest ago is forgotten. Ours. */
const countedMax = 20_000

/** Counts sign-outs by token, in this process. */
export class SignOutLimits {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #counted = new LRUCache<string, { readonly windowEndsAtMs: number; count: number }>({ max: countedMax })

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock
  }

  /** Counts one of the token with this hash. Throws `RateLimited` when the token has had its share. */
  count(tokenHash: string): void {
    const nowMs = this.#clock.monotonicMs()
    const known = this.#counted.get(tokenHash)
    if (known === undefined || known.windowEndsAtMs <= nowMs) {
      this.#counted.set(tokenHash, { windowEndsAtMs: nowMs + windowMs, count: 1 })
    } else if (known.count < signOutsMax) {
      known.count += 1
    } else {
      throw new RateLimited({ limit: signOutsMax, retryAfterMs: known.windowEndsAtMs - nowMs })
    }
  }
}
