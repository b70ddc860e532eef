/**
 * The view of an envelope on the tape of the walk: a node is a number of the tape. Node 0 is the absent one: on the
 * tape it is the envelope itself, which is no member.
 */

import { names } from "../post/member-names.ts"
import type { PostView } from "../post/post-view.ts"
import { entitiesInText, type TextEntities } from "../text/text-entities.ts"
import type { JsonTape } from "./json-tape.ts"
import { counted, jsonKind } from "./walk-layout.ts"
import { countsOf } from "./walk-module.ts"

const decoder = new TextDecoder(undefined, { ignoreBOM: true })
const noEntities: TextEntities = { hashtags: [], mentions: [], cashtags: [], links: [] }

/** The values of one line after the other. */
export class TapeView implements PostView<number> {
  readonly tape: JsonTape
  readonly absent = 0
  readonly #counts: Int32Array
  #data = 0
  #includes = 0

  constructor(tape: JsonTape) {
    this.tape = tape
    this.#counts = countsOf(tape.module)
  }

  /** Shows the line that the tape has read. */
  show(): void {
    const { tape } = this
    this.#counts[counted.isUncertain] = 0
    const data = tape.root(names.data)
    const includes = tape.root(names.includes)
    this.#data = tape.kind(data) === jsonKind.object ? data : 0
    this.#includes = tape.kind(includes) === jsonKind.object ? includes : 0
  }

  get data(): number {
    return this.#data
  }

  get includes(): number {
    return this.#includes
  }

  /** False once something was found that this view does not decide: an id with escapes, for example. */
  get isCertain(): boolean {
    return this.#counts[counted.isUncertain] === 0
  }

  /** Leaves the post to `PostFacts`. */
  markUncertain(): void {
    this.#counts[counted.isUncertain] = 1
  }

  isPresent(node: number): boolean {
    return node !== 0
  }

  member(node: number, name: number): number {
    return this.tape.member(node, name)
  }

  object(node: number, name: number): number {
    return this.#ofKind(node, name, jsonKind.object)
  }

  array(node: number, name: number): number {
    return this.#ofKind(node, name, jsonKind.array)
  }

  string(node: number, name: number): number {
    const found = this.tape.member(node, name)
    return found !== 0 && this.tape.isString(found) ? found : 0
  }

  filled(node: number, name: number): number {
    const found = this.string(node, name)
    return found !== 0 && this.tape.end(found) > this.tape.begin(found) ? found : 0
  }

  /** Likewise a string that is not empty. The bytes of one that is not ASCII, or has escapes, decide nothing. */
  id(node: number, name: number): number {
    const found = this.filled(node, name)
    if (found !== 0 && this.tape.kind(found) !== jsonKind.plain) this.markUncertain()
    return found
  }

  included(list: number, id: number): number {
    return id === 0 ? 0 : this.tape.module.included(this.#includes, list, id)
  }

  itemsBegin(list: number): number {
    return list + 1
  }

  itemsEnd(list: number): number {
    return this.tape.itemsEnd(list)
  }

  itemAfter(at: number): number {
    return this.tape.next(at)
  }

  itemAt(_list: number, at: number): number {
    return at
  }

  isString(node: number): boolean {
    return node !== 0 && this.tape.isString(node)
  }

  isTrue(node: number): boolean {
    return node !== 0 && this.tape.kind(node) === jsonKind.true
  }

  number(node: number): number | undefined {
    return node !== 0 && this.tape.kind(node) === jsonKind.number ? Number(this.tape.ascii(node)) : undefined
  }

  text(node: number): string {
    const { tape } = this
    if (!this.isString(node)) return ""
    if (tape.kind(node) === jsonKind.plain && this.length(node) <= shortMax) return tape.ascii(node)
    const text = decoder.decode(tape.bytes.subarray(tape.begin(node), tape.end(node)))
    return tape.kind(node) >= jsonKind.escaped ? (JSON.parse(`"${text}"`) as string) : text
  }

  isText(node: number, text: string): boolean {
    if (node === 0) return false
    if (this.tape.kind(node) === jsonKind.unusual) this.markUncertain()
    return this.tape.isText(node, text)
  }

  areSame(node: number, other: number): boolean {
    const { tape } = this
    if (tape.kind(node) !== jsonKind.plain || tape.kind(other) !== jsonKind.plain) this.markUncertain()
    return tape.areSame(node, other)
  }

  /**
   * The byte, which is no character of ASCII where an escape begins. One that stands for a character of ASCII is
   * unusual.
   */
  asciiAt(node: number, index: number): number {
    if (node === 0) return 0
    if (this.tape.kind(node) === jsonKind.unusual) this.markUncertain()
    return this.tape.bytes[this.tape.begin(node) + index] ?? 0
  }

  /** Bytes. */
  length(node: number): number {
    return node === 0 ? 0 : this.tape.end(node) - this.tape.begin(node)
  }

  entitiesIn(node: number, length: number): TextEntities {
    if (!this.#mayHoldEntities(node, length)) return noEntities
    const text = this.text(node)
    return entitiesInText(length < this.length(node) ? text.slice(0, length) : text)
  }

  /** True if the text has a sign of a mark, or a dot before what may be a top-level domain. Most texts have neither. */
  #mayHoldEntities(node: number, length: number): boolean {
    const { tape } = this
    if (length === 0) return false
    if (tape.kind(node) === jsonKind.unusual) return true
    const begin = tape.begin(node)
    for (let at = begin; at < begin + length; at++) {
      const byte = tape.bytes[at] ?? 0
      if (byte === hash || byte === atSign || byte === dollar || byte === fullWidthLead) return true
      if (byte === dot && mayBeginDomain(tape.bytes[at + 1] ?? 0)) return true
    }
    return false
  }

  #ofKind(node: number, name: number, kind: number): number {
    const found = this.tape.member(node, name)
    return found !== 0 && this.tape.kind(found) === kind ? found : 0
  }
}

/** Up to so many bytes are put together one by one: a decoder takes longer. */
const shortMax = 24

const hash = 0x23
const dollar = 0x24
const dot = 0x2e
const atSign = 0x40
/** The first byte of `＃` and `＠`, and of others. */
const fullWidthLead = 0xef

function mayBeginDomain(byte: number): boolean {
  const letter = byte | 0x20
  return byte >= 0x80 || (letter >= 0x61 && letter <= 0x7a) || (byte >= 0x30 && byte <= 0x39)
}
