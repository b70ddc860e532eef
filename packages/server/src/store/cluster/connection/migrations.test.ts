import pg from "pg"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { openClusterStore } from "../serving/cluster-store.ts"
import { createTestDatabase } from "./postgres.testing.ts"

test("a process that starts while another one takes a step waits for its end, longer than for any other lock", async () => {
  await using database = await createTestDatabase()
  const other = new pg.Client(database.url)
  await other.connect()
  try {
    await other.query("BEGIN")
    await other.query("SELECT pg_advisory_xact_lock(126943972910949)")
    const settings = { url: database.url, poolMax: 1, statementMsMax: 30_000 }
    const opening = openClusterStore(settings, { sender: "test" })
    opening.catch(() => undefined)
    // Other locks are waited for 10 s.
    await sleep(11_000)
    await other.query("ROLLBACK")
    await using store = await opening
    expect(await store.apps()).toEqual([])
  } finally {
    await other.end()
  }
})
