/** An app's credentials are rotated while deliveries are in flight. */
import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import type { IncomingHttpHeaders } from "node:http"
import { buffer } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { runProcess } from "../../packages/sluice/src/command.testing.ts"
import { SluiceClient } from "../oracle/sluice-client.ts"
import { listening } from "../support/listening.testing.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** Longest time until a running server notices the writes of another process to its store. */
const noticedMsMax = 60_000

test("every delivery during a rotation verifies with the old or the new secrets, under both of X's headers", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  await using server = new SluiceProcess(data)
  const line = await server.mustBeReady()
  const app = new AppClient(line)
  const { operator_token: operatorToken } = JSON.parse(line) as { operator_token: string }
  // The app's own token ends with its secret; posts keep coming in under another.
  const operator = new SluiceClient(app.url, operatorToken)
  const arrived: { readonly headers: IncomingHttpHeaders; readonly body: Buffer }[] = []
  await using endpoint = await listening((request, response) => {
    const challenge = new URL(request.url ?? "/", "http://endpoint").searchParams.get("crc_token")
    if (challenge !== null) {
      response.end(JSON.stringify({ response_token: signature(app.consumerSecret, challenge) }))
      return
    }
    void (async () => {
      arrived.push({ headers: request.headers, body: await buffer(request) })
      response.end()
    })()
  })
  await app.addRule("cat")
  await app.link(endpoint.url)

  let ingested = 0
  const ending = new AbortController()
  const ingestFive = async (): Promise<void> => {
    const lines = Array.from({ length: 5 }, (_, index) => `${postLine(ingested + 1 + index, "a cat")}\n`)
    const body = { type: "application/x-ndjson", text: lines.join("") }
    const { status } = await operator.send("POST", "/sluice/v1/posts", body)
    expect(status).toBe(200)
    ingested += 5
  }
  const ingest = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await ingestFive()
      await sleep(25)
    }
  }
  const done = ingest()
  await waitFor(
    () => arrived.length,
    (count) => count >= 50,
  )

  const before = arrived.length
  const oldSecrets = (JSON.parse(line) as { app: Secrets }).app
  const newSecrets = await rotate(data, app.id)
  expect(newSecrets.consumer_secret).not.toBe(oldSecrets.consumer_secret)
  expect(newSecrets.client_secret).not.toBe(oldSecrets.client_secret)
  // Both signatures belong to one time, so that a receiver with either secret verifies the delivery.
  const signedWith = (secrets: Secrets): number =>
    arrived.filter(
      ({ headers, body }) =>
        headers["x-twitter-webhooks-signature"] === signature(secrets.consumer_secret, body) &&
        headers["x-twitter-webhooks-signature-oauth2"] === signature(secrets.client_secret, body),
    ).length
  await waitFor(
    () => signedWith(newSecrets),
    (count) => count >= 50,
    noticedMsMax,
  )
  ending.abort()
  await done
  await waitFor(
    () => new Set(arrived.map(({ headers }) => headers["webhook-id"])).size,
    (count) => count === ingested,
  )
  expect(before).toBeGreaterThanOrEqual(50)
  expect(signedWith(oldSecrets)).toBeGreaterThanOrEqual(before)
  expect(signedWith(oldSecrets) + signedWith(newSecrets)).toBe(arrived.length)
  // Exactly once.
  expect(arrived.length).toBe(ingested)
})

/** X's signature. Source: docs.x.com, "Securing webhooks". */
function signature(secret: string, bytes: string | Buffer): string {
  return `sha256=${createHmac("sha256", secret).update(bytes).digest("base64")}`
}

/** The secrets that sign an app's deliveries. */
interface Secrets {
  readonly consumer_secret: string
  readonly client_secret: string
}

/** Runs `sluice app rotate` next to the running server; returns the new secrets. */
async function rotate(data: string, appId: string): Promise<Secrets> {
  const { status, stdout, stderr } = await runProcess(["app", "rotate", appId, "--data", data, "--json"])
  assert(status === 0, stderr)
  return JSON.parse(stdout) as Secrets
}
