import { once } from "node:events"
import type { Readable, Writable } from "node:stream"
import { styleText } from "node:util"
import type { Environment } from "../environment.ts"
import { Failure } from "../process/failure.ts"
import { jsonText, terminalText, visibleText } from "./terminal-text.ts"

/** How a piece of text looks. Without colours every style leaves the text as it is. */
export interface Style {
  readonly strong: (text: string) => string
  readonly faint: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly mark: (text: string) => string
}

/** An output: a terminal, a pipe or a file. */
type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** What a process reads and writes. */
export interface Streams {
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Output
}

/** The command's two outputs, data on stdout and notes for the person at the terminal on stderr; its input. */
export interface Terminal {
  /** A line on stdout. Resolves when the reader keeps up, or has gone. Throws `Failure` when it cannot be written. */
  print(line: string): Promise<void>
  /** A value as one line of JSON on stdout, with control characters escaped. */
  printJson(value: unknown): Promise<void>
  /** A line on stderr. */
  note(line: string): void
  readonly style: Style
  readonly noteStyle: Style
  /** Columns of stdout, at least 40; infinite when it is no terminal, since the reader of a pipe wants it all. */
  readonly columns: number
  /** Aborted when stdout takes nothing more: nobody reads it. */
  readonly readerGone: AbortSignal
  /** stderr where a line can be drawn over itself; `undefined` where it cannot. */
  readonly canvas: Output | undefined
  readonly stdin: Readable
  /** Resolves when all that was printed is written, or its reader has gone. Throws `Failure` when it cannot be. */
  flushed(): Promise<void>
}

/** Prints the result of a command: as JSON if asked to, otherwise as a line of text. */
export async function printResult(
  { print, printJson }: Pick<Terminal, "print" | "printJson">,
  json: boolean | undefined,
  value: unknown,
  text: string,
): Promise<void> {
  await (json === true ? printJson(value) : print(text))
}

/** What every command receives. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly environment: Environment
}

const columnsMin = 40

/** A terminal over these streams, usually those of the process. */
export function createTerminal(environment: Environment, { stdin, stdout, stderr }: Streams): Terminal {
  const gone = new AbortController()
  let fault: Failure | undefined
  const failed = (error: NodeJS.ErrnoException): void => {
    // A reader that has gone has what it wanted: `sluice posts 7 --all | head` is no error.
    if (error.code !== "EPIPE") fault ??= new Failure(`Standard output cannot be written: ${reasonOf(error)}.`)
    gone.abort()
  }
  stdout.on("error", failed)
  // There is nowhere left to report it.
  stderr.on("error", () => undefined)
  const print = async (line: string): Promise<void> => {
    if (!gone.signal.aborted && !stdout.write(`${line}\n`)) {
      await once(stdout, "drain", { signal: gone.signal }).catch(() => undefined)
    }
    if (fault !== undefined) throw fault
  }
  const flushed = async (): Promise<void> => {
    if (!gone.signal.aborted) {
      const error = await new Promise<Error | null | undefined>((resolve) => stdout.write("", resolve))
      if (error) failed(error)
    }
    if (fault !== undefined) throw fault
  }
  return {
    print,
    printJson: (value) => print(jsonText(JSON.stringify(value))),
    note: (line) => void stderr.write(`${line}\n`),
    flushed,
    style: styleFor(environment, stdout),
    noteStyle: styleFor(environment, stderr),
    columns: columnsOf(stdout),
    readerGone: gone.signal,
    canvas: stderr.isTTY === true && !environment.isDumbTerminal ? stderr : undefined,
    stdin,
  }
}

function columnsOf({ isTTY, columns = 0 }: Output): number {
  return isTTY === true && columns > 0 ? Math.max(columns, columnsMin) : Number.POSITIVE_INFINITY
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === "ENOSPC" ? "no space is left" : message
}

function styleFor(environment: Environment, stream: Output): Style {
  const hasColours = stream.isTTY === true && environment.mayColour
  const styled = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    hasColours ? styleText(format, text, { validateStream: false }) : text
  return {
    strong: styled("bold"),
    faint: styled("dim"),
    good: styled("green"),
    bad: styled("red"),
    mark: styled(["bold", "yellow"]),
  }
}

/** The same terminal with data and notes both on stderr, beside a JSON value on stdout. */
export function withDataOnStderr(terminal: Terminal): Terminal {
  return {
    ...terminal,
    style: terminal.noteStyle,
    print: async (line) => terminal.note(line),
  }
}

/** Longest line of a message. Ours: four lines of a common terminal. */
const messageColumnsMax = 400

/** A message that may hold text from outside, safe and not too long to print. */
export function messageText(text: string): string {
  return terminalText(text, messageColumnsMax)
}

/** The same for a message that commander has laid out: each of its lines by itself. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visibleText).join("\n")
}
