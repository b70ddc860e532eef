/** Whole servers that take posts from instances, and streams that receive their matches. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathOf, paths, type Envelope, type Source } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { openStream, type OpenStream } from "../../../../../test/support/open-stream.testing.ts"
import { hasSharedData, sharedLines } from "../../../../../test/support/shared-data.testing.ts"
import { SluiceProcess } from "../../../../../test/support/sluice-process.testing.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"
import { startTestServer } from "../../../../../test/support/test-server.testing.ts"
import { accountName, foreignUserId, mastodonPostId } from "../../conversion/foreign-ids.ts"
import { tern } from "../../conversion/mastodon/mastodon-events.testing.ts"
import { checkSources } from "../configured-sources.ts"
import { callsWith, metric, type Calls } from "../stored-ids.testing.ts"
import { MastodonServer, type InstanceOptions, type TestStatus } from "./mastodon-server.testing.ts"

let resources: AsyncDisposableStack

beforeEach(() => {
  resources = new AsyncDisposableStack()
})

afterEach(() => resources.disposeAsync())

async function instance(options: InstanceOptions = {}): Promise<MastodonServer> {
  return resources.use(await MastodonServer.start(options))
}

/** An entry for an instance, as the configuration file has it. */
function entry({ url }: MastodonServer, members: Readonly<Record<string, unknown>> = {}) {
  const all = { name: "oats", type: "mastodon", host: "oat.example", url, ...members }
  return { name: all.name, type: all.type, members: all, place: "a test" }
}

/** A server with sources, a rule and a stream connection. It takes events by then. */
async function started(...sources: readonly ReturnType<typeof entry>[]) {
  const server = resources.use(await startTestServer({ search: "off" }, "dev", undefined, { sources }))
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  const stream = resources.use(await openStream(server, "?tweet.fields=author_id"))
  for (const { name } of sources) await untilConnected(server, name)
  return { server, stream }
}

async function untilConnected(server: Calls, name = "oats"): Promise<void> {
  const connected = `sluice_source_connected{source="${name}"}`
  await expect.poll(() => metric(server, connected), { timeout: 30_000 }).toBe(1)
}

const heron = (members: Readonly<Record<string, unknown>> = {}) => ({ content: "<p>A heron</p>", ...members })

/** The ids of the next posts of a stream. */
async function nextIds(stream: OpenStream, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  while (ids.length < count) ids.push(idOf(await stream.next()))
  return ids
}

const idOf = ({ data }: Envelope): string => data.id

/** The id of a status's post, for the source with the number 0. */
const postIdOf = ({ id }: TestStatus): string | undefined => mastodonPostId(id, 0)

/** Stored posts, the newest first. */
async function storedPosts(server: Calls): Promise<readonly Envelope[]> {
  const { body } = await server.call(`${paths.posts}?max_results=100`)
  return body.data as readonly Envelope[]
}

const anyTime = expect.stringMatching(/^\d{4}-.*Z$/) as unknown

async function outcomes(server: Calls, outcome: string): Promise<number> {
  return (await metric(server, `sluice_source_messages_total{source="oats",outcome="${outcome}"}`)) ?? 0
}

