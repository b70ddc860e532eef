/**
 * The records of a stream as chunks of a chunked response, rendered once for all connections of a format.
 *
 *     entries of a batch ─► │ 1a4 … │ 19f … │ 1b2 … │  one buffer, a chunk for each record
 *                             └── a connection writes those that it has room for at once ──┘
 *
 * A chunk is made here and not by the response, which would make it again, in four writes, for each connection. Chunks
 * that are rendered together lie side by side in memory, so that a thousand connections cost a thousand writes and not
 * one for each record. Only neighbours in a log share a buffer: what is kept of one app keeps nothing of another.
 *
 * Source: RFC 9112, 7.1.
 */
import { asciiText } from "../../model/render-post.ts"
import type { LineFormat, StreamRecord } from "./line-format.ts"

/** A part of a buffer: a chunk of a response, or several side by side. */
export interface Chunk {
  readonly buffer: Buffer
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** Records side by side. */
interface RecordRun {
  readonly chunks: Chunk
  readonly count: number
}

/** The member of an entry that holds its chunk. A map of entries would cost as much as the writes: Node's collector is slow with them. */
const rendered = Symbol("rendered")

/** A chunk, with its number in its buffer. */
type RenderedChunk = Chunk & { readonly format: LineFormat; readonly place: number }

/** An entry that may have been rendered. Connections that share the entry share its chunk. */
type RenderedEntry = StreamRecord & { [rendered]?: RenderedChunk }

/**
 * Finds the record of `entries[at]` and its neighbours in memory, as far as they begin within `bytes`. Returns `undefined`
 * when the entry is damaged or deleted. Renders what is not rendered yet. The store returns the same entry to all who read it
 * within a short time, so what was rendered for one connection serves the others of the same format.
 */
export function recordRun(
  entries: readonly RenderedEntry[],
  at: number,
  format: LineFormat,
  bytes: number,
): RecordRun | undefined {
  const entry = entries[at]
  if (entry?.postJson === undefined) return undefined
  if (entry[rendered]?.format !== format) renderFrom(entries, at, format, bytes)
  const first = entry[rendered] as RenderedChunk
  const isWithin = (to: number): boolean => {
    const chunk = entries[to]?.[rendered]
    const isBeside = chunk?.buffer === first.buffer && chunk.place - first.place === to - at
    return isBeside && (to === at || chunk.start - first.start < bytes)
  }
  // Mostly there is room for all that a commit has brought, so that a connection looks at two entries of it.
  let last = entries.length - 1
  if (!isWithin(last)) for (last = at; isWithin(last + 1);) last += 1
  const { buffer, start } = first
  return { chunks: { buffer, start, end: (entries[last]?.[rendered] ?? first).end }, count: last - at + 1 }
}

function renderFrom(entries: readonly RenderedEntry[], from: number, format: LineFormat, bytes: number): void {
  const taken: { readonly entry: RenderedEntry; readonly start: number; readonly end: number }[] = []
  let text = ""
  for (let at = from; at < entries.length && (at === from || text.length < bytes); at += 1) {
    const entry = entries[at]
    if (entry?.postJson === undefined) continue
    if (entry[rendered]?.format === format) break
    const start = text.length
    text += chunkText(`${asciiText(format.render({ ...entry, postJson: entry.postJson }))}\r\n`)
    taken.push({ entry, start, end: text.length })
  }
  const buffer = Buffer.from(text, "latin1")
  for (const [place, { entry, start, end }] of taken.entries()) entry[rendered] = { format, buffer, start, end, place }
}

/** The text of a chunk that holds this one, which is ASCII. */
export function chunkText(content: string): string {
  return `${content.length.toString(16)}\r\n${content}\r\n`
}

/** The bytes that one chunk holds. */
export function contentOf({ buffer, start, end }: Chunk): Buffer {
  return buffer.subarray(buffer.indexOf("\r\n", start) + 2, end - 2)
}
