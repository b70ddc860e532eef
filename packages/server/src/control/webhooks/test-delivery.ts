/**
 * A test of a webhook: one delivery of a made-up post, on request of the webhook's app.
 *
 *     a post that nobody wrote ─► rendered, signed and sent as deliveries of the link are ─► how the attempt ended
 *
 * It is not in the log: it has no position, is tried once, and neither the history nor the counts of the link have it.
 * Its event id begins with `test_`, and its one matching rule has the id 0, which no rule has, and the tag `test`.
 */
import type { App } from "../../model/app.ts"
import type { Attempt } from "../../model/attempt.ts"
import { selectionOfQuery } from "../../model/link-query.ts"
import { renderDelivery, shapeFor } from "../../model/render-post.ts"
import type { LinkToDeliver } from "../../model/link.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { Snowflakes } from "../../runtime/snowflakes.ts"
import { keptResponse } from "../../delivery/sending/kept-response.ts"
import { LinkSender, type LinkSenderDeps } from "../../delivery/sending/sender.ts"
import type { Store } from "../../store/store.ts"

/** A test that was sent, and how it ended. */
export interface TestDelivery extends Omit<Attempt, "linkId" | "seq" | "signatures"> {
  readonly eventId: string
}

/** The dependencies of tests. */
export interface TestDeliveryDeps extends Omit<LinkSenderDeps, "history" | "store" | "events"> {
  readonly events: Pick<Events, "webhookTested" | "webhookValidityChanged">
  readonly store: Pick<Store, "invalidateWebhook" | "linkToDeliver">
  readonly snowflakes: Pick<Snowflakes, "next">
  /** Most bytes of a response's body that the result has. */
  readonly attemptResponseBytesMax: number
}

/** Sends a test to a webhook, with the fields of its link if it has one. */
export async function sendTestDelivery(
  app: App,
  webhook: StoredWebhook,
  deps: TestDeliveryDeps,
): Promise<TestDelivery> {
  const { store, clock, snowflakes, attemptResponseBytesMax } = deps
  // The counts of deliveries are without it.
  const events = { ...deps.events, attemptFinished: deps.events.webhookTested }
  const link = (await store.linkToDeliver(webhook.id)) ?? linkTo(webhook, app)
  const sender = new LinkSender(link, { ...deps, events, history: { add: () => undefined } })
  const id = snowflakes.next()
  const [eventId, atMs] = [`test_${id}`, clock.nowMs()]
  const body = Buffer.from(bodyOf(id, atMs, app, link.query))
  const startedMs = clock.monotonicMs()
  const { outcome, status, error, received } = await sender.sendEvent(eventId, body)
  const response = received && keptResponse(received, attemptResponseBytesMax)
  const durationMs = clock.monotonicMs() - startedMs
  return {
    eventId,
    atMs,
    durationMs,
    bytes: body.length,
    outcome,
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error }),
    ...(response && { response }),
  }
}

/** A link as a sender needs it, for a webhook that has none. */
function linkTo({ id, appId, url, valid, signingKeySealed, previousKey, createdAtMs }: StoredWebhook, app: App) {
  return {
    id: id as string as LinkToDeliver["id"],
    appId,
    webhookId: id,
    createdAtMs,
    query: "",
    url,
    valid,
    position: 0 as LinkToDeliver["position"],
    isOrdered: false,
    redeliveries: 0,
    consumerSecretSealed: app.consumerSecretSealed,
    signingKeySealed,
    ...(previousKey && { previousKey }),
  } satisfies LinkToDeliver
}

function bodyOf(id: string, atMs: number, { businessUserId }: App, query: string): string {
  const selection = selectionOfQuery(query)
  const core = { id, text: "A test of this webhook. Nobody wrote this post.", edit_history_tweet_ids: [id] }
  const data = { ...core, author_id: businessUserId, created_at: new Date(atMs).toISOString(), lang: "en" }
  const users = [{ id: businessUserId, name: "Test", username: "test" }]
  const postJson = JSON.stringify(shapeFor(selection) === "core" ? core : { data, includes: { users } })
  return renderDelivery({ postJson, rulesJson: '[{"id":"0","tag":"test"}]' }, selection)
}
