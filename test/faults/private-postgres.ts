/** A PostgreSQL server for one test, which may stop and crash it. */
import assert from "node:assert/strict"
import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { chown, mkdtemp, rm } from "node:fs/promises"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { promisify } from "node:util"
import { waitFor } from "./app-client.ts"

/** The reason why no such server can run here; undefined when one can. In CI one must. */
export const postgresMissing = reasonAgainst()

/** Options of a server. */
interface PrivateOptions {
  /** Parent of its data directory. */
  readonly parent?: string
  /** An empty directory for its write-ahead log, separate from its data. */
  readonly walDirectory?: string
}

/** A running server with an empty database. Disposing of it ends it and removes its data. */
export class PrivatePostgres implements AsyncDisposable {
  readonly #directory: string
  readonly #port: number
  #child: ChildProcess | undefined

  static async start({ parent, walDirectory }: PrivateOptions = {}): Promise<PrivatePostgres> {
    const directory = await directoryOfOwner(parent)
    const args = ["-D", directory, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    const options = walDirectory === undefined ? [] : ["--waldir", walDirectory]
    await promisify(execFile)(join(binaries(), "initdb"), [...args, ...options], { ...owner(), cwd: directory })
    const server = new PrivatePostgres(directory, await freePort())
    await server.begin()
    return server
  }

  /** An empty directory that a server may write to. Disposing of it removes it. */
  static async directory(parent?: string): Promise<AsyncDisposable & { readonly path: string }> {
    const path = await directoryOfOwner(parent)
    return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
  }

  /** Starts a standby that follows this server. Every commit of this server waits for a synchronous standby. */
  async startStandby({ isSynchronous }: { readonly isSynchronous: boolean }): Promise<PrivatePostgres> {
    const directory = await directoryOfOwner()
    const from = `${this.url()}?application_name=standby`
    const args = ["-D", directory, "-d", from, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    await promisify(execFile)(join(binaries(), "pg_basebackup"), args, { ...owner(), cwd: directory })
    const standby = new PrivatePostgres(directory, await freePort())
    await standby.begin()
    if (isSynchronous) {
      await this.set("synchronous_standby_names", "standby")
      await waitFor(
        () => this.query("SELECT sync_state FROM pg_stat_replication"),
        ([state]) => state === "sync",
      )
    }
    return standby
  }

  /** Promotes a standby to primary. */
  async promote(): Promise<void> {
    await this.query("SELECT pg_promote(true, 60)")
  }

  /** Changes a setting of the running server. */
  async set(name: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${name} = '${value}'`)
    await this.query("SELECT pg_reload_conf()")
  }

  private constructor(directory: string, port: number) {
    this.#directory = directory
    this.#port = port
  }

  get port(): number {
    return this.#port
  }

  /** URL of the database, at the server itself or behind another port. */
  url(port: number = this.#port): string {
    return `postgres://postgres@127.0.0.1:${port}/postgres`
  }

  /** Starts it after its end, and resolves when it accepts connections: after recovery, if it crashed. */
  async begin(): Promise<void> {
    const settings = {
      port: this.#port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      log_checkpoints: "off",
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
    this.#child = spawn(join(binaries(), "postgres"), ["-D", this.#directory, ...options], {
      ...owner(),
      cwd: this.#directory,
      stdio: "ignore",
    })
    await waitFor(
      () =>
        this.query("SELECT 1").then(
          () => true,
          () => false,
        ),
      (isThere) => isThere,
    )
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Ends it in "immediate" mode: it closes no connection in order and writes nothing; the next start recovers. */
  async crash(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGQUIT")
    await ended
  }

  /** The directory of its data. */
  get directory(): string {
    return this.#directory
  }

  /** Runs lines of `psql`; returns what it prints. */
  async script(lines: string): Promise<string> {
    const child = spawn(join(binaries(), "psql"), ["-XAt", "-v", "ON_ERROR_STOP=1", this.url()], { stdio: "pipe" })
    child.stdin.end(lines)
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
    assert(code === 0, errors)
    return output
  }

  /** Runs one statement; returns its rows as text, columns with `|` between them. */
  async query(sql: string): Promise<readonly string[]> {
    const args = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, this.url()]
    const { stdout } = await promisify(execFile)(join(binaries(), "psql"), args)
    return stdout.split("\n").filter((line) => line !== "")
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.crash()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

function reasonAgainst(): string | undefined {
  const reason = existsSync(join(binaries(), "initdb")) ? undefined : "there is no initdb of PostgreSQL"
  if (reason !== undefined) {
    assert(process.env["CI"] === undefined, `faults of PostgreSQL cannot run here: ${reason}`)
    console.log(`SKIPPED, faults of PostgreSQL: ${reason}`)
  }
  return reason
}

/** A new directory that the user of the server may write to. */
async function directoryOfOwner(parent = tmpdir()): Promise<string> {
  const { uid, gid } = owner()
  const directory = await mkdtemp(join(parent, "sluice-postgres-"))
  if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid)
  return directory
}

/** The directory of PostgreSQL's programs. Debian keeps the server's programs out of the path. */
function binaries(): string {
  const find = "ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1 | grep . || dirname $(command -v initdb)"
  return spawnSync("bash", ["-c", find]).stdout.toString().trim()
}

/** PostgreSQL refuses to run as root; it then runs as the user that its package creates. */
export function owner(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(spawnSync("id", [flag, "postgres"]).stdout.toString()))
  return uid === undefined || gid === undefined ? {} : { uid, gid }
}

/** A free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}
