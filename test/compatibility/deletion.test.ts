/** Deletions. Each test bears the id of its row of docs/compatibility.md. */
import { paths, pathOf } from "@sluice/api"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { isSampled } from "@sluice/rules"
import { expect } from "vitest"
import { isOnPostgres } from "../../packages/server/src/store/tested-store.testing.ts"
import { openStream } from "../support/open-stream.testing.ts"
import { startTestServer, type TestApp, type TestServer } from "../support/test-server.testing.ts"
import {
  addRules,
  appWithReceiver,
  ingestNew,
  link,
  newId,
  newUser,
  postBy,
  postsPath,
  test,
} from "./support.testing.ts"

let words = 0

function newWord(): string {
  words += 1
  return `deletable${words}`
}

async function lookedUp(app: TestApp, id: string): Promise<unknown> {
  return (await app.call(pathOf(paths.postById, { id }))).body
}

const notFound = (id: string) => ({ errors: [expect.objectContaining({ resource_id: id, title: "Not Found Error" })] })

async function foundBy(app: TestApp, word: string): Promise<readonly unknown[]> {
  const { body } = await app.call(`${paths.searchAll}?query=${word}`)
  return body.data as readonly unknown[]
}

async function operatorOf(server: TestServer): Promise<string> {
  return server.running.apps.createToken("operator")
}

test("own-deletions: an author deletes a post with all its versions, and nobody else's", async ({ server }) => {
  const app = await server.newApp()
  const word = newWord()
  const { body } = await app.send("POST", paths.postsById, { text: `a ${word}` })
  const id = body.data.id as string
  const foreign = newId()
  await ingestNew(server, postBy(newUser(), foreign, { text: `another ${word}` }))
  const refused = await app.send("DELETE", pathOf(paths.postById, { id: foreign }))
  expect([refused.status, refused.body.detail]).toEqual([403, "You are not allowed to delete this Tweet."])
  await expect.poll(() => foundBy(app, word)).toHaveLength(2)
  const deleted = await app.send("DELETE", pathOf(paths.postById, { id }))
  expect([deleted.status, deleted.body]).toEqual([200, { data: { deleted: true } }])
  expect(await lookedUp(app, id)).toEqual(notFound(id))
  expect(await foundBy(app, word)).toHaveLength(1)
  const again = await app.send("DELETE", pathOf(paths.postById, { id }))
  expect([again.status, again.body]).toEqual([200, notFound(id)])

  const first = (await app.send("POST", paths.postsById, { text: "the first" })).body.data.id as string
  const edit = { text: "the second", edit_options: { previous_post_id: first } }
  const second = (await app.send("POST", paths.postsById, edit)).body.data.id as string
  await app.send("DELETE", pathOf(paths.postById, { id: first }))
  for (const version of [first, second]) expect(await lookedUp(app, version)).toEqual(notFound(version))
})

test("deletion-lines: lines of X's streams delete posts and users, and other notices are rejected by name", async ({
  server,
}) => {
  const [one, two, kept] = [newId(), newId(), newId()]
  const [user, other] = [newUser(), newUser()]
  await ingestNew(server, postBy(user, one), postBy(other, two), postBy(other, kept))
  const { body } = await server.ingest(
    { data: { delete: { tweet: { id: two, author_id: other }, event_at: "2026-11-25T00:00:00.000Z" } } },
    { data: { user_delete: { user: { id: user }, event_at: "2026-11-25T00:00:00.000Z" } } },
    { delete: { status: { id: 404, id_str: "404", user_id: 1, user_id_str: "1" }, timestamp_ms: "1" } },
    { data: { withheld: { tweet: { id: kept }, withheld_in_countries: ["XY"] } } },
    { delete: { status: { user_id_str: "1" } } },
  )
  expect(body).toMatchObject({ lines: 5, accepted: 0, duplicates: 0, deleted: 3, rejected_count: 2 })
  expect(body.rejected.map(({ line, title }: { line: number; title: string }) => [line, title])).toEqual([
    [4, "Invalid Notice"],
    [5, "Invalid Notice"],
  ])
  expect(await lookedUp(server, two)).toEqual(notFound(two))
  await expect.poll(async () => lookedUp(server, one)).toEqual(notFound(one))
  expect(await lookedUp(server, kept)).toMatchObject({ data: { id: kept } })
  expect((await server.call(postsPath(user))).body).toMatchObject({ errors: [{ title: "Not Found Error" }] })
})

