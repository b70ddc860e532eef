/**
 * Sends lines of posts to a server in chunks until all are durable there.
 *
 *     lines ─► posts ─► chunk ─► POST ─► response: counted, bad posts reported by the number of their line
 *                          ▲      │
 *                          └ wait ┘ connection lost, 429, 503: the same chunk again
 *
 * Chunks are sent one after the other, so that posts keep their order; the next one is made meanwhile.
 *
 * A line is nearly always a post; a page is many (`post-formats.ts`).
 *
 * The server stores each post once, so a chunk whose response was lost can be sent again: its posts are duplicates.
 */
import { ApiError, withRetries, type Client, type Operations } from "@sluice/client"
import { messageOf } from "../process/failure.ts"
import type { InputLine } from "./input-line.ts"
import { postsOfLine, type LinePost, type PostFormat } from "./post-formats.ts"

/** Counts of posts, and of lines without one. Blank lines are not counted. */
export interface Totals {
  accepted: number
  duplicates: number
  /** Posts that the server rejects, and lines that cannot be parsed. */
  rejected: number
  /** Lines without a post: empty pages, and messages of a stream. */
  skipped: number
  lines: number
  /** Matches that were not delivered, as reported by the server. */
  undelivered: number
}

type IngestedBody = Operations["posts"]["POST"]["response"]

/** Receives the progress of an import. */
export interface ImportListener {
  /** Called for rejected posts: at least the first hundred of each chunk. */
  rejected(post: RejectedPost): void
  /** Called after each chunk. */
  progressed(totals: Totals): void
  retrying(delayMs: number, reason: string): void
}

/** The position of a rejected post, and the reason. */
export interface RejectedPost {
  readonly line: number
  /** Number of the post in its line, from 1, if the line has several. */
  readonly post?: number
  readonly title: string
  readonly detail: string
}

/** The result. `stopped`: everything before `fromLine` is durable, the rest is unknown. */
export type Imported =
  | { readonly kind: "done"; readonly totals: Totals }
  | { readonly kind: "stopped"; readonly totals: Totals; readonly fromLine: number; readonly error: unknown }

const chunkPostsMax = 2_000
const chunkBytesMax = 4 * 1024 * 1024

/**
 * Longest wait of a line for others before it is sent, since a pipe may be live. Ours: a quarter of the 200 ms within
 * which its matches should be delivered.
 */
const chunkMsMax = 50

/** The first line, the format of the lines, and what to do with the posts. */
export interface ImportOptions {
  /** The first line to send, from 1. */
  readonly fromLine: number
  readonly format: PostFormat
  /** Lines may arrive slowly: they do not wait for a full chunk. */
  readonly isLive: boolean
  /** `false` stores and matches the posts without delivering the matches. */
  readonly deliver: boolean
}

/** Imports the lines until their end, or until `signal` is aborted. */
export async function importPosts(
  client: Client,
  lines: AsyncIterable<InputLine>,
  options: ImportOptions,
  listener: ImportListener,
  signal: AbortSignal,
): Promise<Imported> {
  const totals: Totals = { accepted: 0, duplicates: 0, rejected: 0, skipped: 0, lines: 0, undelivered: 0 }
  let nextLine = options.fromLine
  let hasResponded = false

  const send = async (posts: Chunk["posts"]): Promise<IngestedBody> => {
    const newline = Buffer.from("\n")
    const body = Buffer.concat(posts.flatMap(({ bytes }) => [bytes, newline]))
    const query = options.deliver ? {} : { deliver: false }
    const response = await withRetries(() => client.request("POST", "posts", { query, body, signal }), {
      signal,
      // A server that never responded and cannot be reached is most likely not running, or not there.
      mayRetry: (error) => error instanceof ApiError && error.isTransient && (hasResponded || !error.isUnreachable),
      onRetry: (delayMs, error) => listener.retrying(delayMs, messageOf(error)),
    })
    hasResponded = true
    return response
  }

  try {
    const chunks = chunksOf(lines, options)
    // Lines that arrive slowly are not held back for a chunk that was made earlier.
    for await (const chunk of options.isLive ? chunks : oneAhead(chunks)) {
      signal.throwIfAborted()
      for (const one of chunk.refused) listener.rejected(one)
      if (chunk.posts.length > 0) {
        const response = await send(chunk.posts)
        for (const { line, title, detail } of response.rejected) {
          listener.rejected({ ...(chunk.posts[line - 1]?.place ?? { line: 0 }), title, detail })
        }
        totals.accepted += response.accepted
        totals.duplicates += response.duplicates
        totals.rejected += response.rejected_count
        totals.undelivered += response.undelivered ?? 0
      }
      totals.rejected += chunk.refused.length
      totals.skipped += chunk.skipped
      totals.lines += chunk.lines
      nextLine = chunk.nextLine
      listener.progressed(totals)
    }
    return { kind: "done", totals }
  } catch (error) {
    return { kind: "stopped", totals, fromLine: nextLine, error }
  }
}

