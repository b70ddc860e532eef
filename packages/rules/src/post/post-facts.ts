/**
 * A post as the operators see it. Each field is read from the envelope when a rule first needs it, and only once.
 *
 *     envelope ─► PostObjects ─► parts, links ─► passages, keys, counts …
 *
 * Envelopes come from any source, so no member is trusted to have its type: a value that X would not write counts as
 * absent. Reading never throws.
 *
 * A repost is read through its original, because its own text and entities are cut off. Of its own text only the prefix
 * `RT @name:` counts, and its own mentions: X's search for `happy has:mentions` finds reposts of @happy_… whose
 * original contains neither. On a stream, a quote post is read together with the post that it quotes. Source: results
 * of X's own search; for quotes and replies on a stream, docs.x.com, "Operators".
 */

import type { Point } from "../language/area.ts"
import { languageKey } from "../language/languages.ts"
import type { CountName, KeyName, Zone } from "../language/rule.ts"
import type { Mode } from "../text/mode.ts"
import { keyOfWords } from "../text/words.ts"
import type { EarlierPosts } from "./earlier-posts.ts"
import { keysOf, passageOf, passagesOf, type Key, type Passage } from "./field-values.ts"
import { hasKeys, isKeys } from "./flag-keys.ts"
import { displayedPassages, linkTextsOf, targetPassages, type Link } from "./links.ts"
import {
  affiliationKeys,
  contextKeys,
  entityKeys,
  repliedToAffiliationKeys,
  repliedToKeys,
  repostedKeys,
  userKeys,
} from "./post-keys.ts"
import { PostObjects, type RuleEnvelope } from "./post-objects.ts"
import { linksOf, marksOf, partsOf, type MarkKind, type PostPart } from "./post-parts.ts"
import { countryKeys, locationOf, placeKeys } from "./post-place.ts"
import { idOf, numberOf, objectOf, textOf } from "./untyped-json.ts"

/** How a post is read. */
export type ReadOptions = {
  /** The mode of the rules. Default `stream`. */
  readonly mode?: Mode
  /** Places and links known from earlier posts. */
  readonly earlier?: EarlierPosts
  /** Cosine of the embeddings of the post and of a rule's text; undefined if it is unknown. */
  readonly similarity?: (text: string) => number | undefined
}

/** Reads a post. Total: an envelope of arbitrary JSON gives a post without values. */
export function readPost(envelope: RuleEnvelope, options: ReadOptions = {}): PostFacts {
  return new PostFacts(envelope, options)
}

/** Everything that operators read of a post. */
export type Facts = Pick<PostFacts, keyof PostFacts>

/** The facts of a parsed post. Made by `readPost` only. */
export class PostFacts {
  readonly mode: Mode
  readonly #post: PostObjects
  readonly #similarity: ReadOptions["similarity"]
  #parts: readonly PostPart[] | undefined
  #links: readonly Link[] | undefined
  #targets: readonly Passage[] | undefined
  #marks: { [Kind in MarkKind]?: readonly Key[] } | undefined
  // The fields that most rules read are members: a member is found faster than an entry of a map.
  #text: readonly Passage[] | undefined
  #link: readonly Passage[] | undefined
  #is: readonly Key[] | undefined
  #has: readonly Key[] | undefined
  #others: Map<Zone | KeyName, readonly Passage[] | readonly Key[]> | undefined
  #linkTexts: readonly string[] | undefined
  #location: Point | undefined

  constructor(envelope: RuleEnvelope, { mode = "stream", earlier, similarity }: ReadOptions) {
    this.#post = new PostObjects(envelope, mode, earlier)
    this.#similarity = similarity
    this.mode = mode
  }

