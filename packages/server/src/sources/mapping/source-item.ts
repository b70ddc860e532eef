/**
 * Items of a feed, and the lines that they become for the converters of `conversion/mapped-item.ts` and
 * `conversion/envelope-item.ts`.
 *
 *     {"id":…,"text":…,"cursor":"42"}                           a mapped item
 *     {"envelope":"{\"data\":…}","cursor":"42"}                 an item that is an envelope already
 *     {"skipped":true,"cursor":"42"}                            an item that the mapping passes over
 *     {"error":{"title","detail"},"record":"…","cursor":"42"}   an item that is no post, with its beginning
 *
 * The last two are read by `conversion/failed-item.ts`.
 */
import { isUtf8 } from "node:buffer"
import type { RejectionTitle } from "../../conversion/records.ts"

/** An item as it was received. */
export interface SourceItem {
  /** One JSON text. Only its beginning when there is a fault. */
  readonly bytes: Uint8Array
  /** The position after it, as the protocol tells it. */
  readonly cursor?: string | undefined
  /** A mapping gives it no other position. */
  readonly keepsCursor?: boolean
  /** The name of the kind of event that it is, as the protocol tells it. */
  readonly event?: string | undefined
  /** Why it cannot be read. */
  readonly fault?: ItemFault
}

/** Why an item cannot be read. */
export interface ItemFault {
  /** One of few texts. */
  readonly title: "Invalid Text" | "Line Too Long" | "Mapping Failed" | "Mapping Too Slow" | RejectionTitle
  /** A sentence. */
  readonly detail: string
}

/** Most bytes of an item that is kept with a fault. Ours: as many as a dead letter keeps. */
export const itemBytesKept = 65_536

/** The line of an item that is an envelope. `lineBytesMax` is the most bytes of a line. */
export function envelopeLine(item: SourceItem, lineBytesMax: number): string {
  const { bytes, cursor } = item
  const fault = item.fault ?? faultOf(bytes, lineBytesMax)
  if (fault !== undefined) return faultLine({ ...item, fault }, lineBytesMax)
  const text = textOf(bytes)
  if (cursor === undefined && !reservedStart.test(text)) return text
  const line = JSON.stringify({ envelope: text, cursor })
  if (Buffer.byteLength(line) <= lineBytesMax) return line
  return faultLine({ ...item, fault: tooLong(bytes.length, lineBytesMax) }, lineBytesMax)
}

/** The beginning of lines that are this server's own. No feed may make one. */
const reservedStart = /^\s*\{"(?:error|skipped)":/

/** Why the bytes are no item, before anything reads them as JSON; undefined when they may be one. */
export function faultOf(bytes: Uint8Array, bytesMax: number): ItemFault | undefined {
  if (bytes.length > bytesMax) return tooLong(bytes.length, bytesMax)
  return isUtf8(bytes) ? undefined : { title: "Invalid Text", detail: "The item is not UTF-8." }
}

/** The fault of an item with too many bytes. */
export function tooLong(bytes: number, bytesMax: number): ItemFault {
  return { title: "Line Too Long", detail: `The item has ${bytes} bytes or more, and may have at most ${bytesMax}.` }
}

/** The line of an item with a fault. */
export function faultLine({ bytes, cursor, fault }: SourceItem, lineBytesMax: number): string {
  const { title, detail } = fault ?? { title: "Invalid JSON", detail: "" }
  const lineOf = (record: string): string => JSON.stringify({ error: { title, detail }, record, cursor })
  let record = textOf(bytes.subarray(0, itemBytesKept))
  let line = lineOf(record)
  // As JSON, a text may have six times its bytes.
  while (record !== "" && Buffer.byteLength(line) > lineBytesMax) {
    record = record.slice(0, record.length >> 1)
    line = lineOf(record)
  }
  return line
}

/** The line of an item that holds nothing for Sluice. */
export function skippedLine({ cursor }: Pick<SourceItem, "cursor">): string {
  return JSON.stringify({ skipped: true, cursor })
}

/** The bytes as text, with U+FFFD for what is not UTF-8. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")
}
