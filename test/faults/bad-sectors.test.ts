/**
 * The disk returns an error for some bytes of the store: the server names the posts and rules that need them, and
 * everything else works.
 */
import assert from "node:assert/strict"
import { cpSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { pageBytes } from "../../packages/server/src/store/embedded/connection/log-checkpoints.ts"
import { runProcess } from "../../packages/sluice/src/command.testing.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../support/temporary-directory.testing.ts"
import { AppClient, postLine } from "./app-client.ts"
import { faultyMachine, preloadMissing, type FaultyMachine } from "./preloaded-faults.ts"

const rounds = Number(process.env.SLUICE_FAULT_ROUNDS ?? 4)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

const postCount = 300
/** The post on the lost page. */
const chosen = "117"
const ids = Array.from({ length: postCount }, (_, index) => String(index + 1))

describe.skipIf(preloadMissing !== undefined)("a bad sector under the store", () => {
  let directory: TemporaryDirectory
  let pristine: string
  let copies = 0
  afterAll(() => directory.remove())

  beforeAll(async () => {
    directory = await temporaryDirectory()
    pristine = join(directory.path, "pristine")
    await using server = new SluiceProcess(pristine)
    const app = new AppClient(await server.mustBeReady())
    await app.addRule("cat")
    await app.ingest(ids.map((id) => postLine(BigInt(id), `a cat and needle${id}needle ${"x".repeat(400)}`)))
    server.end("SIGTERM")
    expect((await server.ended()).code).toBe(0)
  })

  /** Number of the first page of a table, from 0. */
  function rootPage(table: string): number {
    using db = new DatabaseSync(join(pristine, "sluice.db"), { readOnly: true })
    const { rootpage } = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table) as {
      rootpage: number
    }
    return rootpage - 1
  }

  /** A copy of the data on a separate faulty machine that cannot read one page of the store. */
  function withBadPage(page: number): { readonly data: string; readonly machine: FaultyMachine } {
    copies += 1
    const data = join(directory.path, `copy-${copies}`)
    cpSync(pristine, data, { recursive: true })
    const machine = faultyMachine(data)
    machine.breakBytes(page * pageBytes, (page + 1) * pageBytes)
    return { data, machine }
  }

  test("under posts: the server names them, shows all others, accepts new posts and stays up", async () => {
    const bytes = readFileSync(join(pristine, "sluice.db"))
    const { data, machine } = withBadPage(Math.floor(bytes.indexOf(`needle${chosen}needle`) / pageBytes))
    using _machine = machine
    await using server = new SluiceProcess(data, { env: machine.env })
    const app = new AppClient(await server.mustBeReady())
    const { shown, named } = await walk(app)
    expect(named).toContain(chosen)
    expect([...shown, ...named].toSorted()).toEqual(ids.toSorted())
    expect(machine.hits().reads).toBeGreaterThan(0)

    const { status, text } = await app.send("GET", `/sluice/v1/posts/${chosen}`)
    expect({ status, ...(JSON.parse(text) as object) }).toMatchObject({ status: 500, title: "Unreadable" })
    await expect.poll(async () => (await app.send("GET", "/readyz")).status).toBe(503)
    expect((await app.send("GET", "/readyz")).text).toContain("The store cannot be read, which stops: ")
    expect(server.errors).toContain("The disk fails to read a part of the store (")
    expect(server.errors).not.toMatch(/malformed|restore a backup|\\n {4}at /)

    expect(await app.ingest([postLine(1_000n, "another cat")])).toEqual({ accepted: 1, duplicates: 0 })
    server.end("SIGTERM")
    expect(await server.ended()).toMatchObject({ code: 0, signal: null })
  })

  test("under rules: the server starts, refuses posts and says why, and shows the rules that it can read", async () => {
    const { data, machine } = withBadPage(rootPage("rules"))
    using _machine = machine
    await using server = new SluiceProcess(data, { env: machine.env })
    const app = new AppClient(await server.mustBeReady())
    expect((await app.tryIngest([postLine(1_000n, "another cat")])).status).toBe(503)
    await expect.poll(async () => (await app.send("GET", "/readyz")).text).toMatch(/which stops: .*rule index/)
    expect(server.errors).toMatch(/"where":"rule index","reason":"The disk fails to read a part of the store \(/)
    expect(await walk(app)).toMatchObject({ shown: { length: postCount }, named: [] })
    server.end("SIGTERM")
    expect(await server.ended()).toMatchObject({ code: 0, signal: null })
  })

  test("the doctor reports a failing disk and does not suggest restoring a backup", async () => {
    const bytes = readFileSync(join(pristine, "sluice.db"))
    const page = Math.floor(bytes.indexOf(`needle${chosen}needle`) / pageBytes)
    const { data, machine } = withBadPage(page)
    using _machine = machine
    const { status, stdout } = await runProcess(["doctor", "--data", data, "--offline"], { env: machine.env })
    expect(status).toBe(1)
    expect(stdout).toContain(`sluice.db from byte ${page * pageBytes} on: EIO`)
  })

  test(
    `anywhere: the server starts or says why not, stays up, and shows only stored posts: ${rounds} times`,
    { timeout: 60_000 + rounds * 30_000 },
    async () => {
      const random = seededRandom(seed)
      console.log(`bad sectors: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)
      const pages = statSync(join(pristine, "sluice.db")).size / pageBytes
      for (let round = 0; round < rounds; round += 1) {
        const page = Math.floor(random() * pages)
        const { data, machine } = withBadPage(page)
        using _machine = machine
        await using server = new SluiceProcess(data, { env: machine.env })
        const line = await server.ready
        if (line === undefined) {
          const { code, errors } = await server.ended()
          expect({ page, code }).toEqual({ page, code: 1 })
          expect(errors).toMatch(/^error: The disk fails to read a part of the store \(.*\n$/)
          continue
        }
        const { shown, named } = await walk(new AppClient(line))
        expect(new Set([...shown, ...named]).size, `page ${page}`).toBe(shown.length + named.length)
        expect(server.errors, `page ${page}`).not.toMatch(/malformed|\\n {4}at /)
        server.end("SIGTERM")
        expect(await server.ended(), `page ${page}`).toMatchObject({ code: 0, signal: null })
      }
    },
  )
})

/** Ids of the user's posts on all pages, and of the posts named as not shown. An unreadable page ends the walk. */
async function walk(app: AppClient): Promise<{ readonly shown: readonly string[]; readonly named: readonly string[] }> {
  const [shown, named]: [string[], string[]] = [[], []]
  let position = ""
  do {
    const response = await app.send("GET", `/2/users/7/tweets?max_results=100${position}`)
    const body = JSON.parse(response.text) as {
      data?: readonly { id: string; text: string }[]
      errors?: readonly { resource_id?: string; title: string }[]
      meta?: { next_token?: string }
    }
    if (response.status !== 200) {
      assert(response.status === 500 || response.status === 401, response.text)
      return { shown, named }
    }
    for (const { id, text } of body.data ?? []) {
      assert(text.startsWith(`a cat and needle${id}needle `), text)
      shown.push(id)
    }
    named.push(...(body.errors ?? []).flatMap(({ resource_id: id }) => (id === undefined ? [] : [id])))
    position = body.meta?.next_token === undefined ? "" : `&pagination_token=${body.meta.next_token}`
  } while (position !== "")
  return { shown, named }
}
