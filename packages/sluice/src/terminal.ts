import { styleText } from "node:util"
import type { Environment } from "./environment.ts"
import { terminalText, visibleText } from "./terminal-text.ts"

/** How a piece of text looks. Without colours every style leaves the text as it is. */
export interface Style {
  readonly strong: (text: string) => string
  readonly faint: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly mark: (text: string) => string
}

/** The two outputs of the command: data for whoever reads stdout, notes for the person at the terminal. */
export interface Terminal {
  /** A line on stdout. Resolves when the reader keeps up, or has gone. */
  print(line: string): Promise<void>
  /** A value as one line of JSON on stdout, exactly as it is. */
  printJson(value: unknown): Promise<void>
  /** A line on stderr. */
  note(line: string): void
  readonly style: Style
  readonly noteStyle: Style
  /** Columns of stdout; 100 when it is no terminal. At least 40. */
  readonly columns: number
  /** Aborted when the reader of stdout has gone: there is nobody to work for. */
  readonly readerGone: AbortSignal
}

const columnsWithoutTerminal = 100
const columnsMin = 40

/** The terminal of this process. */
export function createTerminal(
  environment: Environment,
  stdout: NodeJS.WriteStream = process.stdout,
  stderr: NodeJS.WriteStream = process.stderr,
): Terminal {
  const gone = new AbortController()
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
    gone.abort()
  })
  const print = async (line: string): Promise<void> => {
    if (gone.signal.aborted || stdout.write(`${line}\n`)) return
    await new Promise<void>((resolve) => {
      stdout.once("drain", resolve)
      gone.signal.addEventListener("abort", () => resolve(), { once: true })
    })
  }
  return {
    print,
    printJson: (value) => print(JSON.stringify(value)),
    note: (line) => void stderr.write(`${line}\n`),
    style: styleFor(environment, stdout),
    noteStyle: styleFor(environment, stderr),
    columns: Math.max(stdout.columns ?? columnsWithoutTerminal, columnsMin),
    readerGone: gone.signal,
  }
}

function styleFor(environment: Environment, stream: NodeJS.WriteStream): Style {
  const hasColours = stream.isTTY && environment.mayColour
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

/** The same terminal with data and notes both on stderr, for a story told beside a JSON value. */
export function storyOnStderr(terminal: Terminal): Terminal {
  return {
    ...terminal,
    style: terminal.noteStyle,
    print: async (line) => terminal.note(line),
  }
}

/** Longest line of a message. Ours: four lines of a common terminal. */
const messageColumnsMax = 400

/** A message that may hold words of strangers, safe and not too long to print. */
export function messageText(text: string): string {
  return terminalText(text, messageColumnsMax)
}

/** The same for a message that commander has laid out: each of its lines by itself. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visibleText).join("\n")
}
