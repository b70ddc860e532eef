/** The keys of a parsed post, with their sources. */

import { fold } from "../text/fold.ts"
import { foldFor, type Mode } from "../text/mode.ts"
import type { TextEntity } from "../text/text-entities.ts"
import { keyOfWords } from "../text/words.ts"
import type { FieldSource, Key } from "./field-values.ts"
import type { KeySink } from "./key-sink.ts"
import { idOf, objectOf, textOf } from "./untyped-json.ts"

/** A list of keys that are read in the mode. */
export class KeyList implements KeySink<unknown> {
  readonly isDone = false
  readonly keys: Key[] = []
  readonly #mode: Mode

  constructor(mode: Mode) {
    this.#mode = mode
  }

  addMark(value: unknown, mark: unknown, where: FieldSource): void {
    const text = idOf(value)
    if (text === undefined) return
    const { start, end } = objectOf(mark)
    this.#addAt(foldFor(this.#mode, text), where, start, end)
  }

  addFoundMark({ value, start, end }: TextEntity, where: FieldSource): void {
    this.#addAt(foldFor(this.#mode, value), where, start, end)
  }

  addString(value: unknown, where: FieldSource): void {
    this.addText(fold(textOf(value) ?? ""), where)
  }

  addWords(name: unknown, where: FieldSource): void {
    this.addText(keyOfWords(textOf(name) ?? "", this.#mode), where)
  }

  addPair(domain: unknown, entity: unknown, where: FieldSource): void {
    this.keys.push({ key: `${textOf(domain) ?? "*"}.${textOf(entity) ?? "*"}`, where })
  }

  addText(text: string, where: FieldSource): void {
    if (text !== "") this.keys.push({ key: text, where })
  }

  #addAt(key: string, where: FieldSource, start: unknown, end: unknown): void {
    this.keys.push(isOffset(start) && isOffset(end) && end > start ? { key, where, start, end } : { key, where })
  }
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
