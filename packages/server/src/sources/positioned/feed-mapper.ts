/** The mapper of a feed's items, as its settings say. */
import { envelopeMapper, type ItemMapper } from "../mapping/item-mapper.ts"
import { compileMapping, type MappingBounds } from "../mapping/mapping-program.ts"
import { threadedMapper } from "../mapping/threaded-mapper.ts"

/** Most bytes of an item that a mapping reads: it may be large, and the post that is made of it small. Ours. */
const mappedItemBytesMax = 1_048_576

/** Most bytes of an item of a feed. */
export function itemBytesMax(mapping: string | undefined, postBytesMax: number): number {
  return mapping === undefined ? postBytesMax : Math.max(mappedItemBytesMax, postBytesMax)
}

/**
 * Checks that the expression of a source can be compiled. Throws an `Error` that continues "The source NAME", with the place
 * of what is wrong.
 */
export async function checkMapping(mapping: string | undefined): Promise<void> {
  if (mapping === undefined) return
  try {
    await compileMapping(mapping, { itemBytesMax: mappedItemBytesMax, lineBytesMax: mappedItemBytesMax })
  } catch (cause) {
    throw new Error(`has a mapping that cannot be used: ${(cause as Error).message}.`, { cause })
  }
}

/** The mapper of a source, with an expression that `checkMapping` has accepted: its thread starts with the first items. */
export function feedMapper(mapping: string | undefined, postBytesMax: number): ItemMapper {
  if (mapping === undefined) return envelopeMapper(postBytesMax)
  const bounds: MappingBounds = { itemBytesMax: itemBytesMax(mapping, postBytesMax), lineBytesMax: postBytesMax }
  return threadedMapper(mapping, bounds)
}
