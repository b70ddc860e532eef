/** `sluice dev`: the server with everything that a newcomer needs. */
import type { RunningServer } from "@sluice/server"
import { InvalidArgumentError, type Command } from "commander"
import { credentialsDirectory, ensureCredentialsDirectory, writeCredentials } from "../connection/credentials-file.ts"
import { devCredentials, type DevCredentials } from "../own-server/dev-credentials.ts"
import { newHelp, runServer, withServerFailures } from "../own-server/own-server.ts"
import type { CommandContext, Style } from "../terminal/terminal.ts"

interface DevOptions {
  readonly port?: string
  readonly host?: string
  readonly data?: string
  readonly database?: string
  readonly logLevel?: string
  readonly new?: boolean
  readonly json?: true
}

/** The command's options and action. */
export function devCommand(command: Command, context: CommandContext): void {
  command
    .option("--port <number>", "port to listen on, 0 for a free one (SLUICE_PORT; else 8080)", portNumber)
    .option("--host <address>", "address to listen on (SLUICE_HOST; else 127.0.0.1)")
    .option("--data <directory>", "where to keep everything (SLUICE_DATA; else .sluice)")
    .option("--database <url>", "PostgreSQL database to keep it in instead (better SLUICE_DATABASE)")
    .option("--log-level <level>", "silent, fatal, error, warn, info or debug (SLUICE_LOG_LEVEL; else warn)")
    .option("--new", newHelp)
    .option("--json", "print one line of JSON when ready, and nothing else on standard output")
    .action((options: DevOptions) => withServerFailures(() => dev(options, context)))
}

async function dev(
  { port, host, data, database, logLevel, new: isNew = false, json }: DevOptions,
  { terminal, environment }: CommandContext,
): Promise<void> {
  const flags = { port, host, data, database, "log-level": logLevel }
  const { loadConfig } = await import("@sluice/server/config")
  const config = loadConfig({ posture: "dev", flags, env: environment.server })
  const { consoleDirectory } = await import("@sluice/console")
  await ensureCredentialsDirectory(config)
  const directory = credentialsDirectory(config)
  const ready = async (server: RunningServer): Promise<void> => {
    const { url, apps } = server
    const credentials = { url, ...(await devCredentials(apps, directory)) }
    const file = await writeCredentials(directory, credentials)
    const consoleUrl = server.signInLink(credentials.operator_token)
    if (json === true) await terminal.printJson({ event: "ready", ...credentials, console_url: consoleUrl })
    else for (const line of devWelcome({ credentials, file, consoleUrl }, terminal.style)) await terminal.print(line)
  }
  const waiting = (reason: string): void => terminal.note(`${reason} Sluice tries again every second.`)
  await runServer(config, { ready, waiting }, { isNew, consoleDirectory })
}

/** The port's text as it came: the configuration reads it, like every setting. */
export function portNumber(text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return text
  throw new InvalidArgumentError("A port is a whole number from 0 to 65535.")
}

/** What `sluice dev` prints when it is ready. Every curl line works as it stands, in the order given. */
function devWelcome(
  {
    credentials: { url, app, operator_token: operatorToken },
    file,
    consoleUrl,
  }: { readonly credentials: DevCredentials; readonly file: string; readonly consoleUrl: string },
  style: Style,
): string[] {
  const bearer = `-H "Authorization: Bearer ${app.bearer_token}"`
  const json = `-H "Content-Type: application/json"`
  const heading = (text: string): string => style.strong(text)
  return [
    "",
    `${style.strong("Sluice")} is ready at ${style.good(url)}`,
    "",
    heading("See it in a browser; this link signs you in, once, within ten minutes:"),
    consoleUrl,
    "",
    `  bearer token     ${app.bearer_token}`,
    `  consumer key     ${app.consumer_key}`,
    `  consumer secret  ${app.consumer_secret}`,
    `  client id        ${app.client_id}`,
    `  client secret    ${app.client_secret}`,
    `  operator token   ${operatorToken}`,
    style.faint(`  kept in ${file}, where the other commands find them`),
    "",
    heading("Add a rule:"),
    `curl -X POST ${url}/2/tweets/search/stream/rules ${bearer} ${json} -d '{"add":[{"value":"cat OR \\"night market\\"","tag":"first rule"}]}'`,
    "",
    heading("Send a post:"),
    `curl -X POST ${url}/sluice/v1/posts ${bearer} -H "Content-Type: application/x-ndjson" -d '{"data":{"id":"1","text":"A cat at the gate","author_id":"7"}}'`,
    "",
    heading("Watch the matches, the last five minutes and then live. Ctrl-C ends it; an app has one such connection:"),
    `curl -N "${url}/2/tweets/search/stream?backfill_minutes=5" ${bearer}`,
    "",
    heading("A user's posts, page by page:"),
    `curl "${url}/2/users/7/tweets?max_results=10" ${bearer}`,
    "",
    heading("The webhook links of the stream:"),
    `curl ${url}/2/tweets/search/webhooks ${bearer}`,
    "",
    style.faint("The same by command, in another terminal: npx sluice --help. Ctrl-C ends the server."),
  ]
}
