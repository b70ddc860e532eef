/** The envelope of a draft: what was asked for, as X writes posts. */

import { countMembers } from "../post/count-members.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import type { DraftLink, DraftPost, DraftUser } from "./draft.ts"

/** Ids of what a post refers to, where none is asked for. Ours: none that X would assign. */
const ids = {
  author: "1001",
  repliedTo: "1002",
  reposted: "1003",
  affiliation: "1004",
  reply: "11",
  repost: "12",
  quote: "13",
}

/** Words that stand between two parts of a text, as many as two words near each other may not have between them. */
const wordsBetween = 8

type Members = Record<string, unknown>

/** Members of a post, its text among them. */
type Content = Members & { readonly text: string }

/** The envelope. The text of a repost stands in its original, where rules read it. */
export function envelopeOf(draft: DraftPost): RuleEnvelope {
  const isRepost = draft.flags.has("retweet") || draft.repostOf !== undefined
  const author = userOf(draft.author, ids.author, draft.style.filler)
  const content = contentOf(draft)
  const shown = isRepost ? repostedPost(draft, content) : undefined
  const data = {
    id: draft.id,
    ...(shown === undefined ? content : repostOf(draft, shown)),
    author_id: author.id,
    ...optional("lang", draft.language),
    ...optional("source", draft.source),
    ...optional("conversation_id", draft.conversationId),
    ...replyMembers(draft, isRepost),
    ...listed("referenced_tweets", referencesOf(draft, isRepost)),
    ...listed(
      "context_annotations",
      draft.contexts.map(({ domain, entity }) => ({ domain: { id: domain }, entity: { id: entity } })),
    ),
    ...geoOf(draft),
  }
  const includes = {
    users: usersOf(draft, author, isRepost),
    ...(shown !== undefined && { tweets: [shown.post] }),
    ...listed("media", mediaOf(draft)),
    ...listed("places", placesOf(draft)),
  }
  return { data, includes }
}

/** Text, entities, attachments and numbers: what a repost has from its original. */
function contentOf(draft: DraftPost): Content {
  const { style } = draft
  const marks = marksOf(draft)
  const links = linksOf(draft)
  const written = style.isMarked ? marks.map(({ sign, name }) => sign + name) : []
  const parts = [...draft.texts, ...written]
  if (parts.length === 0) parts.push(style.filler)
  const text = [inOrder(parts, style), ...links.map(({ url }) => url)].join(" ")
  const entities = {
    ...listed(
      "hashtags",
      marks.flatMap(({ kind, name }) => (kind === "hashtags" ? [placed(text, `#${name}`, { tag: name })] : [])),
    ),
    ...listed(
      "mentions",
      marks.flatMap(({ kind, name }) => (kind === "mentions" ? [placed(text, `@${name}`, { username: name })] : [])),
    ),
    ...listed(
      "cashtags",
      marks.flatMap(({ kind, name }) => (kind === "cashtags" ? [placed(text, `$${name}`, { tag: name })] : [])),
    ),
    ...listed(
      "urls",
      links.map((link) => placed(text, String(link.url), link)),
    ),
    ...listed(
      "annotations",
      draft.entities.map((name) => ({ start: 0, end: 0, probability: 1, type: "Other", normalized_text: name })),
    ),
  }
  const mediaKeys = mediaOf(draft).map(({ media_key }) => media_key)
  const metrics = metricsOf(draft, "post")
  return {
    text,
    entities,
    ...(mediaKeys.length > 0 && { attachments: { media_keys: mediaKeys } }),
    ...(Object.keys(metrics).length > 0 && {
      public_metrics: { like_count: 0, reply_count: 0, retweet_count: 0, quote_count: 0, ...metrics },
    }),
  }
}

type Mark = { readonly kind: "hashtags" | "mentions" | "cashtags"; readonly sign: string; readonly name: string }

/** Marks that are asked for, or of which there must be any. */
function marksOf({ hashtags, mentions, cashtags, flags, style }: DraftPost): readonly Mark[] {
  const of = (kind: Mark["kind"], sign: string, names: readonly string[], any: string): readonly Mark[] =>
    (names.length === 0 && flags.has(`has ${kind}`) ? [any] : names).map((name) => ({ kind, sign, name }))
  return [
    ...of("hashtags", "#", hashtags, style.filler),
    ...of("mentions", "@", mentions, style.filler),
    ...of("cashtags", "$", cashtags, style.filler.slice(0, 4).toUpperCase()),
  ]
}

