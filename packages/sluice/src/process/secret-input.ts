/** A secret from the standard input: typed without echo in a terminal, or piped. */
import type { Readable } from "node:stream"
import { Failure } from "./failure.ts"
import { readInputText } from "./input-text.ts"

type Input = Readable & { readonly isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown }

const interrupt = "\u0003"
const endOfInput = "\u0004"
const erase = new Set(["\b", "\u007f"])

/** The secret without the spaces around it. `prompt` is called before a terminal is read. */
export async function readSecret(stdin: Input, bytesMax: number, prompt: () => void): Promise<string> {
  const { isTTY, setRawMode } = stdin
  if (isTTY !== true || setRawMode === undefined) return (await readInputText("-", stdin, bytesMax)).trim()
  // Before the prompt: what is typed early must not appear either.
  setRawMode.call(stdin, true)
  try {
    prompt()
    return (await typedLine(stdin, bytesMax)).trim()
  } finally {
    setRawMode.call(stdin, false)
  }
}

/** In raw mode, the terminal passes on the keys that otherwise erase, end and interrupt. */
async function typedLine(stdin: Input, lengthMax: number): Promise<string> {
  let line = ""
  for await (const chunk of stdin) {
    for (const key of String(chunk)) {
      if (key === "\r" || key === "\n" || key === endOfInput) return line
      if (key === interrupt) throw new Failure("Interrupted.")
      line = erase.has(key) ? line.slice(0, -1) : line + key
    }
    if (line.length > lengthMax) throw new Failure("The input is too long.")
  }
  return line
}
