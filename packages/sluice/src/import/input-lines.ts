/**
 * A file of posts as numbered lines.
 *
 * Numbers count every line of the file, so that an editor finds them; blank lines are passed over. A line that is
 * longer than a server takes is not kept, only measured, so a file without line ends costs no memory.
 */
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { pipeline, Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import { bodyBytesMax as lineBytesMax } from "@sluice/api/limits"
import { Failure, messageOf } from "../failure.ts"

/** A line that is not blank, numbered from 1 among all lines. */
export type InputLine =
  | { readonly kind: "line"; readonly number: number; readonly bytes: Buffer }
  | { readonly kind: "too-long"; readonly number: number; readonly byteCount: number }

const lf = 0x0a
const gzipMagic = Buffer.from([0x1f, 0x8b])

/** An opened file of posts. Disposing of it ends a read that waits, too. */
export interface PostFile extends Disposable {
  /** Size in bytes as it lies there, compressed or not; `undefined` when it is unknown. */
  readonly byteCount: number | undefined
  /** Bytes read so far, of `byteCount`. */
  bytesRead(): number
  readonly lines: AsyncIterable<InputLine>
}

/**
 * Opens a file of NDJSON, or `stdin` (the process's unless given) for `-`; gzip is known by the name or by its first
 * bytes. Throws `Failure` when there is no such file; `lines` throws one when it cannot be read to its end, and the
 * reason of `signal` as soon as that is aborted, even while it waits for the next bytes.
 */
export async function openPostFile(
  path: string,
  { stdin = process.stdin, signal }: { readonly stdin?: Readable; readonly signal?: AbortSignal } = {},
): Promise<PostFile> {
  const byteCount = path === "-" ? undefined : await sizeOf(path)
  const source = path === "-" ? stdin : createReadStream(path, { highWaterMark: 1 << 18 })
  // The reader of the lines gets the error.
  source.on("error", () => undefined)
  signal?.addEventListener("abort", () => source.destroy(signal.reason as Error), { once: true })
  let read = 0
  async function* counted(): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      read += chunk.length
      yield chunk
    }
  }
  return {
    byteCount,
    bytesRead: () => read,
    lines: readableLines(path, () => unpacked(counted(), path.endsWith(".gz"))),
    [Symbol.dispose]: () => void source.destroy(),
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path)
    if (found.isDirectory()) throw new Failure(`${path} is a directory, not a file of posts.`)
    return found.isFile() ? found.size : undefined
  } catch (error) {
    if (error instanceof Failure) throw error
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT"
    throw new Failure(isMissing ? `There is no file ${path}.` : `${path} cannot be opened: ${messageOf(error)}`)
  }
}

async function* readableLines(
  path: string,
  open: () => Promise<AsyncIterable<Buffer>>,
): AsyncGenerator<InputLine, void, void> {
  try {
    yield* linesOf(await open())
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure(`${path === "-" ? "Standard input" : path} cannot be read on: ${messageOf(error)}.`, [], {
      cause: error,
    })
  }
}

async function unpacked(
  chunks: AsyncGenerator<Buffer, void, void>,
  isNamedGzip: boolean,
): Promise<AsyncIterable<Buffer>> {
  const first = await firstBytes(chunks, gzipMagic.length)
  async function* whole(): AsyncGenerator<Buffer, void, void> {
    yield first
    yield* chunks
  }
  if (!isNamedGzip && !first.subarray(0, gzipMagic.length).equals(gzipMagic)) return whole()
  // The iteration below gets every error, so the pipeline has nobody else to report to.
  return pipeline(Readable.from(whole()), createGunzip(), () => undefined)
}

/** At least `count` bytes, when there are as many; a pipe may hand them over one by one. */
async function firstBytes(chunks: AsyncGenerator<Buffer, void, void>, count: number): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0)
  while (bytes.length < count) {
    const next = await chunks.next()
    if (next.done === true) break
    bytes = Buffer.concat([bytes, next.value])
  }
  return bytes
}

/** Bytes into lines, whatever the chunks. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<InputLine, void, void> {
  let number = 1
  let kept: Buffer[] = []
  let keptBytes = 0
  const keep = (part: Buffer): void => {
    keptBytes += part.length
    if (keptBytes > lineBytesMax) kept = []
    else kept.push(part)
  }
  const finish = (): InputLine | undefined => {
    const line = inputLine(number, keptBytes, kept)
    number += 1
    kept = []
    keptBytes = 0
    return line
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(lf); end !== -1; end = chunk.indexOf(lf, start)) {
      keep(chunk.subarray(start, end))
      start = end + 1
      const line = finish()
      if (line !== undefined) yield line
    }
    keep(chunk.subarray(start))
  }
  const line = finish()
  if (line !== undefined) yield line
}

function inputLine(number: number, byteCount: number, kept: readonly Buffer[]): InputLine | undefined {
  if (byteCount > lineBytesMax) return { kind: "too-long", number, byteCount }
  const [first] = kept
  const bytes = kept.length === 1 && first !== undefined ? first : Buffer.concat(kept)
  return isBlank(bytes) ? undefined : { kind: "line", number, bytes }
}

/** Nearly every line begins with a brace, and then the rest need not be read. */
function isBlank(bytes: Buffer): boolean {
  return bytes[0] !== 0x7b && bytes.toString("utf8").trim() === ""
}
