/** A PostgreSQL server of a test's own, which it may stop and crash. */
import assert from "node:assert/strict"
import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { chown, mkdtemp, rm } from "node:fs/promises"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { waitFor } from "./app-client.ts"

/** Why there can be no such server here; undefined when there can. In CI there must be one. */
export const postgresMissing = reasonAgainst()

/** A server that runs, with an empty database. Disposing of it ends it and removes its data. */
export class PrivatePostgres implements AsyncDisposable {
  readonly #directory: string
  readonly #port: number
  #child: ChildProcess | undefined

  static async start(): Promise<PrivatePostgres> {
    const { uid, gid } = owner()
    const directory = await mkdtemp(join(tmpdir(), "sluice-postgres-"))
    if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid)
    const args = ["-D", directory, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    await promisify(execFile)(join(binaries(), "initdb"), args, { ...owner(), cwd: directory })
    const server = new PrivatePostgres(directory, await freePort())
    await server.begin()
    return server
  }

  private constructor(directory: string, port: number) {
    this.#directory = directory
    this.#port = port
  }

  get port(): number {
    return this.#port
  }

  /** Of the database, at the server itself or behind another port. */
  url(port: number = this.#port): string {
    return `postgres://postgres@127.0.0.1:${port}/postgres`
  }

  /** Starts it when it was ended, and resolves when it takes connections: after recovery, if there was a crash. */
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

  /** Ends it in "immediate" mode: no connection is ended in order and nothing is written; the next start recovers. */
  async crash(): Promise<void> {
    if (this.#child === undefined) return
    const ended = once(this.#child, "exit")
    this.#child.kill("SIGQUIT")
    await ended
    this.#child = undefined
  }

  /** Runs one statement: its rows as text, columns with `|` between them. */
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
    assert(process.env["CI"] === undefined, `faults of PostgreSQL cannot be had: ${reason}`)
    console.log(`SKIPPED, faults of PostgreSQL: ${reason}`)
  }
  return reason
}

/** The directory of PostgreSQL's programs. Debian keeps the server's out of the path. */
function binaries(): string {
  const find = "ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1 | grep . || dirname $(command -v initdb)"
  return spawnSync("bash", ["-c", find]).stdout.toString().trim()
}

/** PostgreSQL refuses to run as root: then it runs as the user that its package makes. */
function owner(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(spawnSync("id", [flag, "postgres"]).stdout.toString()))
  return uid === undefined || gid === undefined ? {} : { uid, gid }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}
