/** The server, or its applications alone, in this process. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import type { Apps, Config, StartOptions } from "@sluice/server"
import type { Command } from "commander"
import type { Environment } from "../environment.ts"
import { Failure } from "../process/failure.ts"
import { interruption } from "../process/interruption.ts"
import { serveInRounds, type Rounds } from "./served-rounds.ts"

/** What `--new` means, for `--help`. */
export const newHelp = "begin with an empty store where one was lost; refused where there is one"

/** Time between two tries of a server to start again in the place of one whose store was replaced. Ours. */
const pauseMs = 1_000

/**
 * Starts a server, waits for `ready`, and serves until SIGTERM or SIGINT; then everything in flight is finished. A signal
 * during the start ends the process, whatever the start waits for. When the store was replaced by another one, the server
 * starts again in its place; `waiting` gets the reason when it cannot do so at once. Throws the error with which the server
 * fails.
 */
export async function runServer(
  config: Config,
  callbacks: Pick<Rounds, "ready" | "waiting">,
  options: StartOptions,
): Promise<void> {
  const signal = interruption()
  const { startServer } = await import("@sluice/server")
  await serveInRounds({
    ...callbacks,
    start: (port) => startServer({ ...config, port }, options),
    port: config.port,
    pause: (ended) => sleep(pauseMs, undefined, { signal: ended }).catch(() => undefined),
    signal,
  })
}

/** The options by which a command that works on the store itself finds it. */
export interface StoreOptions {
  readonly data?: string
  readonly database?: string
}

/** Adds those options to a command. */
export function withStoreOptions(command: Command): Command {
  return command
    .option("--data <directory>", "the server's data directory (SLUICE_DATA; else .sluice)")
    .option(
      "--database <url>",
      "the server's PostgreSQL database (better SLUICE_DATABASE, as a flag is visible to others)",
    )
}

/** Throws `Failure` when the store is to be in a data directory that is not there. */
export function requireDirectory({ data, database }: Config): void {
  if (database !== undefined || existsSync(data)) return
  throw new Failure(`There is no data directory ${data}.`, [
    "Name the one that the server uses with --data or SLUICE_DATA.",
  ])
}

/**
 * Runs `use` on the applications of a store, whether a server runs on it or not. Only `mayCreate` makes a data directory
 * that is not there.
 */
export async function withApps(
  { data, database }: StoreOptions,
  environment: Environment,
  mayCreate: boolean,
  use: (apps: Apps) => Promise<void>,
): Promise<void> {
  await withServerFailures(async () => {
    const { loadConfig, openApps } = await import("@sluice/server")
    const config = loadConfig({ posture: "serve", flags: { data, database }, env: environment.server })
    if (!mayCreate) requireDirectory(config)
    await using opened = await openApps(config)
    await use(opened.apps)
  })
}

/** Runs what needs a server in this process. What keeps it from starting is thrown as a `Failure` with advice. */
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
  // The store's own sentences. Such an error loses its class between threads, and keeps its code.
  if (error instanceof Error && "code" in error && String(error.code).startsWith("STORE_")) {
    return new Failure(error.message, [], { cause: error })
  }
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  const place = `${address ?? "?"}:${String(port ?? "?")}`
  switch (code) {
    case "EADDRINUSE":
      return new Failure(`Something listens on ${place} already.`, [
        "Choose another port with --port; 0 takes a free one.",
      ])
    case "EADDRNOTAVAIL":
      return new Failure(`${address ?? "?"} is no address of this machine.`, ["Choose one with --host."])
    case "EACCES":
      return new Failure(`This user may not do that: ${(error as Error).message}.`)
    default:
      return undefined
  }
}