function linksOf({ links, flags, style }: DraftPost): readonly Members[] {
  const wanted: readonly DraftLink[] =
    links.length === 0 && flags.has("has links") ? [{ url: `https://${style.filler}.example/` }] : links
  return wanted.map(({ url, ...page }, index) => ({
    url: `https://t.co/${style.filler}${String(index + 1)}`,
    expanded_url: url,
    display_url: url.replace(/^https?:\/\//i, ""),
    ...page,
  }))
}

function inOrder(parts: readonly string[], { order, filler }: DraftPost["style"]): string {
  if (order === "backward") return parts.toReversed().join(" ")
  return parts.join(order === "apart" ? ` ${Array(wordsBetween).fill(filler).join(" ")} ` : " ")
}

/** The item with its place in the text, in code points, where it stands there. */
function placed(text: string, sought: string, item: Members): Members {
  const at = text.indexOf(sought)
  if (at < 0) return item
  const start = Array.from(text.slice(0, at)).length
  return { start, end: start + Array.from(sought).length, ...item }
}

function repostedPost(draft: DraftPost, content: Content): { readonly post: Content; readonly username: string } {
  const reposted = userOf(draft.reposted, ids.reposted, `${draft.style.filler}3`)
  const isReply = draft.flags.has("reply") && draft.style.mode === "stream"
  const post = {
    id: draft.repostOf ?? ids.repost,
    ...content,
    author_id: reposted.id,
    ...(isReply && { in_reply_to_user_id: draft.repliedTo.id ?? ids.repliedTo }),
  }
  return { post, username: String(reposted.username) }
}

/** The repost's own members: X cuts its text off, and lists the mention of the reposted user. */
function repostOf({ style }: DraftPost, { post, username }: ReturnType<typeof repostedPost>): Content {
  const text = `RT @${username}: ${post.text}`
  const entities = style.isMarked ? { mentions: [placed(text, `@${username}`, { username })] } : {}
  return { text, entities }
}

function replyMembers(draft: DraftPost, isRepost: boolean): Members {
  if (isRepost || !draft.flags.has("reply")) return {}
  return { in_reply_to_user_id: draft.repliedTo.id ?? ids.repliedTo }
}

function referencesOf(
  { flags, replyTo, repostOf: reposted, quoteOf }: DraftPost,
  isRepost: boolean,
): readonly Members[] {
  const reply = replyTo ?? (flags.has("reply") && !isRepost ? ids.reply : undefined)
  const quote = quoteOf ?? (flags.has("quote") ? ids.quote : undefined)
  return [
    ...(isRepost ? [{ type: "retweeted", id: reposted ?? ids.repost }] : []),
    ...(reply === undefined ? [] : [{ type: "replied_to", id: reply }]),
    ...(quote === undefined ? [] : [{ type: "quoted", id: quote }]),
  ]
}

function usersOf(draft: DraftPost, author: Members, isRepost: boolean): readonly Members[] {
  const { style, repliedTo, reposted, bio, bioName, bioLocation, flags } = draft
  const metrics = metricsOf(draft, "author")
  const users: Members[] = [
    {
      ...author,
      ...(bioName.length > 0 && { name: inOrder(bioName, style) }),
      ...(bio.length > 0 && { description: inOrder(bio, style) }),
      ...(bioLocation.length > 0 && { location: inOrder(bioLocation, style) }),
      ...(flags.has("verified") && { verified: true }),
      ...(Object.keys(metrics).length > 0 && {
        public_metrics: { followers_count: 0, following_count: 0, tweet_count: 0, listed_count: 0, ...metrics },
      }),
    },
  ]
  if (flags.has("reply")) users.push(userOf(repliedTo, ids.repliedTo, `${style.filler}2`))
  if (isRepost) users.push(userOf(reposted, ids.reposted, `${style.filler}3`))
  const names = [...draft.author.affiliations, ...repliedTo.affiliations].filter((value) => !isDigits(value))
  for (const [index, username] of names.entries()) users.push({ id: affiliationId(index), username, name: username })
  return users.map((user) => withAffiliationIds(user, names))
}

/** The numbers that are asked for. */
function metricsOf({ counts }: DraftPost, of: "author" | "post"): Members {
  const asked = Array.from(counts).filter(([name]) => countMembers[name].of === of)
  return Object.fromEntries(asked.map(([name, count]) => [countMembers[name].member, count]))
}

const isDigits = (value: string): boolean => /^\d{1,19}$/.test(value)

const affiliationId = (index: number): string => `${ids.affiliation}${String(index)}`

function userOf(user: DraftUser, id: string, username: string): Members {
  const name = user.username ?? username
  return {
    id: user.id ?? id,
    username: name,
    name,
    ...(user.affiliations.length > 0 && { affiliation: { user_id: user.affiliations } }),
  }
}

/** Affiliations are listed by id; those that are named have one of their own. */
function withAffiliationIds(user: Members, names: readonly string[]): Members {
  const { affiliation } = user as { affiliation?: { readonly user_id: readonly string[] } }
  if (affiliation === undefined) return user
  const userIds = affiliation.user_id.map((value) => (isDigits(value) ? value : affiliationId(names.indexOf(value))))
  return { ...user, affiliation: { user_id: userIds } }
}

function mediaOf({ mediaKinds }: DraftPost): readonly { readonly media_key: string; readonly type: string }[] {
  return Array.from(new Set(mediaKinds), (type) => ({ media_key: type === "video" ? "7_21" : "3_22", type }))
}

/** A place that is named, or has a country, or is all that is asked for. */
function placesOf({ places, country, flags, point, style }: DraftPost): readonly Members[] {
  const isAny = flags.has("has geo") && point === undefined
  if (places.length === 0 && country === undefined && !isAny) return []
  const [fullName = style.filler, name, id] = places
  return [
    {
      id: id ?? `${style.filler}-place`,
      full_name: fullName,
      ...optional("name", name),
      ...optional("country_code", country),
    },
  ]
}

function geoOf(draft: DraftPost): Members {
  const [place] = placesOf(draft)
  const { point } = draft
  const geo = {
    ...(place !== undefined && { place_id: place["id"] }),
    ...(point !== undefined && { coordinates: { type: "Point", coordinates: point } }),
  }
  return Object.keys(geo).length === 0 ? {} : { geo }
}

function optional(name: string, value: unknown): Members {
  return value === undefined ? {} : { [name]: value }
}

function listed(name: string, items: readonly unknown[]): Members {
  return items.length === 0 ? {} : { [name]: items }
}
