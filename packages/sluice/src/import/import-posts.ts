/**
 * Lines of posts into a server, by chunks, until all of them are durable there.
 *
 *     lines ─► chunk ─► POST ─► response: counted, the first bad lines reported by their number in the file
 *                 ▲      │
 *                 └ wait ┘ connection lost, 429, 503: the same chunk again
 *
 * The server takes each post once, however often it is sent, so a chunk whose response was lost costs only time: its
 * posts come back as duplicates.
 */
import { ApiError, withRetries, type Client, type Operations } from "@sluice/client"
import { bodyBytesMax as lineBytesMax } from "@sluice/api/limits"
import { messageOf } from "../failure.ts"
import type { InputLine } from "./input-lines.ts"

/** What became of the lines: the first three add up to the last. Blank lines are not counted. */
export interface Totals {
  accepted: number
  duplicates: number
  rejected: number
  lines: number
}

type IngestedBody = Operations["ingest"]["POST"]["response"]

/** Receives the progress of an import. */
export interface ImportListener {
  /** A line that the server does not take, by its number in the file. Of each chunk at least the first hundred. */
  rejected(line: IngestedBody["rejected"][number]): void
  /** Called after each chunk. */
  progressed(totals: Totals): void
  retrying(delayMs: number, reason: string): void
}

/** How far it went. `stopped`: everything before `fromLine` is durable, nothing is known of the rest. */
export type Imported =
  | { readonly kind: "done"; readonly totals: Totals }
  | { readonly kind: "stopped"; readonly totals: Totals; readonly fromLine: number; readonly error: unknown }

type KeptLine = Extract<InputLine, { kind: "line" }>

const chunkLinesMax = 2_000
const chunkBytesMax = 4 * 1024 * 1024

/**
 * Longest that a line waits for others before it is sent: a pipe may be live. Ours: a quarter of the 200 ms within which
 * its matches are to be delivered, and long enough for a chunk of a file to become full.
 */
const chunkMsMax = 50

/** Imports the lines from `fromLine` (1 is the first) on, until their end or until `signal`. */
export async function importPosts(
  client: Client,
  lines: AsyncIterable<InputLine>,
  fromLine: number,
  listener: ImportListener,
  signal: AbortSignal,
): Promise<Imported> {
  const totals: Totals = { accepted: 0, duplicates: 0, rejected: 0, lines: 0 }
  let nextLine = fromLine
  let hasAnswered = false

  const send = async (chunk: readonly KeptLine[]): Promise<IngestedBody> => {
    const newline = Buffer.from("\n")
    const body = Buffer.concat(chunk.flatMap(({ bytes }) => [bytes, newline]))
    const response = await withRetries(() => client.request("POST", "ingest", { body, signal }), {
      signal,
      // A server that has never answered and refuses is most likely not there.
      mayRetry: (error) => error instanceof ApiError && error.isTransient && (hasAnswered || !error.isRefused),
      onRetry: (delayMs, error) => listener.retrying(delayMs, messageOf(error)),
    })
    hasAnswered = true
    return response
  }

  try {
    for await (const chunk of chunksOf(lines, fromLine)) {
      signal.throwIfAborted()
      for (const { number, byteCount } of chunk.tooLong) {
        const detail = `The line has ${String(byteCount)} bytes, and may have at most ${String(lineBytesMax)}.`
        listener.rejected({ line: number, title: "Line Too Long", detail })
      }
      if (chunk.lines.length > 0) {
        const response = await send(chunk.lines)
        for (const { line, title, detail } of response.rejected) {
          listener.rejected({ line: chunk.lines[line - 1]?.number ?? 0, title, detail })
        }
        totals.accepted += response.accepted
        totals.duplicates += response.duplicates
        totals.rejected += response.rejected_count
      }
      totals.rejected += chunk.tooLong.length
      totals.lines += chunk.lines.length + chunk.tooLong.length
      nextLine = chunk.lastNumber + 1
      listener.progressed(totals)
    }
    return { kind: "done", totals }
  } catch (error) {
    return { kind: "stopped", totals, fromLine: nextLine, error }
  }
}

interface Chunk {
  readonly lines: readonly KeptLine[]
  readonly tooLong: readonly Extract<InputLine, { kind: "too-long" }>[]
  readonly lastNumber: number
}

/** Lines by number, by bytes, and by time: those that have come are not kept waiting for others. */
async function* chunksOf(lines: AsyncIterable<InputLine>, fromLine: number): AsyncGenerator<Chunk, void, void> {
  const iterator = lines[Symbol.asyncIterator]()
  let kept: KeptLine[] = []
  let tooLong: Chunk["tooLong"][number][] = []
  let byteCount = 0
  let lastNumber = 0
  let wait: Wait | undefined
  const take = (): Chunk => {
    const chunk = { lines: kept, tooLong, lastNumber }
    kept = []
    tooLong = []
    byteCount = 0
    wait?.end()
    wait = undefined
    return chunk
  }
  try {
    for (let next = iterator.next(); ;) {
      const arrived = await (wait === undefined ? next : Promise.race([next, wait.over]))
      if (arrived === undefined) {
        // It is awaited again after the chunk is sent, and may fail before.
        next.catch(() => undefined)
        yield take()
        continue
      }
      if (arrived.done === true) break
      const line = arrived.value
      if (line.number >= fromLine) {
        if (line.kind === "too-long") tooLong.push(line)
        else {
          kept.push(line)
          byteCount += line.bytes.length
        }
        lastNumber = line.number
        if (kept.length + tooLong.length >= chunkLinesMax || byteCount >= chunkBytesMax) yield take()
        else wait ??= startWait(chunkMsMax)
      }
      next = iterator.next()
    }
    if (kept.length + tooLong.length > 0) yield take()
  } finally {
    wait?.end()
    // Not awaited: a pipe may never give another line. The caller, which opened the file, closes it.
    iterator.return?.().catch(() => undefined)
  }
}

interface Wait {
  readonly over: Promise<undefined>
  readonly end: () => void
}

function startWait(ms: number): Wait {
  const { promise: over, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, ms, undefined)
  return { over, end: () => clearTimeout(timer) }
}
