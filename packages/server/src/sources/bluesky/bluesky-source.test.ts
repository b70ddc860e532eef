/** Posts from servers that speak Jetstream's wire, through whole servers in this process. */
import { setTimeout as sleep } from "node:timers/promises"
import { paths, type Envelope } from "@sluice/api"
import { pathOf } from "@sluice/api/paths"
import { expect, test } from "vitest"
import { openStream } from "../../../../../test/support/open-stream.testing.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"
import type { TestServer } from "../../../../../test/support/test-server.testing.ts"
import { openTestedStore } from "../../store/tested-store.testing.ts"
import { startServerWith } from "../server-with-sources.testing.ts"
import { metric } from "../stored-ids.testing.ts"
import { systemClock } from "../../runtime/clock.ts"
import { driven, startFeed } from "../positioned/reading.testing.ts"
import { blueskySettings, createBlueskyReader } from "./bluesky-source.ts"
import { deleteCommit, postCommit, startJetstream, type JetstreamServer } from "./jetstream-server.testing.ts"

/** Microseconds of a time shortly before now. */
const nowUs = (): number => Date.now() * 1_000

/** Has a server emit posts of these texts, one each millisecond from a time on. */
function emitPosts(jetstream: JetstreamServer, texts: readonly string[], fromUs = nowUs()): void {
  for (const [at, text] of texts.entries()) jetstream.emit(postCommit(text, fromUs + at * 1_000))
}

/** Texts of all stored posts, sorted. */
async function storedTexts(server: TestServer): Promise<readonly string[]> {
  const texts: string[] = []
  let token: string | undefined
  do {
    const page: string = token === undefined ? "" : `&pagination_token=${token}`
    const { body } = await server.call(`${paths.posts}?max_results=100${page}`)
    texts.push(...(body.data as Envelope[]).map(({ data }) => data.text))
    token = body.meta.next_token as string | undefined
  } while (token !== undefined)
  return texts.toSorted()
}

const count = (server: TestServer, outcome: string): Promise<number | undefined> =>
  metric(server, `sluice_source_messages_total{source="sky",outcome="${outcome}"}`)

const textsOf = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `heron ${String(from + at).padStart(4, "0")}`)

const sky = (url: string, more: object = {}) => ({ name: "sky", type: "bluesky", urls: [url], ...more })

