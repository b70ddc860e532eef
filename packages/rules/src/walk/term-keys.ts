/** The keys of a walked post as terms, which have no source. */

import type { KeySink } from "../post/key-sink.ts"
import { fold } from "../text/fold.ts"
import type { TextEntity } from "../text/text-entities.ts"
import type { TermTexts } from "./term-texts.ts"
import type { Walk } from "./walk-module.ts"

/** The keys of one field after the other. */
export class TermKeys implements KeySink<number> {
  readonly isDone = false
  /** Number of the field. */
  field = 0
  readonly #walk: Walk
  readonly #texts: TermTexts

  constructor(walk: Walk, texts: TermTexts) {
    this.#walk = walk
    this.#texts = texts
  }

  addMark(value: number): void {
    if (value !== 0) this.#walk.addStringKey(this.field, value)
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

  addPair(domain: number, entity: number): void {
    this.#walk.addPairKey(this.field, domain, entity)
  }

  addText(text: string): void {
    if (text !== "") this.#texts.addKeyText(this.field, text)
  }
}