describe("a server that follows an instance", () => {
  test("delivers posts as they come, and those of a connection that was cut", async () => {
    const oat = await instance()
    const { server, stream } = await started(entry(oat))
    const first = oat.publish(["public"], oat.status(heron()))
    expect(await nextIds(stream, 1)).toEqual([postIdOf(first)])
    oat.cut()
    const missed = oat.status(heron())
    oat.keep(["public"], missed)
    expect(await nextIds(stream, 1)).toEqual([postIdOf(missed)])
    const last = oat.publish(["public"], oat.status(heron()))
    expect(await nextIds(stream, 1)).toEqual([postIdOf(last)])
    // The timeline may have shown all of them before the source read of the cut.
    await expect.poll(() => metric(server, 'sluice_failures_total{where="source"}')).toBe(1)
    expect(await storedPosts(server)).toHaveLength(3)
  })

  test("never stores a post whose deletion has overtaken it, live or from the timeline", async () => {
    const oat = await instance()
    const { server, stream } = await started(entry(oat))
    const [early, late] = [oat.status(heron()), oat.status(heron())]
    oat.send("public", "delete", early.id)
    oat.send("public", "update", early)
    oat.send("public", "status.update", { ...early, edited_at: new Date().toISOString() })
    oat.send("public", "update", late)
    expect(await nextIds(stream, 1)).toEqual([postIdOf(late)])
    // The timeline has it still: a later connection reads it once more.
    oat.keep(["public"], early)
    oat.cut()
    const last = oat.status(heron())
    oat.keep(["public"], last)
    expect(await nextIds(stream, 1)).toEqual([postIdOf(last)])
    expect((await storedPosts(server)).map(idOf)).toEqual([postIdOf(last), postIdOf(late)])
  })

  test("deletes a post with all of its versions", async () => {
    const oat = await instance()
    const { server } = await started(entry(oat))
    const status = oat.publish(["public"], oat.status(heron()))
    oat.send("public", "status.update", { ...status, edited_at: new Date().toISOString() })
    await expect.poll(async () => (await storedPosts(server)).length).toBe(2)
    oat.delete("public", status.id)
    await expect.poll(() => storedPosts(server)).toEqual([])
  })

  test("shows the later of two edits as the newest version, in whichever order they come", async () => {
    const oat = await instance()
    const { server, stream } = await started(entry(oat))
    const atMs = Date.now() - 60_000
    const status = oat.publish(["public"], oat.status(heron(), atMs))
    const edited = (afterMs: number, content: string) => ({
      ...status,
      content,
      edited_at: new Date(atMs + afterMs).toISOString(),
    })
    oat.send("public", "status.update", edited(20_000, "<p>A heron, at last</p>"))
    oat.send("public", "status.update", edited(10_000, "<p>A heron, not yet</p>"))
    const versions = [await stream.next(), await stream.next(), await stream.next()]
    expect(versions.map(({ data }) => data.text)).toEqual(["A heron", "A heron, at last", "A heron, not yet"])
    const ids = versions.map(({ data }) => data.id)
    const { body } = await server.call(`/2/tweets?ids=${ids.join(",")}&tweet.fields=edit_history_tweet_ids`)
    const history = [ids[0], ids[2], ids[1]]
    expect((body.data as { edit_history_tweet_ids: unknown }[]).map((one) => one.edit_history_tweet_ids)).toEqual([
      history,
      history,
      history,
    ])
  })

  test("knows the same author on two instances as one user", async () => {
    const [oat, rye] = [await instance({ domain: "oat.example" }), await instance({ domain: "rye.example" })]
    const ryeEntry = entry(rye, { name: "ryes", host: "social.rye.example", number: 1 })
    const { server, stream } = await started(entry(oat), ryeEntry)
    oat.publish(["public"], oat.status(heron({ account: { ...tern, acct: "Tern@rye.example" } })))
    const seenFromOat = await stream.next()
    rye.publish(["public"], rye.status(heron({ account: { ...tern, acct: "tern" } })))
    const seenAtHome = await stream.next()
    expect(seenAtHome.data.author_id).toBe(foreignUserId(accountName("tern@rye.example")))
    expect(seenFromOat.data.author_id).toBe(seenAtHome.data.author_id)
    expect(seenAtHome.data.id).not.toBe(seenFromOat.data.id)
    const { body } = await server.call(`/2/users/${seenAtHome.data.author_id}/tweets`)
    expect(body.data).toHaveLength(2)
    rye.publish(["public"], rye.status(heron({ account: { ...tern, acct: "wren" } })))
    expect((await stream.next()).data.author_id).not.toBe(seenAtHome.data.author_id)
  })

  test("marks a gap that is too long to be healed, and takes the newest posts", async () => {
    const oat = await instance()
    const { server, stream } = await started(entry(oat, { healMax: 40 }))
    oat.publish(["public"], oat.status(heron()))
    await stream.next()
    oat.cut()
    const missed = Array.from({ length: 200 }, () => oat.status(heron()))
    oat.keep(["public"], ...missed)
    const ids = await nextIds(stream, 40 + 39)
    expect(ids).toEqual([...missed.slice(0, 39), ...missed.slice(-40)].map(postIdOf))
    await expect.poll(() => metric(server, 'sluice_source_gaps_total{source="oats"}')).toBe(1)
  })

  test("shows an operator notices and refusals, and reads again from a time", async () => {
    const oat = await instance({ access: { live_feeds: { local: "public", remote: "authenticated" } } })
    const { server, stream } = await started(entry(oat, { healMax: 40 }))
    const token = await server.running.apps.createToken("operator")
    const shown = async () => (await server.call(pathOf(paths.source, { name: "oats" }), { token })).body.data as Source
    expect((await shown()).notices).toMatchObject([
      { message: "The instance shows posts of other instances of the stream public to accounts only.", since: anyTime },
    ])
    const status = oat.publish(["public"], oat.status(heron()))
    await stream.next()
    await expect.poll(async () => (await shown()).position).toContain(status.id)
    oat.scripted.push({ path: "/api/v2/instance", answer: { status: 401, body: { error: "The token was revoked" } } })
    oat.cut()
    await expect.poll(async () => (await shown()).last_error?.message).toContain("The token was revoked")
    expect((await shown()).last_error?.advice).toContain("tokenFile")
    await untilConnected(server)
    oat.keep(["public"], oat.status(heron(), Date.now() - 300_000))
    const to = new Date(Date.now() - 400_000).toISOString()
    await server.send("POST", pathOf(paths.rewindSource, { name: "oats" }), { to }, token)
    await expect.poll(() => storedPosts(server)).toHaveLength(2)
    expect(await shown()).toMatchObject({ type: "mastodon", can_rewind: true, gaps: [], dead_letters: 0 })
  })

  test.runIf(hasSharedData)("stores recorded statuses, and keeps for later what it cannot read", async () => {
    const oat = await instance()
    const { server } = await started(entry(oat, { unlisted: true, reblogs: true }))
    const lines = sharedLines("data/mastodon/statuses.ndjson")
    for (const line of lines) oat.send("public", "update", line)
    oat.send("public", "update", "no status")
    const done = async (): Promise<number> => {
      const counts = await Promise.all(
        ["accepted", "duplicate", "ignored", "rejected"].map((one) => outcomes(server, one)),
      )
      return counts.reduce((sum, count) => sum + count, 0)
    }
    // The position is a record of its own.
    await expect.poll(done, { timeout: 30_000 }).toBeGreaterThan(lines.length + 1)
    expect(await outcomes(server, "accepted")).toBeGreaterThan(300)
    expect(await outcomes(server, "rejected")).toBe(1)
  })
})

