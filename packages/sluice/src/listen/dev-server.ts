/**
 * The server that `sluice listen` talks to: the one that the options name, else the one that `sluice dev` runs here, else
 * one of its own, started as `sluice dev` starts it. So `listen` is enough in an empty directory.
 */
import { setTimeout as delay } from "node:timers/promises"
import type { Client } from "@sluice/client"
import type { Config, RunningServer } from "@sluice/server"
import { connectAsApp, isServerNamed, type AppSecrets, type ConnectionOptions } from "../connection/connection.ts"
import {
  credentialsDirectory,
  ensureCredentialsDirectory,
  findCredentials,
  readCredentials,
  writeCredentials,
} from "../connection/credentials-file.ts"
import { devCredentials } from "../own-server/dev-credentials.ts"
import type { Environment } from "../environment.ts"
import { withServerFailures } from "../own-server/own-server.ts"
import type { CommandContext } from "../terminal/terminal.ts"

/** An app on a server that runs. Disposing of it ends the server that was started for it, if any. */
export interface ServedApp extends AppSecrets, AsyncDisposable {
  readonly client: Client
  /** Rejects when the server that was started fails; stays pending otherwise. */
  readonly failed: Promise<never>
}

/** Longest wait for a `sluice dev` that is just starting. Ours. */
const startingMsMax = 10_000

/** Time between two looks at it. */
const pollMs = 100

/** Longest wait for a server to show that it runs. */
const healthMsMax = 2_000

/** The app, on a server that runs. Throws `Failure` when there is none and none can be started. */
export async function serveApp(options: ConnectionOptions, context: CommandContext): Promise<ServedApp> {
  const { environment } = context
  if (isServerNamed(options, environment)) return elsewhere(options, environment)
  const untilMs = performance.now() + startingMsMax
  for (;;) {
    const url = await savedUrl(options, environment)
    if (url !== undefined && (await isServing(url))) return elsewhere(options, environment)
    const started = await startOwn(options, context, performance.now() >= untilMs)
    if (started !== undefined) return started
    await delay(pollMs)
  }
}

async function elsewhere(options: ConnectionOptions, environment: Environment): Promise<ServedApp> {
  return {
    ...(await connectAsApp(options, environment)),
    failed: new Promise<never>(() => undefined),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** Where the server of the credentials file is, or was. */
async function savedUrl(options: ConnectionOptions, environment: Environment): Promise<string | undefined> {
  const data = options.data ?? environment.data
  return (await (data === undefined ? findCredentials(".") : readCredentials(data)))?.url
}

async function isServing(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(healthMsMax), redirect: "manual" })).ok
  } catch {
    return false
  }
}

/** `undefined`: another process uses the data directory; it may be a server that is just starting. */
async function startOwn(
  options: ConnectionOptions,
  { terminal, environment }: CommandContext,
  isLastTry: boolean,
): Promise<ServedApp | undefined> {
  const { DataDirectoryInUse, loadConfig } = await import("@sluice/server")
  let server: RunningServer
  let directory: string
  try {
    // Its log would stand among the deliveries.
    const env = { SLUICE_LOG_LEVEL: "error", ...environment.server }
    const config = loadConfig({ posture: "dev", flags: { data: options.data }, env })
    await ensureCredentialsDirectory(config)
    directory = credentialsDirectory(config)
    server = await startDev(config)
  } catch (error) {
    if (error instanceof DataDirectoryInUse && !isLastTry) return undefined
    await withServerFailures(() => Promise.reject(error))
    throw error
  }
  await using starting = new AsyncDisposableStack()
  starting.defer(() => server.close())
  const credentials = { url: server.url, ...(await devCredentials(server.apps, directory)) }
  await writeCredentials(directory, credentials)
  const { createClient } = await import("@sluice/client")
  const { bearer_token: token, consumer_secret: consumerSecret, client_secret: clientSecret } = credentials.app
  terminal.note(`No server ran here, so one was started at ${server.url}, as \`sluice dev\` does; it ends with this.`)
  terminal.note(`Its console, which this link signs in to once: ${server.signInLink(credentials.operator_token)}`)
  const running = starting.move()
  return {
    client: createClient({ url: server.url, token }),
    consumerSecret,
    clientSecret,
    failed: server.failed,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** On the port of the settings, or on a free one where that is taken. */
async function startDev(config: Config): Promise<RunningServer> {
  const { startServer } = await import("@sluice/server")
  const { consoleDirectory } = await import("@sluice/console")
  return startServer(config, { consoleDirectory }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error
    return startServer({ ...config, port: 0 }, { consoleDirectory })
  })
}
