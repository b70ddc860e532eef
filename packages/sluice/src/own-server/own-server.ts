/** A server, or its apps alone, in this process. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import type { Apps, Config, RunningServer, StartOptions } from "@sluice/server"
import type { Command } from "commander"
import type { Environment } from "../environment.ts"
import { Failure } from "../process/failure.ts"
import { logLine } from "../terminal/log-line.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { serveInRounds, type Rounds } from "./served-rounds.ts"

/** The help text of `--new`. */
export const newHelp = "Create an empty store in place of a lost one; fails if there is a store"

/** Time between two attempts to start after the store was replaced. Ours. */
const pauseMs = 1_000

const stopping = "Stopping: what is in flight ends first. Press Ctrl-C again to end at once."

/** Starts a server that also serves the console. */
export async function startWithConsole(
  config: Config,
  options: Omit<StartOptions, "consoleDirectory"> = {},
): Promise<RunningServer> {
  const [{ startServer }, { consoleDirectory }] = await Promise.all([
    import("@sluice/server"),
    import("@sluice/console"),
  ])
  return startServer(config, { ...options, consoleDirectory })
}

/**
 * Starts a server, calls `ready`, and serves until `signal` is aborted; then it finishes what is in flight. A signal of the
 * system during the start ends the process. When the store is replaced by another one, the server starts again; `terminal`
 * shows the reason when the new store is not available yet. Throws the error with which the server fails.
 */
export async function runServer(
  config: Config,
  {
    isNew,
    ready,
    terminal,
    signal,
  }: Pick<Rounds, "ready" | "signal"> & { readonly isNew: boolean; readonly terminal: Terminal },
): Promise<void> {
  const { isWatched, noteStyle } = terminal
  const isText = config.logFormat === "text" || (config.logFormat === "auto" && isWatched)
  const line = isText ? (json: string) => logLine(json, noteStyle) : undefined
  if (isWatched) signal.addEventListener("abort", () => terminal.note(stopping), { once: true })
  await serveInRounds({
    ready,
    waiting: (reason) => terminal.note(`${reason} Sluice retries every second.`),
    start: (port) => startWithConsole({ ...config, port }, { isNew, logLine: line }),
    port: config.port,
    pause: (ended) => sleep(pauseMs, undefined, { signal: ended }).catch(() => undefined),
    signal,
  })
}

/** The options of commands that open the store themselves. */
export interface StoreOptions {
  readonly data?: string
  readonly database?: string
}

/** Adds those options. */
export function withStoreOptions(command: Command): Command {
  return command
    .option("--data <directory>", "Data directory of the server (default: SLUICE_DATA, or .sluice)")
    .option(
      "--database <url>",
      "PostgreSQL database of the server; visible to all users of this machine, so prefer SLUICE_DATABASE",
    )
}

/** The options of commands that read the settings of the server too. */
export interface ServerOptions extends StoreOptions {
  readonly config?: string
  readonly json?: true
}

/** Adds those options. */
export function withServerOptions(command: Command): Command {
  return withStoreOptions(command)
    .option("--config <file>", "Settings file of the server (default: SLUICE_CONFIG)")
    .option("--json", "Print the result as JSON")
}

/** The settings of the server, from those options and the environment. */
export async function serverConfig(
  { data, database, config }: ServerOptions,
  environment: Environment,
): Promise<Config> {
  const { loadConfig } = await import("@sluice/server/config")
  return loadConfig({ posture: "serve", flags: { data, database, config }, env: environment.server })
}

/** The same settings. Throws `Failure` when the data directory does not exist. */
export async function existingServerConfig(options: ServerOptions, environment: Environment): Promise<Config> {
  const config = await serverConfig(options, environment)
  const { data, database } = config
  if (database !== undefined || existsSync(data)) return config
  throw new Failure(`There is no data directory ${data}.`, [
    "Set the data directory of the server with --data or SLUICE_DATA.",
  ])
}

/**
 * Runs `use` on the apps of a store, with or without a running server. `mayCreate` creates a missing data directory.
 */
export async function withApps(
  options: StoreOptions,
  environment: Environment,
  mayCreate: boolean,
  use: (apps: Apps) => Promise<void>,
): Promise<void> {
  await withServerFailures(async () => {
    const { openApps } = await import("@sluice/server")
    const config = await (mayCreate ? serverConfig : existingServerConfig)(options, environment)
    await using opened = await openApps(config)
    await use(opened.apps)
  })
}

/** Runs `work`, and turns errors of starting a server into a `Failure` with advice. */
export async function withServerFailures(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw (await serverFailure(error)) ?? error
  }
}

async function serverFailure(error: unknown): Promise<Failure | undefined> {
  const { ConfigError, DataDirectoryInUse, StoreTooNew } = await import("@sluice/server")
  if (error instanceof ConfigError || error instanceof DataDirectoryInUse || error instanceof StoreTooNew) {
    return new Failure(error.message, [], { cause: error })
  }
  // An error of the store loses its class between threads, and keeps its code and message.
  if (error instanceof Error && "code" in error && String(error.code).startsWith("STORE_")) {
    return new Failure(error.message, [], { cause: error })
  }
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  const place = `${address ?? "?"}:${String(port ?? "?")}`
  switch (code) {
    case "EADDRINUSE":
      return new Failure(`Another program is listening on ${place}.`, [
        "Choose another port with --port; 0 chooses a free one.",
      ])
    case "EADDRNOTAVAIL":
      return new Failure(`${address ?? "?"} is not an address of this machine.`, [
        "Choose another address with --host.",
      ])
    case "EACCES":
      return new Failure(`Permission denied: ${(error as Error).message}.`)
    default:
      return undefined
  }
}
