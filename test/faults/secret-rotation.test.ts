/** An app's credentials are rotated while deliveries are on their way. */
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { SluiceClient } from "../oracle/sluice-client.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { Endpoint, signatureOf } from "./endpoint.ts"
import { SluiceProcess } from "./sluice-process.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Longest until a running server notices what another process wrote to its store. */
const noticedMsMax = 60_000

test("every delivery verifies with the old or the new consumer secret while it is rotated", async () => {
  const data = join(temporaryDirectory(), "data")
  await using server = new SluiceProcess(data)
  const line = await server.mustBeReady()
  const app = new AppClient(line)
  const { operator_token: operatorToken } = JSON.parse(line) as { operator_token: string }
  // The app's own token ends with its secret; posts go on coming in under another.
  const operator = new SluiceClient(app.url, operatorToken)
  await using endpoint = await Endpoint.start(app.consumerSecret)
  await app.addRule("cat")
  await app.link(endpoint.url)

  let poured = 0
  const pouring = new AbortController()
  const poured5 = async (): Promise<void> => {
    const lines = Array.from({ length: 5 }, (_, index) => `${postLine(poured + 1 + index, "a cat")}\n`)
    const body = { type: "application/x-ndjson", text: lines.join("") }
    const { status } = await operator.send("POST", "/sluice/v1/posts", body)
    expect(status).toBe(200)
    poured += 5
  }
  const pour = async (): Promise<void> => {
    while (!pouring.signal.aborted) {
      await poured5()
      await sleep(25)
    }
  }
  const done = pour()
  await endpoint.have(50)

  const before = endpoint.arrived.length
  const newSecret = await rotate(data, app.id)
  endpoint.secret = newSecret
  expect(newSecret).not.toBe(app.consumerSecret)
  const signedWith = (secret: string): number =>
    endpoint.arrived.filter(({ body, signature }) => signature === signatureOf(secret, body)).length
  await waitFor(
    () => signedWith(newSecret),
    (count) => count >= 50,
    noticedMsMax,
  )
  pouring.abort()
  await done
  await waitFor(
    () => endpoint.eventIds.size,
    (count) => count === poured,
  )
  expect(before).toBeGreaterThanOrEqual(50)
  expect(signedWith(app.consumerSecret)).toBeGreaterThanOrEqual(before)
  expect(signedWith(app.consumerSecret) + signedWith(newSecret)).toBe(endpoint.arrived.length)
  // Once, and no more than once.
  expect(endpoint.arrived.length).toBe(poured)
})

/** `sluice app rotate` beside the running server: the new consumer secret. */
async function rotate(data: string, appId: string): Promise<string> {
  const args = ["packages/sluice/src/sluice.ts", "app", "rotate", appId, "--data", data, "--json"]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")])
  assert(child.exitCode === 0)
  return (JSON.parse(output) as { consumer_secret: string }).consumer_secret
}
