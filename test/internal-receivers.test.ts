/** A receiver inside the operator's network, from the setting to the delivery. */
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { envelope, startTestServer } from "./support/test-server.testing.ts"
import { WebhookReceiver } from "./support/webhook-receiver.testing.ts"

test("serve delivers over http to an allowed receiver, and registers no other", async () => {
  await using allowed = await WebhookReceiver.start("until the app is there")
  await using other = await WebhookReceiver.start("until the app is there")
  await using at = await startTestServer({ "webhook-allow": new URL(allowed.url).host }, "serve")
  allowed.secret = other.secret = at.app.consumer_secret

  const refused = await at.send("POST", paths.webhooks, { url: `${other.url}/hook` })
  expect(refused.status).toBe(400)
  expect(refused.text).toContain("UrlValidationFailed: The URL begins with http:; only https is accepted.")
  expect(other.challenges).toBe(0)

  const { body } = await at.send("POST", paths.webhooks, { url: `${allowed.url}/hook` })
  const { id } = body.data as { id: string }
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  await at.send("POST", paths.link.replace(":webhook_id", id))
  const token = await at.running.apps.createToken("ingest")
  await at.call(paths.posts, {
    method: "POST",
    token,
    headers: { "content-type": "application/x-ndjson" },
    body: `${JSON.stringify(envelope(1, "a cat"))}\n`,
  })
  await expect.poll(() => allowed.postIds).toEqual(["1"])
})
