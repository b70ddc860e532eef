/**
 * The objects of an envelope as nodes of a tape, like `PostObjects` of a parsed one. Node 0 stands for what is absent:
 * the envelope itself, which no member is.
 */

import type { Box, Point } from "../language/area.ts"
import { jsonKind, type JsonTape } from "./json-tape.ts"
import { counted, countsOf } from "./walk-module.ts"
import { nameNumber, type MemberName } from "./member-names.ts"

/** The numbers of the names that are read. */
export const names = {
  affiliation: nameNumber("affiliation"),
  annotations: nameNumber("annotations"),
  attachments: nameNumber("attachments"),
  author_id: nameNumber("author_id"),
  bbox: nameNumber("bbox"),
  cashtags: nameNumber("cashtags"),
  context_annotations: nameNumber("context_annotations"),
  conversation_id: nameNumber("conversation_id"),
  coordinates: nameNumber("coordinates"),
  country_code: nameNumber("country_code"),
  created_at: nameNumber("created_at"),
  data: nameNumber("data"),
  description: nameNumber("description"),
  display_url: nameNumber("display_url"),
  domain: nameNumber("domain"),
  edit_history_tweet_ids: nameNumber("edit_history_tweet_ids"),
  entities: nameNumber("entities"),
  entity: nameNumber("entity"),
  expanded_url: nameNumber("expanded_url"),
  followers_count: nameNumber("followers_count"),
  following_count: nameNumber("following_count"),
  full_name: nameNumber("full_name"),
  geo: nameNumber("geo"),
  hashtags: nameNumber("hashtags"),
  id: nameNumber("id"),
  in_reply_to_user_id: nameNumber("in_reply_to_user_id"),
  includes: nameNumber("includes"),
  lang: nameNumber("lang"),
  like_count: nameNumber("like_count"),
  listed_count: nameNumber("listed_count"),
  location: nameNumber("location"),
  media: nameNumber("media"),
  media_key: nameNumber("media_key"),
  media_keys: nameNumber("media_keys"),
  mentions: nameNumber("mentions"),
  name: nameNumber("name"),
  normalized_text: nameNumber("normalized_text"),
  place_id: nameNumber("place_id"),
  places: nameNumber("places"),
  public_metrics: nameNumber("public_metrics"),
  referenced_tweets: nameNumber("referenced_tweets"),
  reply_count: nameNumber("reply_count"),
  retweet_count: nameNumber("retweet_count"),
  source: nameNumber("source"),
  tag: nameNumber("tag"),
  text: nameNumber("text"),
  title: nameNumber("title"),
  tweet_count: nameNumber("tweet_count"),
  tweets: nameNumber("tweets"),
  type: nameNumber("type"),
  unwound_url: nameNumber("unwound_url"),
  url: nameNumber("url"),
  urls: nameNumber("urls"),
  username: nameNumber("username"),
  users: nameNumber("users"),
  verified: nameNumber("verified"),
} as const satisfies Record<MemberName, number>

/** The posts that a post refers to: for each type the id of the first; 0 if there is none. */
type ReferenceNodes = { retweeted: number; quoted: number; repliedTo: number }

/** The nodes of one envelope after the other. */
export class PostNodes {
  readonly tape: JsonTape
  readonly #counts: Int32Array
  #data = 0
  #includes = 0
  #original = 0
  #quoted = 0
  #author = 0
  /** Those of the post. */
  readonly references: ReferenceNodes = { retweeted: 0, quoted: 0, repliedTo: 0 }
  readonly #ofOther: ReferenceNodes = { retweeted: 0, quoted: 0, repliedTo: 0 }

  constructor(tape: JsonTape) {
    this.tape = tape
    this.#counts = countsOf(tape.module)
  }

  /** False once something was found that this reader does not decide: an id with escapes, for example. */
  get isCertain(): boolean {
    return this.#counts[counted.isDoubted] === 0
  }

  get data(): number {
    return this.#data
  }

  get includes(): number {
    return this.#includes
  }

  /** The post that this one reposts, if it is included. */
  get original(): number {
    return this.#original
  }

  /** The post that this one, or the one that it reposts, quotes, if it is included. */
  get quoted(): number {
    return this.#quoted
  }

  /** The author, if included. */
  get author(): number {
    return this.#author
  }

