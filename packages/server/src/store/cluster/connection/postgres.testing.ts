/** A database of its own on the PostgreSQL of this machine, for each test that asks for one. */
import { randomBytes } from "node:crypto"
import pg from "pg"

/** The URL of a PostgreSQL user who may create databases. */
const serverUrl = "postgres://postgres@127.0.0.1:5432/postgres"

/** A database that is empty at first, and dropped with `Symbol.asyncDispose`. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string
}

/**
 * Creates a schema for an empty store, since a database takes a second to make. Hints reach all schemas, which is
 * as good as hints without cause.
 */
export async function createTestSchema(database: TestDatabase): Promise<string> {
  const name = `store_${randomBytes(8).toString("hex")}`
  const client = new pg.Client(database.url)
  await client.connect()
  await client.query(`CREATE SCHEMA ${name}`)
  await client.end()
  const url = new URL(database.url)
  url.searchParams.set("options", `-c search_path=${name}`)
  return url.href
}

/** Creates a database. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `sluice_test_${randomBytes(8).toString("hex")}`
  await onServer(`CREATE DATABASE ${name}`)
  return {
    url: serverUrl.replace(/postgres$/, name),
    [Symbol.asyncDispose]: () => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

/** Puts a database in the place of another one, whose connections end. */
export async function replaceTestDatabase(original: TestDatabase, copy: TestDatabase): Promise<void> {
  const [name, copyName] = [original, copy].map(({ url }) => new URL(url).pathname.slice(1))
  await onServer(
    `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${name}'`,
    `ALTER DATABASE ${name} RENAME TO ${name}_before`,
    `ALTER DATABASE ${copyName} RENAME TO ${name}`,
    `DROP DATABASE ${name}_before`,
  )
}

async function onServer(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client(serverUrl)
  await client.connect()
  try {
    for (const sql of statements) await client.query(sql)
  } finally {
    await client.end()
  }
}
