/**
 * Items that the reader of a source could not read or map, in front of the converter of all others.
 *
 *     {"error":{"title":"Line Too Long","detail":"…"},"record":"…","cursor":"42"}   becomes a dead letter with that record
 *     {"skipped":true,"cursor":"42"}                                                moves the position, and is no post
 */
import type { Conversion, Converted, Converter } from "./converter.ts"

/** An item of one of the two forms; members that are absent have no value. */
interface FailedItem {
  readonly error?: { readonly title: string; readonly detail: string }
  readonly record?: string
  readonly cursor?: string
}

/** The converter of items that may have failed before; `converter` converts the others. */
export function withFailedItems(converter: Converter): Converter {
  return {
    begin(line) {
      // The lines are this server's own: `source-item.ts` lets no item of a feed begin so.
      if (!line.startsWith('{"error":') && !line.startsWith('{"skipped":')) return converter.begin(line)
      const item = parsed(line)
      return item === undefined ? converter.begin(line) : conversionOf(item)
    },
    idOf: (name) => converter.idOf(name),
  }
}

function parsed(line: string): FailedItem | undefined {
  try {
    return JSON.parse(line) as FailedItem
  } catch {
    return undefined
  }
}

function conversionOf({ error, record, cursor }: FailedItem): Conversion {
  const converted: Converted =
    error === undefined
      ? { kind: "ignored", reason: "skipped by the mapping" }
      : { kind: "rejected", title: error.title, detail: error.detail, record }
  return { position: cursor, posts: [], users: [], finish: () => converted }
}
