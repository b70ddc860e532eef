/** `sluice dev`: a development server with an app and its credentials. */
import type { RunningServer } from "@sluice/server"
import { InvalidArgumentError, type Command } from "commander"
import { credentialsDirectory, ensureCredentialsDirectory, writeCredentials } from "../connection/credentials-file.ts"
import { devCredentials, type DevCredentials } from "../own-server/dev-credentials.ts"
import { devSources, sourceLines, type DevSourceOptions } from "../own-server/dev-sources.ts"
import { interruptionOrOrphaned } from "../process/interruption.ts"
import { newHelp, runServer, withServerFailures } from "../own-server/own-server.ts"
import type { CommandContext, Style } from "../terminal/terminal.ts"

interface DevOptions extends DevSourceOptions {
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
    .option("--port <number>", "Port to listen on, 0 for a free one (default: SLUICE_PORT, or 8080)", portNumber)
    .option("--host <address>", "Address to listen on (default: SLUICE_HOST, or 127.0.0.1)")
    .option("--data <directory>", "Data directory (default: SLUICE_DATA, or .sluice)")
    .option("--database <url>", "PostgreSQL database to use instead of an embedded store (prefer SLUICE_DATABASE)")
    .option("--log-level <level>", "Silent, fatal, error, warn, info or debug (default: SLUICE_LOG_LEVEL, or warn)")
    .option("--bluesky", "Take the posts of Bluesky")
    .option("--mastodon <host>", "Take the public posts of a Mastodon instance, such as mastodon.social")
    .option("--mastodon-token-file <file>", "File with an access token of that instance")
    .option("--new", newHelp)
    .option("--json", "Print one line of JSON when the server is ready")
    .action((options: DevOptions) => withServerFailures(() => dev(options, context)))
}

async function dev(
  { port, host, data, database, logLevel, new: isNew = false, json, ...sourceOptions }: DevOptions,
  { terminal, environment }: CommandContext,
): Promise<void> {
  const flags = { port, host, data, database, "log-level": logLevel }
  const { loadConfig } = await import("@sluice/server/config")
  const sources = devSources(sourceOptions)
  // On a terminal people see what happens; elsewhere the log has what is wrong.
  const defaults = terminal.isWatched ? { "log-level": "info" } : {}
  const config = loadConfig({ posture: "dev", flags, env: environment.server, sources, defaults })
  await ensureCredentialsDirectory(config)
  const directory = credentialsDirectory(config)
  const ready = async (server: RunningServer): Promise<void> => {
    const { url, apps } = server
    const credentials = { url, ...(await devCredentials(apps, directory)) }
    const file = await writeCredentials(directory, credentials)
    const consoleUrl = server.signInLink(credentials.operator_token)
    if (json === true) await terminal.printJson({ event: "ready", ...credentials, console_url: consoleUrl })
    else {
      const lines = devWelcome(
        { credentials, file, consoleUrl, sourceLines: sourceLines(sourceOptions) },
        terminal.style,
      )
      for (const line of lines) await terminal.print(line)
    }
  }
  await runServer(config, { ready, terminal, isNew, signal: interruptionOrOrphaned(environment) })
}

/** Validates the form; the server's configuration parses the port. */
export function portNumber(text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return text
  throw new InvalidArgumentError("A port must be a whole number from 0 to 65535.")
}

/** The output when the server is ready. The curl commands work unchanged, in this order. */
function devWelcome(
  {
    credentials: { url, app, operator_token: operatorToken },
    file,
    consoleUrl,
    sourceLines: from,
  }: {
    readonly credentials: DevCredentials
    readonly file: string
    readonly consoleUrl: string
    readonly sourceLines: readonly string[]
  },
  style: Style,
): string[] {
  const bearer = `-H "Authorization: Bearer ${app.bearer_token}"`
  const json = `-H "Content-Type: application/json"`
  const heading = (text: string): string => style.strong(text)
  return [
    "",
    `${style.strong("Sluice")} is ready at ${style.good(url)}`,
    "",
    heading("Open the console; this link signs you in once, within ten minutes:"),
    consoleUrl,
    "",
    `  bearer token     ${app.bearer_token}`,
    `  consumer key     ${app.consumer_key}`,
    `  consumer secret  ${app.consumer_secret}`,
    `  client id        ${app.client_id}`,
    `  client secret    ${app.client_secret}`,
    `  operator token   ${operatorToken}`,
    style.faint(`  saved in ${file}, for the other commands`),
    "",
    ...from.flatMap((line) => [heading(line), ""]),
    heading("Add a rule:"),
    `curl -X POST ${url}/2/tweets/search/stream/rules ${bearer} ${json} -d '{"add":[{"value":"cat OR \\"night market\\"","tag":"first rule"}]}'`,
    "",
    heading("Send a post:"),
    `curl -X POST ${url}/sluice/v1/posts ${bearer} -H "Content-Type: application/x-ndjson" -d '{"data":{"id":"1","text":"A cat at the gate","author_id":"7"}}'`,
    "",
    heading(
      "Stream the matches of the last five minutes, then live; Ctrl-C stops (an app may have one stream connection):",
    ),
    `curl -N "${url}/2/tweets/search/stream?backfill_minutes=5" ${bearer}`,
    "",
    heading("List a user's posts, page by page:"),
    `curl "${url}/2/users/7/tweets?max_results=10" ${bearer}`,
    "",
    heading("List the webhook links of the stream:"),
    `curl ${url}/2/tweets/search/webhooks ${bearer}`,
    "",
    style.faint("Commands for another terminal: npx sluice --help. Ctrl-C stops the server."),
  ]
}
