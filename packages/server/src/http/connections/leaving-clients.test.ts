import { once } from "node:events"
import { paths } from "@sluice/api"
import { expect, onTestFinished, test } from "vitest"
import { connectTo } from "../../../../../test/support/raw-http.testing.ts"
import { startTestServer } from "../../../../../test/support/test-server.testing.ts"
import { systemClock } from "../../runtime/clock.ts"
import { bareDeps } from "../bare-deps.testing.ts"
import type { HttpDeps } from "../deps.ts"
import { createHttpServer } from "../server.ts"

test("a request whose client leaves while it waits for its turn does not begin", async () => {
  let waiting = 0
  const rounds = {
    begin() {
      waiting += 1
      return () => void (waiting -= 1)
    },
    connectionArrived: () => undefined,
  }
  const http = await createHttpServer({ ...bareDeps(systemClock), rounds } as unknown as HttpDeps)
  onTestFinished(() => http.close())
  const url = await http.listen({ host: "127.0.0.1", port: 0 })
  const socket = await connectTo(url)
  socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
  await expect.poll(() => waiting).toBe(1)
  // Not only its half, after which it could still read.
  socket.resetAndDestroy()
  await expect.poll(() => waiting).toBe(0)
})

test.each([
  ["with the head", "Content-Length: 2\r\n\r\n{}"],
  ["in a chunk", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"],
])("a stream whose request has a body, %s, notices at once that its client has left", async (_, body) => {
  await using at = await startTestServer({
    "stream-connections-per-app-max": "1",
    "stream-connections-over": "refuse",
  })
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  const firstLine = async (): Promise<string> => {
    const socket = await connectTo(at.url)
    socket.write(
      `GET ${paths.stream} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${at.app.bearer_token}\r\n` +
        `Content-Type: application/json\r\n${body}`,
    )
    const [head] = (await once(socket, "data")) as [Buffer]
    socket.destroy()
    return head.toString().split("\r\n", 1)[0] ?? ""
  }
  expect(await firstLine()).toContain("200")
  // Its keep-alives would notice after ten seconds at the earliest.
  await expect.poll(firstLine, { timeout: 5_000 }).toContain("200")
})
