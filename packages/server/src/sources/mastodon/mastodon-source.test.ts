/** The reader of an instance, against one that speaks its API over HTTP and WebSockets. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { systemClock } from "../../runtime/clock.ts"
import { AdvisedError } from "../positioned/positioned-source.ts"
import type { SourceGap, SourceNotice } from "../source.ts"
import { MastodonServer, type InstanceOptions, type TestStatus } from "./mastodon-server.testing.ts"
import { createMastodonReader, mastodonPositionAt, mastodonSettings } from "./mastodon-source.ts"

/** A line as the converter gets it. */
interface Line {
  readonly event: string
  readonly payload?: string | { readonly id: string }
  readonly position?: string
  readonly [member: string]: unknown
}

let closers: (() => unknown)[]

beforeEach(() => {
  closers = []
})

afterEach(async () => {
  for (const close of closers.toReversed()) await close()
})

async function instance(options: InstanceOptions = {}): Promise<MastodonServer> {
  const server = await MastodonServer.start(options)
  closers.push(() => server[Symbol.asyncDispose]())
  return server
}

/** Everything that a reader has given its source. */
interface Read {
  readonly lines: Line[]
  readonly gaps: SourceGap[]
  readonly notices: Map<string, SourceNotice>
  readonly connected: string[]
  /** Why it ended; undefined after an end by itself. */
  readonly end: Promise<unknown>
  /** Ids of the posts, each in the order in which it came. */
  posts(): readonly string[]
  stop(): Promise<void>
}

function read(
  { url }: Pick<MastodonServer, "url">,
  members: Readonly<Record<string, unknown>> = {},
  {
    position,
    env = {},
    take,
  }: { position?: string | undefined; env?: Record<string, string>; take?: () => unknown } = {},
): Read {
  const settings = mastodonSettings({ name: "oats", type: "mastodon", host: "oat.example", url, ...members }, env)
  const reader = createMastodonReader(settings, { clock: systemClock, posture: { allowPrivate: true } })
  const [lines, gaps, connected]: [Line[], SourceGap[], string[]] = [[], [], []]
  const notices = new Map<string, SourceNotice>()
  const stopped = new AbortController()
  const sink = {
    driver: 1,
    connected: (to: string) => void connected.push(to),
    async take(record: Uint8Array) {
      await take?.()
      lines.push(JSON.parse(Buffer.from(record).toString()) as Line)
    },
    gap: async (gap: SourceGap) => void gaps.push(gap),
    notice(about: string, notice?: SourceNotice) {
      if (notice === undefined) notices.delete(about)
      else notices.set(about, notice)
    },
    durable: () => Promise.resolve(undefined),
  }
  const end = reader.read(position, sink, stopped.signal).then(
    () => undefined,
    (error: unknown) => error,
  )
  const stop = async (): Promise<void> => {
    stopped.abort()
    await end
  }
  closers.push(stop)
  return { lines, gaps, notices, connected, end, posts: () => postsOf(lines), stop }
}

function postsOf(lines: readonly Line[]): readonly string[] {
  return lines.flatMap(({ event, payload }) => {
    if (event !== "update" || payload === undefined) return []
    return [(typeof payload === "string" ? (JSON.parse(payload) as { id: string }) : payload).id]
  })
}

const ids = (statuses: readonly TestStatus[]): readonly string[] => statuses.map(({ id }) => id)

/** The position that a reader has given last. */
const positionOf = ({ lines }: Read): string | undefined => lines.at(-1)?.position

/** Waits until a reader has read its timelines and goes on live. */
async function untilLive({ lines }: Read): Promise<void> {
  await expect.poll(() => lines.some(({ event }) => event === "position"), { timeout: 10_000 }).toBe(true)
}

const minute = 60_000

