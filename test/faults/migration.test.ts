/**
 * A store of an older program is upgraded, however often a kill interrupts that; a store of a newer program is refused.
 */
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { AppClient, postLine } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** The contents of `version-1.sql`. */
const old = {
  masterKey: "5".repeat(64),
  consumerSecret: "207961de9fe5a46d18993ff241d4b1a15e5d610a00023a63b5e6246eb4f5811f",
  webhookId: "2124159064886325248",
  posts: 12,
  matches: 8,
  /** The upgraded store's value: links of that version did not record where they began. */
  firstPosition: 2,
  /** Undelivered matches of the link: a retry, and those after its position. */
  undelivered: [2, 4, 5, 6, 7, 8],
} as const

const settings = { SLUICE_MASTER_KEY: old.masterKey }

test("the server upgrades a store of version 1, also after a kill in the middle of the upgrade", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  await using endpoint = await WebhookReceiver.start(old.consumerSecret)
  makeOldStore(data, endpoint.url)
  const before = versionOf(data)
  expect(before).toBe(1)

  for (let kill = 0; kill < 2; kill += 1) {
    await using killed = new SluiceProcess(data, {
      env: { ...settings, SLUICE_CRASH_POINT: "in-migration" },
    })
    expect(await killed.ready).toBeUndefined()
    const { signal, errors } = await killed.ended()
    expect({ signal, errors }).toEqual({ signal: "SIGKILL", errors: "crash point in-migration\n" })
    // The interrupted step left nothing behind.
    expect(versionOf(data)).toBe(before)
  }

  await using server = new SluiceProcess(data, { env: settings })
  const app = new AppClient(await server.mustBeReady())
  expect(app.consumerSecret).toBe(old.consumerSecret)
  expect((await app.postIds("7")).length).toBe(old.posts)
  const { head, total } = await app.caughtUp(old.webhookId, old.firstPosition)
  expect(head).toBe(old.matches)
  expect(total).toMatchObject({ retrying: 0, dead_letters: 0, missed: 0 })
  const positions = endpoint.received.map(({ eventId }) => Number(eventId.split("_").at(-1)))
  expect(positions.toSorted((a, b) => a - b)).toEqual(old.undelivered)
  // The rules work as well.
  await app.ingest([postLine(5, "a cat"), postLine(6, "a dog"), postLine(7, "a horse")])
  await endpoint.arrived(old.undelivered.length + 2)
  expect(versionOf(data)).toBeGreaterThan(before)
})

test("the server refuses a store of a newer program, says what to do, and leaves the store unchanged", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  {
    await using server = new SluiceProcess(data)
    await server.mustBeReady()
    server.end("SIGTERM")
    expect((await server.ended()).code).toBe(0)
  }
  const newer = versionOf(data) + 1
  using db = new DatabaseSync(join(data, "sluice.db"))
  db.exec(`PRAGMA user_version = ${newer}`)
  db.close()

  await using refused = new SluiceProcess(data)
  expect(await refused.ready).toBeUndefined()
  const { code, errors } = await refused.ended()
  expect(code).toBe(1)
  expect(errors).toContain(`The store has version ${newer}, and this program knows versions up to ${newer - 1}.`)
  expect(errors).toContain("It was made by a newer Sluice: use that one, or another data directory.")
  // The error is a sentence for the operator, without a stack.
  expect(errors).not.toContain("    at ")
  expect(versionOf(data)).toBe(newer)
})

function makeOldStore(data: string, endpointUrl: string): void {
  mkdirSync(data, { mode: 0o700 })
  // Constraints are off because the dump creates tables before those that they refer to.
  using db = new DatabaseSync(join(data, "sluice.db"), { enableForeignKeyConstraints: false })
  const sql = readFileSync(new URL("version-1.sql", import.meta.url), "utf8")
  db.exec(sql.replaceAll("ENDPOINT_URL", endpointUrl))
}

function versionOf(data: string): number {
  using db = new DatabaseSync(join(data, "sluice.db"))
  const row = db.prepare("PRAGMA user_version").get() as { user_version: number }
  return row.user_version
}
