import { createReadStream } from "node:fs"
import type { Readable } from "node:stream"
import { Failure, messageOf } from "./failure.ts"

/** The text of a file, or of `stdin` for `-`. Throws `Failure` when it cannot be read or has more than `bytesMax`. */
export async function readInputText(path: string, stdin: Readable, bytesMax: number): Promise<string> {
  const name = path === "-" ? "Standard input" : path
  const chunks: Buffer[] = []
  let byteCount = 0
  try {
    for await (const chunk of path === "-" ? stdin : createReadStream(path)) {
      chunks.push(chunk as Buffer)
      byteCount += (chunk as Buffer).length
      if (byteCount > bytesMax) break
    }
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT"
    const fault = isMissing ? `There is no file ${path}.` : `${name} cannot be read: ${messageOf(error)}.`
    throw new Failure(fault, [], { cause: error })
  }
  if (byteCount > bytesMax) throw new Failure(`${name} is larger than ${String(bytesMax)} bytes.`)
  return Buffer.concat(chunks).toString("utf8")
}
