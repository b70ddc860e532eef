/**
 * One walk over the bytes of a line of JSON: it checks the whole of it and writes down where each value is.
 *
 *     {"data":{"id":"7","tags":[]}}
 *
 *     node   0 object   1 data: object   2 id: string, bytes 15 to 16   3 tags: array
 *     next   4          4                3                              4
 *
 * The values stand in the order of the text, each with the node after it and all that it holds. So the members of an
 * object are read from `node + 1` on, `next` by `next`, up to the object's own `next`.
 *
 * The walk itself is in WebAssembly (`assembly/json-walk.ts`): it takes a third of the time of the same loops in
 * JavaScript.
 *
 * An unsupported line is no fault: `JSON.parse` decides about it. The walk supports neither texts that are not JSON,
 * nor a name twice in one object, names with escapes or beyond ASCII, numbers that might be infinite, nesting deeper
 * than 64 levels, or lines of more than a MiB. No well-known sender writes any of these.
 */

import { names, namesMax } from "../post/member-names.ts"
import { jsonKind, kindMask, nameShift, nodeShift, nodeSlot, counted, unitsAfter } from "./walk-layout.ts"
import { countsOf, newWalk } from "./walk-module.ts"

/** The values of one line after the other. */
export class JsonTape {
  /** The module, which readers of the texts share. */
  readonly module = newWalk()
  readonly #walk = this.module
  readonly #bytesMax = this.#walk.lineBytesMax.value
  readonly #bytes = new Uint8Array(this.#walk.memory.buffer, this.#walk.line.value, this.#bytesMax + 1)
  readonly #nodes = new Int32Array(this.#walk.memory.buffer, this.#walk.nodes.value)
  /** For each name the member of `data`, of which most is asked. */
  readonly #dataMembers = new Int32Array(this.#walk.memory.buffer, this.#walk.dataMembers.value, namesMax)
  readonly #presentNames = new Uint8Array(this.#walk.memory.buffer, this.#walk.presentNames.value, namesMax)
  /** The post; -1 if there is none. */
  #data = -1
  /** The texts that were written. */
  readonly units = new Uint16Array(this.#walk.memory.buffer, this.#walk.units.value, this.#walk.unitsMax.value)
  readonly #counts = countsOf(this.module)
  #count = 0
  #hasNulls = false
  #hasLineBreaks = false

  /** The bytes of the line, and a 0 after them; valid until the next line. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** Number of values. */
  get count(): number {
    return this.#count
  }

  /** True if a member of an object is null. */
  get hasNulls(): boolean {
    return this.#hasNulls
  }

  /** True if there are line breaks between values. */
  get hasLineBreaks(): boolean {
    return this.#hasLineBreaks
  }

  /** Kind of the value, of `jsonKind`. */
  kind(node: number): number {
    return (this.#nodes[node << nodeShift] ?? 0) & kindMask
  }

  /** Number of the value's name; 0 if it is an item of an array. */
  name(node: number): number {
    return (this.#nodes[node << nodeShift] ?? 0) >>> nameShift
  }

  /** First byte of the value, of a string the one after the quote. */
  begin(node: number): number {
    return this.#nodes[(node << nodeShift) + nodeSlot.begin] ?? 0
  }

  /** The byte after the value, of a string its closing quote. */
  end(node: number): number {
    return this.#nodes[(node << nodeShift) + nodeSlot.end] ?? 0
  }

  /** The node after the value and all that it holds. */
  next(node: number): number {
    return this.#nodes[(node << nodeShift) + nodeSlot.next] ?? 0
  }

  /** The node after the last item of the array, of which the first is `node + 1`. For node 0 there are none. */
  itemsEnd(node: number): number {
    return node === 0 ? 0 : this.next(node)
  }

  /** True if the value is a string. */
  isString(node: number): boolean {
    return this.kind(node) >= jsonKind.plain
  }

  /** The member of the whole line that has the name; 0 if there is none. */
  root(name: number): number {
    const nodes = this.#nodes
    const end = nodes[nodeSlot.next] ?? 0
    for (let at = 1; at < end; at = nodes[(at << nodeShift) + nodeSlot.next] ?? end)
      if ((nodes[at << nodeShift] ?? 0) >>> nameShift === name) return at
    return 0
  }

  /** The member of an object within the line; 0 if there is none, or if the value is no object or 0. */
  member(node: number, name: number): number {
    if (node === this.#data) return this.#dataMembers[name] ?? 0
    // Most posts lack most members, and a call of the module takes longer than this look.
    return node === 0 || this.#presentNames[name] === 0 ? 0 : this.#walk.member(node, name)
  }

  /** True if any object has a member of this name. */
  hasName(name: number): boolean {
    return this.#presentNames[name] === 1
  }

  /** True if the string, without escapes, is this ASCII text. */
  isText(node: number, text: string): boolean {
    const begin = this.begin(node)
    if (this.end(node) - begin !== text.length) return false
    for (let index = 0; index < text.length; index++)
      if (this.#bytes[begin + index] !== text.charCodeAt(index)) return false
    return true
  }

  /** True if the two strings have the same bytes. */
  areSame(node: number, other: number): boolean {
    const begin = this.begin(node)
    const from = this.begin(other)
    const length = this.end(node) - begin
    if (this.end(other) - from !== length) return false
    for (let index = 0; index < length; index++)
      if (this.#bytes[begin + index] !== this.#bytes[from + index]) return false
    return true
  }

  /** Number of units in use: where the next text is written. */
  get unitsCount(): number {
    return this.#counts[counted.sources] ?? 0
  }

  /** Writes the text of the string of these bytes among the units, and zeros after it. Returns its end. */
  writeUnits(begin: number, end: number): number {
    const textEnd = this.#walk.writeUnits(begin, end, this.unitsCount)
    this.#counts[counted.sources] = textEnd + unitsAfter
    return textEnd
  }

  /** Likewise a text that is not of the line. */
  writeText(text: string): number {
    const from = this.unitsCount
    for (let index = 0; index < text.length; index++) this.units[from + index] = text.charCodeAt(index)
    this.units.fill(0, from + text.length, from + text.length + unitsAfter)
    this.#counts[counted.sources] = from + text.length + unitsAfter
    return from + text.length
  }

  /** Forgets the texts from the unit on. */
  releaseUnits(from: number): void {
    this.#counts[counted.sources] = from
  }

  /** The ASCII text of a plain string, or of a number. */
  ascii(node: number): string {
    let text = ""
    const end = this.end(node)
    for (let at = this.begin(node); at < end; at++) text += String.fromCharCode(this.#bytes[at] ?? 0)
    return text
  }

  /** Reads a line, which must be an object. Returns false if it is not supported. Node 0 is then unspecified. */
  read(line: Uint8Array): boolean {
    this.#count = 0
    this.#counts[counted.sources] = 0
    if (line.length > this.#bytesMax) return false
    this.#bytes.set(line)
    const found = this.#walk.walk(line.length)
    if (found < 0) return false
    this.#count = found >> 2
    this.#hasNulls = (found & 2) !== 0
    this.#hasLineBreaks = (found & 1) !== 0
    this.#data = this.root(names.data) || -1
    return true
  }
}
