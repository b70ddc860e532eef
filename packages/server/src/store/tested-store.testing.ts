/**
 * The store that the harnesses of the tests use: the embedded one, or PostgreSQL when SLUICE_TEST_STORE is `postgres`
 * (`npm run test:postgres`).
 *
 * A store of a test is named by a directory in either case. The embedded one lies in it. For PostgreSQL a database is made
 * when the directory is first named, and dropped when the temporary directory that it is in is removed.
 */
import { randomBytes } from "node:crypto"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import { onRemovalOf } from "../../../../test/support/temporary-directory.testing.ts"
import { loadConfig, type ConfigSources } from "../config.ts"
import { countedOutside } from "../runtime/outside-work.testing.ts"
import { createTestDatabase, type TestDatabase } from "./cluster/connection/postgres.testing.ts"
import { storeFile } from "./embedded/connection/database.ts"
import type { StoreEngine } from "./engine.ts"
import { storeEngineOf } from "./open.ts"
import type { Store } from "./store.ts"

/** Whether the harnesses use PostgreSQL. */
export const isOnPostgres: boolean = process.env.SLUICE_TEST_STORE === "postgres"

const databases = new Map<string, Promise<TestDatabase>>()
const masterKey = randomBytes(32).toString("hex")

/** The settings of the store of a directory, for `loadConfig`. */
export async function storeSettings(directory: string): Promise<Required<Pick<ConfigSources, "flags" | "env">>> {
  if (!isOnPostgres) return { flags: { data: directory }, env: {} }
  const { url } = await databaseOf(directory)
  return {
    flags: { "database-pool-max": "7" },
    env: { SLUICE_DATABASE: url, SLUICE_MASTER_KEY: masterKey },
  }
}

function databaseOf(directory: string): Promise<TestDatabase> {
  const known = databases.get(directory)
  if (known !== undefined) return known
  const made = createTestDatabase()
  databases.set(directory, made)
  onRemovalOf(directory, async () => {
    databases.delete(directory)
    await (await made)[Symbol.asyncDispose]()
  })
  return made
}

/** The engine of the store of a directory. */
export async function testedEngine(directory: string): Promise<StoreEngine> {
  return storeEngineOf(loadConfig({ posture: "dev", ...(await storeSettings(directory)) }))
}

/** Opens the store of a directory. */
export async function openTestedStore(directory: string): Promise<Store> {
  const store = await (await testedEngine(directory)).open()
  return withCountedCalls(isOnPostgres ? withSoleLeases(store) : store)
}

/** A store to which progress under the lease of `soleLeases` is that of one who has the store for itself. */
function withSoleLeases(store: Store): Store {
  const without = <Progress extends { readonly lease?: number }>({ lease, ...rest }: Progress) =>
    lease === undefined || lease === 0 ? rest : { ...rest, lease }
  const own: Pick<Store, "saveProgress" | "saveReplay" | "addBackfillMatches" | "endReplay"> = {
    saveProgress: (all) => store.saveProgress(all.map(without)),
    saveReplay: (progress) => store.saveReplay(without(progress)),
    addBackfillMatches: (found) => store.addBackfillMatches(without(found)),
    endReplay: (id, state, atMs, lease) => store.endReplay(id, state, atMs, lease === 0 ? undefined : lease),
  }
  return { ...store, ...own }
}

/** Has the store of a directory refuse every post, until the function that is returned is called. */
export async function refusePosts(directory: string): Promise<() => Promise<void>> {
  if (isOnPostgres) {
    const client = new pg.Client((await databaseOf(directory)).url)
    await client.connect()
    await client.query(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused by the test'; END $$; " +
        "CREATE TRIGGER refused BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    return async () => {
      await client.query("DROP TRIGGER refused ON posts")
      await client.end()
    }
  }
  const db = new DatabaseSync(storeFile(directory), { timeout: 10_000 })
  db.exec("CREATE TRIGGER refused BEFORE INSERT ON posts BEGIN SELECT RAISE(ABORT, 'refused by the test'); END")
  return async () => {
    db.exec("DROP TRIGGER refused")
    db.close()
  }
}

/** A store whose calls a manual clock waits for. */
function withCountedCalls(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== "function") return member
      return (...args: readonly unknown[]) => {
        const result: unknown = Reflect.apply(member, target, args)
        return result instanceof Promise ? countedOutside(result) : result
      }
    },
  })
}
