/**
 * Which two characters follow each other in the links of a post: bits that say of most texts that no link holds them,
 * before the links are made strings.
 */

import { foldedUnit, needsWholeFold } from "../text/fold.ts"

const bitsCount = 2048

/** The signs of one post after the other. */
export class LinkSigns {
  readonly #bits = new Int32Array(bitsCount / 32)

  /** Takes units of links, with others between them at will. Returns false, and knows nothing, if one is not folded by itself. */
  read(units: Uint16Array, begin: number, end: number): boolean {
    const bits = this.#bits
    bits.fill(0)
    let before = 0
    for (let at = begin; at < end; at++) {
      const unit = units[at] ?? 0
      const folded = unit < 0x80 ? unit : foldedUnit(unit)
      if (folded === needsWholeFold) return false
      // Small letters; other characters become others too, but the same here as in a text that is searched for.
      const next = folded | 0x20
      const bit = bitOf(before, next)
      bits[bit >>> 5] = (bits[bit >>> 5] ?? 0) | (1 << bit)
      before = next
    }
    return true
  }

  /** False only if no link holds the text, which is folded. */
  mayHold(text: string): boolean {
    for (let at = 1; at < text.length; at++) {
      const bit = bitOf(text.charCodeAt(at - 1) | 0x20, text.charCodeAt(at) | 0x20)
      if (((this.#bits[bit >>> 5] ?? 0) & (1 << bit)) === 0) return false
    }
    return true
  }
}

/** The bit of two characters. */
function bitOf(first: number, second: number): number {
  return ((first << 5) ^ second) & (bitsCount - 1)
}
