/**
 * The links of a post as units, like those of `links.ts`: where they lead, and what readers see of them.
 *
 * The texts stand among the units of the tape. A text is named by the index of its begin and end.
 */

import { linkHash, type EarlierPosts } from "../post/earlier-posts.ts"
import { isQuotation, linkFromText, type Link } from "../post/links.ts"
import { classOf, separator } from "../text/character-class.ts"
import { fold } from "../text/fold.ts"
import { withoutScheme } from "../text/words.ts"
import { areSameUnits, indexOfUnits, textOfUnits } from "./json-units.ts"
import type { LinkSigns } from "./link-signs.ts"
import { names, type PostNodes } from "./post-nodes.ts"
import type { TermTexts } from "./term-texts.ts"

/** Maximum texts of links that are compared with each other. A post with more is left to the plain reader. Ours. */
const textsMax = 64

const ellipsis = 0x2026

/** Integers of a link: the range of its targets, the end of its displayed texts, which follow them, and the node of X's description. */
type WalkedLink = {
  readonly from: number
  readonly displayedFrom: number
  readonly to: number
  readonly node: number
  readonly quotedId: number
}

/** The links of one post after the other. */
export class WalkedLinks {
  readonly #nodes: PostNodes
  readonly #units: Uint16Array
  /** Begin and end of each text. */
  readonly #texts: number[] = []
  readonly #links: WalkedLink[] = []
  /** The texts that have become passages of the list that is added. */
  readonly #added: number[] = []

  constructor(nodes: PostNodes) {
    this.#nodes = nodes
    this.#units = nodes.tape.units
  }

  /** X's description of each link, or 0 if it was found in the text. */
  get nodes(): readonly number[] {
    return this.#links.map(({ node }) => node)
  }

  get count(): number {
    return this.#links.length
  }

  /** Forgets the post before. */
  clear(): void {
    this.#texts.length = 0
    this.#links.length = 0
  }

  /** Adds the links that X lists for a text. */
  addListed(list: number, quotedId: number): void {
    const { tape } = this.#nodes
    for (let item = list + 1; item < tape.itemsEnd(list); item = tape.next(item)) this.#addListed(item, quotedId)
  }

  /** Adds a link that was found in a text. */
  addFound(url: string, quotedId: number): void {
    const { targets, displayed } = linkFromText(url, undefined)
    const from = this.#texts.length
    for (const text of targets) this.#writeText(text)
    const displayedFrom = this.#texts.length
    for (const text of displayed) this.#writeText(text)
    this.#links.push({ from, displayedFrom, to: this.#texts.length, node: 0, quotedId })
  }

