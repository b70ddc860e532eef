/**
 * A post that is matched without being parsed.
 *
 *     bytes of a line ── JsonTape ──► where each value is ── PostNodes ──► its objects ─┬─► terms, as integers
 *                                                                                       └─► facts, when an operator asks
 *
 * It means what `readPost(JSON.parse(line))` means: that call is the definition, and reads every uncommon post. Why not
 * the only way: the plain reader reads any mode and any object, and says where each value was found.
 */

import type { CountName, KeyName, Zone } from "../language/rule.ts"
import type { Point } from "../language/area.ts"
import type { EarlierPosts } from "../post/earlier-posts.ts"
import { names } from "../post/member-names.ts"
import { readPost, type Facts, type PostFacts, type ReadOptions } from "../post/post-facts.ts"
import { PostObjects, type RuleEnvelope } from "../post/post-objects.ts"
import { PostReader } from "../post/post-reader.ts"
import type { Key, Passage } from "../post/field-values.ts"
import { AbsentHashes } from "./absent-hashes.ts"
import { JsonTape } from "./json-tape.ts"
import { LinkSigns } from "./link-signs.ts"
import { TapeView } from "./tape-view.ts"
import type { TermTexts } from "./term-texts.ts"
import { WalkedLinks } from "./walked-links.ts"
import { WalkedTerms } from "./walked-terms.ts"

const decoder = new TextDecoder(undefined, { ignoreBOM: true })

/** One post after the other. Returned values are valid until the next post. */
export class WalkedPost implements Facts {
  readonly mode = "stream"
  readonly tape = new JsonTape()
  readonly view = new TapeView(this.tape)
  /** Hashes that no term has, of the matcher that looks the terms up. */
  readonly absentHashes = new AbsentHashes(this.tape.module)
  readonly #objects: PostObjects<number>
  readonly #reader: PostReader<number, WalkedLinks>
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
    this.#objects = new PostObjects(this.view, this.mode, earlier)
    this.#reader = new PostReader(this.#objects, new WalkedLinks(this.tape, earlier))
    this.#terms = new WalkedTerms(this.view, this.#reader)
  }

  /** Takes the line, JSON in UTF-8. Returns false if it is one for `JSON.parse` and `readPost`. */
  read(line: Uint8Array, { similarity }: Pick<ReadOptions, "similarity"> = {}): boolean {
    this.#envelope = this.#facts = this.#linkTexts = undefined
    this.#hasLinkSigns = false
    this.#similarity = similarity
    this.#reader.clear()
    this.#length = line.length
    if (!this.tape.read(line)) return false
    this.view.show()
    this.#objects.find()
    return this.view.isCertain
  }

  /** The terms of the fields whose number is set; undefined if `facts` has to be read instead. */
  texts(wanted: Uint8Array): TermTexts | undefined {
    return this.#terms.read(wanted)
  }

  /** The parsed line. */
  get envelope(): RuleEnvelope {
    return (this.#envelope ??= JSON.parse(this.#textAt(0, this.#length)) as RuleEnvelope)
  }

  /** The facts of the parsed line. */
  get facts(): PostFacts {
    return (this.#facts ??= readPost(this.envelope, this.#earlier === undefined ? {} : { earlier: this.#earlier }))
  }

  /** Lets the earlier posts learn from this one. */
  teach(): void {
    const earlier = this.#earlier
    if (earlier === undefined) return
    const { view, tape } = this
    const places = view.array(view.includes, names.places)
    if (places !== 0) earlier.learnPlaces(JSON.parse(this.#textAt(tape.begin(places), tape.end(places))))
    if (!tape.hasName(names.unwound_url)) return
    this.#teachLinks(view.data, earlier)
    const posts = view.array(view.includes, names.tweets)
    for (let post = posts + 1; post < tape.itemsEnd(posts); post = tape.next(post)) this.#teachLinks(post, earlier)
  }

  #teachLinks(post: number, earlier: EarlierPosts): void {
    const { view, tape } = this
    const list = view.array(view.object(post, names.entities), names.urls)
    for (let url = list + 1; url < tape.itemsEnd(list); url = tape.next(url)) {
      const [from, to] = [view.filled(url, names.expanded_url), view.filled(url, names.unwound_url)]
      if (from !== 0 && to !== 0) earlier.learnLink(view.text(from), view.text(to))
    }
  }

  #textAt(begin: number, end: number): string {
    return decoder.decode(this.tape.bytes.subarray(begin, end))
  }

  get id(): string {
    return this.#reader.id
  }

  passages(zone: Zone): readonly Passage[] {
    return this.facts.passages(zone)
  }

  keys(name: KeyName): readonly Key[] {
    return this.facts.keys(name)
  }

  count(name: CountName): number | undefined {
    return this.#reader.count(name)
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
    const point = this.#reader.location()
    return this.view.isCertain ? point : this.facts.location()
  }

  similarity(text: string): number | undefined {
    return this.#similarity?.(text)
  }
}
