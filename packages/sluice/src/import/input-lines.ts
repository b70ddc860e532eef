/**
 * A file of posts as numbered lines.
 *
 * Numbers count every line of the file, so that an editor finds them; blank lines are passed over. A file that begins
 * with an array, or with a JSON value that goes on in the next line, is read value by value instead (`json-values.ts`).
 * A line or value beyond a bound is not kept, only measured, so a file without line end costs no memory.
 */
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { pipeline, Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import { Failure, messageOf } from "../process/failure.ts"
import { inputBytesMax, inputLine, type InputLine } from "./input-line.ts"
import { valuesOf } from "./json-values.ts"

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
    const { head, chunks } = await beginning(await open())
    yield* isOfValues(head) ? valuesOf(chunks) : linesOf(chunks)
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure(`${path === "-" ? "Standard input" : path} cannot be read: ${messageOf(error)}.`, [], {
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
  // The iteration below reports every error of the pipeline.
  return pipeline(Readable.from(whole()), createGunzip(), () => undefined)
}

/** Bytes within which the first line of a file of values ends: it is a bracket or two. Ours. */
const headBytesMax = 65_536

/** The first line that is not blank, as much of it as may matter, and all of the chunks. */
async function beginning(
  chunks: AsyncIterable<Buffer>,
): Promise<{ readonly head: string; readonly chunks: AsyncIterable<Buffer> }> {
  const iterator = chunks[Symbol.asyncIterator]()
  let first: Buffer = Buffer.alloc(0)
  const head = (): string => /\S[^\n]*\n?/.exec(first.toString("latin1", 0, headBytesMax))?.[0] ?? ""
  while (!head().endsWith("\n") && first.length < headBytesMax) {
    const next = await iterator.next()
    if (next.done === true) break
    first = Buffer.concat([first, next.value])
  }
  async function* whole(): AsyncGenerator<Buffer, void, void> {
    yield first
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return { head: head(), chunks: whole() }
}

/** `[`, or a `{` whose line ends where a value or a member is to follow. A byte order mark may stand before it. */
const valuesStart = /^(?:\u00EF\u00BB\u00BF)?\s*(?:\[|\{(?:.*[{[,])?\s*\n$)/

function isOfValues(head: string): boolean {
  return valuesStart.test(head)
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

/** Splits chunks of bytes into lines. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<InputLine, void, void> {
  let number = 1
  let kept: Buffer[] = []
  let keptBytes = 0
  const keep = (part: Buffer): void => {
    keptBytes += part.length
    if (keptBytes > inputBytesMax) kept = []
    else kept.push(part)
  }
  const finish = (): InputLine | undefined => {
    const line = inputLine(number, keptBytes, kept, number + 1)
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
