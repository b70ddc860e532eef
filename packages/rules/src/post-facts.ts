/**
 * A post as the operators see it, read out of an X envelope when asked and only once.
 *
 * Envelopes come from anywhere, so nothing in them is trusted to have its type: what is not as X
 * writes it is as if it were absent. Reading never throws.
 *
 * A repost is read through the post it repeats, since its own text is cut off and its own entities
 * with it. Of its own text the beginning counts, `RT @name:`, and so do its own mentions: X's search
 * for `happy has:mentions` finds reposts of @happy_… whose original says neither. On a stream, a quote
 * post is read together with the post it quotes. Source: results of X's own search; for quotes and
 * replies on a stream, docs.x.com, "Operators".
 */

import type { Box, Point } from "./area.ts"
import type { EarlierPosts } from "./earlier-posts.ts"
import { classOf, separator } from "./character-class.ts"
import { Entities, isForeign } from "./entities.ts"
import type { Link, MarkKind } from "./entities.ts"
import { fold } from "./fold.ts"
import { languageKey } from "./languages.ts"
import { arrayOf, idOf, numberOf, objectOf, textOf } from "./loose-json.ts"
import type { Members } from "./loose-json.ts"
import { foldFor } from "./mode.ts"
import type { Mode } from "./mode.ts"
import type { CountName, hasValues, isValues, KeyName, Zone } from "./rule.ts"
import { tokenise } from "./tokenise.ts"
import type { Token } from "./tokenise.ts"
import { keyOfWords, withoutScheme } from "./words.ts"

/** What X streams for a post, and what Sluice takes in. Members that are ill-typed are ignored. */
export type RuleEnvelope = {
  readonly data: { readonly id: string; readonly text: string; readonly [member: string]: unknown }
  /** `users`, `tweets`, `media` and `places` are read. */
  readonly includes?: unknown
}

/** Where something was found. */
export type Where =
  /** The post's own text. */
  | "text"
  /** The text of the post that it reposts. */
  | "original"
  /** The text of the post that it quotes. */
  | "quoted"
  /** A link, shortened links resolved. */
  | "url"
  /** Title and description of a page that is linked to. */
  | "url_title"
  | "url_description"
  | "author"
  /** Description, name and location of the author. */
  | "bio"
  | "bio_name"
  | "bio_location"
  /** The user or post replied to. */
  | "reply"
  /** A property of the post as a whole. */
  | "post"
  | "media"
  /** Where the post was sent from. */
  | "place"
  /** What the post is about, by X's annotations. */
  | "context"

/** A text with its tokens. */
export type Passage = { readonly where: Where; readonly tokens: readonly Token[] }

/** A value that a post has: a hashtag, an author's name, a language. */
export type Key = {
  /** Folded as a rule's keys are. */
  readonly key: string
  readonly where: Where
  /** Code points in the text that `where` names, end exclusive; absent when the post does not say. */
  readonly start?: number
  readonly end?: number
}

/** Where a post was sent from: a point, or else the box around a place. */
export type Ground = { readonly point?: Point; readonly box?: Box }

/** How a post is read. */
export type ReadOptions = {
  /** As that of the rules. Default `stream`. */
  readonly mode?: Mode
  /** What earlier posts told of places and links. */
  readonly earlier?: EarlierPosts
  /** Cosine of the post's embedding and that of a rule's text; undefined when it is not known. */
  readonly similarity?: (text: string) => number | undefined
}

/** Reads a post. Total: an envelope of nonsense gives a post without facts. */
export function readPost(envelope: RuleEnvelope, options: ReadOptions = {}): PostFacts {
  return new PostFacts(envelope, options)
}

/** A text that counts as the post's own, with what X says beside it. */
type PostPart = {
  readonly where: Where
  readonly text: string
  readonly entities: Entities
  /** Of the beginning of a repost only the mentions count. */
  readonly isBeginning: boolean
  readonly mediaKeys: readonly unknown[]
}

const none: readonly never[] = []

