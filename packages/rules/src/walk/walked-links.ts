/**
 * The links of a post as units, like those of `links.ts`: where they lead, and what readers see of them.
 *
 * The texts stand among the units of the tape, and the module adds their words (`assembly/post-links.ts`). Here is what
 * is rare, and what operators ask for.
 */

import type { EarlierPosts } from "../post/earlier-posts.ts"
import { isQuotation, linkFromText, type Link, type LinkSink } from "../post/links.ts"
import { fold } from "../text/fold.ts"
import { mixed } from "../text/hash-step.ts"
import { withoutScheme } from "../text/words.ts"
import { textOfUnits } from "./json-units.ts"
import type { JsonTape } from "./json-tape.ts"
import type { LinkSigns } from "./link-signs.ts"
import { counted, linkSlot, linkSlots, textSlot, textSlots } from "./walk-layout.ts"
import { countsOf } from "./walk-module.ts"

/** The links of one post after the other. */
export class WalkedLinks implements LinkSink<number> {
  readonly #tape: JsonTape
  readonly #earlier: EarlierPosts | undefined
  readonly #units: Uint16Array
  readonly #counts: Int32Array
  readonly #texts: Int32Array
  readonly #links: Int32Array

  constructor(tape: JsonTape, earlier: EarlierPosts | undefined) {
    const walk = tape.module
    this.#tape = tape
    this.#earlier = earlier
    this.#units = tape.units
    this.#counts = countsOf(walk)
    this.#texts = new Int32Array(walk.memory.buffer, walk.linkTexts.value, walk.linkTextsMax.value * textSlots)
    this.#links = new Int32Array(walk.memory.buffer, walk.links.value, walk.linksMax.value * linkSlots)
    walk.rare.addDestination = (text, hash) => this.#addDestination(text, hash)
    walk.rare.schemeEnd = (begin, end) => {
      const text = textOfUnits(this.#units, begin, end)
      return begin + text.length - withoutScheme(text).length
    }
  }

  get count(): number {
    return this.#counts[counted.links] ?? 0
  }

  get #textsCount(): number {
    return this.#counts[counted.linkTexts] ?? 0
  }

  /** Forgets the post before. */
  clear(): void {
    this.#counts[counted.links] = this.#counts[counted.linkTexts] = 0
  }

  /** Adds the links that X lists for a text. */
  addListed(list: number, quotedId: number): void {
    if (list !== 0) this.#tape.module.addListedLinks(list, quotedId)
  }

  /** Adds a link that was found in a text. */
  addFound(url: string, quotedId: number): void {
    const { targets, displayed } = linkFromText(url, undefined)
    const from = this.#textsCount
    for (const text of targets) this.#writeText(text)
    const displayedFrom = this.#textsCount
    for (const text of displayed) this.#writeText(text)
    this.#tape.module.addLink(from, displayedFrom, 0, quotedId)
  }

  /** True if a link is more than a quotation. */
  get hasOthers(): boolean {
    for (let link = 0; link < this.count; link++) if (!this.#isQuotation(link)) return true
    return false
  }

  #isQuotation(link: number): boolean {
    const quotedId = this.#slot(link, linkSlot.quotedId)
    if (quotedId === 0) return false
    const targets: string[] = []
    for (let text = this.#slot(link, linkSlot.from); text < this.#slot(link, linkSlot.displayedFrom); text++)
      targets.push(this.#textAt(text))
    const one: Link = { targets, displayed: [], quotedId: this.#tape.ascii(quotedId) }
    return isQuotation(one)
  }

  /** All texts of the links, folded, like `linkTextsOf`. */
  allTexts(): readonly string[] {
    const all: string[] = []
    const lower = this.#lowerCase()
    const begin = this.#beginOf(0)
    const addTexts = (from: number, to: number): void => {
      for (let text = from; text < to; text++)
        all.push(
          this.#isAscii(text)
            ? lower.slice(this.#beginOf(text) - begin, this.#endOf(text) - begin)
            : fold(this.#textAt(text)),
        )
    }
    for (let link = 0; link < this.count; link++) {
      const displayedFrom = this.#slot(link, linkSlot.displayedFrom)
      const from = this.#slot(link, linkSlot.from)
      addTexts(from, displayedFrom)
      for (let text = from; text < displayedFrom; text++) {
        const destination = this.#destinationOf(text, this.#hashOf(text))
        if (destination !== undefined) all.push(fold(destination))
      }
      addTexts(displayedFrom, this.#slot(link, linkSlot.to))
    }
    return all
  }

  /**
   * Characters of all texts, whose signs are read; undefined if only `allTexts` can say, because a text is not
   * folded unit by unit, or a link leads on to another one.
   */
  readSigns(signs: LinkSigns): number | undefined {
    let characters = 0
    for (let link = 0; link < this.count; link++) {
      const displayedFrom = this.#slot(link, linkSlot.displayedFrom)
      for (let text = this.#slot(link, linkSlot.from); text < this.#slot(link, linkSlot.to); text++) {
        characters += this.#endOf(text) - this.#beginOf(text)
        if (text < displayedFrom && this.#earlier?.mayKnow(this.#hashOf(text)) === true) return undefined
      }
    }
    const end = this.#textsCount === 0 ? 0 : this.#endOf(this.#textsCount - 1)
    return signs.read(this.#units, this.#textsCount === 0 ? 0 : this.#beginOf(0), end) ? characters : undefined
  }

  /** All texts of the links as one string, with ASCII in lower case. One string is made faster than several. */
  #lowerCase(): string {
    if (this.#textsCount === 0) return ""
    const lower = this.#units.slice(this.#beginOf(0), this.#endOf(this.#textsCount - 1))
    for (let at = 0; at < lower.length; at++) {
      const unit = lower[at] ?? 0
      if (unit >= 0x41 && unit <= 0x5a) lower[at] = unit | 0x20
    }
    return textOfUnits(lower, 0, lower.length)
  }

  #isAscii(text: number): boolean {
    const end = this.#endOf(text)
    for (let at = this.#beginOf(text); at < end; at++) if ((this.#units[at] ?? 0) > 0x7f) return false
    return true
  }

  /** Writes where an earlier post says that the link leads. Returns the number of the text; -1 if none says so. */
  #addDestination(text: number, hash: number): number {
    const destination = this.#destinationOf(text, hash)
    return destination === undefined ? -1 : this.#writeText(destination)
  }

  #destinationOf(text: number, hash: number): string | undefined {
    const earlier = this.#earlier
    return earlier?.mayKnow(hash) === true ? earlier.destinationOf(this.#textAt(text)) : undefined
  }

  #hashOf(text: number): number {
    const end = this.#endOf(text)
    let hash = 0
    for (let at = this.#beginOf(text); at < end; at++) hash = mixed(hash, this.#units[at] ?? 0)
    return hash
  }

  #textAt(text: number): string {
    return textOfUnits(this.#units, this.#beginOf(text), this.#endOf(text))
  }

  #beginOf(text: number): number {
    return this.#texts[text * textSlots + textSlot.begin] ?? 0
  }

  #endOf(text: number): number {
    return this.#texts[text * textSlots + textSlot.end] ?? 0
  }

  #slot(link: number, slot: number): number {
    return this.#links[link * linkSlots + slot] ?? 0
  }

  /** Writes a text. Returns its number; -1 if it has no room. */
  #writeText(text: string): number {
    const tape = this.#tape
    const begin = tape.unitsCount
    return tape.module.addLinkText(begin, tape.writeText(text))
  }
}