test.each(["url", "xrpcUrl"] as const)(
  "a post of %s is matched and delivered, and gone when it is deleted",
  async (form) => {
    await using jetstream = await startJetstream()
    await using server = await startServerWith([sky(jetstream[form])])
    await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
    await using reader = await openStream(server, "?tweet.fields=source_uri")
    await expect.poll(() => jetstream.open).toBe(1)
    const us = nowUs()
    jetstream.emit(postCommit("a heron", us))
    const { data } = await reader.next()
    expect(data).toMatchObject({ text: "a heron", source_uri: expect.stringMatching(/^at:\/\/did:plc:wren2+\//) })
    jetstream.emit(deleteCommit(us))
    await expect.poll(() => storedTexts(server)).toEqual([])
    expect(jetstream.queries[0]?.toString()).toContain("app.bsky.feed.post")
    expect(jetstream.queries[0]?.has("cursor")).toBe(false)
  },
)

test("a server that starts again goes on behind what it has stored, and stores nothing twice", async () => {
  await using jetstream = await startJetstream()
  await using directory = await temporaryDirectory()
  const flags = { data: directory.path }
  {
    await using first = await startServerWith([sky(jetstream.url)], flags)
    await expect.poll(() => jetstream.open).toBe(1)
    emitPosts(jetstream, textsOf(1, 50))
    await expect.poll(() => storedTexts(first)).toEqual(textsOf(1, 50))
  }
  emitPosts(jetstream, textsOf(51, 90))
  await using second = await startServerWith([sky(jetstream.url)], flags)
  await expect.poll(() => storedTexts(second)).toEqual(textsOf(1, 90))
  await expect.poll(() => count(second, "duplicate")).toBe(50)
  expect(jetstream.queries[1]?.has("cursor")).toBe(true)
})

test("connections that are cut every moment, with events repeated and out of order, lose nothing", async () => {
  const cuts = { left: 5 }
  await using jetstream = await startJetstream({
    repeats: 2,
    reorders: true,
    onConnect(socket) {
      if (cuts.left === 0) return false
      cuts.left -= 1
      setTimeout(() => socket.terminate(), 30)
      return false
    },
  })
  emitPosts(jetstream, textsOf(1, 300))
  await using directory = await temporaryDirectory()
  {
    // Without a position a source begins now.
    await using store = await openTestedStore(directory.path)
    await store.rewindSource("sky", String(nowUs() - 60_000_000))
  }
  await using server = await startServerWith([sky(jetstream.url)], { data: directory.path })
  await expect.poll(() => storedTexts(server), { timeout: 30_000 }).toEqual(textsOf(1, 300))
  await expect.poll(() => cuts.left, { timeout: 30_000 }).toBe(0)
  await expect.poll(() => count(server, "accepted")).toBe(300)
})

test("a position that the host no longer has is a gap, said by the host or found by the first event", async () => {
  for (const form of ["url", "xrpcUrl"] as const) {
    const beginUs = nowUs() - 3_600_000_000
    await using jetstream = await startJetstream({ floorUs: beginUs, beginUs })
    emitPosts(jetstream, textsOf(1, 3), beginUs)
    const firstMs = Math.floor(beginUs / 1_000)
    await using directory = await temporaryDirectory()
    await using store = await openTestedStore(directory.path)
    await store.rewindSource("sky", String(beginUs - 7_200_000_000))
    await using server = await startServerWith([sky(jetstream[form])], { data: directory.path })
    await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 3))
    const gaps = await store.sourceGaps("sky")
    expect(gaps, form).toMatchObject([{ fromMs: (beginUs - 7_205_000_000) / 1_000, toMs: firstMs }])
  }
})

test("a position that the host has makes no gap", async () => {
  await using jetstream = await startJetstream()
  emitPosts(jetstream, textsOf(1, 3))
  await using directory = await temporaryDirectory()
  await using store = await openTestedStore(directory.path)
  await store.rewindSource("sky", String(nowUs() - 20_000_000))
  await using server = await startServerWith([sky(jetstream.url)], { data: directory.path })
  await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 3))
  expect(await store.sourceGaps("sky")).toEqual([])
})

test("after a failure the next host is tried, five seconds before the position", async () => {
  await using first = await startJetstream()
  await using second = await startJetstream()
  await using server = await startServerWith([sky(first.url, { urls: [first.url, second.url] })])
  await expect.poll(() => first.open).toBe(1)
  const us = nowUs()
  emitPosts(first, textsOf(1, 2), us)
  await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 2))
  // The other host had the last event three seconds later, and one that the first has not sent.
  second.emit(postCommit("heron 0002", us + 1_000), us - 2_000_000)
  second.emit(postCommit("heron 0003", us + 2_000), us - 1_900_000)
  first.cut()
  await expect.poll(() => second.open, { timeout: 10_000 }).toBe(1)
  await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 3))
  expect(Number(second.queries[0]?.get("cursor"))).toBeLessThanOrEqual(us + 1_000_000 - 5_000_000)
})

test("a host that asks for a long wait is left for the next one at once", async () => {
  let refusals = 0
  await using limiting = await startFeed((_request, response) => {
    refusals += 1
    response.writeHead(429, { "retry-after": "3600" }).end()
  })
  await using jetstream = await startJetstream()
  const urls = [`ws://127.0.0.1:${limiting.port}/subscribe`, jetstream.url]
  await using server = await startServerWith([sky(jetstream.url, { urls })])
  await expect.poll(() => jetstream.open, { timeout: 10_000 }).toBe(1)
  jetstream.cut()
  await expect.poll(() => jetstream.queries.length, { timeout: 10_000 }).toBe(2)
  emitPosts(jetstream, textsOf(1, 2))
  await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 2))
  expect(refusals).toBe(1)
})

