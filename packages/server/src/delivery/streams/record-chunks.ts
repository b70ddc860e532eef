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

/** The member of an entry that holds its chunk. A map of entries would cost as much as the writes: Node's collector is slow with them. */
const rendered = Symbol("rendered")

/** An entry that may have been rendered. Connections that share the entry share its chunk. */
type RenderedEntry = StreamRecord & { [rendered]?: Chunk & { readonly format: LineFormat } }

/**
 * The chunk of the record of `entries[at]`; `undefined` when the entry is damaged. Renders those after it too, of at
 * least `bytes` together, where they are not yet. The store returns the same entry to all who read it within a short
 * time, so what was rendered for one connection serves the others of the same format.
 */
export function recordChunk(
  entries: readonly RenderedEntry[],
  at: number,
  format: LineFormat,
  bytes: number,
): Chunk | undefined {
  const entry = entries[at]
  if (entry?.postJson === undefined) return undefined
  if (entry[rendered]?.format !== format) renderFrom(entries, at, format, bytes)
  return entry[rendered]
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
  for (const { entry, start, end } of taken) entry[rendered] = { format, buffer, start, end }
}

/** Both as one chunk, where `next` follows `chunk` in memory. */
export function joined(chunk: Chunk, next: Chunk): Chunk | undefined {
  const isBeside = chunk.buffer === next.buffer && chunk.end === next.start
  return isBeside ? { buffer: chunk.buffer, start: chunk.start, end: next.end } : undefined
}

/** The text of a chunk that holds this one, which is ASCII. */
export function chunkText(content: string): string {
  return `${content.length.toString(16)}\r\n${content}\r\n`
}

/** The bytes that one chunk holds. */
export function contentOf({ buffer, start, end }: Chunk): Buffer {
  return buffer.subarray(buffer.indexOf("\r\n", start) + 2, end - 2)
}
