import { expect, test } from "vitest"
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import { endpointFindings } from "./endpoints.ts"
import { lines } from "./lines.testing.ts"

const webhookId = "12" as WebhookId

test("each endpoint gets its finding, and no finding is an error", () => {
  const webhook = (change: Partial<StoredWebhook> = {}): StoredWebhook => ({
    id: webhookId,
    appId: "5" as AppId,
    url: "https://example.com/hook",
    createdAtMs: 0,
    valid: true,
    checkedAtMs: 0,
    signingKeySealed: new Uint8Array(),
    ...change,
  })
  const challenged = { kind: "challenged", webhook: webhook(), durationMs: 120 } as const
  const name = "Webhook 12"
  const place = "It is at https://example.com/hook"
  expect(lines(endpointFindings([]))).toEqual(["ok: There are no webhooks."])
  expect(
    lines(
      endpointFindings([
        { ...challenged, result: { kind: "valid" } },
        { ...challenged, result: { kind: "invalid", detail: "responded with status 200 and no body" } },
        { ...challenged, result: { kind: "unreachable", detail: "responded with status 502" } },
        { kind: "not-valid", webhook: webhook({ valid: false, invalidReason: "responded with 410 Gone" }) },
        { kind: "not-valid", webhook: webhook({ valid: false }) },
      ]),
    ),
  ).toEqual([
    `ok: ${name} answered its challenge within 0.1 s. ${place}`,
    `warning: ${name} failed its challenge: the endpoint responded with status 200 and no body. ${place}`,
    `warning: ${name} failed its challenge: the endpoint responded with status 502. ${place}`,
    `warning: ${name} is not valid, so nothing is sent to it: the endpoint responded with 410 Gone. ${place}`,
    `warning: ${name} is not valid, so nothing is sent to it: the endpoint failed its challenge. ${place}`,
  ])
})