test("a host that says that the reader is too slow is left, and nothing is lost", async () => {
  await using jetstream = await startJetstream()
  await using server = await startServerWith([sky(jetstream.xrpcUrl)])
  await expect.poll(() => jetstream.open).toBe(1)
  emitPosts(jetstream, textsOf(1, 2))
  await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 2))
  jetstream.sendRaw(JSON.stringify({ $type: "error", error: "ConsumerTooSlow", message: "bye" }))
  jetstream.cut()
  emitPosts(jetstream, textsOf(3, 4))
  await expect.poll(() => storedTexts(server), { timeout: 10_000 }).toEqual(textsOf(1, 4))
})

test("frames that are no events become dead letters, and end nothing", async () => {
  await using jetstream = await startJetstream()
  await using server = await startServerWith([sky(jetstream.url)])
  await expect.poll(() => jetstream.open).toBe(1)
  const deep = "[".repeat(10_000) + "]".repeat(10_000)
  const frames = [
    "no JSON",
    '{"did":',
    "[]",
    "7",
    deep,
    '{"kind":"commit","did":"x"}',
    `{"a":"${"b".repeat(1_000_000)}"}`,
  ]
  for (const frame of frames) jetstream.sendRaw(frame)
  jetstream.sendRaw(Uint8Array.of(0xff, 0xfe, 0x00))
  jetstream.sendRaw("")
  emitPosts(jetstream, textsOf(1, 1))
  await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 1))
  await expect.poll(() => count(server, "rejected")).toBe(frames.length + 1)
  expect(jetstream.queries).toHaveLength(1)
})

test("a record of which nothing was kept stays a dead letter when it is repeated", async () => {
  await using jetstream = await startJetstream()
  await using server = await startServerWith([sky(jetstream.url)])
  await expect.poll(() => jetstream.open).toBe(1)
  jetstream.emit(postCommit("a heron ".repeat(40_000), nowUs()))
  await expect.poll(() => count(server, "rejected")).toBe(1)
  const token = await server.running.apps.createToken("operator")
  const letters = async (): Promise<readonly { id: string; title: string; record: string }[]> =>
    (await server.call(pathOf(paths.sourceDeadLetters, { name: "sky" }), { token })).body.data
  const [letter] = await letters()
  expect(letter).toMatchObject({ title: "Line Too Long", record: "" })
  const path = pathOf(paths.repeatSourceDeadLetters, { name: "sky" })
  const { body } = await server.send("POST", path, { ids: [letter?.id] }, token)
  expect(body.data).toEqual({ repeated: 0, rejected: 0 })
  expect(await letters()).toEqual([letter])
})

test("identity events name authors, from then on and after a restart", async () => {
  await using jetstream = await startJetstream()
  await using server = await startServerWith([sky(jetstream.url)])
  await server.send("POST", paths.rules, { add: [{ value: "from:wren.example" }] })
  await using reader = await openStream(server, "?expansions=author_id")
  await expect.poll(() => jetstream.open).toBe(1)
  const { did } = postCommit("", 0)
  jetstream.emit({ did, kind: "identity", body: { did, handle: "wren.example", seq: 1 } })
  emitPosts(jetstream, ["a gull"])
  const { data, includes } = await reader.next()
  expect(data.text).toBe("a gull")
  expect(includes?.users).toMatchObject([{ username: "wren.example" }])
})

test("many authors are named in a first message, where an address has no room", async () => {
  await using jetstream = await startJetstream()
  const dids = Array.from({ length: 500 }, (_, at) => `did:plc:${String(at).padStart(24, "a")}`)
  await using server = await startServerWith([sky(jetstream.url, { dids })])
  await expect.poll(() => jetstream.open).toBe(1)
  expect(JSON.parse(jetstream.hellos[0] ?? "")).toMatchObject({
    type: "options_update",
    payload: { wantedDids: dids, wantedCollections: ["app.bsky.feed.post"] },
  })
  emitPosts(jetstream, textsOf(1, 1))
  await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 1))
})

