/** `sluice tail`: the stream connection, printed as it comes, opened again when it ends. */
import { InvalidArgumentError, type Command } from "commander"
import { ApiFault, faultText, Unreachable, type ApiClient } from "../api-client.ts"
import { sleep } from "../clock.ts"
import { connect, withConnectionOptions, type ConnectionOptions } from "../connection.ts"
import type { Environment } from "../environment.ts"
import { messageOf } from "../failure.ts"
import { interruption } from "../interruption.ts"
import { reconnectDelayMs, type StreamFault } from "../retry-delay.ts"
import { streamLines } from "../stream-lines.ts"
import { streamedPost, type StreamRecord } from "../streamed-post.ts"
import { messageText, type Terminal } from "../terminal.ts"

interface TailOptions extends ConnectionOptions {
  readonly json?: true
  readonly backfillMinutes?: string
  readonly fields?: string
}

/** What people want to see of a post; with `--json` the choice is the caller's. */
const fieldsForPeople = "expansions=author_id&user.fields=username&tweet.fields=author_id"

/** Adds the command to the program. */
export function addTailCommand(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  withConnectionOptions(program.command("tail"))
    .description("show matches as they come, down a stream connection that is opened again when it ends")
    .option(
      "--backfill-minutes <number>",
      "begin this many minutes ago, 0 to 5, at every connection",
      minutes,
    )
    .option("--fields <query>", 'what to show of posts, for example "tweet.fields=lang,created_at"')
    .option("--json", "print each record as it came, a line each")
    .action(async (options: TailOptions) => {
      const client = await connect(options, environment)
      const fields = options.fields ?? (options.json === true ? "" : fieldsForPeople)
      const query = {
        ...Object.fromEntries(new URLSearchParams(fields)),
        backfill_minutes: options.backfillMinutes,
      }
      const show = options.json === true ? (record: string) => terminal.print(record) : forPeople(terminal)
      await follow(client, query, show, terminal, AbortSignal.any([interruption(), terminal.readerGone]))
    })
}

function minutes(text: string): string {
  if (/^[0-5]$/.test(text)) return text
  throw new InvalidArgumentError("A whole number from 0 to 5.")
}

/** Reads connection after connection until `signal`. A refusal that will not pass by itself is thrown. */
async function follow(
  client: ApiClient,
  query: Readonly<Record<string, string | undefined>>,
  show: (record: string) => Promise<void>,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  let hasConnected = false
  let failures = 0
  let lastFault: StreamFault | undefined
  while (!signal.aborted) {
    let reason = "The server ended the connection."
    let fault: StreamFault = "network"
    try {
      for await (const record of streamLines(client, query, signal)) {
        hasConnected = true
        failures = 0
        if (record !== "") await show(record)
      }
    } catch (error) {
      const passing = passingFault(error, hasConnected)
      if (passing === undefined) throw error
      reason = messageOf(error)
      fault = passing
    }
    if (signal.aborted) return
    failures = fault === lastFault ? failures + 1 : 1
    lastFault = fault
    const delayMs = reconnectDelayMs(fault, failures)
    terminal.note(`${messageText(reason)} Connecting again in ${String(delayMs / 1000)} s.`)
    await sleep(delayMs, signal)
  }
}

function passingFault(error: unknown, hasConnected: boolean): StreamFault | undefined {
  if (error instanceof Unreachable) return hasConnected ? "network" : undefined
  if (!(error instanceof ApiFault)) return undefined
  if (error.status === 429) return "rate-limit"
  return error.status >= 500 ? "http" : undefined
}

/** Shows a record to people: a post, or what the server says of the connection. */
function forPeople(terminal: Terminal): (record: string) => Promise<void> {
  return async (record) => {
    let content: StreamRecord
    try {
      content = JSON.parse(record) as StreamRecord
    } catch {
      terminal.note(`Not JSON: ${messageText(record)}`)
      return
    }
    if (content.data !== undefined) return terminal.print(streamedPost(content, terminal))
    const said = faultText(content)
    terminal.note(messageText(said === undefined ? record : said.message))
  }
}