  /** A repost of a reply is not itself a reply. */
  get isReply(): boolean {
    return this.references.retweeted === 0 && this.id(this.#data, names.in_reply_to_user_id) !== 0
  }

  /** Finds the objects of the line that the tape has taken. */
  find(): void {
    const { tape, references } = this
    this.#counts[counted.isDoubted] = 0
    const [data, includes] = [tape.root(names.data), tape.root(names.includes)]
    this.#data = tape.kind(data) === jsonKind.object ? data : 0
    this.#includes = tape.kind(includes) === jsonKind.object ? includes : 0
    this.#readReferences(this.#data, references)
    this.#original = this.#post(references.retweeted)
    this.#quoted = this.#post(this.quotedIdOf(this.#original === 0 ? this.#data : this.#original))
    this.#author = this.user(this.id(this.#data, names.author_id))
  }

  /** Leaves the post to the plain reader. */
  doubt(): void {
    this.#counts[counted.isDoubted] = 1
  }

  /** The member, as far as it is an object. */
  object(node: number, name: number): number {
    const found = this.tape.member(node, name)
    return found !== 0 && this.tape.kind(found) === jsonKind.object ? found : 0
  }

  /** Likewise an array. */
  array(node: number, name: number): number {
    const found = this.tape.member(node, name)
    return found !== 0 && this.tape.kind(found) === jsonKind.array ? found : 0
  }

  /** Likewise a string. */
  string(node: number, name: number): number {
    const found = this.tape.member(node, name)
    return found !== 0 && this.tape.isString(found) ? found : 0
  }

  /** Likewise a string that is not empty. */
  filled(node: number, name: number): number {
    const found = this.string(node, name)
    return found !== 0 && this.tape.end(found) > this.tape.begin(found) ? found : 0
  }

  /** Likewise a string that is not empty, of ASCII and without escapes: any other puts the post in doubt. */
  id(node: number, name: number): number {
    const found = this.filled(node, name)
    if (found !== 0 && this.tape.kind(found) !== jsonKind.plain) this.doubt()
    return found
  }

  /** The included user with the id. */
  user(id: number): number {
    return this.included(names.users, id)
  }

  /** The first object of a list of `includes` that has the id; 0 if there is none or no id. */
  included(list: number, id: number): number {
    return this.tape.module.included(this.#includes, list, id)
  }

  /** The id of the post that this one quotes; 0 if it quotes none. */
  quotedIdOf(post: number): number {
    if (post === this.#data) return this.references.quoted
    this.#readReferences(post, this.#ofOther)
    return this.#ofOther.quoted
  }

  /** Whether a user or a mention may name an account that it is affiliated with. */
  get hasAffiliations(): boolean {
    return this.tape.hasName(names.affiliation)
  }

  /** Id of the place of a post, or 0. */
  placeIdOf(post: number): number {
    return this.filled(this.object(post, names.geo), names.place_id)
  }

  /** The exact point that a post was sent from. */
  pointOf(post: number): Point | undefined {
    const { tape } = this
    const list = this.array(this.object(this.object(post, names.geo), names.coordinates), names.coordinates)
    if (list === 0) return undefined
    const [first, end] = [list + 1, tape.next(list)]
    const second = first < end ? tape.next(first) : end
    if (second >= end || tape.kind(first) !== jsonKind.number || tape.kind(second) !== jsonKind.number) return undefined
    return [Number(tape.ascii(first)), Number(tape.ascii(second))]
  }

  /** The box of the place of a post, if the place is included with one. */
  boxOf(post: number): Box | undefined {
    const { tape } = this
    const place = this.included(names.places, this.id(this.object(post, names.geo), names.place_id))
    const list = this.array(this.object(place, names.geo), names.bbox)
    const sides: number[] = []
    for (let side = list + 1; side < tape.itemsEnd(list) && sides.length < 4; side = tape.next(side))
      if (tape.kind(side) === jsonKind.number) sides.push(Number(tape.ascii(side)))
      else return undefined
    const [west, south, east, north] = sides
    return north === undefined ? undefined : [west ?? 0, south ?? 0, east ?? 0, north]
  }

  /** The member, as far as it is a number. */
  number(node: number, name: number): number | undefined {
    const found = this.tape.member(node, name)
    return found !== 0 && this.tape.kind(found) === jsonKind.number ? Number(this.tape.ascii(found)) : undefined
  }

  #post(id: number): number {
    return this.included(names.tweets, id)
  }

  #readReferences(post: number, found: ReferenceNodes): void {
    const { tape } = this
    found.retweeted = found.quoted = found.repliedTo = 0
    const list = this.array(post, names.referenced_tweets)
    if (list === 0) return
    for (let item = list + 1; item < tape.itemsEnd(list); item = tape.next(item)) {
      const type = this.id(item, names.type)
      if (type === 0) continue
      const id = this.id(item, names.id)
      if (tape.isText(type, "retweeted")) found.retweeted = this.#firstId(found.retweeted, id)
      else if (tape.isText(type, "quoted")) found.quoted = this.#firstId(found.quoted, id)
      else if (tape.isText(type, "replied_to")) found.repliedTo = this.#firstId(found.repliedTo, id)
    }
  }

  #firstId(before: number, id: number): number {
    if (id === 0) this.doubt()
    return before === 0 ? id : before
  }
}