/** Everything about a post that operators ask. What nobody asks is never read. Made by `readPost` alone. */
export class PostFacts {
  readonly mode: Mode
  readonly #data: Members
  readonly #includes: Members
  readonly #options: ReadOptions
  #parts: readonly PostPart[] | undefined
  #original: Members | undefined | null = null
  #referencesFound: References | undefined
  #linksFound: readonly Link[] | undefined
  #targets: readonly Passage[] | undefined
  #marksFound: { [Kind in MarkKind]?: readonly Key[] } | undefined
  // What most rules look at has a member of its own; a member is found faster than an entry of a map.
  #text: readonly Passage[] | undefined
  #link: readonly Passage[] | undefined
  #is: readonly Key[] | undefined
  #has: readonly Key[] | undefined
  #others: Map<Zone | KeyName, readonly Passage[] | readonly Key[]> | undefined
  #linkTexts: readonly string[] | undefined

  constructor(envelope: RuleEnvelope, options: ReadOptions) {
    const { data, includes } = objectOf(envelope)
    this.#data = objectOf(data)
    this.#includes = objectOf(includes)
    this.#options = options
    this.mode = options.mode ?? "stream"
  }

  /** "" when it has none. */
  get id(): string {
    return idOf(this.#data.id) ?? ""
  }

  /** The texts in which words of a zone are looked for. */
  passages(zone: Zone): readonly Passage[] {
    if (zone === "text") return (this.#text ??= this.#textAndTargets())
    if (zone === "link") return (this.#link ??= this.#targetsAndDisplayed())
    return this.#once(zone, () => this.#readPassages(zone))
  }

  /** The values that an operator compares with its own. */
  keys(name: KeyName): readonly Key[] {
    switch (name) {
      case "is":
        return (this.#is ??= this.#isKeys())
      case "has":
        return (this.#has ??= this.#hasKeys())
      case "hashtag":
        return this.#marks("hashtags")
      case "mention":
        return this.#marks("mentions")
      case "cashtag":
        return this.#marks("cashtags")
      default:
        return this.#readKeys(name)
    }
  }

  /** Undefined when the post does not say. */
  count(name: CountName): number | undefined {
    const author = objectOf(this.#userOf(idOf(this.#data.author_id))?.public_metrics)
    const post = objectOf((this.#originalPost() ?? this.#data).public_metrics)
    switch (name) {
      case "followers_count":
      case "following_count":
      case "listed_count":
        return numberOf(author[name])
      case "tweets_count":
        return numberOf(author.tweet_count)
      case "min_likes":
        return numberOf(post.like_count)
      case "min_replies":
        return numberOf(post.reply_count)
      case "min_reposts":
        return numberOf(post.retweet_count)
      case "min_quotes":
        return numberOf(post.quote_count)
    }
  }

  /** The links, folded: where they lead, how they were shortened, and what readers see of them. */
  linkTexts(): readonly string[] {
    this.#linkTexts ??= this.#links().flatMap((link) =>
      [...this.#targetsOf(link), ...link.displayed].map((text) => foldFor(this.mode, text)),
    )
    return this.#linkTexts
  }

  /** Undefined when the post does not say. A repost has none of its own. */
  ground(): Ground | undefined {
    const geo = objectOf(this.#data.geo)
    const point = pointOf(objectOf(geo.coordinates).coordinates)
    if (point) return { point }
    const box = boxOf(objectOf(this.#placeOf(idOf(geo.place_id))?.geo).bbox)
    return box && { box }
  }

  /** Cosine of what the post and the text mean; undefined when it is not known. */
  similarity(text: string): number | undefined {
    return this.#options.similarity?.(text)
  }

  #once<Found extends readonly Passage[] | readonly Key[]>(name: Zone | KeyName, read: () => Found): Found {
    this.#others ??= new Map()
    const known = this.#others.get(name)
    if (known !== undefined) return known as Found
    const found = read()
    this.#others.set(name, found)
    return found
  }

  #textAndTargets(): readonly Passage[] {
    const passages: Passage[] = []
    for (const { where, text } of this.#postParts()) passages.push(this.#passage(where, text, "post"))
    for (const target of this.#targetPassages()) passages.push(target)
    return passages
  }

  #targetsAndDisplayed(): readonly Passage[] {
    const displayed = this.#displayedPassages()
    return displayed.length === 0 ? this.#targetPassages() : [...this.#targetPassages(), ...displayed]
  }

  #readPassages(zone: Exclude<Zone, "text" | "link">): readonly Passage[] {
    switch (zone) {
      case "title":
        return this.#textPassages(
          "url_title",
          this.#links().map((link) => link.title),
        )
      case "description":
        return this.#textPassages(
          "url_description",
          this.#links().map((link) => link.description),
        )
      case "bio":
        return this.#textPassages("bio", [this.#author().description])
      case "name":
        return this.#textPassages("bio_name", [this.#author().name])
      case "location":
        return this.#textPassages("bio_location", [this.#author().location])
    }
  }

  #readKeys(name: Exclude<KeyName, "is" | "has" | "hashtag" | "mention" | "cashtag">): readonly Key[] {
    switch (name) {
      case "from":
        return this.#namesOf(idOf(this.#data.author_id), "author")
      case "to":
        return this.#repliedTo()
      case "retweets_of":
        return this.#repostedFrom()
      case "from_affiliate_of":
        return this.#once(name, () => this.#affiliations(this.#author(), "author"))
      case "to_affiliate_of":
        return this.#once(name, () =>
          this.#isReply() ? this.#affiliations(this.#repliedToUser(), "reply") : none,
        )
      case "context":
        return this.#once(name, () => this.#contextKeys())
      case "entity":
        return this.#once(name, () =>
          this.#entityNames().map((text): Key => ({ key: keyOfWords(text, this.mode), where: "context" })),
        )
      case "conversation_id":
        return keysOf("post", idOf(this.#data.conversation_id))
      case "in_reply_to_tweet_id":
        return keysOf("reply", this.#references().replied_to)
      case "retweets_of_tweet_id":
        return keysOf("original", this.#references().retweeted)
      case "quotes_of_tweet_id":
        return keysOf("quoted", this.#references().quoted)
      case "place":
        return this.#once(name, () => this.#placeIds().flatMap((id) => this.#placeKeys(id)))
      case "place_country":
        return this.#placeIds().flatMap((id) => keysOf("place", textOf(this.#placeOf(id)?.country_code)))
      case "source":
        return keysOf("post", keyOfWords(textOf(this.#data.source) ?? "", this.mode) || undefined)
      case "lang":
        return keysOf("post", languageKey(textOf(this.#data.lang) ?? "") || undefined)
    }
  }

  #isKeys(): readonly Key[] {
    const keys: Key[] = []
    const add = (key: (typeof isValues)[number], where: Where): void => void keys.push({ key, where })
    const isStream = this.mode === "stream"
    const original = isStream ? this.#originalPost() : undefined
    const quoted = this.#quotedPost()
    if (this.#references().retweeted !== undefined) add("retweet", "post")
    if (this.#isReply()) add("reply", "reply")
    else if (original && idOf(original.in_reply_to_user_id) !== undefined) add("reply", "original")
    else if (quoted && idOf(quoted.in_reply_to_user_id) !== undefined) add("reply", "quoted")
    if (this.#references().quoted !== undefined) add("quote", "post")
    else if (original && referencesOf(original).quoted !== undefined) add("quote", "original")
    if (this.#author().verified === true) add("verified", "author")
    if (/^Twitter for Advertisers(?: \(legacy\))?$/.test(textOf(this.#data.source) ?? ""))
      add("nullcast", "post")
    return keys
  }

  #hasKeys(): readonly Key[] {
    const keys: Key[] = []
    const add = (key: (typeof hasValues)[number], where: Where): void => void keys.push({ key, where })
    for (const kind of markKinds) {
      const [first] = this.#marks(kind)
      if (first) add(kind, first.where)
    }
    if (this.#links().some(isForeign)) add("links", "url")
    const kinds = this.#mediaKinds()
    if (kinds.length > 0) add("media", "media")
    if (kinds.includes("image")) add("images", "media")
    if (kinds.includes("video")) add("video_link", "media")
    const geo = objectOf(this.#data.geo)
    const isPlaced =
      idOf(geo.place_id) !== undefined || pointOf(objectOf(geo.coordinates).coordinates) !== undefined
    if (isPlaced) add("geo", "place")
    return keys
  }

  #marks(kind: MarkKind): readonly Key[] {
    this.#marksFound ??= {}
    return (this.#marksFound[kind] ??= this.#readMarks(kind))
  }

  #readMarks(kind: MarkKind): readonly Key[] {
    let keys: readonly Key[] = none
    for (const { entities, isBeginning } of this.#postParts()) {
      if (isBeginning && kind !== "mentions") continue
      const more = entities.marks(kind)
      if (more.length > 0) keys = keys.length === 0 ? more : [...keys, ...more]
    }
    return keys
  }

  #links(): readonly Link[] {
    return (this.#linksFound ??= this.#readLinks())
  }

  #readLinks(): readonly Link[] {
    let links: readonly Link[] = none
    for (const { entities, isBeginning } of this.#postParts()) {
      if (isBeginning) continue
      const more = entities.links()
      if (more.length > 0) links = links.length === 0 ? more : [...links, ...more]
    }
    return links
  }

  /** Where a link leads, as far as this post and earlier ones tell. */
  #targetsOf(link: Link): readonly string[] {
    const { earlier } = this.#options
    if (earlier === undefined) return link.targets
    const ends = link.targets.flatMap((target) => earlier.endOf(target) ?? none)
    return ends.length === 0 ? link.targets : [...link.targets, ...ends]
  }

  /** Texts and entities that count as the post's own. */
  #postParts(): readonly PostPart[] {
    if (this.#parts) return this.#parts
    const original = this.#originalPost()
    const quoted = this.#quotedPost()
    const shown = original ?? this.#data
    const parts = [this.#part(shown, original ? "original" : "text", referencesOf(shown).quoted)]
    if (original) parts.unshift(this.#beginning())
    if (quoted) parts.push(this.#part(quoted, "quoted", undefined))
    this.#parts = parts
    return parts
  }

  #part(post: Members, where: Where, quotedId: string | undefined): PostPart {
    const text = textOf(post.text) ?? ""
    return {
      where,
      text,
      entities: new Entities(post.entities, { text, where, quotedId, mode: this.mode }),
      isBeginning: false,
      mediaKeys: arrayOf(objectOf(post.attachments).media_keys),
    }
  }

  /** What a repost has of its own: `RT @name:`, and the mentions. */
  #beginning(): PostPart {
    const own = textOf(this.#data.text) ?? ""
    const text = own.startsWith("RT @") ? (/^RT @\w+:/.exec(own)?.[0] ?? "") : ""
    const around = { text, where: "text", quotedId: undefined, mode: this.mode } as const
    return {
      where: "text",
      text,
      entities: new Entities(this.#data.entities, around),
      isBeginning: true,
      mediaKeys: none,
    }
  }

  #originalPost(): Members | undefined {
    if (this.#original === null) this.#original = this.#post(this.#references().retweeted)
    return this.#original
  }

  /** Only on a stream: a search looks at the post alone. */
  #quotedPost(): Members | undefined {
    if (this.mode === "search") return undefined
    return this.#post(referencesOf(this.#originalPost() ?? this.#data).quoted)
  }

  #references(): References {
    return (this.#referencesFound ??= referencesOf(this.#data))
  }

  #post(id: string | undefined): Members | undefined {
    return id === undefined ? undefined : included(this.#includes.tweets, id)
  }

  #userOf(id: string | undefined): Members | undefined {
    return id === undefined ? undefined : included(this.#includes.users, id)
  }

  #author(): Members {
    return objectOf(this.#userOf(idOf(this.#data.author_id)))
  }

  #isReply(): boolean {
    return idOf(this.#data.in_reply_to_user_id) !== undefined && this.#references().retweeted === undefined
  }

  /** Without the user object, a mention may carry the id and tell the name too. */
  #repliedTo(): readonly Key[] {
    if (!this.#isReply()) return none
    const id = idOf(this.#data.in_reply_to_user_id)
    return this.#namesOf(id, "reply", textOf(this.#repliedToUser().username))
  }

  #repliedToUser(): Members {
    const id = idOf(this.#data.in_reply_to_user_id)
    const known = this.#userOf(id)
    if (known) return known
    const mentions = arrayOf(objectOf(this.#data.entities).mentions).map(objectOf)
    return objectOf(mentions.find((mention) => idOf(mention.id) === id))
  }

  /** Without the original, the repost's own text begins with whom it repeats: "RT @name:". */
  #repostedFrom(): readonly Key[] {
    if (this.#references().retweeted === undefined) return none
    const name = /^RT @(\w+):/.exec(textOf(this.#data.text) ?? "")?.[1]
    return this.#namesOf(idOf(this.#originalPost()?.author_id), "original", name)
  }

  /** A user by whatever is known: id and username, or else the username from elsewhere. */
  #namesOf(id: string | undefined, where: Where, elsewhere?: string): readonly Key[] {
    const username = textOf(this.#userOf(id)?.username) ?? elsewhere
    return keysOf(where, id, username === undefined ? undefined : fold(username))
  }

  /** Ids and usernames of the accounts that a user belongs to. Source: `affiliation` in X's OpenAPI document. */
  #affiliations(user: Members, where: Where): readonly Key[] {
    const affiliation = objectOf(user.affiliation)
    const inLink = /^https?:\/\/(?:www\.)?(?:twitter|x)\.com\/(\w+)\/?$/i.exec(
      textOf(affiliation.url) ?? "",
    )?.[1]
    const ids = new Set(arrayOf(affiliation.user_id).flatMap((id) => idOf(id) ?? none))
    const users = ids.size === 0 ? none : arrayOf(this.#includes.users).map(objectOf)
    const names = users.flatMap((one) => (ids.has(idOf(one.id) ?? "") ? textOf(one.username) : none))
    return [...ids, ...names, inLink].flatMap((key) => keysOf(where, key))
  }

  /** Of the post, and of what it reposts. */
  #annotations(): readonly unknown[] {
    const own = arrayOf(this.#data.context_annotations)
    const originals = arrayOf(this.#originalPost()?.context_annotations)
    return originals.length === 0 ? own : [...own, ...originals]
  }

  /** The pair of domain and entity, and either half of it with any other. */
  #contextKeys(): readonly Key[] {
    const keys: Key[] = []
    for (const annotation of this.#annotations()) {
      const { domain, entity } = objectOf(annotation)
      const [domainId, entityId] = [idOf(objectOf(domain).id), idOf(objectOf(entity).id)]
      if (domainId === undefined || entityId === undefined) continue
      keys.push({ key: `${domainId}.${entityId}`, where: "context" })
      keys.push({ key: `${domainId}.*`, where: "context" })
      keys.push({ key: `*.${entityId}`, where: "context" })
    }
    return keys
  }

  #entityNames(): readonly string[] {
    const names = new Set<string>()
    for (const annotation of this.#annotations()) {
      const name = idOf(objectOf(objectOf(annotation).entity).name)
      if (name !== undefined) names.add(name)
    }
    for (const post of [this.#data, this.#originalPost()]) {
      for (const annotation of arrayOf(objectOf(post?.entities).annotations)) {
        const name = idOf(objectOf(annotation).normalized_text)
        if (name !== undefined) names.add(name)
      }
    }
    return names.size === 0 ? none : [...names]
  }

  /** Reposts are found by the place of their original. Source: results of X's own search for `place:Berlin`. */
  #placeIds(): readonly string[] {
    return [this.#data, objectOf(this.#originalPost())].flatMap(
      (post) => idOf(objectOf(post.geo).place_id) ?? none,
    )
  }

  #placeOf(id: string | undefined): Members | undefined {
    if (id === undefined) return undefined
    return included(this.#includes.places, id) ?? this.#options.earlier?.placeOf(id)
  }

  #placeKeys(id: string): readonly Key[] {
    const place = objectOf(this.#placeOf(id))
    const names = [id, textOf(place.name), textOf(place.full_name)]
    return keysOf("place", ...names.map((name) => name && keyOfWords(name, this.mode)))
  }

  /** X's media keys begin with a kind, which serves when the media object was not asked for. */
  #mediaKinds(): readonly ("image" | "video" | "other")[] {
    const keys = this.#postParts()
      .flatMap((part) => part.mediaKeys)
      .filter((key) => typeof key === "string")
    if (keys.length === 0) return none
    const media = arrayOf(this.#includes.media).map(objectOf)
    const types = new Map(media.map((one) => [one.media_key, textOf(one.type)]))
    return keys.map((key) => kindOfMedia(types.get(key) ?? key.slice(0, key.indexOf("_"))))
  }

  #targetPassages(): readonly Passage[] {
    if (this.#targets) return this.#targets
    const texts: string[] = []
    for (const link of this.#links()) for (const target of this.#targetsOf(link)) texts.push(target)
    return (this.#targets = this.#linkPassages(texts))
  }

  /** What readers see of a link is mostly a part of where it leads, and then says nothing new. */
  #displayedPassages(): readonly Passage[] {
    const links = this.#links()
    if (links.length === 0) return none
    // Only its own targets are looked at: all of them would cost links × links.
    return this.#linkPassages(
      links.flatMap(({ targets, displayed }) =>
        displayed.filter((text) => !targets.some((one) => isPartOf(text, one))),
      ),
    )
  }

  /** Links that differ in their scheme alone are one. */
  #linkPassages(links: readonly string[]): readonly Passage[] {
    const passages: Passage[] = []
    for (const text of distinctTexts(links)) {
      const passage = this.#passage("url", text, "rule")
      passages.push(isCutInWord(text) ? { where: "url", tokens: passage.tokens.slice(0, -1) } : passage)
    }
    return passages
  }

  #textPassages(where: Where, texts: readonly unknown[]): readonly Passage[] {
    return texts.flatMap((text) => (typeof text === "string" ? [this.#passage(where, text, "post")] : []))
  }

  #passage(where: Where, text: string, kind: "rule" | "post"): Passage {
    const tokens = tokenise(text, kind)
    if (this.mode === "stream") return { where, tokens }
    return { where, tokens: tokens.map((token) => ({ ...token, text: foldFor(this.mode, token.text) })) }
  }
}

const markKinds = ["hashtags", "mentions", "cashtags"] as const

function keysOf(where: Where, ...keys: readonly (string | undefined)[]): readonly Key[] {
  const made: Key[] = []
  for (const key of keys) if (key !== undefined && key !== "") made.push({ key: fold(key), where })
  return made
}

/** By X's name of the type, or by the number that its media keys begin with. Source: results of X's own search. */
function kindOfMedia(type: string): "image" | "video" | "other" {
  if (type === "photo" || type === "animated_gif" || type === "3" || type === "16") return "image"
  return type === "video" || type === "7" || type === "13" ? "video" : "other"
}

/** The first post of each kind that a post refers to. */
type References = {
  retweeted?: string | undefined
  quoted?: string | undefined
  replied_to?: string | undefined
}

const noReferences: References = {}

function referencesOf(post: Members): References {
  const list = arrayOf(post.referenced_tweets)
  if (list.length === 0) return noReferences
  const found: References = {}
  for (const reference of list) {
    const { type, id } = objectOf(reference)
    if (type === "retweeted" || type === "quoted" || type === "replied_to") {
      if (!Object.hasOwn(found, type)) found[type] = idOf(id)
    }
  }
  return found
}

/** Whether a displayed link was cut off behind a letter or digit: then it ends in half a word, as far as one can say. */
function isCutInWord(link: string): boolean {
  return link.endsWith("…") && classOf(link.codePointAt(link.length - 2) ?? 0) !== separator
}

/** Whether a displayed link stands whole in a link, from the beginning of a word; cut off ones where they were cut. */
function isPartOf(displayed: string, link: string): boolean {
  const stem = displayed.endsWith("…") ? displayed.slice(0, -1) : displayed
  const at = link.indexOf(stem)
  if (at < 0) return false
  const isBeginning = at === 0 || /[/.]/.test(link.charAt(at - 1))
  const isEnd = stem.length < displayed.length || at + stem.length === link.length
  return isBeginning && isEnd
}

function included(list: unknown, id: string): Members | undefined {
  for (const one of arrayOf(list)) if (objectOf(one).id === id) return objectOf(one)
  return undefined
}

function distinctTexts(links: readonly string[]): Iterable<string> {
  const [only] = links
  if (only === undefined) return none
  return links.length === 1 ? [withoutScheme(only)] : new Set(links.map(withoutScheme))
}

function pointOf(value: unknown): Point | undefined {
  const [longitude, latitude] = arrayOf(value).map(numberOf)
  return longitude === undefined || latitude === undefined ? undefined : [longitude, latitude]
}

function boxOf(value: unknown): Box | undefined {
  const [west, south, east, north] = arrayOf(value).map(numberOf)
  const isBox = west !== undefined && south !== undefined && east !== undefined && north !== undefined
  return isBox ? [west, south, east, north] : undefined
}
