/** A store of an older program is brought up to date, however often that is cut short; one of a newer program is refused. */
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { AppClient, postLine } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** What `version-1.sql` holds. */
const old = {
  masterKey: "5".repeat(64),
  consumerSecret: "207961de9fe5a46d18993ff241d4b1a15e5d610a00023a63b5e6246eb4f5811f",
  webhookId: "2124159064886325248",
  posts: 12,
  matches: 8,
  /** What a link of that time is taken to have begun at: it did not count. */
  firstPosition: 2,
  /** Matches that its link has not delivered: a retry, and those after its position. */
  undelivered: [2, 4, 5, 6, 7, 8],
} as const

const settings = { SLUICE_MASTER_KEY: old.masterKey }

test("a store of version 1 is brought up to date, also after being killed in the middle of it", async () => {
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
    // The step that was cut short has left nothing behind.
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
  // The rules are at work as well.
  await app.ingest([postLine(5, "a cat"), postLine(6, "a dog"), postLine(7, "a horse")])
  await endpoint.arrived(old.undelivered.length + 2)
  expect(versionOf(data)).toBeGreaterThan(before)
})

test("a store of a newer program is refused with what to do about it, and is left alone", async () => {
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
  // A sentence for the person who started it, and no stack.
  expect(errors).not.toContain("    at ")
  expect(versionOf(data)).toBe(newer)
})

function makeOldStore(data: string, endpointUrl: string): void {
  mkdirSync(data, { mode: 0o700 })
  // Tables come before those that they refer to.
  using db = new DatabaseSync(join(data, "sluice.db"), { enableForeignKeyConstraints: false })
  const sql = readFileSync(new URL("version-1.sql", import.meta.url), "utf8")
  db.exec(sql.replaceAll("ENDPOINT_URL", endpointUrl))
}

function versionOf(data: string): number {
  using db = new DatabaseSync(join(data, "sluice.db"))
  const row = db.prepare("PRAGMA user_version").get() as { user_version: number }
  return row.user_version
}
