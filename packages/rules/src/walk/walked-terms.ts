/**
 * The words and keys of a walked post, those that `PostFacts` has: its `passages` and `keys`, folded, without the
 * places where they were found. Only of streams: a search reads other texts and folds more.
 */

import { comparedFields, keyNames, type ComparedField, type KeyName, type Zone } from "../language/rule.ts"
import { names } from "../post/member-names.ts"
import type { PostReader } from "../post/post-reader.ts"
import { textGap } from "../text/near.ts"
import type { LinkSigns } from "./link-signs.ts"
import { readRareTokens } from "./rare-tokens.ts"
import type { TapeView } from "./tape-view.ts"
import { TermKeys } from "./term-keys.ts"
import { TermTexts } from "./term-texts.ts"
import type { Walk } from "./walk-module.ts"
import type { WalkedLinks } from "./walked-links.ts"

const fieldNumbers = Object.fromEntries(comparedFields.map((field, number) => [field, number])) as Readonly<
  Record<ComparedField, number>
>
const keyFields = keyNames.map((name) => ({ name, field: fieldNumbers[name], members: membersOf(name) }))
const authorZones = ["bio", "name", "location"] as const
/** Stands for a field that is not wanted. */
const noField = -1

/** The terms of one post after the other. */
export class WalkedTerms {
  readonly #view: TapeView
  readonly #reader: PostReader<number, WalkedLinks>
  readonly #walk: Walk
  readonly #texts: TermTexts
  readonly #keys: TermKeys

  constructor(view: TapeView, reader: PostReader<number, WalkedLinks>) {
    this.#view = view
    this.#reader = reader
    this.#walk = view.tape.module
    this.#texts = new TermTexts(this.#walk)
    this.#keys = new TermKeys(this.#walk, this.#texts)
    readRareTokens(this.#walk, this.#texts)
  }

  /**
   * The texts of the fields whose number is set in `wanted`, valid until the next post; undefined if the post is one
   * for `PostFacts`.
   */
  read(wanted: Uint8Array): TermTexts | undefined {
    this.#texts.clear()
    this.#readZones(wanted)
    for (const { name, field, members } of keyFields) {
      if (wanted[field] !== 1 || !this.#mayHaveKeys(members)) continue
      this.#keys.field = field
      this.#reader.addKeys(name, this.#keys)
    }
    return this.#view.isCertain && !this.#texts.isFull ? this.#texts : undefined
  }

  /** All texts of the links, folded; undefined if the post is one for `PostFacts`. */
  linkTexts(): readonly string[] | undefined {
    const texts = this.#reader.links.allTexts()
    return this.#view.isCertain ? texts : undefined
  }

  /** Characters of these texts, whose signs are read; undefined if only the texts can say. */
  readLinkSigns(signs: LinkSigns): number | undefined {
    const characters = this.#reader.links.readSigns(signs)
    return this.#view.isCertain ? characters : undefined
  }

  /** False for most fields of most posts: then the reader is not asked. */
  #mayHaveKeys(members: readonly number[] | undefined): boolean {
    if (members === undefined) return true
    for (const name of members) if (this.#view.tape.hasName(name)) return true
    return false
  }

  #readZones(wanted: Uint8Array): void {
    const hasText = wanted[fieldNumbers.text] === 1
    const hasLink = wanted[fieldNumbers.link] === 1
    if (hasText) this.#readParts()
    if (hasText || hasLink) this.#readLinkZones(hasText, hasLink)
    if (wanted[fieldNumbers.title] === 1) this.#readPages("title", names.title)
    if (wanted[fieldNumbers.description] === 1) this.#readPages("description", names.description)
    for (const zone of authorZones)
      if (wanted[fieldNumbers[zone]] === 1) this.#walk.addTextOf(fieldNumbers[zone], this.#reader.authorText(zone))
  }

  #readParts(): void {
    const { tape } = this.#view
    const { parts } = this.#reader
    for (let index = 0; index < parts.count; index++) {
      const { text, length } = parts.at(index)
      const from = tape.unitsCount
      const begin = tape.begin(text)
      this.#walk.addText(fieldNumbers.text, from, tape.writeUnits(begin, begin + length), textGap)
      tape.releaseUnits(from)
    }
  }

  /** Words of a text are also searched for where the links lead. */
  #readLinkZones(hasText: boolean, hasLink: boolean): void {
    if (this.#reader.links.count === 0) return
    const field = hasLink ? fieldNumbers.link : noField
    this.#walk.addTargets(hasText ? fieldNumbers.text : noField, textGap, field)
    if (hasLink) this.#walk.addDisplayed(field)
  }

  #readPages(zone: Zone, name: number): void {
    if (this.#reader.links.count > 0) this.#walk.addPages(fieldNumbers[zone], name)
  }
}

/** The members without any of which no post has keys of the name; undefined if there is always something to read. */
function membersOf(name: KeyName): readonly number[] | undefined {
  switch (name) {
    case "to":
      return [names.in_reply_to_user_id]
    case "retweets_of":
    case "in_reply_to_tweet_id":
    case "retweets_of_tweet_id":
    case "quotes_of_tweet_id":
      return [names.referenced_tweets]
    case "from_affiliate_of":
    case "to_affiliate_of":
      return [names.affiliation]
    case "context":
      return [names.context_annotations]
    case "entity":
      return [names.context_annotations, names.annotations]
    case "place":
    case "place_country":
      return [names.place_id]
    default:
      return undefined
  }
}
