/**
 * The record of a match as it goes down a stream connection: ASCII, ends with CRLF, and stands in a chunk of its own.
 *
 * The store shows the same entry to all who read it within a while, so what was rendered for one connection serves
 * the others that show the same fields. The bytes of a chunk are made here and not by the answer, which would make
 * them anew, in four writes, for each.
 */
import type { FieldSelection } from "../model/field-selection.ts"
import type { MatchEntry } from "../model/match.ts"
import { asciiJson, renderDelivery } from "../model/render-post.ts"

/** What an answer in chunks has around what is written to it. Source: RFC 9112, 7.1. */
export function chunkOf(text: string): Buffer {
  return Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`, "latin1")
}

/** What `chunkOf` was made from. */
export function contentOf(chunk: Buffer): Buffer {
  return chunk.subarray(chunk.indexOf("\r\n") + 2, -2)
}

interface Rendered {
  readonly selection: FieldSelection
  readonly chunk: Buffer
}

const rendered = new WeakMap<MatchEntry, Rendered>()

/** The chunk of an entry's record; `undefined` when the entry is damaged. */
export function recordChunk(entry: MatchEntry, selection: FieldSelection): Buffer | undefined {
  const known = rendered.get(entry)
  if (known?.selection === selection) return known.chunk
  const { postJson, rulesJson } = entry
  if (postJson === undefined) return undefined
  const chunk = chunkOf(`${asciiJson(renderDelivery({ postJson, rulesJson }, selection))}\r\n`)
  rendered.set(entry, { selection, chunk })
  return chunk
}
