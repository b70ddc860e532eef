/** PostgreSQL for benches: databases, and the results of `psql`. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"

/** The default host; the environment overrides it. */
export const environment = {
  PGHOST: "127.0.0.1",
  PGPORT: "5432",
  PGUSER: "postgres",
  PGCONNECT_TIMEOUT: "5",
  ...process.env,
}

/** A database that is dropped with `Symbol.asyncDispose`, in use or not. */
export interface BenchDatabase extends AsyncDisposable {
  readonly name: string
}

let made = 0

/** Returns why there is no PostgreSQL to measure with; undefined when it responds. */
export async function postgresMissing(): Promise<string | undefined> {
  try {
    await psql("postgres", "SELECT 1")
    return undefined
  } catch (error) {
    return `no PostgreSQL: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Creates an empty database. */
export async function newDatabase(): Promise<BenchDatabase> {
  made += 1
  const name = `sluice_bench_${process.pid}_${made}`
  await psql("postgres", `CREATE DATABASE ${name}`)
  return {
    name,
    async [Symbol.asyncDispose]() {
      await psql("postgres", `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** The URL of a database; a relay in between has another port. */
export function urlOf({ name }: BenchDatabase, { port }: { readonly port?: number } = {}): string {
  const { PGUSER, PGHOST, PGPORT } = environment
  const password = process.env["PGPASSWORD"]
  const user = password === undefined ? PGUSER : `${PGUSER}:${encodeURIComponent(password)}`
  return `postgres://${user}@${port === undefined ? `${PGHOST}:${PGPORT}` : `127.0.0.1:${port}`}/${name}`
}

const run = promisify(execFile)

/** The rows that the statements return, one a line. */
export async function psql(database: string, ...statements: readonly string[]): Promise<string> {
  const commands = statements.flatMap((statement) => ["-c", statement])
  const args = ["-X", "-q", "-At", "-w", "-v", "ON_ERROR_STOP=1", "-d", database, ...commands]
  return (await run("psql", args, { env: environment })).stdout
}
