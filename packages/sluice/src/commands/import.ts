/** `sluice import`: sends a file of posts to a server. */
import { InvalidArgumentError, type Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection.ts"
import { Failure, failureOf } from "../failure.ts"
import { openPostFile } from "../import/input-lines.ts"
import { interruption } from "../interruption.ts"
import { importPosts, type Totals } from "../import/import-posts.ts"
import { createProgress } from "../terminal/progress.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

/** Most rejected lines that are printed one by one. Ours. */
const rejectedShownMax = 20

interface ImportOptions extends ClientOptions {
  readonly fromLine: number
}

/** The command's options and action. */
export function importCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command)
    .argument("<file>", "the file, or - for standard input")
    .option("--from-line <number>", "go on from this line, as an interrupted import says", lineNumber, 1)
    .option("--json", "print the totals as JSON")
    .addHelpText(
      "after",
      `
A post that the server has already is left as it is, so the same file may be imported again at any time.
Lines that it does not take are named on standard error, the first ${String(rejectedShownMax)} with their numbers; the others are
kept, and the exit status is 1. From a pipe, posts are sent as they come.`,
    )
    .action(async (path: string, options: ImportOptions) => {
      const signal = interruption()
      const client = await connect(options, environment, "ingest")
      using file = await openPostFile(path, { stdin: terminal.stdin, signal })
      const progress = createProgress(file, terminal)
      let shown = 0
      const imported = await importPosts(
        client,
        file.lines,
        options.fromLine,
        {
          rejected({ line, title, detail }) {
            shown += 1
            if (shown > rejectedShownMax) return
            progress.note(`line ${String(line)}: ${messageText(`${title}: ${detail}`)}`)
          },
          progressed: ({ lines }) => progress.update(lines),
          retrying: (delayMs, reason) =>
            progress.note(`${messageText(reason)} Trying again in ${(delayMs / 1000).toFixed(1)} s.`),
        },
        signal,
      )
      progress.end()
      const { totals } = imported
      if (options.json === true) await terminal.printJson(totals)
      else await terminal.print(totalsText(totals))
      if (imported.kind === "stopped") throw await stopped(imported.fromLine, path, imported.error)
      if (totals.rejected > 0) throw new Failure(rejectedText(totals))
    })
}

function lineNumber(text: string): number {
  const value = /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(value)) throw new InvalidArgumentError("A line is a whole number from 1.")
  return value
}

function totalsText({ lines, accepted, duplicates, rejected }: Totals): string {
  return [
    `${lines.toLocaleString("en")} lines:`,
    `${accepted.toLocaleString("en")} accepted,`,
    `${duplicates.toLocaleString("en")} duplicates,`,
    `${rejected.toLocaleString("en")} rejected`,
  ].join(" ")
}

function rejectedText({ lines, rejected }: Totals): string {
  const count = `${rejected.toLocaleString("en")} of ${lines.toLocaleString("en")} lines were rejected`
  const first = `; the first ${String(rejectedShownMax)} are shown`
  return `${count}${rejected > rejectedShownMax ? first : ""}.`
}

/** An error that says how to go on; a fault of this program is returned as it is. */
async function stopped(fromLine: number, path: string, error: unknown): Promise<unknown> {
  const failure = await failureOf(error)
  if (failure === undefined) return error
  const shownPath = /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
  return new Failure(
    failure.message,
    [
      ...failure.hints,
      `Everything before line ${String(fromLine)} is stored. ` +
        (path === "-"
          ? "Go on with the input from there."
          : `Go on with: sluice import ${shownPath} --from-line ${String(fromLine)}`),
    ],
    { cause: error },
  )
}