  /** Like `linkFromEntity`. */
  #addListed(item: number, quotedId: number): void {
    const nodes = this.#nodes
    const [expanded, unwound] = [nodes.filled(item, names.expanded_url), nodes.filled(item, names.unwound_url)]
    const [short, display] = [nodes.string(item, names.url), nodes.filled(item, names.display_url)]
    // Without a target the short form counts as one, if X did not make it.
    if (expanded === 0 && unwound === 0 && short !== 0) nodes.doubt()
    const from = this.#texts.length
    this.#writeNode(expanded)
    this.#writeNode(unwound)
    const displayedFrom = this.#texts.length
    if (short !== 0 && nodes.filled(item, names.url) !== 0) this.#writeNode(short)
    this.#writeNode(display)
    const to = this.#texts.length
    if (to > from) this.#links.push({ from, displayedFrom, to, node: item, quotedId })
    if (to > textsMax * 2) nodes.doubt()
  }

  /** Whether a link is more than a quotation. */
  get hasOthers(): boolean {
    return this.#links.some((link) => link.quotedId === 0 || !this.#isQuotation(link))
  }

  #isQuotation({ from, displayedFrom, quotedId }: WalkedLink): boolean {
    const targets: string[] = []
    for (let text = from; text < displayedFrom; text += 2) targets.push(this.#textAt(text))
    const link: Link = { targets, displayed: [], quotedId: this.#nodes.tape.ascii(quotedId) }
    return isQuotation(link)
  }

  /** Adds the tokens of where the links lead. A passage of them begins at each of the tokens that are returned. */
  addTargets(texts: TermTexts, earlier: EarlierPosts | undefined): readonly number[] {
    const begins: number[] = []
    this.#added.length = 0
    for (const { from, displayedFrom } of this.#links) {
      for (let text = from; text < displayedFrom; text += 2) this.#addText(text, texts, begins)
      if (earlier === undefined) continue
      for (let text = from; text < displayedFrom; text += 2) {
        const destination = this.#destinationOf(text, earlier)
        if (destination !== undefined) this.#addText(this.#writeText(destination), texts, begins)
      }
    }
    return begins
  }

  /** Likewise of what readers see of the links, unless it is only a part of where the link leads. */
  addDisplayed(texts: TermTexts): readonly number[] {
    const begins: number[] = []
    this.#added.length = 0
    for (const { from, displayedFrom, to } of this.#links) {
      for (let text = displayedFrom; text < to; text += 2) {
        let isPart = false
        for (let target = from; target < displayedFrom; target += 2) isPart ||= this.#isPartOf(text, target)
        if (!isPart) this.#addText(text, texts, begins)
      }
    }
    return begins
  }

  /** All texts of the links, folded, like `linkTextsOf`. */
  allTexts(earlier: EarlierPosts | undefined): readonly string[] {
    const all: string[] = []
    const lower = this.#lowerCase()
    const begin = this.#texts[0] ?? 0
    const addTexts = (from: number, to: number): void => {
      for (let text = from; text < to; text += 2)
        all.push(
          this.#isAscii(text)
            ? lower.slice((this.#texts[text] ?? 0) - begin, this.#endOf(text) - begin)
            : fold(this.#textAt(text)),
        )
    }
    for (const { from, displayedFrom, to } of this.#links) {
      addTexts(from, displayedFrom)
      if (earlier !== undefined)
        for (let text = from; text < displayedFrom; text += 2) {
          const destination = this.#destinationOf(text, earlier)
          if (destination !== undefined) all.push(fold(destination))
        }
      addTexts(displayedFrom, to)
    }
    return all
  }

  /**
   * Characters of all texts, whose signs are read; undefined if only `allTexts` can say, because a text is not
   * folded unit by unit, or a link leads on to another one.
   */
  readSigns(signs: LinkSigns, earlier: EarlierPosts | undefined): number | undefined {
    let characters = 0
    for (const { from, displayedFrom, to } of this.#links) {
      for (let text = from; text < to; text += 2) {
        characters += this.#endOf(text) - (this.#texts[text] ?? 0)
        if (text < displayedFrom && earlier?.mayKnow(this.#hashOf(text)) === true) return undefined
      }
    }
    return signs.read(this.#units, this.#texts[0] ?? 0, this.#texts.at(-1) ?? 0) ? characters : undefined
  }

  /** All texts of the links as one string, with ASCII in lower case. One string is made faster than several. */
  #lowerCase(): string {
    const [begin, end] = [this.#texts[0] ?? 0, this.#texts.at(-1) ?? 0]
    const lower = this.#units.slice(begin, end)
    for (let at = 0; at < lower.length; at++) {
      const unit = lower[at] ?? 0
      if (unit >= 0x41 && unit <= 0x5a) lower[at] = unit | 0x20
    }
    return textOfUnits(lower, 0, lower.length)
  }

  #isAscii(text: number): boolean {
    const end = this.#endOf(text)
    for (let at = this.#texts[text] ?? 0; at < end; at++) if ((this.#units[at] ?? 0) > 0x7f) return false
    return true
  }

  /** Where an earlier post says that the link leads. */
  #destinationOf(text: number, earlier: EarlierPosts): string | undefined {
    return earlier.mayKnow(this.#hashOf(text)) ? earlier.destinationOf(this.#textAt(text)) : undefined
  }

  /** Adds the tokens of a text unless one like it was added, like `linkPassages`. */
  #addText(text: number, texts: TermTexts, begins: number[]): void {
    const begin = this.#schemeEnd(text)
    const end = this.#endOf(text)
    const units = this.#units
    for (let index = 0; index < this.#added.length; index += 2)
      if (areSameUnits(units, begin, end, this.#added[index] ?? 0, this.#added[index + 1] ?? 0)) return
    this.#added.push(begin, end)
    const from = texts.tokensCount
    begins.push(from)
    texts.addTokens(begin, end, "rule")
    // A displayed link that was cut after a letter or digit: its last token may be half a word.
    const isCut = end > begin && units[end - 1] === ellipsis
    if (isCut && end > begin + 1 && classOf(units[end - 2] ?? 0) !== separator) texts.dropToken(from)
  }

  /** The begin of the text without its scheme. */
  #schemeEnd(text: number): number {
    const units = this.#units
    const begin = this.#texts[text] ?? 0
    const first = units[begin] ?? 0
    if (first === 0x68 && this.#isAt(begin, "http")) {
      const isSecure = units[begin + 4] === 0x73
      if (this.#isAt(isSecure ? begin + 5 : begin + 4, "://")) return isSecure ? begin + 8 : begin + 7
    }
    // All that a scheme can begin with otherwise, white space before it included.
    if (first !== 0x68 && first !== 0x48 && first > 0x20 && first < 0x80) return begin
    const whole = this.#textAt(text)
    return begin + whole.length - withoutScheme(whole).length
  }

  #isAt(at: number, text: string): boolean {
    for (let index = 0; index < text.length; index++)
      if (this.#units[at + index] !== text.charCodeAt(index)) return false
    return true
  }

  /** Like `isPartOf` of `links.ts`. */
  #isPartOf(text: number, target: number): boolean {
    const units = this.#units
    const begin = this.#texts[text] ?? 0
    const end = this.#endOf(text)
    const isCut = units[end - 1] === ellipsis
    const stemEnd = isCut ? end - 1 : end
    const [from, to] = [this.#texts[target] ?? 0, this.#endOf(target)]
    const at = indexOfUnits(units, from, to, begin, stemEnd)
    if (at < 0) return false
    const before = units[at - 1]
    return (at === from || before === 0x2f || before === 0x2e) && (isCut || at + stemEnd - begin === to)
  }

  #hashOf(text: number): number {
    const end = this.#endOf(text)
    let hash = 0
    for (let at = this.#texts[text] ?? 0; at < end; at++) hash = linkHash(hash, this.#units[at] ?? 0)
    return hash
  }

  #textAt(text: number): string {
    return textOfUnits(this.#units, this.#texts[text] ?? 0, this.#endOf(text))
  }

  #endOf(text: number): number {
    return this.#texts[text + 1] ?? 0
  }

  #writeNode(node: number): void {
    if (node === 0) return
    const { tape } = this.#nodes
    const begin = tape.unitsCount
    this.#texts.push(begin, tape.writeUnits(tape.begin(node), tape.end(node)))
  }

  /** Writes a text and returns its index. */
  #writeText(text: string): number {
    const { tape } = this.#nodes
    const begin = tape.unitsCount
    return this.#texts.push(begin, tape.writeText(text)) - 2
  }
}