  /** "" if the post has none. */
  get id(): string {
    return idOf(this.#post.data.id) ?? ""
  }

  /** The texts of a zone. */
  passages(zone: Zone): readonly Passage[] {
    if (zone === "text") return (this.#text ??= this.#textPassages())
    if (zone === "link") return (this.#link ??= this.#linkPassages())
    return this.#once(zone, () => this.#readPassages(zone))
  }

  /** The values that an operator compares with its own. */
  keys(name: KeyName): readonly Key[] {
    switch (name) {
      case "is":
        return (this.#is ??= isKeys(this.#post))
      case "has":
        return (this.#has ??= hasKeys(this.#post, this.#partsOf(), this.#linksOf(), (kind) => this.#marksOf(kind)))
      case "hashtag":
        return this.#marksOf("hashtags")
      case "mention":
        return this.#marksOf("mentions")
      case "cashtag":
        return this.#marksOf("cashtags")
      default:
        return this.#readKeys(name)
    }
  }

  /** A number of the author or of the post, a repost's original if it is included; undefined if the envelope does not say. */
  count(name: CountName): number | undefined {
    const { original, data } = this.#post
    const author = objectOf(this.#post.author.public_metrics)
    const metrics = objectOf((original ?? data).public_metrics)
    switch (name) {
      case "followers_count":
      case "following_count":
      case "listed_count":
        return numberOf(author[name])
      case "tweets_count":
        return numberOf(author.tweet_count)
      case "min_likes":
        return numberOf(metrics.like_count)
      case "min_replies":
        return numberOf(metrics.reply_count)
      case "min_reposts":
        return numberOf(metrics.retweet_count)
    }
  }

  /** The links, folded: where they lead, their short forms, and what readers see of them. */
  linkTexts(): readonly string[] {
    return (this.#linkTexts ??= linkTextsOf(this.#linksOf(), this.mode, this.#post.earlier))
  }

  /** Characters of the texts of the links. */
  get linkCharacters(): number {
    return this.linkTexts().reduce((sum, text) => sum + text.length, 0)
  }

  /** False only if no text of the links holds this one, which is folded. A hint, for what need not make the texts. */
  mayLinksHold(_text: string): boolean {
    return true
  }

  /** Where the post was sent from; undefined if it is unknown. */
  location(): Point | undefined {
    // An unknown place is looked up again: a post that is read meanwhile may have named it.
    return (this.#location ??= locationOf(this.#post))
  }

  /** Cosine of the embeddings of the post and the text; undefined if it is unknown. */
  similarity(text: string): number | undefined {
    return this.#similarity?.(text)
  }

  #once<Found extends readonly Passage[] | readonly Key[]>(name: Zone | KeyName, read: () => Found): Found {
    this.#others ??= new Map()
    const known = this.#others.get(name)
    if (known !== undefined) return known as Found
    const found = read()
    this.#others.set(name, found)
    return found
  }

  #partsOf(): readonly PostPart[] {
    return (this.#parts ??= partsOf(this.#post))
  }

  #linksOf(): readonly Link[] {
    return (this.#links ??= linksOf(this.#partsOf()))
  }

  #marksOf(kind: MarkKind): readonly Key[] {
    this.#marks ??= {}
    return (this.#marks[kind] ??= marksOf(this.#partsOf(), kind))
  }

  /** Words of a text are also searched for where the links lead. */
  #textPassages(): readonly Passage[] {
    const passages: Passage[] = []
    for (const { where, text } of this.#partsOf()) passages.push(passageOf(this.mode, where, text, "post"))
    for (const target of this.#targetPassages()) passages.push(target)
    return passages
  }

  #linkPassages(): readonly Passage[] {
    const displayed = displayedPassages(this.#linksOf(), this.mode)
    return displayed.length === 0 ? this.#targetPassages() : [...this.#targetPassages(), ...displayed]
  }

  #targetPassages(): readonly Passage[] {
    return (this.#targets ??= targetPassages(this.#linksOf(), this.mode, this.#post.earlier))
  }

  #readPassages(zone: Exclude<Zone, "text" | "link">): readonly Passage[] {
    if (zone === "title" || zone === "description") {
      const texts = this.#linksOf().map((link) => link[zone])
      return passagesOf(this.mode, `url_${zone}`, texts)
    }
    const { author } = this.#post
    switch (zone) {
      case "bio":
        return passagesOf(this.mode, "bio", [author.description])
      case "name":
        return passagesOf(this.mode, "bio_name", [author.name])
      case "location":
        return passagesOf(this.mode, "bio_location", [author.location])
    }
  }

  #readKeys(name: Exclude<KeyName, "is" | "has" | "hashtag" | "mention" | "cashtag">): readonly Key[] {
    const post = this.#post
    switch (name) {
      case "from":
        return userKeys(post, idOf(post.data.author_id), "author")
      case "to":
        return repliedToKeys(post)
      case "retweets_of":
        return repostedKeys(post)
      case "from_affiliate_of":
        return this.#once(name, () => affiliationKeys(post, post.author, "author"))
      case "to_affiliate_of":
        return this.#once(name, () => repliedToAffiliationKeys(post))
      case "context":
        return this.#once(name, () => contextKeys(post))
      case "entity":
        return this.#once(name, () => entityKeys(post))
      case "conversation_id":
        return keysOf("post", idOf(post.data.conversation_id))
      case "in_reply_to_tweet_id":
        return keysOf("reply", post.references.replied_to)
      case "retweets_of_tweet_id":
        return keysOf("original", post.references.retweeted)
      case "quotes_of_tweet_id":
        return keysOf("quoted", post.references.quoted)
      case "place":
        return this.#once(name, () => placeKeys(post))
      case "place_country":
        return countryKeys(post)
      case "source":
        return keysOf("post", keyOfWords(textOf(post.data.source) ?? "", this.mode))
      case "lang":
        return keysOf("post", languageKey(textOf(post.data.lang) ?? ""))
    }
  }
}
