/**
 * A post that is matched without being parsed.
 *
 *     bytes of a line ── JsonTape ──► where each value is ── PostNodes ──► its objects ─┬─► terms, as integers
 *                                                                                       └─► facts, when an operator asks
 *
 * It means what `readPost(JSON.parse(line))` means: that is the definition, and whatever is out of the ordinary is left to
 * it. Why not the only way: the plain reader reads any mode and any object, and says where each value was found.
 */

import type { CountName, KeyName, Zone } from "../language/rule.ts"
import { centreOf, type Point } from "../language/area.ts"
import type { EarlierPosts } from "../post/earlier-posts.ts"
import { readPost, type Facts, type PostFacts, type ReadOptions } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import type { Key, Passage } from "../post/field-values.ts"
import { AbsentHashes } from "./absent-hashes.ts"
import { jsonKind, JsonTape } from "./json-tape.ts"
import { LinkSigns } from "./link-signs.ts"
import { names, PostNodes } from "./post-nodes.ts"
import type { TermTexts } from "./term-texts.ts"
import { WalkedTerms } from "./walked-terms.ts"

const decoder = new TextDecoder(undefined, { ignoreBOM: true })

/** One post after the other. What it returns of a post is valid until the next. */
export class WalkedPost implements Facts {
  readonly mode = "stream"
  readonly tape = new JsonTape()
  readonly nodes = new PostNodes(this.tape)
  /** Of the matcher that looks the terms up. */
  readonly absentHashes = new AbsentHashes(this.tape.module)
  readonly #terms: WalkedTerms
  readonly #earlier: EarlierPosts | undefined
  #similarity: ReadOptions["similarity"]
  #length = 0
  #envelope: RuleEnvelope | undefined
  #facts: PostFacts | undefined
  #linkTexts: readonly string[] | undefined
  readonly #linkSigns = new LinkSigns()
  #hasLinkSigns = false
  #linkCharacters: number | undefined

  constructor(earlier?: EarlierPosts) {
    this.#earlier = earlier
    this.#terms = new WalkedTerms(this.nodes, { earlier, facts: () => this.facts })
  }

  /** Takes the line, JSON in UTF-8. Returns false if it is one for `JSON.parse` and `readPost`. */
  read(line: Uint8Array, { similarity }: Pick<ReadOptions, "similarity"> = {}): boolean {
    this.#envelope = this.#facts = this.#linkTexts = undefined
    this.#hasLinkSigns = false
    this.#similarity = similarity
    this.#terms.clear()
    this.#length = line.length
    if (!this.tape.read(line)) return false
    this.nodes.find()
    return this.nodes.isCertain
  }

  /** The terms of the fields whose number is set; undefined if `facts` has to be read instead. */
  texts(wanted: Uint8Array): TermTexts | undefined {
    return this.#terms.read(wanted)
  }

  /** The parsed line. */
  get envelope(): RuleEnvelope {
    return (this.#envelope ??= JSON.parse(this.#textAt(0, this.#length)) as RuleEnvelope)
  }

  /** What the plain reader finds in it. */
  get facts(): PostFacts {
    return (this.#facts ??= readPost(this.envelope, this.#earlier === undefined ? {} : { earlier: this.#earlier }))
  }

  /** Lets the earlier posts learn from this one. */
  teach(): void {
    const earlier = this.#earlier
    if (earlier === undefined) return
    const { nodes, tape } = this
    const places = nodes.array(nodes.includes, names.places)
    if (places !== 0) earlier.learnPlaces(JSON.parse(this.#textAt(tape.begin(places), tape.end(places))))
    if (!tape.hasName(names.unwound_url)) return
    this.#teachLinks(nodes.data, earlier)
    const posts = nodes.array(nodes.includes, names.tweets)
    for (let post = posts + 1; post < tape.itemsEnd(posts); post = tape.next(post)) this.#teachLinks(post, earlier)
  }

  #teachLinks(post: number, earlier: EarlierPosts): void {
    const { nodes, tape } = this
    const list = nodes.array(nodes.object(post, names.entities), names.urls)
    for (let url = list + 1; url < tape.itemsEnd(list); url = tape.next(url)) {
      const [from, to] = [nodes.filled(url, names.expanded_url), nodes.filled(url, names.unwound_url)]
      if (from !== 0 && to !== 0) earlier.learnLink(this.#stringAt(from), this.#stringAt(to))
    }
  }

  #stringAt(node: number): string {
    const text = this.#textAt(this.tape.begin(node), this.tape.end(node))
    return this.tape.kind(node) >= jsonKind.escaped ? (JSON.parse(`"${text}"`) as string) : text
  }

  #textAt(begin: number, end: number): string {
    return decoder.decode(this.tape.bytes.subarray(begin, end))
  }

  get id(): string {
    const { data } = this.nodes
    const id = this.nodes.filled(data, names.id)
    if (id === 0) return ""
    return this.tape.kind(id) === jsonKind.plain ? this.tape.ascii(id) : this.facts.id
  }

  passages(zone: Zone): readonly Passage[] {
    return this.facts.passages(zone)
  }

  keys(name: KeyName): readonly Key[] {
    return this.facts.keys(name)
  }

  count(name: CountName): number | undefined {
    const { nodes } = this
    const author = nodes.object(nodes.author, names.public_metrics)
    const metrics = nodes.object(nodes.original === 0 ? nodes.data : nodes.original, names.public_metrics)
    switch (name) {
      case "followers_count":
      case "following_count":
      case "listed_count":
        return nodes.number(author, names[name])
      case "tweets_count":
        return nodes.number(author, names.tweet_count)
      case "min_likes":
        return nodes.number(metrics, names.like_count)
      case "min_replies":
        return nodes.number(metrics, names.reply_count)
      case "min_reposts":
        return nodes.number(metrics, names.retweet_count)
    }
  }

  linkTexts(): readonly string[] {
    return (this.#linkTexts ??= this.#terms.linkTexts() ?? this.facts.linkTexts())
  }

  get linkCharacters(): number {
    return this.#readLinkSigns() ?? this.linkTexts().reduce((sum, text) => sum + text.length, 0)
  }

  mayLinksHold(text: string): boolean {
    return this.#readLinkSigns() === undefined || this.#linkSigns.mayHold(text)
  }

  /** Characters of the links' texts; undefined if nothing is known of their signs. */
  #readLinkSigns(): number | undefined {
    if (!this.#hasLinkSigns) this.#linkCharacters = this.#terms.readLinkSigns(this.#linkSigns)
    this.#hasLinkSigns = true
    return this.#linkCharacters
  }

  location(): Point | undefined {
    const { nodes } = this
    const point = nodes.pointOf(nodes.data)
    if (point !== undefined || nodes.placeIdOf(nodes.data) === 0) return point
    const box = nodes.boxOf(nodes.data)
    if (box !== undefined) return centreOf(box)
    return this.#isPlaceUnknown() ? undefined : this.facts.location()
  }

  /** Whether neither this post nor an earlier one says more of its place than the id. */
  #isPlaceUnknown(): boolean {
    const { nodes } = this
    const id = nodes.placeIdOf(nodes.data)
    const isIncluded = nodes.included(names.places, id) !== 0
    return nodes.isCertain && !isIncluded && this.#earlier?.placeOf(this.tape.ascii(id)) === undefined
  }

  similarity(text: string): number | undefined {
    return this.#similarity?.(text)
  }
}
