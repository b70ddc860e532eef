/**
 * Lines of posts into a server, by chunks, until all of them are durable there.
 *
 *     lines ─► chunk ─► POST ─► answer: counted, bad lines told by their number in the file
 *                 ▲      │
 *                 └ wait ┘ connection lost, 429, 503: the same chunk again
 *
 * The server takes each post once, whatever is sent again, so a chunk whose answer was lost costs nothing but
 * time: its posts come back as duplicates.
 */
import { ApiFault, Unreachable, type ApiClient } from "./api-client.ts"
import { sleep } from "./clock.ts"
import { messageOf } from "./failure.ts"
import { lineBytesMax, type InputLine } from "./input-lines.ts"
import { importAttemptsMax, importDelayMs } from "./retry-delay.ts"

/** What became of the lines: the first three add up to the last. Blank lines are not counted. */
export interface Totals {
  accepted: number
  duplicates: number
  rejected: number
  lines: number
}

/** A line that the server does not take, by its number in the file. */
interface RejectedLine {
  readonly line: number
  readonly title: string
  readonly detail: string
}

/** Who hears of the pouring. */
export interface PourListener {
  rejected(line: RejectedLine): void
  /** Called after each chunk; `nextLine` is where a later run would go on. */
  progressed(totals: Totals, nextLine: number): void
  retrying(delayMs: number, reason: string): void
}

/** How far it went. `stopped`: everything before `fromLine` is durable, nothing is known of the rest. */
export type Poured =
  | { readonly kind: "done"; readonly totals: Totals }
  | { readonly kind: "stopped"; readonly totals: Totals; readonly fromLine: number; readonly error: unknown }

/** Answer of `POST /sluice/v1/posts`; `rejected` holds the first hundred, numbered within the body. */
interface IngestedBody {
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: readonly RejectedLine[]
  readonly rejected_count: number
}

type KeptLine = Extract<InputLine, { kind: "line" }>

const chunkLinesMax = 2_000
const chunkBytesMax = 4 * 1024 * 1024

/** Pours the lines from `fromLine` (1 is the first) on, until their end or until `signal`. */
export async function pour(
  client: ApiClient,
  lines: AsyncIterable<InputLine>,
  fromLine: number,
  listener: PourListener,
  signal: AbortSignal,
): Promise<Poured> {
  const totals: Totals = { accepted: 0, duplicates: 0, rejected: 0, lines: 0 }
  let nextLine = fromLine
  let hasAnswered = false

  const send = async (chunk: readonly KeptLine[]): Promise<IngestedBody> => {
    for (let failures = 1; ; failures++) {
      try {
        const answer = await client.request<IngestedBody>("POST", "/sluice/v1/posts", {
          body: bodyOf(chunk),
          signal,
        })
        hasAnswered = true
        return answer
      } catch (error) {
        if (signal.aborted || !mayPass(error, hasAnswered) || failures >= importAttemptsMax) throw error
        const delayMs = importDelayMs(failures, error instanceof ApiFault ? error.retryAfterMs : undefined)
        listener.retrying(delayMs, messageOf(error))
        await sleep(delayMs, signal)
        signal.throwIfAborted()
      }
    }
  }

  /** The server names the first hundred bad lines of a body, so what lies behind them is asked about again. */
  const reportRejected = async (chunk: readonly KeptLine[], answer: IngestedBody): Promise<void> => {
    let asked = chunk
    let told = answer
    for (;;) {
      for (const { line, title, detail } of told.rejected) {
        listener.rejected({ line: asked[line - 1]?.number ?? 0, title, detail })
      }
      const last = told.rejected.at(-1)?.line ?? 0
      if (told.rejected_count <= told.rejected.length || last === 0) return
      asked = asked.slice(last)
      told = await send(asked)
    }
  }

  try {
    for await (const chunk of chunksOf(lines, fromLine)) {
      signal.throwIfAborted()
      for (const { number, byteCount } of chunk.tooLong) {
        const detail = `The line has ${String(byteCount)} bytes, and may have at most ${String(lineBytesMax)}.`
        listener.rejected({ line: number, title: "Line Too Long", detail })
      }
      if (chunk.lines.length > 0) {
        const answer = await send(chunk.lines)
        await reportRejected(chunk.lines, answer)
        totals.accepted += answer.accepted
        totals.duplicates += answer.duplicates
        totals.rejected += answer.rejected_count
      }
      totals.rejected += chunk.tooLong.length
      totals.lines += chunk.lines.length + chunk.tooLong.length
      nextLine = chunk.lastNumber + 1
      listener.progressed(totals, nextLine)
    }
    return { kind: "done", totals }
  } catch (error) {
    return { kind: "stopped", totals, fromLine: nextLine, error }
  }
}

/** A server that has never answered and refuses is most likely not there; anything else may pass. */
function mayPass(error: unknown, hasAnswered: boolean): boolean {
  if (error instanceof Unreachable) return hasAnswered || !error.isRefused
  return error instanceof ApiFault && [429, 502, 503, 504].includes(error.status)
}

function bodyOf(chunk: readonly KeptLine[]): {
  type: "application/x-ndjson"
  content: Uint8Array<ArrayBuffer>
} {
  const newline = Buffer.from("\n")
  return {
    type: "application/x-ndjson",
    content: Buffer.concat(chunk.flatMap(({ bytes }) => [bytes, newline])),
  }
}

interface Chunk {
  readonly lines: readonly KeptLine[]
  readonly tooLong: readonly Extract<InputLine, { kind: "too-long" }>[]
  readonly lastNumber: number
}

async function* chunksOf(
  lines: AsyncIterable<InputLine>,
  fromLine: number,
): AsyncGenerator<Chunk, void, void> {
  let kept: KeptLine[] = []
  let tooLong: Chunk["tooLong"][number][] = []
  let byteCount = 0
  let lastNumber = 0
  for await (const line of lines) {
    if (line.number < fromLine) continue
    if (line.kind === "too-long") tooLong.push(line)
    else {
      kept.push(line)
      byteCount += line.bytes.length
    }
    lastNumber = line.number
    if (kept.length + tooLong.length < chunkLinesMax && byteCount < chunkBytesMax) continue
    yield { lines: kept, tooLong, lastNumber }
    kept = []
    tooLong = []
    byteCount = 0
  }
  if (kept.length + tooLong.length > 0) yield { lines: kept, tooLong, lastNumber }
}