describe("an instance", () => {
  test("is asked with the token in a header, and never in an address", async () => {
    const server = await instance({ token: "secret", domain: "straw.example" })
    const reading = read(server, { tokenVariable: "T", streams: ["public", "list:5"] }, { env: { T: "secret" } })
    await untilLive(reading)
    server.publish(["list:5"])
    await expect.poll(() => reading.posts().length).toBe(1)
    expect(server.subscribed).toEqual(["public", "list:5"])
    expect(reading.connected).toEqual([new URL(server.url).host])
    expect(new Set(server.requests.map(({ token }) => token))).toEqual(new Set(["Bearer secret"]))
    expect(server.requests.filter(({ path }) => path.includes("secret"))).toEqual([])
    expect(reading.lines.at(-1)).toMatchObject({ event: "update", account_host: "straw.example" })
    expect(reading.notices.get("token")?.message).toContain("filters its streams")
  })

  test("without a description is read at its own address", async () => {
    const server = await instance({ isDescribed: false })
    const reading = read(server)
    await untilLive(reading)
    const { id } = server.publish(["public"])
    await expect.poll(() => reading.posts()).toEqual([id])
    expect(reading.lines.at(-1)).not.toHaveProperty("account_host")
  })

  test("names another host for its streams, and gets the token there over TLS alone", async () => {
    const streaming = await instance({ token: "secret" })
    const server = await instance({ token: "secret", streaming: streaming.url.replace("http", "ws") })
    const reading = read(server, { tokenVariable: "T" }, { env: { T: "secret" } })
    await untilLive(reading)
    expect(streaming.subscribed).toEqual(["public"])
    expect(reading.connected).toEqual([new URL(streaming.url).host])
  })

  test("without live feeds is a failure without a token, and a notice with one", async () => {
    const live_feeds = { local: "disabled", remote: "disabled" }
    const server = await instance({ access: { live_feeds } })
    const end = await read(server).end
    expect(end).toBeInstanceOf(AdvisedError)
    expect(end).toMatchObject({
      message: "The instance has switched the stream public off for any posts: only deletions come.",
      advice: expect.stringContaining("Follow hashtags, a list or the account itself"),
    })
    const reading = read(server, { tokenVariable: "T" }, { env: { T: "secret" } })
    await untilLive(reading)
    expect(reading.notices.get("access public")?.message).toContain("switched the stream public off")
  })

  test("whose feeds are for accounts says so when there is no token", async () => {
    const server = await instance({ access: { live_feeds: { local: "public", remote: "authenticated" } } })
    const end = await read(server, { streams: ["public:remote"] }).end
    expect(end).toMatchObject({
      message: "The instance shows any posts of the stream public:remote to accounts only.",
      advice: expect.stringContaining("tokenFile"),
    })
    const reading = read(server)
    await untilLive(reading)
    expect(reading.notices.get("access public")?.message).toBe(
      "The instance shows posts of other instances of the stream public to accounts only.",
    )
  })

  test("that refuses the token is a failure with advice, at its description and at its streams", async () => {
    const server = await instance({ token: "secret" })
    const wrong = await read(server, { tokenVariable: "T" }, { env: { T: "wrong" } }).end
    const advice = expect.stringContaining("with the scope read:statuses")
    const host = new URL(server.url).host
    const message = `${host} has answered with the status 401. It says: "The access token is invalid".`
    expect(wrong).toMatchObject({ message, advice })
    const none = await read(server).end
    expect(none).toMatchObject({ message: expect.stringContaining('It says: "Missing access token".'), advice })
    server.scripted.push({ path: "/api/v1/streaming", answer: { status: 403 } })
    const refused = await read(server, { tokenVariable: "T" }, { env: { T: "secret" } }).end
    expect(refused).toMatchObject({ message: `${host} has answered with the status 403.` })
    expect([wrong, none, refused].every((error) => error instanceof AdvisedError)).toBe(true)
  })

  test("that limits requests is left alone until the time that it names, in either header", async () => {
    const server = await instance()
    const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString()
    const answer = { status: 429, headers: { "x-ratelimit-reset": inSeconds(120) }, body: { error: "Too many" } }
    server.scripted.push({ path: "/api/v2/instance", answer })
    const asked = (await read(server).end) as AdvisedError
    expect(asked.advice).toContain("Sluice waits as it asks")
    expect(asked.waitMs).toBeGreaterThan(100_000)
    expect(asked.waitMs).toBeLessThanOrEqual(120_000)
    server.scripted.push({ path: "/api/v1/streaming", answer: { ...answer, headers: { "retry-after": "30" } } })
    expect(await read(server).end).toMatchObject({ waitMs: 30_000, advice: asked.advice })
    server.scripted.push({ path: "/api/v1/streaming", answer })
    expect(((await read(server).end) as AdvisedError).waitMs).toBeGreaterThan(100_000)
    // Other answers have the header as well.
    server.scripted.push({ path: "/api/v2/instance", answer: { ...answer, status: 503 } })
    expect(await read(server).end).toMatchObject({ waitMs: 0 })
  })

  test("that ends the token sends an error on the open WebSocket: that is a failure with advice", async () => {
    const server = await instance()
    const reading = read(server)
    await untilLive(reading)
    server.sendText('{"error":"Invalid access token","status":401}')
    const end = await reading.end
    expect(end).toBeInstanceOf(AdvisedError)
    expect(end).toMatchObject({
      message: expect.stringContaining('status 401. It says: "Invalid access token".'),
      advice: expect.stringContaining("read:statuses"),
    })
  })
})

