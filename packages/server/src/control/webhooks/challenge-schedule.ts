/**
 * Challenges of webhooks, on request and on a schedule, and what follows from them.
 *
 *                    right response                      wrong response, redirect, TLS error
 *     POST /2/webhooks ────► valid ◄──── PUT ──── invalid ◄──── at once
 *                              │                     ▲
 *                              └── every 30 min, when the last success is older than 24 h:
 *                                  no success for 28 h ┘ (4xx, 5xx, no response: until then only reported)
 *
 * The schedule counts what it has seen: after a start, and after a jump of the clock, failures have to go on for the four
 * hours between those two before a webhook is invalidated for time in which it was not challenged.
 *
 * A delivery that gets 410 Gone invalidates a webhook too (`delivery/sending/`). The reason is kept.
 *
 * Source: docs.x.com, "Webhooks: introduction"; docs/compatibility.md, challenge-schedule.
 */
import type { App } from "../../model/app.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { Outbound } from "../../runtime/outbound/outbound.ts"
import type { Random } from "../../runtime/random.ts"
import type { SecretBox } from "../../runtime/secret-box.ts"
import type { Leases } from "../../store/leases.ts"
import type { SharedLimits } from "../../store/shared-limits.ts"
import type { Store } from "../../store/store.ts"
import { ChallengeLimits, hostOf } from "./challenge-limits.ts"
import { challenge, type ChallengeResult } from "./crc-check.ts"

/** Time between two passes of the schedule. Source for these three: docs.x.com, "Webhooks: introduction". */
const scheduleMs = 30 * 60_000

/** A webhook is challenged again when its last success is older. */
const successMsMax = 24 * 3_600_000

/** A webhook is invalidated when it has had no success for so long. */
const silenceMsMax = 28 * 3_600_000

/** Scheduled challenges of a webhook fail for so long before it is invalidated: from the first one until the 28 hours are over. */
const failingMsMin = silenceMsMax - successMsMax

/** Most scheduled challenges at a time, over all and for one host. Ours. */
const scheduledMax = { all: 8, host: 4 }

/** Dependencies of challenges. */
export interface ChallengeScheduleDeps {
  readonly store: Store
  readonly leases: Pick<Leases, "has">
  /** Absent where this process has the store for itself. */
  readonly sharedLimits?: SharedLimits | undefined
  readonly outbound: Outbound
  /** The sender of a webhook's challenges, where that is not `outbound`. */
  readonly outboundTo?: (webhook: { readonly appId: AppId; readonly webhookId: WebhookId }) => Pick<Outbound, "send">
  readonly secretBox: SecretBox
  readonly clock: Clock
  readonly random: Random
  readonly events: Events
  /** In 15 minutes. */
  readonly challengesPerAppMax: number
}

/** Challenges webhooks, and keeps what follows from the results. */
export class ChallengeSchedule {
  readonly #deps: ChallengeScheduleDeps
  readonly #limits: ChallengeLimits
  /** When the first of the latest scheduled challenges of a webhook failed that had no success since, by the monotonic clock. */
  readonly #failingSinceMs = new Map<WebhookId, number>()

  constructor(deps: ChallengeScheduleDeps) {
    this.#deps = deps
    this.#limits = new ChallengeLimits(deps.clock, deps.challengesPerAppMax, deps.sharedLimits)
  }

  /**
   * Challenges an endpoint and reports the result as an event. A `signal` marks a scheduled challenge; without one the
   * app asked for it, and it may throw `RateLimited`.
   */
  async challenge(
    app: App,
    webhook: Pick<StoredWebhook, "id" | "url">,
    signal?: AbortSignal,
  ): Promise<ChallengeResult> {
    const { secretBox, events, random, outboundTo } = this.#deps
    const consumerSecret = secretBox.open(app.consumerSecretSealed)
    const { id, url } = webhook
    const outbound = outboundTo?.({ appId: app.id, webhookId: id }) ?? this.#deps.outbound
    const leave = signal === undefined ? await this.enter(app, url) : this.#limits.enterScheduled(url)
    const result = await challenge({ outbound, random }, { url, consumerSecret }, signal).finally(leave)
    const detail = result.kind === "valid" ? "" : result.detail
    events.challengeFinished({ webhookId: id, outcome: result.kind, detail })
    return result
  }

  /** Takes a slot for a request to an endpoint that an app asks for; returns its release. Throws `RateLimited`. */
  enter(app: App, url: string): Promise<() => void> {
    return this.#limits.enterEverywhere(app.id, url)
  }