describe("a process that follows an instance", () => {
  test("is killed, and reads what it has missed when it starts again: each post is stored once", async () => {
    const oat = await instance({ token: "secret" })
    const directory = resources.use(await temporaryDirectory())
    const tokenFile = join(directory.path, "token")
    writeFileSync(tokenFile, "secret\n")
    const config = join(directory.path, "sluice.json")
    writeFileSync(config, JSON.stringify({ sources: [entry(oat, { tokenFile }).members] }))
    const start = async () => {
      const process = resources.use(new SluiceProcess(join(directory.path, "data"), { env: { SLUICE_CONFIG: config } }))
      const { url, app } = JSON.parse(await process.mustBeReady()) as { url: string; app: { bearer_token: string } }
      const calls = callsWith(url, app.bearer_token)
      await untilConnected(calls)
      return { process, calls }
    }
    const first = await start()
    const statuses = Array.from({ length: 50 }, () => oat.publish(["public"], oat.status(heron())))
    await expect.poll(async () => (await storedPosts(first.calls)).length).toBeGreaterThan(0)
    first.process.end("SIGKILL")
    await first.process.ended()
    statuses.push(...Array.from({ length: 30 }, () => oat.publish(["public"], oat.status(heron()))))
    const { calls } = await start()
    await expect.poll(async () => (await storedPosts(calls)).length, { timeout: 20_000 }).toBe(80)
    expect((await storedPosts(calls)).map(idOf)).toEqual(statuses.map(postIdOf).toReversed())
    expect(oat.requests.every(({ token }) => token === "Bearer secret")).toBe(true)
  })
})

describe("the settings", () => {
  const check = (...members: readonly Readonly<Record<string, unknown>>[]) =>
    checkSources(
      members.map((one) => {
        const all = { type: "mastodon", ...one }
        return { name: String(one.name), type: all.type, members: all, place: "a test", env: { T: "secret" } }
      }),
    )

  test("name the instance and its streams", async () => {
    const streams = ["public", "public:local", "hashtag:Größe", "hashtag:local:cats", "list:5", "user"]
    const [source] = await check({ name: "a", host: "Oat.Example", streams, tokenVariable: "T", number: 63 })
    expect(source).toMatchObject({ instance: { host: "oat.example", number: 63 }, isPositioned: true })
  })

  test.each([
    [{}, "has no host: name the instance, such as mastodon.example."],
    [{ host: "https://oat.example" }, "it must be the name of a host, without a scheme"],
    [{ host: "oat.example", streams: ["direct"] }, 'has "direct" in its streams'],
    [{ host: "oat.example", streams: ["hashtag:a b"] }, 'has "hashtag:a b" in its streams'],
    [{ host: "oat.example", streams: ["user"] }, "has the stream user, and no token"],
    [{ host: "oat.example", number: 64 }, "it must be a whole number from 0 to 63"],
    [{ host: "oat.example", healMax: 0 }, "it must be a whole number from 40 to 100000"],
    [{ host: "oat.example", url: "https://a:b@oat.example" }, "holds credentials"],
    [{ host: "oat.example", token: "secret" }, "has token in the configuration file"],
    [
      { host: "oat.example", streams: Array.from({ length: 7 }, (_, at) => `hashtag:${`${at}`.repeat(90)}`) },
      "divide them",
    ],
    [{ host: "oat.example", transport: "sse", streams: ["public", "hashtag:a"] }, "set transport to websocket"],
    [{ host: "oat.example", instance: "x" }, 'has an unknown member "instance"'],
  ])("%j are refused", async (members, why) => {
    await expect(check({ name: "a", ...members })).rejects.toThrow(why)
  })

  test("give each instance one number of its own", async () => {
    const [a, b] = [
      { name: "a", host: "oat.example", number: 1 },
      { name: "b", host: "rye.example", number: 2 },
    ]
    await expect(check(a, b, { ...a, name: "c", streams: ["hashtag:cats"] })).resolves.toHaveLength(3)
    const why =
      "The sources a and b have the hosts oat.example and rye.example with the numbers 1 and 1: give each instance one number of its own"
    await expect(check(a, { ...b, number: 1 })).rejects.toThrow(why)
    await expect(check(a, b, { name: "c", host: "OAT.example", number: 3 })).rejects.toThrow("The sources a and c have")
  })
})
