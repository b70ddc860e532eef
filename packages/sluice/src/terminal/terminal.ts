import { once } from "node:events"
import type { Readable, Writable } from "node:stream"
import { styleText } from "node:util"
import type { Environment } from "../environment.ts"
import { Failure } from "../process/failure.ts"
import { jsonText, terminalText, visibleText } from "./terminal-text.ts"

/** Styles of text. Without colours, they return the text unchanged. */
export interface Style {
  readonly strong: (text: string) => string
  readonly faint: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly mark: (text: string) => string
}

/** An output: a terminal, a pipe or a file. */
type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** The standard streams of a process. */
export interface Streams {
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Output
}

/** The outputs of the command, data on stdout and notes on stderr, and its input. */
export interface Terminal {
  /** Prints a line to stdout. Resolves when the reader keeps up or has gone. Throws `Failure` when writing fails. */
  print(line: string): Promise<void>
  /** Prints a value to stdout as one line of JSON, with control characters escaped. */
  printJson(value: unknown): Promise<void>
  /** Prints a line to stderr. */
  note(line: string): void
  readonly style: Style
  readonly noteStyle: Style
  /** Columns of stdout, at least 40; infinite for pipes and files, where nothing is truncated. */
  readonly columns: number
  /** Aborted when the reader of stdout has closed it. */
  readonly readerGone: AbortSignal
  /** Whether people read stderr. */
  readonly isWatched: boolean
  /** stderr, if lines can be redrawn there. */
  readonly canvas: Output | undefined
  readonly stdin: Readable
  /** Resolves when all output is written or its reader has gone. Throws `Failure` when writing fails. */
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

/** The arguments of every command. */
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
    // A reader may close the pipe early: `sluice posts 7 --all | head` is no error.
    if (error.code !== "EPIPE") fault ??= new Failure(`Standard output cannot be written: ${reasonOf(error)}.`)
    gone.abort()
  }
  stdout.on("error", failed)
  // A failure of stderr cannot be reported.
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
    isWatched: stderr.isTTY === true,
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

/** The same terminal with data on stderr too, so that stdout holds only a JSON value. */
export function withDataOnStderr(terminal: Terminal): Terminal {
  return {
    ...terminal,
    style: terminal.noteStyle,
    print: async (line) => terminal.note(line),
  }
}

/** Longest line of a message. Ours: four lines of a common terminal. */
const messageColumnsMax = 400

/** A message that may contain external text, made safe and truncated for printing. */
export function messageText(text: string): string {
  return terminalText(text, messageColumnsMax)
}

/** The same for a formatted message, line by line. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visibleText).join("\n")
}
