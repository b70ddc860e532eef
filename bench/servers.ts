/** Servers to measure, each in a separate process, so that the client does not share its core's time with them. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { endWithBench } from "./child-processes.ts"
import { storeFile } from "../packages/server/src/store/embedded/connection/database.ts"

/** A server that listens on 127.0.0.1. */
export interface MeasuredServer extends AsyncDisposable {
  readonly port: number
  /** Process id. */
  readonly pid: number
}

/** Sluice, with the credentials of its development app. */
export interface MeasuredSluice extends MeasuredServer {
  readonly url: string
  readonly token: string
  readonly consumerSecret: string
  readonly operatorToken: string
  /** Its data directory. */
  readonly data: string
}

const command = fileOf("../packages/sluice/src/sluice.ts")

/** Options that differ from an ordinary start. */
export interface SluiceOptions {
  /** Environment variables of its process by name: `SLUICE_…`, or any others. */
  readonly settings?: Readonly<Record<string, string>>
  /** A data directory that is there and stays, instead of a new one. */
  readonly data?: string
  /** Fills its data directory before the start. */
  readonly prepare?: (data: string) => Promise<void>
  /** The PostgreSQL database that replaces its embedded store, with the key that its processes share. */
  readonly database?: { readonly url: string; readonly masterKey: string } | undefined
}

/** `sluice dev` on a new data directory, which is deleted with it, or on one that stays. */
export async function startSluice(options: SluiceOptions = {}): Promise<MeasuredSluice> {
  const { settings, prepare, database } = options
  const data = options.data ?? (await mkdtemp(join(tmpdir(), "sluice-bench-")))
  await prepare?.(data)
  const environment = {
    // Benches make endpoints invalid and dead on purpose.
    SLUICE_LOG_LEVEL: "error",
    SLUICE_SEARCH: "off",
    SLUICE_CHALLENGES_PER_APP_MAX: "1000000",
    ...(database !== undefined && { SLUICE_DATABASE: database.url, SLUICE_MASTER_KEY: database.masterKey }),
    ...settings,
  }
  const args = [command, "dev", "--json", "--port", "0"]
  // A server has one store: with a database, the command refuses a data directory. Its credentials are in its working
  // directory.
  if (database === undefined) args.push("--data", data)
  const server = await start(args, { environment, directory: data })
  const ready = JSON.parse(server.firstLine) as {
    url: string
    app: { bearer_token: string; consumer_secret: string }
    operator_token: string
  }
  return {
    url: ready.url,
    port: Number(new URL(ready.url).port),
    token: ready.app.bearer_token,
    consumerSecret: ready.app.consumer_secret,
    operatorToken: ready.operator_token,
    data,
    pid: server.pid,
    async [Symbol.asyncDispose]() {
      await server.stop()
      if (options.data === undefined) await rm(data, { recursive: true, force: true })
    },
  }
}

/** Adds an app to a running server, by the command that operators use. */
export function addApp(sluice: MeasuredSluice, name: string, { database }: Pick<SluiceOptions, "database"> = {}) {
  const where = database === undefined ? ["--data", sluice.data] : ["--database", database.url]
  const env = { ...process.env, ...(database && { SLUICE_MASTER_KEY: database.masterKey }) }
  const args = [command, "app", "create", name, ...where, "--json"]
  const app = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8", env })) as {
    readonly bearer_token: string
    readonly consumer_secret: string
  }
  return { url: sluice.url, token: app.bearer_token, consumerSecret: app.consumer_secret }
}

/** File of its embedded store. */
export function storeFileOf({ data }: MeasuredSluice): string {
  return storeFile(data)
}

/**
 * A bare server that responds to every request with these bytes: as they are, or parsed once and stringified each time.
 * A durable one flushes the body of a POST to the disk before it responds.
 */
export async function startBare(
  kind: "node-bytes" | "node-durable" | "node-stringify" | "fastify",
  body: string,
): Promise<MeasuredServer> {
  return startWithFile(body, (file) => [fileOf("bare-server.ts"), kind, file])
}

/** A bare server that streams these lines without end to every client. */
export async function startBareStream(lines: string): Promise<MeasuredServer> {
  return startWithFile(lines, (file) => [fileOf("bare-stream.ts"), file])
}

/** A bare relay: posts each line of a body on to the URL. */
export async function startRelay(url: string): Promise<MeasuredServer> {
  const server = await start([fileOf("bare-relay.ts"), url])
  return { port: Number(server.firstLine), pid: server.pid, [Symbol.asyncDispose]: () => server.stop() }
}

/** A bare server that stores each post durably before it responds, and posts it on to the URL if there is one. */
export async function startBareLone(url: string | undefined): Promise<MeasuredServer> {
  return startWithFile("", (file) => [fileOf("bare-lone.ts"), file, ...(url === undefined ? [] : [url])])
}

/** A bare search over the posts of a server's store, or of its database, once it has indexed them. */
export async function startBareSearch(sluice: MeasuredSluice, databaseUrl?: string): Promise<MeasuredServer> {
  return startWithFile("", (file) => {
    const place = databaseUrl === undefined ? ["sqlite", storeFileOf(sluice), file] : ["postgres", databaseUrl]
    return [fileOf("bare-search.ts"), ...place]
  })
}

async function startWithFile(content: string, args: (file: string) => readonly string[]): Promise<MeasuredServer> {
  const directory = await mkdtemp(join(tmpdir(), "sluice-bare-"))
  const file = join(directory, "content")
  await writeFile(file, content)
  const server = await start(args(file))
  return {
    port: Number(server.firstLine),
    pid: server.pid,
    async [Symbol.asyncDispose]() {
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A file of this folder. */
function fileOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

async function start(
  args: readonly string[],
  {
    environment = {},
    directory,
  }: { readonly environment?: Readonly<Record<string, string>>; readonly directory?: string } = {},
): Promise<{ firstLine: string; pid: number; stop(): Promise<void> }> {
  const env = { ...process.env, ...environment }
  const child = endWithBench(
    spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env, cwd: directory }),
  )
  const exited = once(child, "close")
  const { stdout } = child
  const [firstLine] = (await Promise.race([
    once(createInterface({ input: stdout }), "line"),
    exited.then(([code]) => Promise.reject(new Error(`${args.join(" ")} ended with ${String(code)}`))),
  ])) as [string]
  return {
    firstLine,
    pid: child.pid ?? 0,
    async stop() {
      child.kill("SIGTERM")
      await exited
    },
  }
}