  /** Challenges a stored webhook, and validates or invalidates it by the result. */
  async check(app: App, webhook: StoredWebhook, signal?: AbortSignal): Promise<ChallengeResult> {
    const { store, clock, events } = this.#deps
    const result = await this.challenge(app, webhook, signal)
    // A challenge that this server gave up, or could not send, says nothing about the endpoint.
    if (signal?.aborted === true || (result.kind === "unreachable" && result.isOurs === true)) return result
    const nowMs = clock.nowMs()
    const isScheduled = signal !== undefined
    const failingMs = this.#noteFailing(webhook.id, result, isScheduled)
    const isSilentTooLong = nowMs - webhook.checkedAtMs > silenceMsMax
    // An app that requests a challenge gets the result at once; on schedule a jump of the clock does not matter.
    const isLongEnough = !isScheduled || failingMs >= failingMsMin
    if (result.kind === "unreachable" && !(isSilentTooLong && isLongEnough)) return result
    const valid = result.kind === "valid"
    if (!valid && !webhook.valid) return result
    if (result.kind === "valid") await store.markWebhookValid(webhook.id, nowMs)
    else await store.invalidateWebhook(webhook.id, result.detail)
    if (valid !== webhook.valid) events.webhookValidityChanged({ webhookId: webhook.id, valid })
    return result
  }

  /** Notes a result. Returns for how long scheduled challenges of the webhook have failed, in ms. */
  #noteFailing(id: WebhookId, { kind }: ChallengeResult, isScheduled: boolean): number {
    const nowMs = this.#deps.clock.monotonicMs()
    if (kind === "unreachable") {
      const sinceMs = this.#failingSinceMs.get(id) ?? nowMs
      if (isScheduled) this.#failingSinceMs.set(id, sinceMs)
      return nowMs - sinceMs
    }
    this.#failingSinceMs.delete(id)
    return 0
  }

  /** Challenges webhooks on schedule until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    let othersTurns = 0
    while (!signal.aborted) {
      try {
        const isOurs = this.#deps.leases.has("challenges")
        othersTurns = isOurs ? 0 : othersTurns + 1
        // A renewal may be late. After two turns another process challenges them, and knows what has failed.
        if (othersTurns === 2) this.#failingSinceMs.clear()
        if (isOurs) await this.#checkDue(signal)
      } catch (error) {
        this.#reportFailure(error)
      }
      await this.#deps.clock.sleep(scheduleMs, signal)
    }
  }

  /** Challenges every webhook that is due. A webhook that cannot be checked does not hold up the others. */
  async #checkDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#deps.clock.nowMs()
    const webhooks = await this.#deps.store.allWebhooks()
    const validIds = new Set(webhooks.filter(({ valid }) => valid).map(({ id }) => id))
    for (const id of this.#failingSinceMs.keys()) if (!validIds.has(id)) this.#failingSinceMs.delete(id)
    const due = webhooks.filter(({ valid, checkedAtMs }) => valid && isDue(checkedAtMs, nowMs))
    const hosts = Array.from(Map.groupBy(due, ({ url }) => hostOf(url)).values(), (left) => ({
      left,
      inProgress: 0,
    }))
    const work = async (): Promise<void> => {
      while (!signal.aborted) {
        // A worker that finds none leaves the rest to those that are at their hosts already.
        const at = hosts.findIndex(({ left, inProgress }) => left.length > 0 && inProgress < scheduledMax.host)
        const [host] = at < 0 ? [] : hosts.splice(at, 1)
        const webhook = host?.left.pop()
        if (host === undefined || webhook === undefined) return
        // To the end of the list, so that hosts take turns.
        if (host.left.length > 0) hosts.push(host)
        host.inProgress += 1
        await this.#checkScheduled(webhook, signal)
        host.inProgress -= 1
      }
    }
    await Promise.all(Array.from({ length: scheduledMax.all }, work))
  }

  async #checkScheduled(webhook: StoredWebhook, signal: AbortSignal): Promise<void> {
    try {
      const app = await this.#deps.store.app(webhook.appId)
      if (app !== undefined && !app.revoked) await this.check(app, webhook, signal)
    } catch (error) {
      this.#reportFailure(error)
    }
  }

  #reportFailure(error: unknown): void {
    this.#deps.events.failed({ where: "challenge schedule", error })
  }
}

/** Whether a webhook is to be challenged again. A check in the future was made by a clock that was ahead: its age is unknown. */
function isDue(checkedAtMs: number, nowMs: number): boolean {
  return nowMs - checkedAtMs > successMsMax || checkedAtMs > nowMs
}
