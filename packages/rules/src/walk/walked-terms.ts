/**
 * The words and keys of a walked post, those that `PostFacts` has: its `passages` and `keys`, folded, without the places
 * where they were found. Only of streams: a search reads other texts and folds more.
 *
 * What is rare (affiliations) is read from the parsed post.
 */

import { comparedFields, zones, type ComparedField, type KeyName, type Zone } from "../language/rule.ts"
import { languageKey } from "../language/languages.ts"
import type { EarlierPosts } from "../post/earlier-posts.ts"
import type { PostFacts } from "../post/post-facts.ts"
import { keysOfCountry, keysOfPlace } from "../post/post-place.ts"
import { fold } from "../text/fold.ts"
import { textGap } from "../text/near.ts"
import { textOfUnits } from "./json-units.ts"
import { hasFlags, isFlags } from "./walked-flags.ts"
import type { LinkSigns } from "./link-signs.ts"
import { names, type PostNodes } from "./post-nodes.ts"
import { readRareTokens } from "./rare-tokens.ts"
import { TermTexts } from "./term-texts.ts"
import type { Walk } from "./walk-module.ts"
import { WalkedLinks } from "./walked-links.ts"
import { markLists, repostPrefixEnd, WalkedParts } from "./walked-parts.ts"

const fieldNumbers = Object.fromEntries(comparedFields.map((field, number) => [field, number])) as Readonly<
  Record<ComparedField, number>
>
const zoneNames = [...new Set<Zone>(Object.values(zones))]
/** Of a field that is not wanted. */
const noField = -1

const keyNamesOf = comparedFields.slice(zoneNames.length) as readonly KeyName[]

/** What of a post is read besides the line itself. */
export type WalkedContext = {
  readonly earlier: EarlierPosts | undefined
  /** The parsed post. */
  readonly facts: () => PostFacts
}

/** The terms of one post after the other. */
export class WalkedTerms {
  readonly #nodes: PostNodes
  readonly #walk: Walk
  readonly #texts: TermTexts
  readonly #parts: WalkedParts
  readonly #links: WalkedLinks
  readonly #context: WalkedContext
  #hasParts = false
  #hasLinks = false

  constructor(nodes: PostNodes, context: WalkedContext) {
    this.#nodes = nodes
    this.#walk = nodes.tape.module
    this.#texts = new TermTexts(this.#walk)
    readRareTokens(this.#walk, this.#texts)
    this.#context = context
    this.#parts = new WalkedParts(nodes)
    this.#links = new WalkedLinks(nodes, context.earlier)
  }

  /** Forgets the post before. */
  clear(): void {
    this.#hasParts = this.#hasLinks = false
  }

  /**
   * The texts of the fields whose number is set in `wanted`, valid until the next post; undefined if the post is one for
   * the plain reader.
   */
  read(wanted: Uint8Array): TermTexts | undefined {
    this.#texts.clear()
    this.#readZones(wanted)
    for (const name of keyNamesOf) if (wanted[fieldNumbers[name]] === 1) this.#readKeys(name)
    return this.#nodes.isCertain && !this.#texts.isFull ? this.#texts : undefined
  }

  /** All texts of the links, folded; undefined if the post is one for the plain reader. */
  linkTexts(): readonly string[] | undefined {
    const texts = this.#readLinks().allTexts()
    return this.#nodes.isCertain ? texts : undefined
  }

  /** Characters of these texts, whose signs are read; undefined if only the texts can say. */
  readLinkSigns(signs: LinkSigns): number | undefined {
    const characters = this.#readLinks().readSigns(signs)
    return this.#nodes.isCertain ? characters : undefined
  }

  #readZones(wanted: Uint8Array): void {
    const [hasText, hasLink] = [wanted[fieldNumbers.text] === 1, wanted[fieldNumbers.link] === 1]
    if (hasText) for (let index = 0; index < this.#readParts().count; index++) this.#readPart(index)
    if (hasText || hasLink) this.#readLinkZones(hasText, hasLink)
    if (wanted[fieldNumbers.title] === 1) this.#readPages("title", names.title)
    if (wanted[fieldNumbers.description] === 1) this.#readPages("description", names.description)
    const { author } = this.#nodes
    if (wanted[fieldNumbers.bio] === 1) this.#readText("bio", author, names.description)
    if (wanted[fieldNumbers.name] === 1) this.#readText("name", author, names.name)
    if (wanted[fieldNumbers.location] === 1) this.#readText("location", author, names.location)
  }

  #readPart(index: number): void {
    const { begin, end } = this.#parts.part(index)
    this.#walk.addText(fieldNumbers.text, begin, end, textGap)
  }

