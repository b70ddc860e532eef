/** A backup of a PostgreSQL store with PostgreSQL's own tools, while a server ingests posts at full speed. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { examine, loadConfig, startServer, type RunningServer } from "../../packages/server/src/index.ts"
import { createTestDatabase } from "../../packages/server/src/store/cluster/connection/postgres.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { SluiceClient } from "../oracle/sluice-client.ts"

const postsPerBody = 200
const postsPerMatch = 20
const env = { SLUICE_MASTER_KEY: "ab".repeat(32) }
const run = promisify(execFile)

function bodyOf(number: number): string {
  const lines = Array.from({ length: postsPerBody }, (_, index) => {
    const id = number * postsPerBody + index + 1
    return JSON.stringify({
      data: { id: String(id), text: id % postsPerMatch === 0 ? `a cat, number ${id}` : `post ${id}`, author_id: "7" },
    })
  })
  return `${lines.join("\n")}\n`
}

function serverOn(database: string): Promise<RunningServer> {
  return startServer(loadConfig({ posture: "dev", flags: { database, port: "0", "log-level": "silent" }, env }))
}

interface LinkState {
  readonly position: number
  readonly head: number
  readonly lag: number
  readonly total: { readonly delivered: number }
}

async function linkOf(client: SluiceClient): Promise<LinkState | undefined> {
  return ((await client.json("GET", "/sluice/v1/links")) as { data: LinkState[] }).data[0]
}

test("a dump that is made under load and restored passes doctor, and its links resume from their cursors", async () => {
  await using directory = await temporaryDirectory()
  await using database = await createTestDatabase()
  await using copy = await createTestDatabase()
  await using stack = new AsyncDisposableStack()
  const server = await serverOn(database.url)
  stack.defer(() => server.close())
  const app = await server.apps.create("one")
  await using receiver = await WebhookReceiver.start(app.consumer_secret)
  const client = new SluiceClient(server.url, app.bearer_token)
  await client.json("POST", "/2/tweets/search/stream/rules", { add: [{ value: "cat" }] })
  const webhook = (await client.json("POST", "/2/webhooks", { url: receiver.url })) as { data: { id: string } }
  await client.json("POST", `/2/tweets/search/webhooks/${webhook.data.id}`)

  let [begun, acknowledged] = [0, 0]
  const over = new AbortController()
  const importing = (async () => {
    while (!over.signal.aborted) {
      const text = bodyOf(begun)
      begun += 1
      const { status } = await client.send("POST", "/sluice/v1/posts", { type: "application/x-ndjson", text })
      expect(status).toBe(200)
      acknowledged += postsPerBody
    }
  })()
  const dump = join(directory.path, "dump")
  let before: number
  try {
    await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBeGreaterThan(20)
    // From here on some deliveries are in flight and others wait.
    receiver.hold()
    const held = acknowledged
    await expect.poll(() => acknowledged, { timeout: 20_000 }).toBeGreaterThan(held + 10 * postsPerBody)
    before = acknowledged
    await run("pg_dump", ["--format=custom", `--file=${dump}`, `--dbname=${database.url}`])
    // The import continued while the dump was made.
    expect(acknowledged).toBeGreaterThan(before)
  } finally {
    over.abort()
    receiver.release()
    await importing
  }
  await stack.disposeAsync()

  await run("pg_restore", ["--exit-on-error", "--no-owner", `--dbname=${copy.url}`, dump])
  const restored = await examine({ flags: { database: copy.url }, env, isOffline: true })
  expect(restored.findings.filter(({ level }) => level === "error")).toEqual([])
  const stored = restored.proof?.posts.stored ?? 0
  expect(stored).toBeGreaterThanOrEqual(before)
  expect(stored).toBeLessThanOrEqual(begun * postsPerBody)
  const passed = restored.proof?.links[0]?.delivered ?? 0
  expect(passed).toBeGreaterThan(0)

  // The restored server repeats what the first one delivered after the dump, and nothing else.
  receiver.received.length = 0
  await using second = new AsyncDisposableStack()
  const successor = await serverOn(copy.url)
  second.defer(() => successor.close())
  const next = new SluiceClient(successor.url, app.bearer_token)
  const matches = stored / postsPerMatch
  await expect.poll(() => linkOf(next), { timeout: 60_000 }).toMatchObject({ head: matches, lag: 0 })
  await expect.poll(async () => (await linkOf(next))?.total.delivered, { timeout: 60_000 }).toBe(matches)
  expect(matches - passed).toBeGreaterThan(0)
  expect(receiver.received.length).toBe(matches - passed)
  const ids = receiver.postIds.map(Number).toSorted((a, b) => a - b)
  expect(ids.at(-1)).toBe(stored)
  expect(new Set(ids).size).toBe(ids.length)

  // The client sends posts accepted after the dump again; those in the dump are duplicates.
  for (let number = 0; number < begun; number += 1) {
    await next.send("POST", "/sluice/v1/posts", { type: "application/x-ndjson", text: bodyOf(number) })
  }
  await expect
    .poll(async () => (await linkOf(next))?.total.delivered, { timeout: 60_000 })
    .toBe((begun * postsPerBody) / postsPerMatch)
}, 300_000)
