import { once } from "node:events"
import { paths } from "@sluice/api"
import { expect, onTestFinished, test, vi } from "vitest"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { ApiDescription } from "../description/api-description.ts"
import { bareDeps } from "../bare-deps.testing.ts"
import type { HttpDeps } from "../deps.ts"
import { createHttpServer } from "../server.ts"
import { startTestServer } from "../../../../../test/support/test-server.testing.ts"
import { responsesIn, connectTo, everything } from "../../../../../test/support/raw-http.testing.ts"
import { problemBody } from "../problem-bodies.testing.ts"

test("metrics are rendered at most once a second and the description once, for all clients", async () => {
  const clock = createManualClock()
  let rendered = 0
  const metrics = {
    contentType: "text/plain",
    metrics: () => {
      rendered += 1
      return Promise.resolve(`rendered ${rendered}`)
    },
  }
  const http = await createHttpServer({
    ...bareDeps(clock),
    metrics,
    servesMetrics: true,
  } as unknown as HttpDeps)
  onTestFinished(() => http.close())
  const documents = vi.spyOn(ApiDescription.prototype, "bytes")
  onTestFinished(() => documents.mockRestore())
  const url = await http.listen({ host: "127.0.0.1", port: 0 })
  const ask = async (path: string): Promise<readonly string[]> =>
    Promise.all(Array.from({ length: 20 }, async () => (await fetch(url + path)).text()))

  expect(new Set(await ask(paths.metrics))).toEqual(new Set(["rendered 1"]))
  await clock.advance(999)
  expect(new Set(await ask(paths.metrics))).toEqual(new Set(["rendered 1"]))
  await clock.advance(1)
  expect(new Set(await ask(paths.metrics))).toEqual(new Set(["rendered 2"]))

  const descriptions = new Set([...(await ask(paths.openapi)), ...(await ask(paths.openapi))])
  expect([descriptions.size, documents.mock.calls.length]).toEqual([1, 1])
})

test("while a server closes, a new connection gets 503, and requests in progress are finished", async () => {
  await using at = await startTestServer()
  const socket = await connectTo(at.url)
  const received = everything(socket, 10_000)
  const begun = once(socket, "data")
  const head = `Host: x\r\nAuthorization: Bearer ${at.app.bearer_token}\r\nContent-Type: application/json\r\n`
  const body = '{"add":[{"value":"cat"}]}'
  socket.write(`POST ${paths.rules} HTTP/1.1\r\n${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`)
  await begun
  const closed = at.running.close()
  const refused = await at.call(paths.healthz)
  expect(refused.status).toBe(503)
  expect(refused.headers.get("retry-after")).toBe("1")
  expect(refused.headers.get("content-type")).toContain("application/problem+json")
  expect(refused.body).toEqual(
    problemBody(503, "Service Unavailable", "The server is closing. Connect again in a moment."),
  )
  socket.write(body)
  expect(responsesIn(await received).map(({ status }) => status)).toEqual([100, 201])
  await closed
  await expect(fetch(at.url)).rejects.toThrow("fetch failed")
})