  /** Words of a text are also searched for where the links lead. */
  #readLinkZones(hasText: boolean, hasLink: boolean): void {
    if (this.#readLinks().count === 0) return
    const field = hasLink ? fieldNumbers.link : noField
    this.#walk.addTargets(hasText ? fieldNumbers.text : noField, textGap, field)
    if (hasLink) this.#walk.addDisplayed(field)
  }

  #readPages(zone: Zone, name: number): void {
    if (this.#readLinks().count > 0) this.#walk.addPages(fieldNumbers[zone], name)
  }

  #readText(zone: Zone, node: number, name: number): void {
    this.#walk.addTextOf(fieldNumbers[zone], node, name)
  }

  #readKeys(name: KeyName): void {
    const { data, references, original } = this.#nodes
    const number = fieldNumbers[name]
    switch (name) {
      case "hashtag":
        return this.#addMarks(0, number)
      case "mention":
        return this.#addMarks(1, number)
      case "cashtag":
        return this.#addMarks(2, number)
      case "from":
        return this.#addUser(number, this.#nodes.id(data, names.author_id), 0)
      case "to":
        return this.#addRepliedTo(number)
      case "retweets_of":
        return this.#addReposted(number)
      case "from_affiliate_of":
      case "to_affiliate_of":
        return this.#addAffiliations(name)
      case "context":
        this.#walk.addContexts(number, data)
        return this.#walk.addContexts(number, original)
      case "entity":
        this.#walk.addEntities(number, data)
        return this.#walk.addEntities(number, original)
      case "conversation_id":
        return this.#walk.addStringKey(number, this.#nodes.filled(data, names.conversation_id))
      case "in_reply_to_tweet_id":
        return this.#walk.addStringKey(number, references.repliedTo)
      case "retweets_of_tweet_id":
        return this.#walk.addStringKey(number, references.retweeted)
      case "quotes_of_tweet_id":
        return this.#walk.addStringKey(number, references.quoted)
      case "place":
      case "place_country":
        return this.#addPlaces(name)
      case "source":
        return this.#walk.addWords(number, this.#nodes.string(data, names.source), 0)
      case "lang":
        return this.#addLanguage(number)
      case "is":
        return this.#addFlags(number, isFlags(this.#nodes))
      case "has":
        return this.#addFlags(number, hasFlags(this.#nodes, this.#readParts(), this.#readLinks()))
    }
  }

  #addFlags(number: number, flags: readonly string[]): void {
    for (const flag of flags) this.#texts.addKeyText(number, flag)
  }

  #addMarks(index: 0 | 1 | 2, number: number): void {
    const { kind, list, name } = markLists[index]
    const parts = this.#readParts()
    for (let at = 0; at < parts.count; at++) {
      const part = parts.part(at)
      if (part.isPrefix && kind !== "mentions") continue
      if (part.entities === 0) {
        for (const { value } of parts.found(part)[kind]) this.#texts.addKeyText(number, fold(value))
        continue
      }
      this.#walk.addMarks(number, part.entities, list, name, kind === "mentions" ? 1 : 0)
    }
  }

  /** Adds id and username of the user; the other name if the user is not included. */
  #addUser(number: number, id: number, otherName: number): void {
    this.#walk.addUser(number, this.#nodes.includes, id, otherName)
  }

  #addRepliedTo(number: number): void {
    const nodes = this.#nodes
    if (!nodes.isReply) return
    const { tape, data } = nodes
    const id = nodes.id(data, names.in_reply_to_user_id)
    // If the user is not included, a mention may carry the id and the name.
    const mentions = nodes.user(id) === 0 ? nodes.array(nodes.object(data, names.entities), names.mentions) : 0
    let otherName = 0
    for (let item = mentions + 1; item < tape.itemsEnd(mentions); item = tape.next(item)) {
      const its = nodes.id(item, names.id)
      if (its === 0 || !tape.areSame(its, id)) continue
      otherName = nodes.string(item, names.username)
      break
    }
    this.#addUser(number, id, otherName)
  }

  #addReposted(number: number): void {
    const nodes = this.#nodes
    if (nodes.references.retweeted === 0) return
    const id = nodes.id(nodes.original, names.author_id)
    const user = nodes.user(id)
    const hasName = user !== 0 && nodes.string(user, names.username) !== 0
    this.#addUser(number, id, 0)
    if (hasName) return
    const text = nodes.string(nodes.data, names.text)
    const begin = nodes.tape.begin(text)
    const end = repostPrefixEnd(nodes, text)
    if (text !== 0 && end > begin) this.#walk.addBytesKey(number, begin + "RT @".length, end - 1)
  }

  #addAffiliations(name: "from_affiliate_of" | "to_affiliate_of"): void {
    // Nearly no user has one, and which one is meant takes a while to find out.
    if (this.#nodes.hasAffiliations) this.#addFromFacts(name)
  }

  /** A repost has the place of its original too. */
  #addPlaces(name: "place" | "place_country"): void {
    for (const post of [this.#nodes.data, this.#nodes.original]) {
      const id = this.#nodes.id(this.#nodes.object(post, names.geo), names.place_id)
      if (id === 0) continue
      const place = this.#nodes.included(names.places, id)
      if (place === 0) this.#addEarlierPlace(name, id)
      else this.#addPlace(name, place)
    }
  }

  #addPlace(name: "place" | "place_country", place: number): void {
    const nodes = this.#nodes
    const number = fieldNumbers[name]
    if (name === "place_country") return this.#walk.addStringKey(number, nodes.filled(place, names.country_code))
    for (const text of [names.id, names.name, names.full_name])
      this.#walk.addWords(number, nodes.filled(place, text), 0)
  }

  /** The place may be known from an earlier post. */
  #addEarlierPlace(name: "place" | "place_country", node: number): void {
    const id = this.#nodes.tape.ascii(node)
    const place = this.#context.earlier?.placeOf(id)
    const keys = name === "place" ? keysOfPlace(id, place, "stream") : keysOfCountry(place)
    for (const { key } of keys) this.#texts.addKeyText(fieldNumbers[name], key)
  }

  #addFromFacts(name: KeyName): void {
    for (const { key } of this.#context.facts().keys(name)) this.#texts.addKeyText(fieldNumbers[name], key)
  }

  #addLanguage(number: number): void {
    const node = this.#nodes.filled(this.#nodes.data, names.lang)
    if (node === 0) return
    const { tape } = this.#nodes
    const begin = tape.unitsCount
    const end = tape.writeUnits(tape.begin(node), tape.end(node))
    this.#texts.addKeyText(number, languageKey(textOfUnits(tape.units, begin, end)))
    tape.releaseUnits(begin)
  }

  #readParts(): WalkedParts {
    if (!this.#hasParts) this.#parts.read()
    this.#hasParts = true
    return this.#parts
  }

  #readLinks(): WalkedLinks {
    const links = this.#links
    if (this.#hasLinks) return links
    this.#hasLinks = true
    links.clear()
    const parts = this.#readParts()
    for (let index = 0; index < parts.count; index++) {
      const part = parts.part(index)
      if (part.isPrefix) continue
      const list = part.entities === 0 ? 0 : this.#nodes.array(part.entities, names.urls)
      if (list !== 0) links.addListed(list, part.quotedId)
      else if (part.entities === 0)
        for (const { value } of parts.found(part).links) links.addFound(value, part.quotedId)
    }
    return links
  }
}