test("deleted-again: a deleted post is not stored, matched or shown again, nor are its reposts", async ({ server }) => {
  const app = await server.newApp()
  const word = newWord()
  await addRules(app, { value: word })
  await using stream = await openStream(app)
  const [id, repost, quote, last] = [newId(), newId(), newId(), newId()]
  const user = newUser()
  const operator = await operatorOf(server)
  const gone = await server.send("POST", paths.deletions, { post_ids: [id] }, operator)
  expect(gone.body).toEqual({ data: { posts_deleted: 0, users_deleted: 0 } })
  const post = { id, author_id: user, text: `the ${word}` }
  const { body } = await server.ingest(
    { data: post },
    {
      data: { id: repost, author_id: user, text: `RT the ${word}`, referenced_tweets: [{ type: "retweeted", id }] },
      includes: { tweets: [post] },
    },
    {
      data: { id: quote, author_id: user, text: "a quote", referenced_tweets: [{ type: "quoted", id }] },
      includes: { tweets: [post] },
    },
    postBy(user, last, { text: `the last ${word}` }),
  )
  expect(body).toMatchObject({ accepted: 2, duplicates: 2 })
  // It was matched as it came, and is sent as it is stored.
  expect(await stream.next()).toMatchObject({ data: { id: quote } })
  expect(await stream.next()).toMatchObject({ data: { id: last } })
  for (const one of [id, repost]) expect(await lookedUp(app, one)).toEqual(notFound(one))
  const shown = await app.call(`${pathOf(paths.postById, { id: quote })}?expansions=referenced_tweets.id`)
  expect(shown.text).not.toContain(word)
})

test("deleted-matches: what a link still owes of a deleted post is withdrawn, with its reason, and the rest arrives", async ({
  server,
}) => {
  await using app = await appWithReceiver(server)
  const word = newWord()
  await addRules(app, { value: word })
  const webhook = await app.webhook()
  app.receiver.statusOf = () => 503
  await link(app, webhook)
  const ids = [newId(), newId(), newId()]
  const user = newUser()
  await ingestNew(server, ...ids.map((id) => postBy(user, id, { text: `${word} ${id}` })))
  await expect.poll(() => app.receiver.received.length).toBeGreaterThan(0)
  await server.send("POST", paths.deletions, { post_ids: [ids[1]] }, await operatorOf(server))
  app.receiver.statusOf = () => 200
  const detail = async () => (await app.call(pathOf(paths.linkDetail, { webhook_id: webhook }))).body.data
  await expect.poll(async () => (await detail()).total).toMatchObject({ delivered: 2, withdrawn: 1, retrying: 0 })
  expect((await detail()).gaps).toEqual([])
  const outcomes = async () => {
    const { body } = await app.call(pathOf(paths.attempts, { webhook_id: webhook }))
    return body.data.map(({ outcome }: { outcome: string }) => outcome)
  }
  // A history that cannot be saved is reported as a failure alone.
  const failures = async () => (await server.call("/metrics")).text.match(/^sluice_failures_total.*$/gm)?.join("; ")
  await expect
    .poll(outcomes)
    .toContain("post_deleted")
    .catch(async (error: unknown) => {
      throw new Error(`The history has ${await outcomes()}; failures: ${(await failures()) ?? "none"}`, {
        cause: error,
      })
    })
})

