/** The keys of a walked post as terms, which have no source. */

import type { KeySink, MarkKind } from "../post/key-sink.ts"
import type { FieldSource } from "../post/field-values.ts"
import { fold } from "../text/fold.ts"
import type { TextEntity } from "../text/text-entities.ts"
import type { TermTexts } from "./term-texts.ts"
import type { Walk } from "./walk-module.ts"

/** The keys of one field after the other. */
export class TermKeys implements KeySink<number> {
  /** Number of the field. */
  field = 0
  readonly #walk: Walk
  readonly #texts: TermTexts

  constructor(walk: Walk, texts: TermTexts) {
    this.#walk = walk
    this.#texts = texts
  }

  addMarks(list: number, { name, hasIds }: MarkKind): void {
    if (list !== 0) this.#walk.addMarks(this.field, list, name, hasIds ? 1 : 0)
  }

  addFoundMark({ value }: TextEntity): void {
    this.addText(fold(value))
  }

  addString(value: number): void {
    if (value !== 0) this.#walk.addStringKey(this.field, value)
  }

  addWords(name: number): void {
    if (name !== 0) this.#walk.addWords(this.field, name)
  }

  addPairs(list: number, first: number, second: number): void {
    if (list !== 0) this.#walk.addPairs(this.field, list, first, second)
  }

  addNames(list: number, name: number, _where: FieldSource, object = 0): void {
    if (list !== 0) this.#walk.addNames(this.field, list, object, name)
  }

  addText(text: string): void {
    if (text !== "") this.#texts.addKeyText(this.field, text)
  }
}