describe("events", () => {
  test("of the account alone never leave the reader; what is no event becomes a record", async () => {
    const server = await instance()
    const reading = read(server, { tokenVariable: "T", streams: ["user"] }, { env: { T: "secret" } })
    await untilLive(reading)
    for (const event of ["notification", "conversation", "announcement", "filters_changed"]) {
      server.send("user", event, { id: "1" })
    }
    server.sendText('{"something":"else"}')
    server.send("user", "delete", "117024236332527350")
    await expect.poll(() => reading.lines.map(({ event }) => event)).toEqual(["position", undefined, "delete"])
    expect(reading.lines[1]).toEqual({ something: "else" })
  })

  test("that were cut are left, and the connection is lost", async () => {
    const server = await instance()
    const reading = read(server)
    await untilLive(reading)
    const { id } = server.publish(["public"])
    await expect.poll(() => reading.posts()).toEqual([id])
    server.cut()
    expect(await reading.end).toMatchObject({ message: expect.stringContaining("the connection was cut") })
    expect(reading.posts()).toEqual([id])
  })

  test("keep the position behind the newest post of each stream, whatever edits and deletions come", async () => {
    const server = await instance()
    const reading = read(server, { streams: ["public", "hashtag:Cats"] })
    await untilLive(reading)
    const [older, newer, tagged] = [server.status(), server.status(), server.status()]
    server.publish(["public"], newer)
    server.publish(["public"], older)
    server.publish(["hashtag:Cats"], tagged)
    server.send("public", "status.update", server.status({ edited_at: new Date().toISOString() }))
    server.send("public", "delete", older.id)
    await expect.poll(() => reading.lines.length).toBe(6)
    const streams = { public: newer.id, "hashtag:Cats": tagged.id }
    expect(JSON.parse(positionOf(reading) ?? "")).toMatchObject({ at: expect.any(Number), streams })
  })

  test("that cannot be taken for ten seconds make the reader hang up", async () => {
    const server = await instance()
    const room = Promise.withResolvers<void>()
    let isFull = false
    const reading = read(server, {}, { take: () => (isFull ? room.promise : undefined) })
    await untilLive(reading)
    isFull = true
    const status = server.status({ content: `<p>${"a".repeat(10_000)}</p>` })
    for (let count = 0; count < 200; count += 1) server.send("public", "update", status)
    await expect.poll(() => server.subscribed, { timeout: 20_000 }).toEqual([])
    const leftAtMs = Date.now()
    await sleep(1_000)
    room.resolve()
    expect(await reading.end).toMatchObject({ message: expect.stringContaining("could not be taken for 10 s") })
    // All that waited had come before.
    expect(JSON.parse(positionOf(reading) ?? "").at).toBeLessThan(leftAtMs)
  })
})

