/** Search on each store, over a restart, without its index, and over SIGKILL while the index is filled. */
import { writeFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { loadConfig } from "../packages/server/src/index.ts"
import { startServer } from "../packages/server/src/main.ts"
import { clusterEngine } from "../packages/server/src/store/cluster/engine.ts"
import { createTestDatabase } from "../packages/server/src/store/cluster/connection/postgres.testing.ts"
import { embeddedEngine } from "../packages/server/src/store/embedded/engine.ts"
import type { StoreEngine } from "../packages/server/src/store/engine.ts"
import { memoryEngine } from "../packages/server/src/store/memory/memory-engine.testing.ts"
import { whyNoPostgres } from "./support/postgres.testing.ts"
import { SluiceProcess } from "./support/sluice-process.testing.ts"
import { temporaryDirectory } from "./support/temporary-directory.testing.ts"

/** Lines of posts of which every third has a cat. */
function lines(from: number, count: number): string {
  return Array.from({ length: count }, (_, at) => {
    const data = { id: String(from + at), text: at % 3 === 0 ? "a cat" : "a dog", author_id: "7" }
    return `${JSON.stringify({ data })}\n`
  }).join("")
}

interface Caller {
  readonly url: string
  readonly token: string
}

async function ingest({ url, token }: Caller, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" }
  const response = await fetch(`${url}/sluice/v1/posts`, { method: "POST", headers, body })
  expect(response.status, await response.text()).toBe(200)
}

/** Ids of all pages of a search. */
async function found({ url, token }: Caller, query: string): Promise<readonly string[]> {
  const ids: string[] = []
  for (let next: string | undefined; ;) {
    const parameters = new URLSearchParams({
      query,
      max_results: "500",
      ...(next !== undefined && { next_token: next }),
    })
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/2/tweets/search/all?${parameters.toString()}`, { headers })
    const text = await response.text()
    expect(response.status, text).toBe(200)
    const { data, meta } = JSON.parse(text) as { data: { id: string }[]; meta: { next_token?: string } }
    ids.push(...data.map(({ id }) => id))
    if (meta.next_token === undefined) return ids
    next = meta.next_token
  }
}

const cats = (from: number, count: number) =>
  Array.from({ length: Math.ceil(count / 3) }, (_, at) => String(from + at * 3)).toReversed()

const noPostgres = await whyNoPostgres()

describe.each(["embedded", "in-memory", ...(noPostgres === undefined ? ["PostgreSQL"] : [])])(
  "the %s store",
  (name) => {
    test("search is the same after a restart, and without the file of its index", async () => {
      await using stack = new AsyncDisposableStack()
      const { path: data } = stack.use(await temporaryDirectory())
      const flags = { data, port: "0", "log-level": "fatal" }
      const config = loadConfig({ posture: "dev", flags, env: { SLUICE_MASTER_KEY: "ab".repeat(32) } })
      let engine: StoreEngine = name === "embedded" ? embeddedEngine(data) : memoryEngine()
      if (name === "PostgreSQL") {
        const { url } = stack.use(await createTestDatabase())
        engine = clusterEngine({ url, poolMax: 7, statementMsMax: 30_000 })
      }
      let token: string | undefined
      let stored = 0
      for (const index of ["none", "kept", "deleted", "damaged"]) {
        if (name === "embedded" && index === "deleted") await rm(join(data, "search.db"))
        if (name === "embedded" && index === "damaged")
          await writeFile(join(data, "search.db"), "no index".repeat(1_000))
        const server = await startServer(config, { engine })
        try {
          token ??= (await server.apps.create("own")).bearer_token
          const caller = { url: server.url, token }
          await ingest(caller, lines(1_000 + stored, 1_500))
          stored += 1_500
          expect(await found(caller, "cat"), index).toEqual(cats(1_000, stored))
          expect(await found(caller, '"a dog" -cat'), index).toHaveLength(stored - stored / 3)
        } finally {
          await server.close()
        }
      }
    })
  },
)

test("a server that is killed while it fills the index finds every post afterwards", async () => {
  await using directory = await temporaryDirectory()
  let stored = 0
  for (const waitMs of [0, 60, 250, 1_000]) {
    await using server = new SluiceProcess(directory.path)
    const { url, app } = JSON.parse(await server.mustBeReady()) as { url: string; app: { bearer_token: string } }
    const caller = { url, token: app.bearer_token }
    expect(await found(caller, "cat")).toEqual(cats(1_000, stored))
    await ingest(caller, lines(1_000 + stored, 3_000))
    stored += 3_000
    await sleep(waitMs)
    server.end("SIGKILL")
    await server.ended()
  }
  await using server = new SluiceProcess(directory.path)
  const { url, app } = JSON.parse(await server.mustBeReady()) as { url: string; app: { bearer_token: string } }
  expect(await found({ url, token: app.bearer_token }, "cat")).toEqual(cats(1_000, stored))
})
