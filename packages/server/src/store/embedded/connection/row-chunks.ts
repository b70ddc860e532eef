/**
 * Rows read in chunks that are bounded by the bytes of their texts.
 *
 * A count of rows bounds nothing when one row may hold a post of a megabyte and the next one two hundred bytes. So
 * texts are read row by row up to a number of bytes, and the next chunk is read in another turn.
 */
import type { Reader } from "../../readers.ts"
import type { ReadTurns } from "./read-turns.ts"

/** Most bytes of texts that one turn of the event loop reads; the last row may go over it. Ours: about a millisecond. */
export const chunkBytesMax = 1_048_576

/** Most rows that one turn of the event loop reads, large or small. Ours: about a millisecond. */
export const chunkRowsMax = 500

/** Rows in the order of the read. */
interface BoundedRows<Row> {
  readonly rows: readonly Row[]
  /** Whether the rows end at the bytes. Then there may be more. */
  readonly isCut: boolean
}

/** The rows until their bytes come to `bytesMax`. The last may go over it, so that there is always one. */
export function upToBytes<Row>(all: Iterable<Row>, bytesOf: (row: Row) => number, bytesMax: number): BoundedRows<Row> {
  const rows: Row[] = []
  let bytes = 0
  for (const row of all) {
    rows.push(row)
    bytes += bytesOf(row)
    if (bytes >= bytesMax) return { rows, isCut: true }
  }
  return { rows, isCut: false }
}

/** Bytes of a text as SQLite holds it; 0 for a damaged value that is not text. */
export function textBytes(text: unknown): number {
  return typeof text === "string" ? Buffer.byteLength(text) : 0
}

/**
 * The rows of a list one by one, a chunk read in each turn. `read` returns, in the order of the list, at most `limit`
 * of those after `last`. Each chunk has a statement of its own, so rows that are written meanwhile may be among them.
 */
export async function* inChunks<Row>(
  { turns, reader }: { readonly turns: ReadTurns; readonly reader: Reader },
  read: (last: Row | undefined, limit: number) => Iterable<Row>,
  bytesOf: (row: Row) => number,
): AsyncGenerator<Row, void, void> {
  let last: Row | undefined
  await turns.begin(reader)
  for (;;) {
    const { rows, isCut } = upToBytes(read(last, chunkRowsMax), bytesOf, chunkBytesMax)
    yield* rows
    last = rows.at(-1)
    if (last === undefined || (!isCut && rows.length < chunkRowsMax)) return
    await turns.next(reader)
  }
}