test("the position of a stream of some authors moves on while none of them writes, once it is live", async () => {
  // A minute of the reader takes 60 ms.
  const beganMs = Date.now()
  const clock = {
    ...systemClock,
    nowMs: () => beganMs + (Date.now() - beganMs) * 1_000,
    sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 1_000, signal),
  }
  await using jetstream = await startJetstream({
    onConnect(socket) {
      const pings = setInterval(() => socket.ping(), 5)
      socket.once("close", () => clearInterval(pings))
      return false
    },
  })
  const settings = blueskySettings(
    { name: "sky", type: "bluesky", urls: [jetstream.url], dids: ["did:plc:z72i7hdynmk6r22z27h6tvur"] },
    {},
  )
  const deps = { clock, posture: { allowPrivate: true } }
  await using live = driven(createBlueskyReader(settings, deps))
  await expect.poll(() => live.lines.length).toBeGreaterThan(3)
  const times = live.lines.map(({ kind, time_us: us }) => [kind, Number(us) / 1_000] as const)
  for (const [at, [kind, atMs]] of times.entries()) {
    expect(kind).toBe("position")
    expect(atMs).toBeGreaterThan(times[at - 1]?.[1] ?? beganMs)
    expect(atMs).toBeLessThan(clock.nowMs() - 29_000)
  }
  // After a short time a host has little to replay.
  await using again = driven(createBlueskyReader(settings, deps), { position: String((clock.nowMs() - 1_000) * 1_000) })
  await expect.poll(() => again.lines.length).toBeGreaterThan(1)
  // A host may be replaying what it has: silence says nothing.
  await using replaying = driven(createBlueskyReader(settings, deps), {
    position: String((beganMs - 86_400_000) * 1_000),
  })
  await expect.poll(() => jetstream.open).toBe(3)
  await sleep(300)
  expect(replaying.lines).toEqual([])
})

test("a source that is broken stops neither another one nor the server", async () => {
  await using jetstream = await startJetstream()
  const broken = { name: "broken", type: "bluesky", urls: ["ws://127.0.0.1:1/subscribe"] }
  await using server = await startServerWith([broken, sky(jetstream.url)])
  await expect.poll(() => jetstream.open).toBe(1)
  emitPosts(jetstream, textsOf(1, 1))
  await expect.poll(() => storedTexts(server)).toEqual(textsOf(1, 1))
  expect((await server.call("/readyz")).status).toBe(200)
  expect(await metric(server, 'sluice_source_connected{source="broken"}')).toBe(0)
})

test("a source of serve refuses private addresses that are not allowed", async () => {
  await using jetstream = await startJetstream()
  await using refused = await startServerWith([sky(jetstream.url)], {}, "serve")
  await sleep(300)
  expect(jetstream.queries).toEqual([])
  expect((await refused.call("/readyz")).status).toBe(200)
  const port = new URL(jetstream.url).port
  await using allowed = await startServerWith([sky(jetstream.url)], { "source-allow": `127.0.0.0/8:${port}` }, "serve")
  await expect.poll(() => jetstream.open).toBe(1)
  expect((await allowed.call("/readyz")).status).toBe(200)
})

test("languages are tags, X's codes or und", () => {
  const languages = ["en", "pt-BR", "es-419", "iw", "fil", "und"]
  expect(blueskySettings({ name: "sky", type: "bluesky", languages }, {}).languages).toEqual(languages)
})

test.each([
  [{ urls: ["https://a.example"] }, /^has a urls that begins with https:/],
  [{ urls: ["wss://u:p@a.example"] }, /holds credentials/],
  [{ urls: [] }, /^has empty urls/],
  [{ collections: ["app.bsky.feed.like"] }, /^has "app.bsky.feed.like" in its collections: .*app.bsky.feed.post/],
  [{ dids: ["wren.example"] }, /^has "wren.example" in its dids/],
  [{ languages: ["no language"] }, /in its languages/],
  [{ languages: ["english"] }, /^has "english" in its languages/],
  [{ mediaUrls: "yes" }, /mediaUrls/],
  [{ token: "x" }, /unknown member "token"/],
  [{ urls: ["wss://a.example/xrpc/x"], dids: Array.from({ length: 101 }, (_, at) => `did:plc:a${at}`) }, /101 dids/],
])("settings %j are refused", (members, message) => {
  expect(() => blueskySettings({ name: "sky", type: "bluesky", ...members }, {})).toThrow(message)
})
