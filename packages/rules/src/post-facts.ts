/**
 * A post as the operators see it, read out of an X envelope once.
 *
 * Envelopes come from anywhere, so nothing in them is trusted to have its type: what is not as X
 * writes it is as if it were absent. Reading never throws.
 *
 * A repost is read through the post it repeats, since its own text is cut off and its own entities
 * with it. Of its own text the beginning counts, `RT @name:`, and so do its own mentions: X's search
 * for `happy has:mentions` finds reposts of @happy_… whose original says neither. A quote post is
 * read together with the post it quotes. Source: results of X's own search.
 */

import { entitiesOf } from "./entities.ts"
import type { Entities, Entity } from "./entities.ts"
import { fold } from "./fold.ts"
import { languageKey } from "./languages.ts"
import type { HasValue, IsValue } from "./rule.ts"
import { withoutScheme } from "./rule.ts"
import { tokenise } from "./tokenise.ts"
import type { Token } from "./tokenise.ts"

/** What X streams for a post, and what Sluice takes in. Members that are ill-typed are ignored. */
export type RuleEnvelope = {
  readonly data: { readonly id: string; readonly text: string; readonly [member: string]: unknown }
  /** `users`, `tweets` and `media` are read. */
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
  | "author"
  /** The user or post replied to. */
  | "reply"
  /** A property of the post as a whole. */
  | "post"
  | "media"

/** A text with its tokens. */
export type Passage = { readonly where: Where; readonly tokens: readonly Token[] }

/** A user by whatever is known: id, case-folded username. */
export type UserNames = { readonly id?: string; readonly username?: string }

/** Everything about a post that operators ask. Made by `readPost` alone. */
export type PostFacts = {
  /** What keywords and phrases search: texts, then links. */
  readonly passages: readonly Passage[]
  /** What `url:` searches: links, their displayed forms included. */
  readonly links: readonly Passage[]
  readonly hashtags: readonly Entity[]
  readonly mentions: readonly Entity[]
  readonly cashtags: readonly Entity[]
  readonly author: UserNames
  /** Whom the post replies to; no names when it is none. */
  readonly repliedTo: UserNames
  /** The author of the post that it reposts. */
  readonly repostedFrom: UserNames
  readonly conversationId: string
  /** As `languageKey` makes it; "" when unknown. */
  readonly lang: string
  readonly is: ReadonlySet<IsValue>
  readonly has: ReadonlySet<HasValue>
}

/** Reads the facts. Total: an envelope of nonsense gives a post without facts. */
export function readPost(envelope: RuleEnvelope): PostFacts {
  const data = objectOf(objectOf(envelope).data)
  const includes = objectOf(objectOf(envelope).includes)
  const users = listOf(includes.users).map(objectOf)
  const posts = listOf(includes.tweets).map(objectOf)
  const originalId = referencedId(data, "retweeted")
  const isRepost = originalId !== undefined
  const original = posts.find((post) => originalId !== undefined && idOf(post.id) === originalId)
  const shown = original ?? data
  const quotedId = referencedId(shown, "quoted")
  const quoted = posts.find((post) => quotedId !== undefined && idOf(post.id) === quotedId)

  const parts = [readPart(shown, original ? "original" : "text", quotedId)]
  if (original) parts.unshift(readBeginning(data))
  if (quoted) parts.push(readPart(quoted, "quoted", undefined))

  const author = userOf(idOf(data.author_id), users)
  const replied = idOf(data.in_reply_to_user_id)
  const isReply = replied !== undefined && !isRepost
  const isQuote = referencedId(data, "quoted") !== undefined
  const isVerified = users.some(
    (user) => author.id !== undefined && idOf(user.id) === author.id && user.verified === true,
  )

  const has = new Set<HasValue>()
  const hashtags = parts.flatMap((part) => part.entities.hashtags)
  const mentions = parts.flatMap((part) => part.entities.mentions)
  const cashtags = parts.flatMap((part) => part.entities.cashtags)
  if (hashtags.length > 0) has.add("hashtags")
  if (mentions.length > 0) has.add("mentions")
  if (cashtags.length > 0) has.add("cashtags")
  if (parts.some((part) => part.entities.links.some((link) => link.isForeign))) has.add("links")
  const mediaKeys = parts.flatMap((part) => part.mediaKeys)
  const kinds = mediaKeys.length === 0 ? [] : mediaKinds(mediaKeys, includes.media)
  if (kinds.length > 0) has.add("media")
  if (kinds.includes("image")) has.add("images")

  const is = new Set<IsValue>()
  if (isRepost) is.add("retweet")
  if (isReply) is.add("reply")
  if (isQuote) is.add("quote")
  if (isVerified) is.add("verified")

  const links = parts.flatMap((part) => part.entities.links)
  const targets = linkPassages(links.flatMap((link) => link.targets))
  return {
    passages: [...parts.map((part) => part.passage), ...targets],
    links: [...targets, ...linkPassages(links.flatMap((link) => link.displayed))],
    hashtags,
    mentions,
    cashtags,
    author,
    repliedTo: isReply ? repliedTo(replied, data, users) : {},
    repostedFrom: isRepost ? repostedFrom(data, original, users) : {},
    conversationId: idOf(data.conversation_id) ?? "",
    lang: languageKey(textOf(data.lang) ?? ""),
    is,
    has,
  }
}

type Members = Readonly<Record<string, unknown>>

type PostPart = {
  readonly passage: Passage
  readonly entities: Entities
  readonly mediaKeys: readonly string[]
}

function readPart(post: Members, where: Where, quotedId: string | undefined): PostPart {
  const text = textOf(post.text) ?? ""
  const keys = listOf(objectOf(post.attachments).media_keys)
  return {
    passage: { where, tokens: tokenise(text, "post") },
    entities: entitiesOf(post.entities, { text, where, quotedId }),
    mediaKeys: keys.filter((key) => typeof key === "string"),
  }
}

/** What a repost has of its own: `RT @name:`, and the mentions. */
function readBeginning(repost: Members): PostPart {
  const text = /^RT @\w+:/.exec(textOf(repost.text) ?? "")?.[0] ?? ""
  const { mentions } = entitiesOf(repost.entities, { text, where: "text", quotedId: undefined })
  const entities = { hashtags: [], mentions, cashtags: [], links: [] }
  return { passage: { where: "text", tokens: tokenise(text, "post") }, entities, mediaKeys: [] }
}

function linkPassages(links: readonly string[]): readonly Passage[] {
  const distinct = new Set(links.map(withoutScheme))
  return [...distinct].map((link) => ({ where: "url", tokens: tokensOfLink(link) }))
}

/** A displayed link that was cut off ends in half a word. */
function tokensOfLink(link: string): readonly Token[] {
  const tokens = tokenise(link, "rule")
  return link.endsWith("…") ? tokens.slice(0, -1) : tokens
}

/** X's media keys begin with a kind, which serves when the media object was not asked for. */
function mediaKinds(keys: readonly string[], media: unknown): readonly ("image" | "other")[] {
  const types = new Map(
    listOf(media)
      .map(objectOf)
      .map((one) => [one.media_key, textOf(one.type)]),
  )
  return keys.map((key) => {
    const type = types.get(key)
    if (type !== undefined) return type === "photo" || type === "animated_gif" ? "image" : "other"
    return key.startsWith("3_") || key.startsWith("16_") ? "image" : "other"
  })
}

function referencedId(post: Members, type: string): string | undefined {
  const reference = listOf(post.referenced_tweets)
    .map(objectOf)
    .find((one) => one.type === type)
  return idOf(reference?.id)
}

function userOf(id: string | undefined, users: readonly Members[]): UserNames {
  if (id === undefined) return {}
  const user = users.find((one) => idOf(one.id) === id)
  return named(id, textOf(user?.username))
}

/** Without the user object, a mention may carry the id; the sole leading mention tells the name too. */
function repliedTo(id: string, data: Members, users: readonly Members[]): UserNames {
  const known = userOf(id, users)
  if (known.username !== undefined) return known
  const mention = listOf(objectOf(data.entities).mentions)
    .map(objectOf)
    .find((one) => idOf(one.id) === id)
  return named(id, textOf(mention?.username))
}

/** Without the original, the repost's own text begins with whom it repeats: "RT @name:". */
function repostedFrom(data: Members, original: Members | undefined, users: readonly Members[]): UserNames {
  const id = idOf(original?.author_id)
  const known = userOf(id, users)
  if (known.username !== undefined) return known
  const name = /^RT @(\w+):/.exec(textOf(data.text) ?? "")?.[1]
  return named(id, name)
}

function named(id: string | undefined, username: string | undefined): UserNames {
  return {
    ...(id === undefined ? {} : { id }),
    ...(username === undefined ? {} : { username: fold(username) }),
  }
}

function objectOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}

function idOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}
