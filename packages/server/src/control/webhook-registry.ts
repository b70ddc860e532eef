/**
 * The webhooks of all apps: registered after a challenge, challenged again on a schedule, turned off when wrong.
 *
 *                    right answer                        wrong answer, redirect, TLS error
 *     POST /2/webhooks ────► valid ◄──── PUT ──── invalid ◄──── at once
 *                              │                     ▲
 *                              └── every 30 min, when the last success is older than 24 h:
 *                                  no success for 28 h ┘ (4xx, 5xx, no answer: until then only noted)
 *
 * A delivery that is answered 410 Gone turns it invalid as well; delivery sees to that. The reason is kept.
 *
 * An invalid webhook is sent nothing, challenges included, until its app validates it with `PUT`.
 * Source: docs.x.com, "Webhooks: introduction"; docs/compatibility.md, challenge-schedule.
 */
import type { Webhook } from "@sluice/api"
import type { App } from "../model/app.ts"
import { asId, type AppId, type WebhookId } from "../model/ids.ts"
import { invalidRequest, notFound, type Problem } from "../model/problem.ts"
import type { StoredWebhook } from "../model/webhook.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import { webhookUrlFault } from "../runtime/outbound-address.ts"
import type { Outbound } from "../runtime/outbound.ts"
import type { Random } from "../runtime/random.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { Store } from "../store/store.ts"
import { challenge, expectedAnswer, type ChallengeResult } from "./crc-check.ts"

/** The key of a webhook's Standard Webhooks signature. */
interface SigningKey {
  /** `whsec_` and base64. */
  readonly signing_key: string
  /** Until when the key before it signs too; absent when it does not. */
  readonly previous_valid_until?: string
}

/** The webhooks of all apps. */
export interface WebhookRegistry {
  /**
   * Registers the URL when its endpoint passes a challenge; else nothing is kept. Throws a 400 `Problem` that
   * begins with X's reason: UrlValidationFailed, DuplicateUrlFailed, WebhookLimitExceeded or CrcValidationFailed.
   */
  create(app: App, url: string): Promise<Webhook>
  /** Newest first. */
  list(appId: AppId): Promise<readonly Webhook[]>
  /**
   * Challenges a webhook now. `valid` says how this challenge went. The webhook itself turns valid on success
   * and invalid on a wrong answer; a failure that may pass leaves it as it is within its 28 hours.
   * Throws 404 when the app has no such webhook.
   */
  validate(app: App, id: WebhookId): Promise<{ valid: boolean }>
  /** Throws 404 when the app has no such webhook. */
  signingKey(appId: AppId, id: WebhookId): Promise<SigningKey>
  /**
   * Gives it a new signing key. The present one signs too until its grace is over; the one before that no more. Throws
   * 404 when the app has no such webhook.
   */
  rotateSigningKey(appId: AppId, id: WebhookId): Promise<SigningKey>
  /** Throws 404 when the app has no such webhook. */
  delete(appId: AppId, id: WebhookId): Promise<void>
  /** Challenges webhooks on schedule until aborted. */
  runSchedule(signal: AbortSignal): Promise<void>
}

/** Source: docs.x.com, "Webhooks: introduction", for these three. */
const scheduleMs = 30 * 60_000
const successMsMax = 24 * 3_600_000
const silenceMsMax = 28 * 3_600_000

/** Most scheduled challenges at a time. Ours. */
const challengesMax = 8

/** Bytes of a webhook's own signing key. Source: Standard Webhooks 1.0, 24 to 64. */
const signingKeyBytes = 32

/** Most characters of a refused URL that an answer repeats. */
const shownUrlCharactersMax = 200

