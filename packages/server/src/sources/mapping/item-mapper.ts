/** Makes lines of items: by the operator's mapping, or of items that are envelopes already. */
import { envelopeItemConverter } from "../../conversion/envelope-item.ts"
import { envelopeLine, type SourceItem } from "./source-item.ts"

/** The line of an item, and the position after it when it has one. */
export interface MappedLine {
  readonly line: string
  readonly cursor?: string | undefined
}

/** Maps items. Disposing of it ends what it works with. */
export interface ItemMapper extends AsyncDisposable {
  /** The lines of items, one for each, in order. One call at a time. Throws nothing for what items hold. */
  map(items: readonly SourceItem[]): Promise<readonly MappedLine[]>
}

/** The mapper of items that are envelopes. `lineBytesMax` is the most bytes of a line. */
export function envelopeMapper(lineBytesMax: number): ItemMapper {
  const converter = envelopeItemConverter()
  const mapped = (item: SourceItem): MappedLine => {
    const line = envelopeLine(item, lineBytesMax)
    // Only an item with a member `envelope` can name the position itself.
    const cursor = item.cursor ?? (line.includes('"envelope"') ? converter.begin(line).position : undefined)
    return { line, cursor }
  }
  return {
    map: (items) => Promise.resolve(items.map(mapped)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
