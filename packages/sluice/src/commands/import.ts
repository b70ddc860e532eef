/** `sluice import`: pours a file of posts in. */
import { InvalidArgumentError, type Command } from "commander"
import cliProgress from "cli-progress"
import { connect, withConnectionOptions, type ConnectionOptions } from "../connection.ts"
import type { Environment } from "../environment.ts"
import { Failure } from "../failure.ts"
import { openPostFile, type PostFile } from "../input-lines.ts"
import { interruption } from "../interruption.ts"
import { pour, type Totals } from "../pour.ts"
import { messageText, type Terminal } from "../terminal.ts"

interface ImportOptions extends ConnectionOptions {
  readonly json?: true
  readonly fromLine: number
}

/** Adds the command to the program. */
export function addImportCommand(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  withConnectionOptions(program.command("import"))
    .description("pour posts in: a file of NDJSON envelopes, plain or gzip")
    .argument("<file>", "the file, or - for standard input")
    .option("--from-line <number>", "go on from this line, as an interrupted import says", lineNumber, 1)
    .option("--json", "print the totals as JSON")
    .addHelpText(
      "after",
      `
A post that the server has already is left as it is, so the same file may be poured in again at any time.
Lines that it does not take are told on standard error, each with its number; the others are kept.`,
    )
    .action(async (path: string, options: ImportOptions) => {
      const signal = interruption()
      const client = await connect(options, environment, "ingest")
      const file = await openPostFile(path)
      const progress = createProgress(file, terminal)
      const poured = await pour(
        client,
        file.lines,
        options.fromLine,
        {
          rejected: ({ line, title, detail }) =>
            progress.note(`line ${String(line)}: ${messageText(`${title}: ${detail}`)}`),
          progressed: (totals) => progress.update(totals),
          retrying: (delayMs, reason) =>
            progress.note(`${messageText(reason)} Trying again in ${(delayMs / 1000).toFixed(1)} s.`),
        },
        signal,
      )
      progress.end()
      const { totals } = poured
      if (options.json === true) await terminal.printJson(totals)
      else await terminal.print(totalsText(totals))
      if (poured.kind === "stopped") throw stopped(poured.fromLine, path, poured.error)
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

/** Our own faults go up as they are; everything else tells how to go on. */
function stopped(fromLine: number, path: string, error: unknown): unknown {
  if (!(error instanceof Failure)) return error
  const shownPath = /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
  return new Failure(
    error.message,
    [
      ...error.hints,
      `Everything before line ${String(fromLine)} is stored. Go on with: sluice import ${shownPath} --from-line ${String(fromLine)}`,
    ],
    { cause: error },
  )
}

/** The bar on a terminal's stderr; elsewhere only the notes. */
interface Progress {
  note(text: string): void
  update(totals: Totals): void
  end(): void
}

function createProgress(file: PostFile, terminal: Terminal): Progress {
  if (!process.stderr.isTTY) {
    return { note: (text) => terminal.note(text), update: () => undefined, end: () => undefined }
  }
  const isSized = file.byteCount !== undefined && file.byteCount > 0
  const bar = new cliProgress.SingleBar({
    format: isSized ? "{bar} {percentage}% · {lines} lines · {eta_formatted} left" : "{lines} lines",
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 30,
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: false,
    stream: process.stderr,
  })
  bar.start(isSized ? (file.byteCount ?? 1) : 1, 0, { lines: "0" })
  return {
    note(text) {
      // Over the bar, which draws itself again on the next line.
      process.stderr.write(`\r\u001B[K${text}\n`)
    },
    update(totals) {
      bar.update(isSized ? file.bytesRead() : 0, { lines: totals.lines.toLocaleString("en") })
    },
    end: () => bar.stop(),
  }
}
