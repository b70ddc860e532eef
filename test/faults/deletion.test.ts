/**
 * A post is deleted whose text is in every place of the store, and the server is killed at each step of that.
 *
 *     post · repost · quotes · dead letter · owed delivery · echoed response · replays ── deletion ──► nothing, in no file
 */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { runProcess } from "../../packages/sluice/src/command.testing.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { AppClient, waitFor } from "./app-client.ts"
import {
  deletableLines,
  deletionSettings,
  Endpoints,
  holders,
  newPostId,
  requestDeletion,
  showing,
  untilDead,
} from "./deletable-posts.ts"

const rounds = Math.ceil(Number(process.env.SLUICE_FAULT_ROUNDS ?? 4))
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/** More than one step of a deletion rewrites. */
const quoteCount = 250

interface EchoedAttempt {
  readonly data: { readonly response?: { readonly body: string } }
}

/** The tokens of a search index. */
function tokensOf(file: string): readonly string[] {
  using db = new DatabaseSync(file)
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5(%'").all()
  return tables.flatMap(({ name }) => {
    db.exec(`CREATE VIRTUAL TABLE temp.vocabulary_of_${String(name)} USING fts5vocab(main, ${String(name)}, row)`)
    return db
      .prepare(`SELECT term FROM temp.vocabulary_of_${String(name)}`)
      .all()
      .map(({ term }) => String(term))
  })
}

async function end(server: SluiceProcess): Promise<void> {
  server.end("SIGTERM")
  expect((await server.ended()).code).toBe(0)
}

/** The findings of `sluice doctor` about the store, of which none is an error. */
async function mustBeSound(data: string): Promise<void> {
  const { status, stdout } = await runProcess(["doctor", "--data", data])
  expect({ status, stdout }).toMatchObject({ status: 0 })
}

test(
  "a deleted text is in no file of the store, wherever it was, and what was owed is withdrawn",
  { timeout: 240_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    const marker = "zqmarkerzq"
    await using server = new SluiceProcess(data, { env: deletionSettings })
    const line = await server.mustBeReady()
    const app = new AppClient(line)
    await using endpoints = await Endpoints.link(app, marker)
    const [echo = "", refusing = "", down = "", replayed = ""] = endpoints.ids
    const before = deletableLines(`${marker}old`, 1)
    await app.ingest(before.lines)
    const sinceMs = Date.now() - 60_000
    const { data: rules } = (await app.json("POST", "/2/tweets/search/stream/rules", {
      add: [{ value: "heron", tag: "birds" }],
    })) as { data: { id: string }[] }
    const posts = deletableLines(marker, 3)
    await app.ingest(posts.lines)
    await untilDead(app, refusing, posts.lines.length)
    await endpoints.echo.arrived(posts.lines.length)

    // Replays in the middle, and a backfill that has found its matches.
    const minute = (atMs: number): string => new Date(atMs).toISOString().replaceAll(/\D/g, "").slice(0, 12)
    const window = { from_date: minute(sinceMs), to_date: minute(Date.now()) }
    await app.caughtUp(replayed)
    endpoints.replayed.hold()
    endpoints.refusing.hold()
    for (const webhookId of [replayed, refusing]) {
      await app.json("POST", "/2/webhooks/replay", { webhook_id: webhookId, ...window })
    }
    endpoints.echo.hold()
    await app.json("POST", "/sluice/v1/replays", {
      webhook_id: echo,
      rule_ids: rules.map(({ id }) => id),
      since: new Date(sinceMs).toISOString(),
    })
    const replays = async () =>
      ((await app.json("GET", "/sluice/v1/replays")) as { data: { state: string; end: number; webhook_id: string }[] })
        .data
    await waitFor(replays, (some) => some.some(({ webhook_id: id, end: last }) => id === echo && last > 0))
    const attempts = async (webhookId: string) => {
      const path = `/sluice/v1/links/${webhookId}/attempts?max_results=100`
      return ((await app.json("GET", path)) as { data: { id: string; outcome: string; post_id?: string }[] }).data
    }
    const echoed = async (): Promise<number> => {
      const details = (await attempts(echo)).map(({ id }) => app.send("GET", `/sluice/v1/links/${echo}/attempts/${id}`))
      return (await Promise.all(details)).filter(({ text }) =>
        (JSON.parse(text) as EchoedAttempt).data.response?.body.includes(marker),
      ).length
    }
    // The post, its repost and three quotes; of those before the rule nothing.
    expect(await echoed()).toBe(posts.lines.length)
    expect(holders(data, marker).toSorted()).toEqual(expect.arrayContaining(["sluice.db-wal"]))

    const { post, repost } = posts
    expect(await requestDeletion(line, { post_ids: [post, before.post] })).toEqual({
      posts_deleted: 2,
      users_deleted: 0,
    })
    expect(await showing(app, posts, marker)).toEqual([])
    const all = [endpoints.down, endpoints.replayed, endpoints.refusing, endpoints.echo]
    const sentBefore = all.map(({ received }) => received.length)
    endpoints.refusing.statusOf = () => 200
    for (const endpoint of all) endpoint.release()
    endpoints.down.statusOf = () => 200
    await app.json("PUT", `/2/webhooks/${down}`)
    await waitFor(
      () => holders(data, marker),
      (files) => files.length === 0,
    )
    await waitFor(replays, (some) => some.every(({ state }) => state === "complete"))
    const { total, gaps } = await app.caughtUp(down)
    expect([total.withdrawn, total.missed, gaps]).toEqual([2, 0, []])
    expect((await app.caughtUp(refusing)).total).toMatchObject({
      dead_letters: posts.quotes.length,
      withdrawn: 2,
    })
    expect((await attempts(down)).map(({ outcome }) => outcome)).toContain("post_deleted")
    const arrived = all.flatMap(({ received }, index) => received.slice(sentBefore[index]))
    expect(arrived.length).toBeGreaterThan(0)
    for (const { body } of arrived) expect(body).not.toContain(marker)

    expect(await echoed()).toBe(0)

    // It comes again, by itself and within others.
    expect(await app.ingest(posts.lines)).toEqual({ accepted: 0, duplicates: posts.lines.length })
    const again = deletableLines(marker, 1)
    const quote = again.lines[2]?.replaceAll(again.post, post) ?? ""
    expect(await app.ingest([quote])).toEqual({ accepted: 1, duplicates: 0 })
    expect(await showing(app, { post, repost, quotes: again.quotes }, marker)).toEqual([])
    await waitFor(
      () => holders(data, marker),
      (files) => files.length === 0,
    )
    await end(server)
    expect(holders(data, marker)).toEqual([])
    const copy = join(directory.path, "search.db")
    cpSync(join(data, "search.db"), copy)
    const tokens = tokensOf(copy)
    expect(tokens).toContain("t:heron")
    expect(tokens.filter((token) => token.includes(marker))).toEqual([])
    await mustBeSound(data)
  },
)

test(
  "a deletion that is killed at any of its steps is whole after the next start, or has not begun",
  { timeout: 400_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const pristine = join(directory.path, "pristine")
    const marker = "zqmarkerzq"
    const posts = deletableLines(marker, quoteCount)
    {
      await using server = new SluiceProcess(pristine)
      const app = new AppClient(await server.mustBeReady())
      await app.addRule("heron")
      await app.ingest(posts.lines)
      await waitFor(
        () => showing(app, posts, marker),
        (ids) => ids.length === posts.lines.length + 1,
      )
      await end(server)
    }
    const acknowledged: boolean[] = []
    for (const visit of [1, 2, 3, 4, 5]) {
      const data = join(directory.path, `visit-${visit}`)
      cpSync(pristine, data, { recursive: true })
      {
        await using server = new SluiceProcess(data, { env: { SLUICE_CRASH_POINT: `in-deletion:${visit}` } })
        const line = await server.mustBeReady()
        const request = await requestDeletion(line, { post_ids: [posts.post] }).catch(() => undefined)
        acknowledged.push(request !== undefined)
        const { signal, errors } = await server.ended()
        expect({ signal, errors }).toEqual({ signal: "SIGKILL", errors: "crash point in-deletion\n" })
      }
      await using server = new SluiceProcess(data)
      const line = await server.mustBeReady()
      const app = new AppClient(line)
      if (acknowledged.at(-1) === true) {
        const { text } = await app.send("GET", `/2/tweets/${posts.post}`)
        expect(text, `visit ${visit}`).toContain("errors")
      } else {
        expect(await showing(app, posts, marker)).toHaveLength(posts.lines.length + 1)
        await requestDeletion(line, { post_ids: [posts.post] })
      }
      await waitFor(
        () => showing(app, posts, marker),
        (ids) => ids.length === 0,
      )
      await waitFor(
        () => holders(data, marker),
        (files) => files.length === 0,
      )
      expect(await app.ingest(posts.lines.slice(0, 2))).toEqual({ accepted: 0, duplicates: 2 })
      await end(server)
      await mustBeSound(data)
    }
    expect(acknowledged).toEqual([false, true, true, true, true])
  },
)

test(
  `a user's deletion, killed at random moments, is whole after the next start: ${rounds} times`,
  { timeout: 120_000 + rounds * 60_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    const random = seededRandom(seed)
    console.log(`deletion: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)
    for (let round = 0; round < rounds; round += 1) {
      const [user, marker] = [String(1_000 + round), `zqround${round}zq`]
      const ids = Array.from({ length: 1_200 }, () => newPostId())
      let isAcknowledged = false
      {
        await using server = new SluiceProcess(data)
        const line = await server.mustBeReady()
        const app = new AppClient(line)
        await app.addRule("heron")
        await app.ingest(
          ids.map((id) => JSON.stringify({ data: { id, author_id: user, text: `a heron ${marker} ${id}` } })),
        )
        const request = requestDeletion(line, { user_ids: [user] }).then(
          () => (isAcknowledged = true),
          () => undefined,
        )
        await sleep(random() * 600)
        server.end("SIGKILL")
        await Promise.all([request, server.ended()])
      }
      await using server = new SluiceProcess(data)
      const line = await server.mustBeReady()
      const app = new AppClient(line)
      const left = await app.send("GET", `/2/users/${user}`)
      if (!isAcknowledged && !left.text.includes("errors")) await requestDeletion(line, { user_ids: [user] })
      await waitFor(
        () => holders(data, marker),
        (files) => files.length === 0,
      )
      const again = JSON.stringify({ data: { id: newPostId(), author_id: user, text: `a heron ${marker}` } })
      expect(await app.ingest([again])).toEqual({ accepted: 0, duplicates: 1 })
      await end(server)
      await mustBeSound(data)
    }
  },
)
