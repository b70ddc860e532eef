/** The keys of a parsed post, with their sources. */

import { fold } from "../text/fold.ts"
import { foldFor, type Mode } from "../text/mode.ts"
import type { TextEntity } from "../text/text-entities.ts"
import { keyOfWords } from "../text/words.ts"
import type { FieldSource, Key } from "./field-values.ts"
import type { KeySink, MarkKind } from "./key-sink.ts"
import { names } from "./member-names.ts"
import type { PostView } from "./post-view.ts"
import { arrayOf, objectOf, textOf } from "./untyped-json.ts"

/** A list of keys that are read in the mode. */
export class KeyList implements KeySink<unknown> {
  readonly keys: Key[] = []
  readonly #view: PostView<unknown>
  readonly #mode: Mode

  constructor(view: PostView<unknown>, mode: Mode) {
    this.#view = view
    this.#mode = mode
  }

  addMarks(list: unknown, { name, hasIds }: MarkKind, where: FieldSource): void {
    for (const mark of arrayOf(list)) {
      const { start, end } = objectOf(mark)
      for (const member of hasIds ? [name, names.id] : [name]) {
        const text = textOf(this.#view.filled(mark, member))
        if (text !== undefined) this.#addAt(foldFor(this.#mode, text), where, start, end)
      }
    }
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

  addPairs(list: unknown, first: number, second: number, where: FieldSource): void {
    for (const item of arrayOf(list)) {
      const [one, other] = [first, second].map((name) => textOf(this.#view.id(this.#view.object(item, name), names.id)))
      if (one === undefined || other === undefined) continue
      for (const key of [`${one}.${other}`, `${one}.*`, `*.${other}`]) this.addText(key, where)
    }
  }

  addNames(list: unknown, name: number, where: FieldSource, object?: number): void {
    for (const item of arrayOf(list)) {
      const named = object === undefined ? item : this.#view.object(item, object)
      this.addWords(this.#view.string(named, name), where)
    }
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