/** The registry over a store. */
export function createWebhookRegistry(deps: {
  store: Store
  outbound: Outbound
  secretBox: SecretBox
  snowflakes: Snowflakes
  clock: Clock
  random: Random
  events: Events
  allowPrivate: boolean
  webhooksPerAppMax: number
  /** How long a signing key signs on after another has taken its place. */
  signingKeyGraceMs: number
}): WebhookRegistry {
  const { store, secretBox, clock, events } = deps

  function newSigningKey(): string {
    return `whsec_${Buffer.from(deps.random.bytes(signingKeyBytes)).toString("base64")}`
  }

  /** Challenges and tells of it. */
  async function challenged(
    app: App,
    webhook: { id: WebhookId; url: string },
    signal?: AbortSignal,
  ): Promise<ChallengeResult> {
    const consumerSecret = secretBox.open(app.consumerSecretSealed)
    const result = await challenge(deps, { url: webhook.url, consumerSecret }, signal)
    const detail = result.kind === "valid" ? "" : result.detail
    events.challengeFinished({ webhookId: webhook.id, outcome: result.kind, detail })
    return result
  }

  /** Challenges a stored webhook and keeps what follows from the result. */
  async function check(app: App, webhook: StoredWebhook, signal?: AbortSignal): Promise<ChallengeResult> {
    const result = await challenged(app, webhook, signal)
    // What was given up, or could not be done, by us says nothing of the endpoint.
    if (signal?.aborted === true || (result.kind === "unreachable" && result.isOurs === true)) return result
    const nowMs = clock.nowMs()
    const isSilentTooLong = nowMs - webhook.checkedAtMs > silenceMsMax
    if (result.kind === "unreachable" && !isSilentTooLong) return result
    const valid = result.kind === "valid"
    if (!valid && !webhook.valid) return result
    await store.setWebhookValid(webhook.id, valid ? { valid } : { valid, reason: result.detail }, nowMs)
    if (valid !== webhook.valid) events.webhookTurned({ webhookId: webhook.id, valid })
    return result
  }

  /** Challenges every webhook whose turn it is; one that cannot be checked keeps no other from its turn. */
  async function checkDue(signal: AbortSignal): Promise<void> {
    const nowMs = clock.nowMs()
    const webhooks = await store.allWebhooks()
    const due = webhooks
      .filter((webhook) => webhook.valid && nowMs - webhook.checkedAtMs > successMsMax)
      .values()
    const work = async (): Promise<void> => {
      for (const webhook of due) {
        if (signal.aborted) return
        try {
          const app = await store.app(webhook.appId)
          if (app !== undefined && !app.revoked) await check(app, webhook, signal)
        } catch (error) {
          events.failed({ where: "challenge schedule", error })
        }
      }
    }
    await Promise.all(Array.from({ length: challengesMax }, work))
  }

  return {
    async create(app, url) {
      const fault = webhookUrlFault(url, deps)
      if (fault !== undefined) throw refused("UrlValidationFailed", url, `The URL ${fault}.`)
      const others = await store.webhooks(app.id)
      if (others.some((other) => URL.parse(other.url)?.href === URL.parse(url)?.href)) throw duplicate(url)
      if (others.length >= deps.webhooksPerAppMax) throw overLimit(url, deps.webhooksPerAppMax)

      const id = asId<WebhookId>(deps.snowflakes.next())
      const result = await challenged(app, { id, url })
      if (result.kind !== "valid") {
        const message = `The endpoint ${result.detail}. Expected is ${expectedAnswer}.`
        throw refused("CrcValidationFailed", url, message)
      }

      const nowMs = clock.nowMs()
      const webhook: StoredWebhook = {
        id,
        appId: app.id,
        url,
        createdAtMs: nowMs,
        valid: true,
        checkedAtMs: nowMs,
        signingKeySealed: secretBox.seal(newSigningKey()),
      }
      const outcome = await store.createWebhook(webhook, { webhooksMax: deps.webhooksPerAppMax })
      if (outcome === "duplicate") throw duplicate(url)
      if (outcome === "over-limit") throw overLimit(url, deps.webhooksPerAppMax)
      return shown(webhook)
    },

    async list(appId) {
      return (await store.webhooks(appId)).map(shown)
    },

    async validate(app, id) {
      const webhook = await store.webhook(app.id, id)
      if (webhook === undefined) throw notFound("webhook", "id", id)
      const result = await check(app, webhook)
      return { valid: result.kind === "valid" }
    },

    async signingKey(appId, id) {
      const webhook = await store.webhook(appId, id)
      if (webhook === undefined) throw notFound("webhook", "id", id)
      const { signingKeySealed, previousKey } = webhook
      const isInGrace = previousKey !== undefined && previousKey.untilMs > clock.nowMs()
      return {
        signing_key: secretBox.open(signingKeySealed),
        ...(isInGrace && { previous_valid_until: instant(previousKey.untilMs) }),
      }
    },

    async rotateSigningKey(appId, id) {
      const signingKey = newSigningKey()
      const previousUntilMs = clock.nowMs() + deps.signingKeyGraceMs
      const isRotated = await store.rotateSigningKey(appId, id, {
        signingKeySealed: secretBox.seal(signingKey),
        previousUntilMs,
      })
      if (!isRotated) throw notFound("webhook", "id", id)
      return {
        signing_key: signingKey,
        ...(deps.signingKeyGraceMs > 0 && { previous_valid_until: instant(previousUntilMs) }),
      }
    },

    async delete(appId, id) {
      const isDeleted = await store.deleteWebhook(appId, id)
      if (!isDeleted) throw notFound("webhook", "id", id)
    },

    async runSchedule(signal) {
      while (!signal.aborted) {
        try {
          await checkDue(signal)
        } catch (error) {
          events.failed({ where: "challenge schedule", error })
        }
        await clock.sleep(scheduleMs, signal)
      }
    },
  }
}

function shown(webhook: StoredWebhook): Webhook {
  const { id, url, valid } = webhook
  return { id, url, valid, created_at: instant(webhook.createdAtMs) }
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** X's reason first, as clients look for it there. */
function refused(reason: string, url: string, message: string): Problem {
  const shownUrl = Array.from(url).slice(0, shownUrlCharactersMax).join("").toWellFormed()
  return invalidRequest(`${reason}: ${message}`, { url: [shownUrl] })
}

function duplicate(url: string): Problem {
  return refused("DuplicateUrlFailed", url, "The app has a webhook with this URL already.")
}

function overLimit(url: string, webhooksMax: number): Problem {
  const message = `The app has ${webhooksMax} webhooks already, which is the limit; delete one first.`
  return refused("WebhookLimitExceeded", url, message)
}
