/**
 * The webhooks of all apps: registered after a challenge, validated again, deleted, and their signing keys.
 *
 * An invalid webhook gets no deliveries and no scheduled challenges until its app validates it with `PUT`.
 * Source: docs.x.com, "Webhooks: introduction".
 */
import type { App } from "../../model/app.ts"
import { asId, type AppId, type WebhookId } from "../../model/ids.ts"
import { conflict, invalidRequest, notFound, type Problem } from "../../model/problem.ts"
import type { StoredWebhook, WebhookTexts } from "../../model/webhook.ts"
import { webhookUrlFault, type OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import type { KeysetRange } from "../../store/keyset-range.ts"
import type { Random } from "../../runtime/random.ts"
import type { Snowflakes } from "../../runtime/snowflakes.ts"
import { ChallengeSchedule, type ChallengeScheduleDeps } from "./challenge-schedule.ts"
import { expectedResponse } from "./crc-check.ts"
import { sendTestDelivery, type TestDelivery, type TestDeliveryDeps } from "./test-delivery.ts"

/** The key of a webhook's Standard Webhooks signature. */
export interface SigningKey {
  /** `whsec_` and base64. */
  readonly signingKey: string
  /** Until when deliveries are signed with the previous key too, Unix ms; absent when they are not. */
  readonly previousUntilMs?: number
}

/** The webhooks of all apps. */
export interface WebhookRegistry {
  /**
   * Registers the URL when its endpoint passes a challenge; else nothing is kept. Throws a 400 `Problem` that
   * begins with X's reason: UrlValidationFailed, DuplicateUrlFailed, WebhookLimitExceeded or CrcValidationFailed; or
   * `RateLimited`, as `validate` does too.
   */
  create(app: App, url: string): Promise<StoredWebhook>
  /** Newest first. */
  list(appId: AppId): Promise<readonly StoredWebhook[]>
  /** A page of those of an app, or of all apps, newest first; with `urlPart` those whose URL has it, in any case. */
  page(
    of: { readonly appId?: AppId; readonly urlPart?: string },
    range: KeysetRange<WebhookId>,
  ): Promise<readonly StoredWebhook[]>
  /** `undefined` when no webhook has this id, or it is another app's. Without `appId` it may be any app's. */
  find(appId: AppId | undefined, id: WebhookId): Promise<StoredWebhook | undefined>
  /**
   * Challenges a webhook now, and returns whether it passed. The webhook becomes valid on success and invalid on a wrong
   * response; a failure that may pass leaves it as it is within its 28 hours. Throws 404 when the app has no such
   * webhook.
   */
  validate(app: App, id: WebhookId): Promise<boolean>
  /** Sets its name and its description. Without `appId` it may be any app's. Throws 404 when there is no such webhook. */
  describe(appId: AppId | undefined, id: WebhookId, texts: WebhookTexts): Promise<void>
  /**
   * Sends a test to a webhook, and returns how that ended. Throws 404 when the app has no such webhook, 409 when it is not
   * valid, and `RateLimited` as `validate` does: tests and challenges count together.
   */
  sendTest(app: App, id: WebhookId): Promise<TestDelivery>
  /** Throws 404 when the app has no such webhook. */
  signingKey(appId: AppId, id: WebhookId): Promise<SigningKey>
  /**
   * Gives it a new signing key. The present one signs too until its grace period is over; the one before that no longer.
   * Throws 404 when the app has no such webhook.
   */
  rotateSigningKey(appId: AppId, id: WebhookId): Promise<SigningKey>
  /** Throws 404 when the app has no such webhook. */
  delete(appId: AppId, id: WebhookId): Promise<void>
  /** Challenges webhooks on schedule until aborted. */
  runSchedule(signal: AbortSignal): Promise<void>
}

/** X's words for a response without the right token. Source: public reports. */
const wrongTokenMessage = "URL returned bad response during CRC with error: Invalid `response_token`"

/** Bytes of a webhook's own signing key. Source: Standard Webhooks 1.0, 24 to 64. */
const signingKeyBytes = 32

/** The registry over a store. */
export function createWebhookRegistry(
  deps: ChallengeScheduleDeps &
    OutboundPosture &
    Pick<TestDeliveryDeps, "attemptMsMax" | "attemptResponseBytesMax"> & {
      /** The sender of a webhook's deliveries, where that is not `outbound`. */
      deliveriesTo?: Required<TestDeliveryDeps>["outboundTo"]
      snowflakes: Snowflakes
      webhooksPerAppMax: number
      /** Time for which deliveries are also signed with the previous signing key. */
      signingKeyGraceMs: number
    },
): WebhookRegistry {
  const { store, secretBox, clock, webhooksPerAppMax } = deps
  const challenges = new ChallengeSchedule(deps)

  async function webhookOf(appId: AppId, id: WebhookId): Promise<StoredWebhook> {
    const webhook = await store.webhook(appId, id)
    if (webhook === undefined) throw notFound("webhook", "id", id)
    return webhook
  }

  async function find(appId: AppId | undefined, id: WebhookId): Promise<StoredWebhook | undefined> {
    if (appId !== undefined) return store.webhook(appId, id)
    // Ids have no order of their own here: the page that begins above it begins with it.
    const [found] = await store.webhookPage({}, { direction: "older", from: idAfter(id), limit: 1 })
    return found?.id === id ? found : undefined
  }

  return {
    async create(app, url) {
      const fault = webhookUrlFault(url, deps)
      if (fault !== undefined) {
        const isAllowable = webhookUrlFault(url, { allowPrivate: true }) === undefined
        const advice = isAllowable ? " An operator can allow this destination with SLUICE_WEBHOOK_ALLOW." : ""
        throw refused("UrlValidationFailed", url, `The URL ${fault}.${advice}`)
      }
      const others = await store.webhooks(app.id)
      if (others.some((other) => URL.parse(other.url)?.href === URL.parse(url)?.href)) throw duplicate(url)
      if (others.length >= webhooksPerAppMax) throw overLimit(url, webhooksPerAppMax)

      const id = asId<WebhookId>(deps.snowflakes.next())
      const result = await challenges.challenge(app, { id, url })
      if (result.kind !== "valid") {
        const isWrongToken = result.kind === "invalid" && result.isWrongToken === true
        const reason = `The endpoint ${result.detail}. Expected is ${expectedResponse}.`
        const message = isWrongToken ? `${wrongTokenMessage}. ${reason}` : reason
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
        signingKeySealed: secretBox.seal(newSigningKey(deps.random)),
      }
      const outcome = await store.createWebhook(webhook, { webhooksMax: webhooksPerAppMax })
      if (outcome === "duplicate") throw duplicate(url)
      if (outcome === "over-limit") throw overLimit(url, webhooksPerAppMax)
      return webhook
    },

    list: (appId) => store.webhooks(appId),
    page: (of, range) => store.webhookPage(of, range),
    find,

    async describe(appId, id, texts) {
      const owner = appId ?? (await find(undefined, id))?.appId
      const isKnown = owner !== undefined && (await store.describeWebhook(owner, id, texts))
      if (!isKnown) throw notFound("webhook", "webhook_id", id)
    },

    async sendTest(app, id) {
      const webhook = await webhookOf(app.id, id)
      if (!webhook.valid) {
        throw conflict(
          `Webhook [${id}] is not valid, so nothing is sent to it: the endpoint ${webhook.invalidReason ?? "failed a challenge"}. Validate it first.`,
        )
      }
      const leave = await challenges.enter(app, webhook.url)
      const { outboundTo: _, deliveriesTo, ...sending } = deps
      return sendTestDelivery(app, webhook, {
        ...sending,
        ...(deliveriesTo && { outboundTo: deliveriesTo }),
      }).finally(leave)
    },

    async validate(app, id) {
      const result = await challenges.check(app, await webhookOf(app.id, id))
      return result.kind === "valid"
    },

    ...createSigningKeys(deps, webhookOf),

    async delete(appId, id) {
      const isDeleted = await store.deleteWebhook(appId, id)
      if (!isDeleted) throw notFound("webhook", "id", id)
    },

    runSchedule: (signal) => challenges.run(signal),
  }
}

function newSigningKey(random: Random): string {
  return `whsec_${Buffer.from(random.bytes(signingKeyBytes)).toString("base64")}`
}

/** The signing keys of webhooks: shown and replaced. */
function createSigningKeys(
  {
    store,
    secretBox,
    clock,
    random,
    signingKeyGraceMs,
  }: Pick<ChallengeScheduleDeps, "store" | "secretBox" | "clock" | "random"> & { readonly signingKeyGraceMs: number },
  webhookOf: (appId: AppId, id: WebhookId) => Promise<StoredWebhook>,
): Pick<WebhookRegistry, "signingKey" | "rotateSigningKey"> {
  return {
    async signingKey(appId, id) {
      const { signingKeySealed, previousKey } = await webhookOf(appId, id)
      const isInGrace = previousKey !== undefined && previousKey.untilMs > clock.nowMs()
      return {
        signingKey: secretBox.open(signingKeySealed),
        ...(isInGrace && { previousUntilMs: previousKey.untilMs }),
      }
    },

    async rotateSigningKey(appId, id) {
      const signingKey = newSigningKey(random)
      const previousUntilMs = clock.nowMs() + signingKeyGraceMs
      const isRotated = await store.rotateSigningKey(appId, id, {
        signingKeySealed: secretBox.seal(signingKey),
        previousUntilMs,
      })
      if (!isRotated) throw notFound("webhook", "id", id)
      return { signingKey, ...(signingKeyGraceMs > 0 && { previousUntilMs }) }
    },
  }
}

function idAfter(id: WebhookId): WebhookId {
  return asId(String(BigInt(id) + 1n))
}

/** X's reason comes first, where clients look for it. */
function refused(reason: string, url: string, message: string): Problem {
  return invalidRequest(`${reason}: ${message}`, { url: [url] })
}

function duplicate(url: string): Problem {
  return refused("DuplicateUrlFailed", url, "The app has a webhook with this URL already.")
}

function overLimit(url: string, webhooksMax: number): Problem {
  const message = `The app has ${webhooksMax} webhooks already, which is the limit; delete one first.`
  return refused("WebhookLimitExceeded", url, message)
}
