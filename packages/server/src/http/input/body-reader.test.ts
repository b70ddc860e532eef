import { PassThrough } from "node:stream"
import type { IncomingMessage } from "node:http"
import { expect, test } from "vitest"
import { BodyBudget } from "./body-budget.ts"
import { BodyReader } from "./body-reader.ts"

/** A request whose body is written by the test. */
function aRequest(): PassThrough & IncomingMessage {
  return Object.assign(new PassThrough(), { headers: {} }) as unknown as PassThrough & IncomingMessage
}

test("a body in many chunks is read as it was sent", async () => {
  const bodies = new BodyReader({ budget: new BodyBudget(), callers: { of: () => "app" }, msMax: 60_000 })
  const request = aRequest()
  const read = bodies.read(request, { bytesMax: 1_000_000 })
  const texts = Array.from({ length: 500 }, (_, at) => `${at},`.repeat(1 + (at % 9)))
  for (const text of texts) request.write(text)
  request.end()
  expect((await read).toString()).toBe(texts.join(""))
})

test("a refused body holds no memory, however long its connection stays", async () => {
  const budget = new BodyBudget({ bytesMax: 500_000, shareMax: 500_000 })
  const bodies = new BodyReader({ budget, callers: { of: () => "app" }, msMax: 60_000 })
  const before = process.memoryUsage().arrayBuffers
  const requests: unknown[] = []
  // The same each time, so that the test itself leaves nothing to collect.
  const chunk = Buffer.alloc(10_000, "x")
  for (let at = 0; at < 200; at += 1) {
    const request = aRequest()
    requests.push(request)
    bodies.read(request, { bytesMax: 1_000_000 }).catch(() => undefined)
    for (let written = 0; written < 30; written += 1) request.write(chunk)
    await new Promise(setImmediate)
  }
  // Each of the 200 had 300,000 bytes, and the budget holds one of them.
  expect(budget.bytes).toBeLessThanOrEqual(500_000)
  await expect.poll(() => process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000)
  expect(requests).toHaveLength(200)
})
