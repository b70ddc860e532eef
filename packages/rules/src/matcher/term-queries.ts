/**
 * Texts that are looked up together: packed two characters in an integer, as records of terms have them, and hashed.
 *
 * The texts of a walked post are queries already (`walk/term-texts.ts`).
 */

import { mixed } from "../text/hash-step.ts"
import { codeAt } from "../text/code-at.ts"
import { longer } from "./flat-ints.ts"
import { fieldNumber, lengthShift } from "./term-layout.ts"

/** Queries by number, from 1 on. */
export interface Queries {
  /** Number of queries, which is the last of them. */
  readonly queriesCount: number
  readonly hashes: Int32Array
  /** Field and length of each text, as in the record of a term. */
  readonly infos: Int32Array
  /** The beginning of each text in `packed`. */
  readonly begins: Int32Array
  readonly packed: Int32Array
}

const pairField = fieldNumber("pair")

/** A pair's text is the two terms of its words. */
const pairInfo = (4 << lengthShift) | pairField

/** The hash of a pair of terms. */
export function pairHash(first: number, second: number): number {
  return mixed(mixed(pairField, first), second)
}

/** Queries that are added one by one. */
export class TermQueries implements Queries {
  packed = new Int32Array(256)
  hashes = new Int32Array(64)
  infos = new Int32Array(64)
  begins = new Int32Array(64)
  queriesCount = 0
  /** Number of integers of `packed` in use. */
  #end = 0

  clear(): void {
    this.queriesCount = this.#end = 0
  }

  /** Adds a text. Returns the number of its query. */
  add(field: number, text: string): number {
    const { length } = text
    const begin = this.#end
    if (begin + length >= this.packed.length) this.packed = longer(this.packed, begin + length)
    const { packed } = this
    const last = length - 1
    let hash = field
    let to = begin
    let index = 0
    for (; index < last; index += 2) {
      const pair = codeAt(text, index) | (codeAt(text, index + 1) << 16)
      packed[to++] = pair
      hash = mixed(hash, pair)
    }
    if (index === last) {
      const single = codeAt(text, index)
      packed[to++] = single
      hash = mixed(hash, single)
    }
    return this.#add(hash, (length << lengthShift) | field, to)
  }

  /** Adds a pair of terms with its hash. Returns the number of its query. */
  addPair(first: number, second: number, hash: number): number {
    const begin = this.#end
    if (begin + 2 >= this.packed.length) this.packed = longer(this.packed)
    this.packed[begin] = first
    this.packed[begin + 1] = second
    return this.#add(hash, pairInfo, begin + 2)
  }

  #add(hash: number, info: number, end: number): number {
    const query = ++this.queriesCount
    if (query === this.hashes.length) {
      this.hashes = longer(this.hashes)
      this.infos = longer(this.infos)
      this.begins = longer(this.begins)
    }
    this.hashes[query] = hash
    this.infos[query] = info
    this.begins[query] = this.#end
    this.#end = end
    return query
  }
}
