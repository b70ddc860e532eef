/**
 * The troubles of all apps: each request, its remainder, and the times of its application.
 *
 * Only a server for development has them. They are kept in memory, at most `troublesPerAppMax` of an app, and a restart
 * clears them: a forgotten one must not go on for weeks. When several are for the same delivery, the oldest that is not
 * used up is applied.
 */
import type { AppId, TroubleId, WebhookId } from "../model/ids.ts"
import { conflict, notFound } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Random } from "../runtime/random.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { Extent, Fault, Trouble, TroubleRequest } from "./trouble.ts"

/** Most troubles of an app at a time. Ours. */
export const troublesPerAppMax = 20

/** A webhook, and whose it is. */
export interface WebhookOfApp {
  readonly appId: AppId
  readonly webhookId: WebhookId
}

interface TroublesDeps {
  readonly clock: Clock
  readonly random: Random
  readonly snowflakes: Snowflakes
  /** True if deliveries pass through here: those of the main thread do. */
  readonly meetsDeliveries: boolean
}

/** The troubles that apps requested; the stages use them up. */
export class Troubles {
  readonly #deps: TroublesDeps
  readonly #byApp = new Map<AppId, Map<TroubleId, Trouble>>()

  constructor(deps: TroublesDeps) {
    this.#deps = deps
  }

  /** Throws 409 when the app has as many as it may, and when it is one that nothing would meet. */
  add(appId: AppId, request: TroubleRequest): Trouble {
    if (!this.#deps.meetsDeliveries && (request.kind === "responses" || request.kind === "repeats")) {
      throw conflict(
        "Delivery threads send the deliveries here, and this trouble does not reach them. " +
          "Start the server with SLUICE_DELIVERY_THREADS=0, the default of `sluice dev`.",
      )
    }
    const troubles = this.#byApp.get(appId) ?? new Map<TroubleId, Trouble>()
    if (troubles.size >= troublesPerAppMax) {
      throw conflict(`The app has ${troublesPerAppMax} troubles waiting, which is the limit. Clear some first.`)
    }
    const id = this.#deps.snowflakes.next() as TroubleId
    const trouble: Trouble = { ...request, id, createdAtMs: this.#deps.clock.nowMs(), applied: 0 }
    this.#byApp.set(appId, troubles.set(id, trouble))
    return trouble
  }

  /** Oldest first: the order in which they are applied. */
  list(appId: AppId): readonly Trouble[] {
    return Array.from(this.#byApp.get(appId)?.values() ?? [])
  }

  /** Throws 404 when the app has no such trouble. */
  remove(appId: AppId, id: TroubleId): void {
    if (this.#byApp.get(appId)?.has(id) !== true) throw notFound("trouble", "id", id)
    this.#drop(appId, id)
  }

  /** Clears all of the app's, and returns how many there were. */
  clear(appId: AppId): number {
    const count = this.#byApp.get(appId)?.size ?? 0
    this.#byApp.delete(appId)
    return count
  }

  /** True if the app has any. */
  hasAny(appId: AppId): boolean {
    return this.#byApp.has(appId)
  }

  /** The fault of a delivery; `undefined`: none. */
  takeResponse(webhook: WebhookOfApp): Fault | undefined {
    const taken = this.#take(webhook.appId, (trouble) => trouble.kind === "responses" && isFor(trouble, webhook))
    return taken?.kind === "responses" ? taken.fault : undefined
  }

  /** The fault of a challenge; `undefined`: none. */
  takeChallenge(webhook: WebhookOfApp): Fault | undefined {
    const taken = this.#take(webhook.appId, (trouble) => trouble.kind === "challenges" && isFor(trouble, webhook))
    return taken?.kind === "challenges" ? taken.fault : undefined
  }

  /** True if a delivery that was received is to be sent once more. */
  takeRepeat(webhook: WebhookOfApp): boolean {
    return this.#take(webhook.appId, (trouble) => trouble.kind === "repeats" && isFor(trouble, webhook)) !== undefined
  }

  /** True if a page token issued at this time counts as expired. */
  takeExpiry(appId: AppId, issuedAtMs: number): boolean {
    const isExpired = ({ kind, extent }: Trouble): boolean =>
      kind === "page_tokens" && (extent.kind !== "issued-until" || issuedAtMs <= extent.atMs)
    return this.#take(appId, isExpired) !== undefined
  }

  /** The oldest of these whose chance it is; one that is used up by this is gone. */
  #take(appId: AppId, isMeant: (trouble: Trouble) => boolean): Trouble | undefined {
    const troubles = this.#byApp.get(appId)
    if (troubles === undefined) return undefined
    for (const trouble of troubles.values()) {
      const { id, extent, applied } = trouble
      if (!isMeant(trouble) || !this.#isHit(extent)) continue
      if (extent.kind === "next" && extent.count === 1) {
        this.#drop(appId, id)
      } else {
        const left: Extent = extent.kind === "next" ? { kind: "next", count: extent.count - 1 } : extent
        troubles.set(id, { ...trouble, extent: left, applied: applied + 1 })
      }
      return trouble
    }
    return undefined
  }

  #isHit(extent: Extent): boolean {
    return extent.kind !== "percent" || this.#deps.random.fraction() * 100 < extent.percent
  }

  #drop(appId: AppId, id: TroubleId): void {
    const troubles = this.#byApp.get(appId)
    troubles?.delete(id)
    if (troubles?.size === 0) this.#byApp.delete(appId)
  }
}

function isFor(trouble: Exclude<Trouble, { kind: "page_tokens" }>, { webhookId }: WebhookOfApp): boolean {
  return trouble.webhookId === undefined || trouble.webhookId === webhookId
}