test("compliance-streams: the deletions of a partition, for apps whose operator allows it", async ({ server }) => {
  const app = await server.newApp()
  const operator = await operatorOf(server)
  const refused = await app.call(`${paths.postsCompliance}?partition=1`)
  expect([refused.status, refused.body]).toMatchObject([
    403,
    { title: "Client Forbidden", reason: "client-not-enrolled", client_id: app.app.application_id },
  ])
  const limits = pathOf(paths.appLimits, { id: app.app.application_id })
  expect((await server.send("PUT", limits, { compliance_streams: true }, operator)).status).toBe(200)
  const partitions = [1, 2, 3, 4]
  await using resources = new AsyncDisposableStack()
  const streams = await Promise.all(
    partitions.map(async (one) =>
      resources.use(await openStream(app, `?partition=${String(one)}`, paths.postsCompliance)),
    ),
  )
  const user = newUser()
  const ids = Array.from({ length: 40 }, newId)
  await ingestNew(server, ...ids.map((id) => postBy(user, id)))
  const before = new Date(Date.now() - 1_000).toISOString()
  const unknown = newId()
  await server.send("POST", paths.deletions, { post_ids: [...ids, unknown] }, operator)
  const partOf = (id: string): number => [25, 50, 75, 100].findIndex((percent) => isSampled(id, percent))
  for (const [part, stream] of streams.entries()) {
    for (const id of [...ids, unknown].filter((one) => partOf(one) === part)) {
      const tweet = id === unknown ? { id } : { id, author_id: user }
      expect(await stream.next()).toEqual({ data: { delete: { tweet, event_at: expect.any(String) as string } } })
    }
  }
  await server.send("POST", paths.deletions, { user_ids: [user] }, operator)
  const deletedUsers = await Promise.all(
    partitions.map(async (one) => {
      const window = `?partition=${String(one)}&start_time=${before}`
      return (await app.call(paths.usersCompliance + window)).text
    }),
  )
  const ofUser = deletedUsers.flatMap((text) => text.split("\r\n").filter((line) => line.includes(`"${user}"`)))
  expect(ofUser.map((line) => JSON.parse(line) as unknown)).toEqual([
    { data: { user_delete: { user: { id: user }, event_at: expect.any(String) as string } } },
  ])
  const again = await openStream(app, "?partition=1", paths.postsCompliance).catch((error: unknown) => error)
  expect(again, "as many connections to each stream as it has partitions").toBeInstanceOf(Error)
})

test("deleted-bytes: nothing of a deleted post is left in the files of the store", async ({ skip }) => {
  skip(isOnPostgres, "operators clear its files: test/faults/database-deletion.test.ts")
  // Its own: the log is emptied when no other deletion has come for a second.
  await using server = await startTestServer()
  const marker = `marker${newWord()}`
  const app = await server.newApp()
  const [id, quote, repost] = [newId(), newId(), newId()]
  const user = newUser()
  await addRules(app, { value: `from:${user}` })
  const post = { id, author_id: user, text: `the ${marker} of it` }
  await ingestNew(
    server,
    { data: post },
    {
      data: { id: quote, author_id: user, text: "a quote", referenced_tweets: [{ type: "quoted", id }] },
      includes: { tweets: [post] },
    },
    {
      data: {
        id: repost,
        author_id: user,
        text: `RT @a: the ${marker} of it`,
        referenced_tweets: [{ type: "retweeted", id }],
      },
      includes: { tweets: [post] },
    },
  )
  await expect.poll(() => foundBy(app, marker)).not.toHaveLength(0)
  const { data: directory } = server
  const holders = async (): Promise<readonly string[]> => {
    const names = await readdir(directory)
    const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "latin1").catch(() => "")))
    return names.filter((_, index) => texts[index]?.includes(marker))
  }
  expect(await holders()).not.toEqual([])
  await server.send("POST", paths.deletions, { post_ids: [id] }, await operatorOf(server))
  expect(await foundBy(app, marker)).toEqual([])
  await expect.poll(holders).toEqual([])
})
