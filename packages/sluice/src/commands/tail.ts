/** `sluice tail`: prints the stream, and reconnects when the connection ends. */
import { problemText, type StreamLine } from "@sluice/client"
import type { Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { interruption } from "../process/interruption.ts"
import { streamedPost } from "../terminal/streamed-post.ts"
import { messageText, type CommandContext, type Terminal } from "../terminal/terminal.ts"
import { jsonText } from "../terminal/terminal-text.ts"
import { matching } from "./option-values.ts"

interface TailOptions extends ClientOptions {
  readonly backfillMinutes?: string
  readonly fields?: string
}

const minutes = matching(/^[0-5]$/, "a whole number from 0 to 5")

/** The fields of the printed line; with `--json`, the API's default. */
const fieldsForPeople = "expansions=author_id&user.fields=username&tweet.fields=author_id"

/** The command's options and action. */
export function tailCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command)
    .option("--backfill-minutes <number>", "Start with the matches of the last minutes, 0 to 5", minutes)
    .option("--fields <query>", 'Fields of posts, for example "tweet.fields=lang,created_at"')
    .option("--json", "Print each record as one line of JSON")
    .action(async (options: TailOptions) => {
      const client = await connect(options, environment)
      let connections = 0
      const fields = options.fields ?? (options.json === true ? "" : fieldsForPeople)
      const stream = client.stream({
        query: {
          ...Object.fromEntries(new URLSearchParams(fields)),
          backfill_minutes: options.backfillMinutes,
        },
        signal: AbortSignal.any([interruption(), terminal.readerGone]),
        onConnect() {
          connections += 1
          if (!terminal.isWatched) return
          terminal.note(connections === 1 ? `Waiting for matches at ${client.url}. Ctrl-C stops.` : "Connected again.")
        },
        onDisconnect({ error, delayMs }) {
          const reason = messageText(error?.message ?? "The server ended the connection.")
          terminal.note(`${reason} Reconnecting in ${String(delayMs / 1000)} s.`)
        },
        onGap({ from, to }) {
          const gap = `Matches from ${from.toISOString()} to ${to.toISOString()} may be missing`
          terminal.note(`${gap}: the server refuses to send them again.`)
        },
      })
      for await (const line of stream) {
        if (options.json === true) await terminal.print(jsonText(line.text))
        else await show(line, terminal)
      }
    })
}

/** Prints a post, or a message of the server about the connection. */
async function show({ text, body }: StreamLine, terminal: Terminal): Promise<void> {
  if (body === undefined) terminal.note(`Not JSON: ${messageText(text)}`)
  else if (body.data === undefined) terminal.note(messageText(problemText(body)?.message ?? text))
  else await terminal.print(streamedPost(body, terminal))
}