type Place = Pick<RejectedPost, "line" | "post">

/** Posts to send together, with the outcome of the other lines. */
interface Chunk {
  readonly posts: readonly { readonly place: Place; readonly bytes: Buffer }[]
  readonly refused: readonly RejectedPost[]
  readonly skipped: number
  /** Number of lines that end in this chunk. */
  readonly lines: number
  /** The line to continue from once the chunk is stored. */
  readonly nextLine: number
}

/** The values, each made while the one before it is used. */
async function* oneAhead<Value>(values: AsyncGenerator<Value, void, void>): AsyncGenerator<Value, void, void> {
  try {
    for (let next = values.next(); ;) {
      const made = await next
      if (made.done === true) return
      next = values.next()
      // It is awaited once the value before it is used, and may reject earlier.
      next.catch(() => undefined)
      yield made.value
    }
  } finally {
    // Not awaited: it waits for the next value, which may never come.
    values.return().catch(() => undefined)
  }
}

/** Groups posts into chunks, bounded in number, bytes and, for a live source, time. */
async function* chunksOf(
  lines: AsyncIterable<InputLine>,
  { fromLine, format, isLive }: ImportOptions,
): AsyncGenerator<Chunk, void, void> {
  const iterator = lines[Symbol.asyncIterator]()
  let filling = new FillingChunk()
  let wait: Wait | undefined
  const take = (): Chunk => {
    const chunk = filling
    filling = new FillingChunk()
    wait?.end()
    wait = undefined
    return chunk
  }
  try {
    for (let next = iterator.next(); ;) {
      const arrived = await (wait === undefined ? next : Promise.race([next, wait.over]))
      if (arrived === undefined) {
        // It is awaited again after the chunk is sent, and may reject earlier.
        next.catch(() => undefined)
        yield take()
        continue
      }
      if (arrived.done === true) break
      const line = arrived.value
      if (line.number >= fromLine) {
        let post = 0
        for (const { value, isLast } of withLast(postsOfLine(line, format))) {
          post += 1
          filling.add(line, isLast && post === 1 ? { line: line.number } : { line: line.number, post }, value, isLast)
          if (filling.isFull) yield take()
        }
        if (isLive && !filling.isEmpty) wait ??= startWait(chunkMsMax)
      }
      next = iterator.next()
    }
    if (!filling.isEmpty) yield take()
  } finally {
    wait?.end()
    // Not awaited: a pipe may never send another line. The caller, which opened the file, closes it.
    iterator.return?.().catch(() => undefined)
  }
}

class FillingChunk implements Chunk {
  readonly posts: { place: Place; bytes: Buffer }[] = []
  readonly refused: RejectedPost[] = []
  skipped = 0
  lines = 0
  nextLine = 0
  #byteCount = 0
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  get isFull(): boolean {
    return this.#count >= chunkPostsMax || this.#byteCount >= chunkBytesMax
  }

  add({ number, next }: InputLine, place: Place, post: LinePost, isLast: boolean): void {
    this.#count += 1
    if (post.kind === "post") {
      this.posts.push({ place, bytes: post.bytes })
      this.#byteCount += post.bytes.length
    } else if (post.kind === "refused") {
      this.refused.push({ ...place, title: post.title, detail: post.detail })
    } else {
      this.skipped += 1
    }
    if (isLast) this.lines += 1
    // A line that is not sent whole is sent again.
    this.nextLine = isLast ? next : number
  }
}

/** The values, each with a flag for the last one. */
function* withLast<Value>(values: Iterable<Value>): Generator<{ readonly value: Value; readonly isLast: boolean }> {
  let held: { readonly value: Value } | undefined
  for (const value of values) {
    if (held !== undefined) yield { ...held, isLast: false }
    held = { value }
  }
  if (held !== undefined) yield { ...held, isLast: true }
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
