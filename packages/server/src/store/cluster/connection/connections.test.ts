/** Which server of a URL is used, and what its sessions are set to. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { TcpProxy } from "../../../../../../test/support/tcp-proxy.testing.ts"
import { StoreUnavailable } from "../../store-faults.ts"
import { ClusterDatabase } from "./database.ts"
import { createTestDatabase, type TestDatabase } from "./postgres.testing.ts"

let database: TestDatabase
/** Two ways to one server, which stand for two servers. */
let networks: readonly [TcpProxy, TcpProxy]

beforeAll(async () => {
  database = await createTestDatabase()
})

afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  const port = Number(new URL(database.url).port)
  networks = [await TcpProxy.to(port), await TcpProxy.to(port)]
})

afterEach(async () => {
  for (const network of networks) await network[Symbol.asyncDispose]()
})

function openWith(url: string): ClusterDatabase {
  return new ClusterDatabase({ url, poolMax: 2, statementMsMax: 7_000 }, () => undefined)
}

/** The database under the name of both servers. */
function bothServers(): string {
  const hosts = networks.map(({ port }) => `127.0.0.1:${port}`).join(",")
  return database.url.replace(new URL(database.url).host, hosts)
}

async function nameOf(connection: ClusterDatabase): Promise<string | undefined> {
  return (await connection.row<{ name: string }>("SELECT current_database() AS name"))?.name
}

test.each([0, 1] as const)(
  "the store uses the server that responds of two, and the other one once that is lost (%i)",
  async (lost) => {
    const other = lost === 0 ? 1 : 0
    networks[lost].set("cut")
    await using connection = openWith(bothServers())
    const name = new URL(database.url).pathname.slice(1)
    expect(await nameOf(connection)).toBe(name)
    networks[lost].set("good")
    networks[other].set("cut")
    // The connections of the pool are gone, which the first statement may find out.
    await expect.poll(() => nameOf(connection).catch(() => undefined)).toBe(name)
    networks[lost].set("cut")
    await expect
      .poll(() => nameOf(connection).catch((error: unknown) => String(error)))
      .toMatch(
        /^StoreUnavailable: PostgreSQL is not available: no server accepts writes: 127\.0\.0\.1:\d+: .+; 127\.0\.0\.1:\d+: /,
      )
  },
)

test("a server that does not respond delays no choice", async () => {
  networks[0].set("half-open")
  await using connection = openWith(bothServers())
  expect(await nameOf(connection)).toBeDefined()
})

test("a server that becomes read-only is left, unless it is the only one: then only reads work", async () => {
  const writable = database.url
  const [name] = new URL(writable).pathname.slice(1).split("?")
  await using owner = openWith(writable)
  const setReadOnly = (value: string): Promise<unknown> =>
    owner.write(async (transaction) => {
      await transaction.script("SET TRANSACTION READ WRITE")
      await transaction.script(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`)
    })
  await using writer = openWith(bothServers())
  await using mustWrite = openWith(`${writable}?target_session_attrs=read-write`)
  await using only = openWith(writable)
  const write = (connection: ClusterDatabase): Promise<number> => connection.run("CREATE TABLE IF NOT EXISTS t ()")
  for (const connection of [writer, mustWrite, only]) await write(connection)
  await setReadOnly("on")
  // New sessions have the setting.
  for (const connection of [writer, mustWrite, only]) connection.reconnect()
  await expect(nameOf(writer)).rejects.toThrow("no server accepts writes")
  await expect(nameOf(mustWrite)).rejects.toThrow("the server is a standby, or read-only")
  expect(await nameOf(only)).toBe(name)
  await expect(write(only)).rejects.toThrow(StoreUnavailable)
  await setReadOnly("off")
  // The session that could not write was given up: the next one can, without a restart.
  for (const connection of [writer, mustWrite, only]) await write(connection)
})

test("a session has the settings of the store, but for those that the options of the URL set", async () => {
  const url = new URL(database.url)
  url.searchParams.set("options", "-c jit=on --lock-timeout=1234 -c search_path=public")
  await using connection = openWith(url.href)
  const shown = await connection.row(
    `SELECT current_setting('statement_timeout') AS "statementTimeout", current_setting('lock_timeout') AS "lockTimeout",
       current_setting('idle_session_timeout') AS "idleTimeout", current_setting('jit') AS "jit",
       current_setting('enable_seqscan') AS "seqscan"`,
  )
  expect(shown).toEqual({ statementTimeout: "7s", lockTimeout: "1234ms", idleTimeout: "0", jit: "on", seqscan: "off" })
})
