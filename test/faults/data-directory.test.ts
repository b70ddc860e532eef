/** A data directory across the ends of its servers, and with two servers at once. */
import { expect, test } from "vitest"
import { makePost } from "../oracle/made-posts.ts"
import { SluiceClient } from "../oracle/sluice-client.ts"
import { readyMsMax, SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

test("a second server on a data directory exits 1 with the reason, and the first keeps running", async () => {
  await using directory = await temporaryDirectory()
  const data = directory.path
  await using first = new SluiceProcess(data)
  const line = await first.mustBeReady()

  await using second = new SluiceProcess(data)
  expect(await second.ready).toBeUndefined()
  const { code, errors } = await second.ended()
  expect(code).toBe(1)
  expect(errors).toContain(`The data directory ${data} is in use by another Sluice process`)
  // The error is a sentence for the operator, without a stack.
  expect(errors).not.toContain("    at ")

  expect(await ingest(clientOf(line), 0, 10)).toEqual({ accepted: 10, duplicates: 0 })
  first.end("SIGTERM")
  expect((await first.ended()).code).toBe(0)

  await using third = new SluiceProcess(data)
  expect(await ingest(clientOf(await third.mustBeReady()), 0, 11)).toEqual({ accepted: 1, duplicates: 10 })
})

test(`a server that was killed with a long log is ready again within ${readyMsMax / 1_000} s, as the same app`, async () => {
  await using directory = await temporaryDirectory()
  const data = directory.path
  const posts = 20_000
  await using first = new SluiceProcess(data)
  const line = await first.mustBeReady()
  const client = clientOf(line)
  await client.json("POST", "/2/tweets/search/stream/rules", {
    add: [{ value: "keeper5001 OR wind OR dawn OR the" }],
  })
  expect(await ingest(client, 0, posts)).toEqual({ accepted: posts, duplicates: 0 })
  first.end("SIGKILL")
  expect((await first.ended()).signal).toBe("SIGKILL")

  await using second = new SluiceProcess(data)
  const secondLine = await second.mustBeReady()
  expect(second.readyMs).toBeLessThan(readyMsMax)
  const ofOneStart = { url: "", console_url: "" }
  expect({ ...JSON.parse(secondLine), ...ofOneStart }).toEqual({ ...JSON.parse(line), ...ofOneStart })
  expect(await ingest(clientOf(secondLine), posts - 10, 20)).toEqual({ accepted: 10, duplicates: 10 })
})

function clientOf(readyLine: string): SluiceClient {
  const { url, app } = JSON.parse(readyLine) as { url: string; app: { bearer_token: string } }
  return new SluiceClient(url, app.bearer_token)
}

/** Ingests `count` posts, from number `first` on. */
async function ingest(client: SluiceClient, first: number, count: number): Promise<Record<string, unknown>> {
  const text = Array.from({ length: count }, (_, index) => `${makePost(1, first + index).line}\n`).join("")
  const response = await client.send("POST", "/sluice/v1/posts", { type: "application/x-ndjson", text })
  expect(response.status).toBe(200)
  const { accepted, duplicates } = JSON.parse(response.text) as Record<string, unknown>
  return { accepted, duplicates }
}
