/** `sluice import`: sends the posts of a file to a server. */
import { Option, type Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { commandFailure } from "../connection/used-connection.ts"
import { Failure } from "../process/failure.ts"
import { openPostFile } from "../import/input-lines.ts"
import { interruption } from "../process/interruption.ts"
import { importPosts, type RejectedPost, type Totals } from "../import/import-posts.ts"
import { postFormats, type PostFormat } from "../import/post-formats.ts"
import { createProgress } from "../terminal/progress.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"
import { numberMatching } from "./option-values.ts"

/** Most rejected lines that are printed. Ours. */
const rejectedShownMax = 20

interface ImportCommandOptions extends ClientOptions {
  readonly fromLine: number
  readonly format: PostFormat
  readonly deliver: boolean
}

const lineNumber = numberMatching(/^[1-9][0-9]{0,14}$/, "a whole number from 1")

/** The command's options and action. */
export function importCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command)
    .argument("<file>", "File of posts, plain or gzip; - for standard input")
    .option("--from-line <number>", "Start at this line, which an interrupted import reports", lineNumber, 1)
    .addOption(
      new Option("--format <format>", "Format of the lines; auto detects it for each line")
        .choices(postFormats)
        .default("auto"),
    )
    .option("--no-deliver", "Store and match the posts without delivering the matches, for archives")
    .option("--json", "Print the totals as JSON")
    .addHelpText(
      "after",
      `
Formats: envelope, as in X's stream; page, a response of X's API; post, a single post object; v1.1, a post of X's older
API. A file may be NDJSON, or JSON in any layout, such as a page saved by curl or an array of any length.
Posts that the server already has are skipped, so a file can safely be imported again.
The first ${String(rejectedShownMax)} rejected lines are printed to standard error, and the exit status is 1; the other posts are stored. From a
pipe, posts are sent as they arrive.`,
    )
    .action(async (path: string, options: ImportCommandOptions) => {
      const signal = interruption()
      const client = await connect(options, environment, "ingest")
      using file = await openPostFile(path, { stdin: terminal.stdin, signal })
      const progress = createProgress(file, terminal)
      let shown = 0
      const imported = await importPosts(
        client,
        file.lines,
        { ...options, isLive: file.byteCount === undefined },
        {
          rejected(post) {
            shown += 1
            if (shown <= rejectedShownMax) progress.note(rejectedLine(post))
          },
          progressed: ({ lines }) => progress.update(lines),
          retrying: (delayMs, reason) =>
            progress.note(`${messageText(reason)} Retrying in ${(delayMs / 1000).toFixed(1)} s.`),
        },
        signal,
      )
      progress.end()
      const { totals } = imported
      if (options.json === true) await terminal.printJson(totalsJson(totals, options.deliver))
      else await terminal.print(totalsText(totals, options.deliver))
      if (imported.kind === "stopped") throw await stopped(imported, path, environment)
      if (totals.rejected > 0) throw new Failure(rejectedText(totals))
    })
}

function rejectedLine({ line, post, title, detail }: RejectedPost): string {
  const place = `line ${String(line)}${post === undefined ? "" : `, post ${String(post)}`}`
  return `${place}: ${messageText(`${title}: ${detail}`)}`
}

/** `undelivered` counts matches of imports with `--no-deliver` only. */
function totalsJson({ undelivered, ...totals }: Totals, deliver: boolean): object {
  return deliver ? totals : { ...totals, undelivered }
}

function totalsText(totals: Totals, deliver: boolean): string {
  const { lines, accepted, duplicates, rejected, skipped, undelivered } = totals
  const without = skipped === 0 ? "" : `, ${skipped.toLocaleString("en")} without a post`
  const matches = deliver ? "" : `; ${undelivered.toLocaleString("en")} matches not delivered`
  return [
    `${lines.toLocaleString("en")} lines:`,
    `${accepted.toLocaleString("en")} accepted,`,
    `${duplicates.toLocaleString("en")} duplicates,`,
    `${rejected.toLocaleString("en")} rejected${without}${matches}`,
  ].join(" ")
}

function rejectedText({ accepted, duplicates, rejected, skipped, lines }: Totals): string {
  const posts = accepted + duplicates + rejected
  // Nearly always each line is one post.
  const all = posts + skipped === lines ? `${lines.toLocaleString("en")} lines` : `${posts.toLocaleString("en")} posts`
  const first = rejected > rejectedShownMax ? `; the first ${String(rejectedShownMax)} are shown` : ""
  return `${rejected.toLocaleString("en")} of ${all} were rejected${first}.`
}

/** The error with advice on how to continue; a bug of this program is returned unchanged. */
async function stopped(
  { fromLine, error }: { readonly fromLine: number; readonly error: unknown },
  path: string,
  environment: CommandContext["environment"],
): Promise<unknown> {
  const failure = await commandFailure(error, environment)
  if (failure === undefined) return error
  const shownPath = /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
  return new Failure(
    failure.message,
    [
      ...failure.hints,
      `Everything before line ${String(fromLine)} is stored. ` +
        (path === "-"
          ? "Continue the input from there."
          : `Continue with: sluice import ${shownPath} --from-line ${String(fromLine)}`),
    ],
    { cause: error },
  )
}
