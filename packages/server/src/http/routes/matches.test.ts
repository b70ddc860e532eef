import { paths } from "@sluice/api"
import { createClient } from "../../../../client/src/index.ts"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openStream } from "../../../../../test/support/open-stream.testing.ts"
import {
  envelope,
  startTestServer,
  type TestApp,
  type TestServer,
} from "../../../../../test/support/test-server.testing.ts"

let server: TestServer
let other: TestApp

beforeAll(async () => {
  server = await startTestServer()
  other = await server.newApp()
})

afterAll(() => server[Symbol.asyncDispose]())

const watch = (app: TestApp, query = "") => openStream(app, query, paths.matches)

test("matches come whole, with position, time and rules, in addition to the app's one stream connection", async () => {
  // Before there are rules: what is watched may be added later.
  await using watching = await watch(server)
  await server.send("POST", paths.rules, { add: [{ value: "heron", tag: "birds" }] })
  await using stream = await openStream(server)
  await using second = await watch(server)
  await server.ingest(envelope(1, "a dog"), envelope(2, "a heron", { lang: "en" }))
  const line = await watching.next()
  expect(line).toMatchObject({ position: 1, ...envelope(2, "a heron", { lang: "en" }) })
  expect(line).toMatchObject({ matching_rules: [{ tag: "birds" }], matched_at: expect.any(String) as string })
  expect(await second.next()).toEqual(line)
  expect(await stream.next()).toMatchObject({ data: { id: "2" } })
})

test("matches begin with the newest ones, or after a position, and another app's are not among them", async () => {
  await other.send("POST", paths.rules, { add: [{ value: "egret" }] })
  await server.ingest(...[21, 22, 23].map((id) => envelope(id, "an egret")), envelope(24, "a heron"))
  await using recent = await watch(other, "?recent=2")
  expect([await recent.next(), await recent.next()]).toMatchObject([
    { position: 2 },
    { position: 3, data: { id: "23" } },
  ])
  await using after = await watch(other, "?after=1")
  expect(await after.next()).toMatchObject({ position: 2 })
  await using beyond = await watch(other, "?after=99")
  await server.ingest(envelope(25, "an egret"))
  expect(await beyond.next()).toMatchObject({ position: 4, data: { id: "25" } })
})

test("an app watches ten times at once, and an eleventh is refused without harm to the others", async () => {
  const third = await server.newApp()
  await using open = new AsyncDisposableStack()
  for (let count = 0; count < 10; count += 1) open.use(await watch(third))
  expect(await third.call(paths.matches)).toMatchObject({ status: 429 })
  await using elsewhere = await watch(other, "?recent=1")
  expect(await elsewhere.next()).toMatchObject({ data: {} })
})

test("the client reads the same lines, and disconnects when its loop ends", async () => {
  const client = createClient({ url: server.url, token: other.app.bearer_token })
  for await (const { body } of client.matches({ query: { recent: 1 } })) {
    expect(body).toMatchObject({ position: 4, data: { id: "25" } })
    break
  }
})