describe("a gap", () => {
  test("before the first start is none: reading begins with what comes", async () => {
    const server = await instance()
    server.keep(["public"], server.status({}, Date.now() - minute))
    const reading = read(server)
    await untilLive(reading)
    const { id } = server.publish(["public"])
    await expect.poll(() => reading.posts()).toEqual([id])
    expect(reading.gaps).toEqual([])
  })

  test("of 500 posts is read from the timelines, in order, before what comes live", async () => {
    const server = await instance()
    const first = read(server, { streams: ["public", "hashtag:cats"] })
    await untilLive(first)
    const seen = [server.publish(["public"]), server.publish(["hashtag:cats"])]
    await expect.poll(() => first.posts()).toEqual(ids(seen))
    await first.stop()
    const position = positionOf(first)
    const missed = Array.from({ length: 500 }, () => server.status())
    server.keep(["public"], ...missed)
    const tagged = server.status()
    server.keep(["hashtag:cats"], tagged)
    let live: TestStatus | undefined
    // A post that comes while timelines are read waits until they are.
    server.onTimeline = () => (live ??= server.subscribed.length > 0 ? server.publish(["hashtag:cats"]) : undefined)
    const second = read(server, { streams: ["public", "hashtag:cats"] }, { position })
    await untilLive(second)
    await expect.poll(() => second.posts().at(-1)).toBe(live?.id)
    const posts = second.posts().filter((id) => !ids(seen).includes(id))
    // The tag's timeline has the live post as well; the store knows it by its name.
    expect([...new Set(posts)]).toEqual([...ids(missed), tagged.id, live?.id])
    expect(second.gaps).toEqual([])
    const [healed] = second.lines
    expect(JSON.parse(healed?.position ?? "").streams.public).toBe(seen[0]?.id)
    await second.stop()
    expect(JSON.parse(positionOf(second) ?? "").streams).toEqual({
      public: missed.at(-1)?.id,
      "hashtag:cats": live?.id,
    })
  })

  test("is read to its end, whatever old posts come late meanwhile", async () => {
    const server = await instance()
    const nowMs = Date.now()
    const missed = Array.from({ length: 100 }, (_, at) => server.status({}, nowMs - (100 - at) * 30_000))
    server.keep(["public"], ...missed)
    let late: TestStatus | undefined
    // An instance streams a post that it gets late with an id of the time at which it was written.
    server.onTimeline = () => {
      if (late !== undefined || server.subscribed.length === 0) return
      late = server.status({}, nowMs - 3 * 60 * minute)
      server.send("public", "update", late)
    }
    const position = JSON.stringify({
      at: nowMs - 60 * minute,
      streams: { public: server.status({}, nowMs - 60 * minute).id },
    })
    const reading = read(server, {}, { position })
    await untilLive(reading)
    await expect.poll(() => reading.posts().at(-1)).toBe(late?.id)
    expect(reading.posts()).toEqual([...ids(missed), late?.id])
  })

  test("of 50,000 posts is marked from the last that was read to the first of the newest ones", async () => {
    const server = await instance()
    const nowMs = Date.now()
    const statuses = Array.from({ length: 50_001 }, (_, at) => server.status({}, nowMs - (50_000 - at) * 1_000))
    server.keep(["public"], ...statuses)
    const position = JSON.stringify({ at: nowMs - 50_000_000, streams: { public: statuses[0]?.id } })
    const reading = read(server, { healMax: 400 }, { position })
    await untilLive(reading)
    expect(reading.posts()).toEqual(ids([...statuses.slice(0, 400), ...statuses.slice(-40)]))
    expect(reading.gaps).toEqual([
      {
        fromMs: nowMs - (50_000 - 399) * 1_000,
        toMs: nowMs - 39_000,
        reason: expect.stringContaining("more than 400 posts while it was not read"),
      },
      { fromMs: nowMs - 50_000_000, toMs: expect.any(Number), reason: expect.stringContaining("Edits and deletions") },
    ])
  })

  test("of less than a minute is not marked, and a longer one is, once", async () => {
    const server = await instance()
    const positionAt = (atMs: number): string => JSON.stringify({ at: atMs, streams: {} })
    const short = read(server, {}, { position: positionAt(Date.now() - minute / 2) })
    const long = read(server, {}, { position: positionAt(Date.now() - 2 * minute) })
    await untilLive(short)
    await untilLive(long)
    expect(short.gaps).toEqual([])
    expect(long.gaps).toMatchObject([{ reason: expect.stringContaining("Edits and deletions of this time are lost") }])
    await long.stop()
    const again = read(server, {}, { position: positionOf(long) })
    await untilLive(again)
    expect(again.gaps).toEqual([])
  })

  test("that is asked for by a time is read from then on", async () => {
    const server = await instance()
    const nowMs = Date.now()
    const statuses = Array.from({ length: 100 }, (_, at) => server.status({}, nowMs - (100 - at) * minute))
    server.keep(["public"], ...statuses)
    const reading = read(server, {}, { position: mastodonPositionAt(nowMs - 50 * minute) })
    await untilLive(reading)
    expect(reading.posts()).toEqual(ids(statuses.slice(50)))
    expect(reading.gaps).toEqual([])
  })

  test("on an instance whose ids tell no time begins at the newest post, and is marked", async () => {
    const server = await instance()
    server.keep(["public"], { ...server.status(), id: "123" })
    const reading = read(server, {}, { position: mastodonPositionAt(Date.now() - minute) })
    await untilLive(reading)
    expect(reading.posts()).toEqual([])
    expect(reading.gaps).toMatchObject([{ reason: expect.stringContaining("the ids of the instance do not tell") }])
  })

  test("waits as the instance asks, before the limit and at it", async () => {
    const server = await instance()
    const position = JSON.stringify({ at: Date.now(), streams: { public: server.status().id } })
    const missed = Array.from({ length: 60 }, () => server.status())
    server.keep(["public"], ...missed)
    const soon = (): string => new Date(Date.now() + 1_500).toISOString()
    const limits = (status: number) => ({
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": soon(),
      status: String(status),
    })
    const path = "/api/v1/timelines"
    server.scripted.push({
      path,
      answer: { status: 200, headers: limits(200), body: missed.slice(0, 40).toReversed() },
    })
    server.scripted.push({ path, answer: { status: 429, headers: limits(429), body: { error: "Too many requests" } } })
    const times: number[] = []
    server.onTimeline = () => void times.push(Date.now())
    const reading = read(server, {}, { position })
    await untilLive(reading)
    expect(reading.posts()).toEqual(ids(missed))
    const [first = 0, second = 0, third = 0] = times
    expect(second - first).toBeGreaterThan(1_000)
    expect(third - second).toBeGreaterThan(1_000)
  })

  test("ends when the subscription is made: a post that comes before is read from the timeline", async () => {
    const server = await instance({ subscribingMs: 1_000 })
    let between: TestStatus | undefined
    const position = JSON.stringify({ at: Date.now(), streams: { public: server.status().id } })
    server.onTimeline = () => void setTimeout(() => (between ??= server.publish(["public"])), 200)
    const reading = read(server, {}, { position })
    await untilLive(reading)
    const live = server.publish(["public"])
    await expect.poll(() => reading.posts()).toEqual([between?.id, live.id])
  })

  test("whose timeline is refused is marked, and the stream goes on", async () => {
    const server = await instance()
    server.scripted.push({
      path: "/api/v1/timelines/list/5",
      answer: { status: 404, body: { error: "Record not found" } },
    })
    const position = JSON.stringify({ at: Date.now() - 5_000, streams: { "list:5": server.status().id } })
    const reading = read(server, { tokenVariable: "T", streams: ["list:5"] }, { env: { T: "secret" }, position })
    await untilLive(reading)
    const { id } = server.publish(["list:5"])
    await expect.poll(() => reading.posts()).toEqual([id])
    expect(reading.gaps).toMatchObject([
      { reason: expect.stringContaining("The timeline of the stream list:5 cannot be read.") },
    ])
  })

  test("during which more comes than can be held is read again from the timelines, and no deletion is lost", async () => {
    const server = await instance()
    const streams = ["public", "hashtag:cats"]
    const newest = { public: server.status().id, "hashtag:cats": server.status().id }
    const missed = server.status()
    server.keep(["public"], missed)
    const live: TestStatus[] = []
    // The first timeline is read by then, and the events of its stream are held.
    server.onTimeline = async (path) => {
      if (live.length > 0 || !path.includes("/tag/cats")) return
      for (let count = 0; count < 4_100; count += 1) {
        live.push(server.publish(["public"]))
        if (count % 100 === 0) server.send("public", "delete", String(count))
      }
      await sleep(1_000)
    }
    const position = JSON.stringify({ at: Date.now(), streams: newest })
    const reading = read(server, { healMax: 10_000, streams }, { position })
    await expect.poll(() => new Set(reading.posts()).size, { timeout: 30_000 }).toBe(4_101)
    expect([...new Set(reading.posts())]).toEqual(ids([missed, ...live]))
    await expect.poll(() => reading.lines.filter(({ event }) => event === "delete").length).toBe(41)
  })

  test("that is read stays whole while a slow store takes the events that were held", async () => {
    const server = await instance()
    const room = Promise.withResolvers<void>()
    let asked = 0
    // The first line is the position behind the timelines.
    const reading = read(server, {}, { take: () => ((asked += 1) === 1 ? undefined : room.promise) })
    server.onTimeline = () => {
      if (server.subscribed.length > 0) server.publish(["public"])
    }
    await expect.poll(() => asked).toBe(2)
    server.onTimeline = undefined
    const live = Array.from({ length: 4_100 }, () => server.publish(["public"]))
    await sleep(1_000)
    room.resolve()
    const last = server.publish(["public"])
    await expect.poll(() => reading.posts().at(-1), { timeout: 30_000 }).toBe(last.id)
    expect(reading.posts().slice(-live.length - 1)).toEqual(ids([...live, last]))
    expect(reading.gaps).toEqual([])
  })
})

