/**
 * Limits of challenges and of tests of webhooks: each is a request to a host that the caller chooses and need not own.
 *
 *     requested by an app ─► room for it, for the host, and over all? ── no ──► 429, come again in a second
 *                            few enough in their 15 minutes? ── no ──► 429, come again when these are over
 *
 * Scheduled challenges are the server's own: a few at a time for a host, and counted for it, but none is refused.
 *
 * When several processes share a store, an app's 15 minutes are counted over all of them. Each process counts the
 * challenges in progress, and those of a host, by itself.
 */
import type { AppId } from "../../model/ids.ts"
import { RateLimited } from "../../model/problem.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { SharedLimits } from "../../store/shared-limits.ts"

/** The time in which challenges are counted. Source: docs.x.com, "Rate limits". */
const windowMs = 15 * 60_000

/** Most challenges in progress that apps requested. Ours. */
const inProgressMax = { app: 5, host: 10, all: 100 }

/** `retry-after` while there is no room: an endpoint has 10 s, and most respond within one. */
const roomMs = 1_000

/** Most apps and hosts that are remembered; beyond it those counted first are dropped. Ours. */
const countedMax = 20_000

interface Counted {
  readonly windowEndsAtMs: number
  count: number
  inProgress: number
}

/** Counts challenges by app and by the host of their endpoint. */
export class ChallengeLimits {
  readonly #clock: Clock
  readonly #shared: SharedLimits | undefined
  readonly #perWindowMax: { readonly app: number; readonly host: number }
  /**
   * Ordered by when their 15 minutes began. Not an LRU cache: a challenge that is in progress must not be dropped, and
   * the others are dropped when their time is over, not when they are needed least.
   */
  readonly #counted = new Map<string, Counted>()
  #inProgress = 0

  /** An app may request `challengesPerAppMax` in 15 minutes; all apps together twice as many of one host. */
  constructor(clock: Clock, challengesPerAppMax: number, shared?: SharedLimits) {
    this.#clock = clock
    this.#shared = shared
    this.#perWindowMax = { app: challengesPerAppMax, host: challengesPerAppMax * 2 }
  }

  /** As `enter`, and counted over all processes. */
  async enterEverywhere(appId: AppId, url: string): Promise<() => void> {
    const leave = this.enter(appId, url)
    try {
      const { app: max } = this.#perWindowMax
      const taken = await this.#shared?.takeUses(appId, "challenges", { max, windowMs })
      if (taken?.granted === 0) throw new RateLimited({ limit: max, retryAfterMs: taken.endsInMs })
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Takes a slot for a challenge that an app requests of this process; returns its release. Throws `RateLimited`. */
  enter(appId: AppId, url: string): () => void {
    const perWindowMax = this.#perWindowMax
    const app = this.#of(`app ${appId}`)
    const host = this.#of(hostOf(url))
    const isFull =
      this.#inProgress >= inProgressMax.all ||
      app.inProgress >= inProgressMax.app ||
      host.inProgress >= inProgressMax.host
    if (isFull) throw new RateLimited({ limit: perWindowMax.app, retryAfterMs: roomMs })
    for (const [counted, limit] of [[app, perWindowMax.app] as const, [host, perWindowMax.host] as const]) {
      if (counted.count < limit) continue
      throw new RateLimited({ limit, retryAfterMs: counted.windowEndsAtMs - this.#clock.monotonicMs() })
    }
    app.count += 1
    host.count += 1
    return this.#taken(app, host)
  }

  /** Takes a slot for a scheduled challenge; returns its release. */
  enterScheduled(url: string): () => void {
    return this.#taken(this.#of(hostOf(url)))
  }

  /** Number of apps and hosts that are remembered. */
  get size(): number {
    return this.#counted.size
  }

  #taken(...all: readonly Counted[]): () => void {
    this.#inProgress += 1
    for (const counted of all) counted.inProgress += 1
    return () => {
      this.#inProgress -= 1
      for (const counted of all) counted.inProgress -= 1
    }
  }

  #of(key: string): Counted {
    const nowMs = this.#clock.monotonicMs()
    const known = this.#counted.get(key)
    if (known !== undefined && known.windowEndsAtMs > nowMs) return known
    this.#counted.delete(key)
    const counted = known ?? { windowEndsAtMs: 0, count: 0, inProgress: 0 }
    const renewed = Object.assign(counted, { windowEndsAtMs: nowMs + windowMs, count: 0 })
    this.#counted.set(key, renewed)
    this.#drop(nowMs)
    return renewed
  }

  /** Drops those whose time is over, and the oldest beyond the bound. */
  #drop(nowMs: number): void {
    for (const [key, { windowEndsAtMs, inProgress }] of this.#counted) {
      if (windowEndsAtMs > nowMs && this.#counted.size <= countedMax) return
      if (inProgress === 0) this.#counted.delete(key)
    }
  }
}

/** The host of an endpoint's URL, without the port. */
export function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? url
}
