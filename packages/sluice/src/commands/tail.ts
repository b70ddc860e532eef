/** `sluice tail`: the stream, printed as it comes, over connection after connection. */
import { problemText, type StreamLine } from "@sluice/client"
import { InvalidArgumentError, type Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { interruption } from "../process/interruption.ts"
import { streamedPost } from "../terminal/streamed-post.ts"
import { messageText, type CommandContext, type Terminal } from "../terminal/terminal.ts"
import { jsonText } from "../terminal/terminal-text.ts"

interface TailOptions extends ClientOptions {
  readonly backfillMinutes?: string
  readonly fields?: string
}

/** What a person wants to see of a post; with `--json` the choice is the caller's. */
const fieldsForPeople = "expansions=author_id&user.fields=username&tweet.fields=author_id"

/** The command's options and action. */
export function tailCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command)
    .option("--backfill-minutes <number>", "begin this many minutes ago, 0 to 5", minutes)
    .option("--fields <query>", 'what to show of posts, for example "tweet.fields=lang,created_at"')
    .option("--json", "print each record, a line of JSON each")
    .action(async (options: TailOptions) => {
      const client = await connect(options, environment)
      const fields = options.fields ?? (options.json === true ? "" : fieldsForPeople)
      const stream = client.stream({
        query: {
          ...Object.fromEntries(new URLSearchParams(fields)),
          backfill_minutes: options.backfillMinutes,
        },
        signal: AbortSignal.any([interruption(), terminal.readerGone]),
        onDisconnect({ error, delayMs }) {
          const reason = messageText(error?.message ?? "The server ended the connection.")
          terminal.note(`${reason} Connecting again in ${String(delayMs / 1000)} s.`)
        },
      })
      for await (const line of stream) {
        if (options.json === true) await terminal.print(jsonText(line.text))
        else await show(line, terminal)
      }
    })
}

function minutes(text: string): string {
  if (/^[0-5]$/.test(text)) return text
  throw new InvalidArgumentError("A whole number from 0 to 5.")
}

/** Shows a line to a person: a post, or what the server reports about the connection. */
async function show({ text, body }: StreamLine, terminal: Terminal): Promise<void> {
  if (body === undefined) terminal.note(`Not JSON: ${messageText(text)}`)
  else if (body.data === undefined) terminal.note(messageText(problemText(body)?.message ?? text))
  else await terminal.print(streamedPost(body, terminal))
}