describe("server-sent events", () => {
  test("bring one stream, over HTTP alone", async () => {
    const server = await instance({ token: "secret" })
    const members = { tokenVariable: "T", transport: "sse", streams: ["hashtag:local:cats"] }
    const reading = read(server, members, { env: { T: "secret" } })
    await untilLive(reading)
    const status = server.publish(["hashtag:local:cats"])
    server.send("hashtag:local:cats", "notification", { id: "1" })
    server.delete("hashtag:local:cats", status.id)
    await expect.poll(() => reading.lines.map(({ event }) => event)).toEqual(["position", "update", "delete"])
    expect(reading.posts()).toEqual([status.id])
    expect(reading.lines.at(-1)?.payload).toBe(status.id)
    const asked = server.requests.filter(({ path }) => path.startsWith("/api/v1/streaming"))
    expect(asked).toEqual([{ path: "/api/v1/streaming/hashtag/local?tag=cats", token: "Bearer secret" }])
    server.cut()
    expect(await reading.end).toBeInstanceOf(Error)
    await expect.poll(() => server.subscribed).toEqual([])
  })

  test("are refused with advice, and end when the reader does", async () => {
    const server = await instance({ token: "secret" })
    const end = await read(server, { transport: "sse" }).end
    expect(end).toMatchObject({
      message: expect.stringContaining('It says: "Missing access token".'),
      advice: expect.stringContaining("read:statuses"),
    })
    const reading = read(server, { transport: "sse", tokenVariable: "T" }, { env: { T: "secret" } })
    await untilLive(reading)
    await reading.stop()
    expect(await reading.end).toBeUndefined()
    await expect.poll(() => server.subscribed).toEqual([])
  })

  test("are refused with what has come of a refusal that never ends", async () => {
    const server = await instance({ token: "secret" })
    const body = { error: "Too much." }
    server.scripted.push({ path: "/api/v1/streaming/", answer: { status: 403, body, isStalled: true } })
    const { end } = read(server, { transport: "sse" })
    expect(await end).toMatchObject({ message: expect.stringContaining('403. It says: "Too much.".') })
  }, 20_000)

  test("that cannot be taken for ten seconds make the reader hang up", async () => {
    const server = await instance()
    const room = Promise.withResolvers<void>()
    let isFull = false
    const reading = read(server, { transport: "sse" }, { take: () => (isFull ? room.promise : undefined) })
    await untilLive(reading)
    isFull = true
    server.publish(["public"])
    await expect.poll(() => server.subscribed, { timeout: 20_000 }).toEqual([])
    room.resolve()
    expect(await reading.end).toMatchObject({ message: expect.stringContaining("could not be taken for 10 s") })
  })
})
