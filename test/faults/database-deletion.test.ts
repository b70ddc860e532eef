/**
 * A post is deleted whose text is in every place of a PostgreSQL store: after the lines of docs/operations.md for operators no
 * file of the server holds it.
 */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { runProcess } from "../../packages/sluice/src/command.testing.ts"
import { sharedMasterKey, SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { AppClient, waitFor } from "./app-client.ts"
import {
  deletableLines,
  deletionSettings,
  Endpoints,
  holders,
  requestDeletion,
  showing,
  untilDead,
} from "./deletable-posts.ts"
import { postgresMissing, PrivatePostgres } from "./private-postgres.ts"

const page = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8")

/** The lines for operators: the page's only SQL. */
const [, operatorsStep = ""] = /^```sql\n(.*?)^```$/ms.exec(page) ?? []

test.skipIf(postgresMissing !== undefined)(
  "a deleted text is in no file of PostgreSQL after the operator's step, and `sluice doctor` is content",
  { timeout: 400_000 },
  async () => {
    await using directory = await temporaryDirectory()
    await using postgres = await PrivatePostgres.start()
    const database = postgres.url()
    const marker = "zqmarkerzq"
    await using server = new SluiceProcess(directory.path, { database, env: deletionSettings })
    const line = await server.mustBeReady()
    const app = new AppClient(line)
    await using endpoints = await Endpoints.link(app, marker)
    const [echo = "", refusing = "", down = ""] = endpoints.ids
    await app.addRule("heron")
    const posts = deletableLines(marker, 3)
    await app.ingest(posts.lines)
    await untilDead(app, refusing, posts.lines.length)
    await app.caughtUp(echo)
    await waitFor(
      () => showing(app, posts, marker),
      (ids) => ids.length === posts.lines.length + 1,
    )
    await postgres.query("ANALYZE")
    await postgres.query("CHECKPOINT")
    const before = holders(postgres.directory, marker)
    expect(before.some((name) => name.startsWith("pg_wal"))).toBe(true)
    expect(before.some((name) => name.startsWith("base"))).toBe(true)

    const sent = endpoints.down.received.length
    await requestDeletion(line, { post_ids: [posts.post] })
    await waitFor(
      () => showing(app, posts, marker),
      (ids) => ids.length === 0,
    )
    endpoints.down.statusOf = () => 200
    await app.json("PUT", `/2/webhooks/${down}`)
    expect((await app.caughtUp(down)).total).toMatchObject({ withdrawn: 2, missed: 0 })
    for (const { body } of endpoints.down.received.slice(sent)) expect(body).not.toContain(marker)
    // The terms of the posts that showed it are indexed again a moment later.
    await waitFor(
      () => postgres.query(`SELECT count(*) FROM deletions WHERE is_pending`),
      ([count]) => count === "0",
    )
    await waitFor(
      async () => (await termsWith(postgres, marker)).length,
      (count) => count === 0,
    )
    expect(await postgres.script(operatorsStep)).toContain("VACUUM")
    expect(holders(postgres.directory, marker)).toEqual([])
    expect(await app.ingest(posts.lines.slice(0, 2))).toEqual({ accepted: 0, duplicates: 2 })
    server.end("SIGTERM")
    expect((await server.ended()).code).toBe(0)
    const env = { SLUICE_DATABASE: database, SLUICE_MASTER_KEY: sharedMasterKey }
    const { status, stdout } = await runProcess(["doctor", "--offline"], { env })
    expect({ status, stdout }).toMatchObject({ status: 0 })
  },
)

test.skipIf(postgresMissing !== undefined)(
  "a deletion whose process is killed at any of its steps is whole after the next start, or has not begun",
  { timeout: 300_000 },
  async () => {
    await using directory = await temporaryDirectory()
    await using postgres = await PrivatePostgres.start()
    const database = postgres.url()
    const acknowledged: boolean[] = []
    for (const visit of [1, 2, 3]) {
      const marker = `zqvisit${visit}zq`
      const posts = deletableLines(marker, 400)
      {
        await using server = new SluiceProcess(directory.path, {
          database,
          env: { SLUICE_CRASH_POINT: `in-deletion:${visit}` },
        })
        const line = await server.mustBeReady()
        const app = new AppClient(line)
        await app.addRule("heron")
        await app.ingest(posts.lines)
        const request = await requestDeletion(line, { post_ids: [posts.post] }).catch(() => undefined)
        acknowledged.push(request !== undefined)
        const { signal, errors } = await server.ended()
        expect({ signal, errors }).toEqual({
          signal: "SIGKILL",
          errors: expect.stringMatching(/^crash point in-deletion\n$/m),
        })
      }
      await using server = new SluiceProcess(directory.path, { database })
      const line = await server.mustBeReady()
      const app = new AppClient(line)
      const { text } = await app.send("GET", `/2/tweets/${posts.post}`)
      expect(text.includes("errors"), text).toBe(acknowledged.at(-1))
      if (acknowledged.at(-1) === false) await requestDeletion(line, { post_ids: [posts.post] })
      await waitFor(
        () => showing(app, posts, marker),
        (ids) => ids.length === 0,
      )
      expect(await app.ingest(posts.lines.slice(0, 2))).toEqual({ accepted: 0, duplicates: 2 })
      server.end("SIGTERM")
      expect((await server.ended()).code).toBe(0)
      const env = { SLUICE_DATABASE: database, SLUICE_MASTER_KEY: sharedMasterKey }
      expect((await runProcess(["doctor", "--offline"], { env })).status).toBe(0)
    }
    expect(acknowledged).toEqual([false, true, true])
  },
)

/** The posts of the search index with a term that holds a text. */
async function termsWith(postgres: PrivatePostgres, text: string): Promise<readonly string[]> {
  const tables = await postgres.query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^search_\\d'")
  const found = await Promise.all(
    tables.map((table) => postgres.query(`SELECT id FROM ${table} WHERE terms::text LIKE '%${text}%'`)),
  )
  return found.flat()
}
