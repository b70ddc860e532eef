/** `sluice dev`: the server with everything that a newcomer needs. */
import { loadConfig, type AppCredentials, type Apps } from "@sluice/server"
import { InvalidArgumentError, type Command } from "commander"
import { readCredentials, writeCredentials, type SavedCredentials } from "../credentials-file.ts"
import type { Environment } from "../environment.ts"
import { runServer } from "../run-server.ts"
import { tellingServerFaults } from "../server-faults.ts"
import type { Terminal } from "../terminal.ts"
import { devWelcome } from "../dev-welcome.ts"

interface DevOptions {
  readonly port?: string
  readonly host?: string
  readonly data?: string
  readonly logLevel?: string
  readonly json?: true
}

/** Name of the app that the first start makes. */
const defaultAppName = "default"

/** Adds the command to the program. */
export function addDevCommand(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  program
    .command("dev")
    .description("run a server to try things on: an app is made, and http and loopback webhooks are taken")
    .option("--port <number>", "port to listen on, 0 for a free one (SLUICE_PORT; else 8080)", portNumber)
    .option("--host <address>", "address to listen on (SLUICE_HOST; else 127.0.0.1)")
    .option("--data <directory>", "where to keep everything (SLUICE_DATA; else .sluice)")
    .option("--log-level <level>", "silent, fatal, error, warn, info or debug (SLUICE_LOG_LEVEL; else warn)")
    .option("--json", "print one line of JSON when ready, and nothing else on standard output")
    .action((options: DevOptions) => tellingServerFaults(() => dev(options, deps)))
}

async function dev(
  { port, host, data, logLevel, json }: DevOptions,
  { terminal, environment }: { terminal: Terminal; environment: Environment },
): Promise<void> {
  const flags = { port, host, data, "log-level": logLevel }
  const config = loadConfig({ posture: "dev", flags, env: environment.server })
  await runServer(config, async ({ url, apps }) => {
    const credentials = { url, ...(await credentialsOf(apps, config.data)) }
    const file = await writeCredentials(config.data, credentials)
    if (json === true) await terminal.printJson({ event: "ready", ...credentials })
    else for (const line of devWelcome(credentials, file, terminal.style)) await terminal.print(line)
  })
}

/** The port's text as it came: the configuration reads it, like every setting. */
function portNumber(text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return text
  throw new InvalidArgumentError("A port is a whole number from 0 to 65535.")
}

/**
 * The same app and tokens at every start on the same data. The store knows an app's credentials; the operator's
 * token is kept nowhere but in the credentials file, so a new one is made when that is gone.
 */
async function credentialsOf(apps: Apps, data: string): Promise<Omit<SavedCredentials, "url">> {
  const saved = await readCredentials(data)
  const app = await appOf(apps, saved?.app.application_id)
  const isOperator = saved !== undefined && (await apps.principal(saved.operator_token))?.kind === "operator"
  return { app, operator_token: isOperator ? saved.operator_token : await apps.createToken("operator") }
}

/** The app of the credentials file, else the first one with the default name, else a new one. */
async function appOf(apps: Apps, savedId: string | undefined): Promise<AppCredentials> {
  const active = (await apps.list()).filter((app) => !app.revoked)
  const app =
    active.find(({ id }) => id === savedId) ?? active.findLast(({ name }) => name === defaultAppName)
  return app === undefined ? apps.create(defaultAppName) : apps.credentials(app)
}
