/**
 * The server of `sluice listen`: the one that the options name, the running `sluice dev`, or a new development server. So
 * `listen` works in an empty directory.
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
import { startWithConsole, withServerFailures } from "../own-server/own-server.ts"
import type { CommandContext } from "../terminal/terminal.ts"

/** An app on a running server. Disposing of it stops a server that was started for it. */
export interface ServedApp extends AppSecrets, AsyncDisposable {
  readonly client: Client
  /** Rejects when a started server fails; never resolves. */
  readonly failed: Promise<never>
}

/** Longest wait for a `sluice dev` that is starting. Ours. */
const startingMsMax = 10_000

/** Time between two requests to it. */
const pollMs = 100

/** Time limit of a request to it. */
const healthMsMax = 2_000

/** The app on a running server. Throws `Failure` when no server is running or can be started. */
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

/** The URL in the credentials file. */
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

/** `undefined` when another process uses the data directory, such as a server that is starting. */
async function startOwn(
  options: ConnectionOptions,
  { terminal, environment }: CommandContext,
  isLastTry: boolean,
): Promise<ServedApp | undefined> {
  const { DataDirectoryInUse, loadConfig } = await import("@sluice/server")
  let server: RunningServer
  let directory: string
  try {
    // Its log would appear between the deliveries.
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
  terminal.note(`Started a development server at ${server.url}; it stops with \`listen\`.`)
  terminal.note(`Its console (this link signs you in once): ${server.signInLink(credentials.operator_token)}`)
  const running = starting.move()
  return {
    client: createClient({ url: server.url, token }),
    consumerSecret,
    clientSecret,
    failed: server.failed,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** Starts on the configured port, or on a free one if that is in use. */
async function startDev(config: Config): Promise<RunningServer> {
  return startWithConsole(config).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error
    return startWithConsole({ ...config, port: 0 })
  })
}
