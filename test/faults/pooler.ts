/** A pgbouncer for one test, in front of a PostgreSQL server. */
import assert from "node:assert/strict"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { waitFor } from "./app-client.ts"
import { freePort, owner, type PrivatePostgres } from "./private-postgres.ts"

/** The reason why no pgbouncer can run here; undefined when one can. In CI one must. */
export const poolerMissing = reasonAgainst()

/**
 * How long a connection of PostgreSQL belongs to a client: always, until its transaction ends, or until its statement
 * does.
 */
export type PoolMode = "session" | "transaction" | "statement"

/** A running pgbouncer. Disposing of it ends it. */
export class Pooler implements AsyncDisposable {
  readonly #directory: string
  readonly #port: number
  #child: ChildProcess | undefined

  static async start(postgres: PrivatePostgres, mode: PoolMode): Promise<Pooler> {
    const directory = await mkdtemp(join(tmpdir(), "sluice-pgbouncer-"))
    const port = await freePort()
    const settings = {
      listen_addr: "127.0.0.1",
      listen_port: port,
      unix_socket_dir: "",
      auth_type: "any",
      pool_mode: mode,
      default_pool_size: 90,
      max_client_conn: 200,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
    const target = `* = host=127.0.0.1 port=${postgres.port} user=postgres`
    await writeFile(join(directory, "pgbouncer.ini"), ["[databases]", target, "[pgbouncer]", ...lines, ""].join("\n"))
    const { uid, gid } = owner()
    if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid)
    const pooler = new Pooler(directory, port)
    await pooler.begin()
    return pooler
  }

  private constructor(directory: string, port: number) {
    this.#directory = directory
    this.#port = port
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`
  }

  /** Starts it after its end, and resolves when it listens. */
  async begin(): Promise<void> {
    const child = spawn("pgbouncer", ["-q", "pgbouncer.ini"], { ...owner(), cwd: this.#directory, stdio: "ignore" })
    this.#child = child
    await waitFor(
      () => spawnSync("bash", ["-c", `exec 3<>/dev/tcp/127.0.0.1/${this.#port}`]).status,
      (status) => {
        assert(child.exitCode === null, "pgbouncer has ended")
        return status === 0
      },
    )
  }

  /** Kills it, which cuts all connections. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

function reasonAgainst(): string | undefined {
  const { status } = spawnSync("pgbouncer", ["--version"])
  if (status === 0) return undefined
  const reason = "there is no pgbouncer"
  assert(process.env["CI"] === undefined, `no pooler can run here: ${reason}`)
  console.log(`SKIPPED, a pooler in front of PostgreSQL: ${reason}`)
  return reason
}
