/**
 * An item that an operator's mapping made of a feed's own, in a small shape, as a post.
 *
 *     {
 *       "id": digits of X | "uri": "any name that no other post has",
 *       "text": "…",
 *       "author": { "uri": "a name that no other user has", "username": "wren", "name": "Wren" },
 *       "created_at": RFC 3339 | Unix ms,
 *       "in_reply_to": id or uri, "quotes": id or uri, "lang": "en",
 *       "urls": ["https://…", { "url", "title"?, "description"? }],
 *       "media": ["https://…", { "url", "type"?, "alt_text"?, "preview_image_url"?, "width"?, "height"? }],
 *       "deleted": true,
 *       "cursor": the position after this item
 *     }
 *
 * `id` or `uri` is required, and `text` unless the item is deleted. Digits are X's own id and stay as they are; a `uri` gives
 * the id that follows from it, or one at arrival. Hashtags, mentions and cashtags are found in the text, and so are links
 * unless `urls` names them. An item that has no `author` has none as a post.
 */
import { snowflakeAtMs } from "@sluice/api"
import { entitiesInText } from "@sluice/rules"
import { instant, isDateTime, minuteMs } from "../model/date-time.ts"
import { asId, isId, type PostId, type UserId } from "../model/ids.ts"
import type { Conversion, Converted, Converter, KnownNames } from "./converter.ts"
import { displayedLink, type LinkEntity } from "./entities.ts"
import { aheadMsMax, includesOf, timeOf, type UserObject } from "./foreign-envelope.ts"
import { accountName, derivedId, foreignUserId, hashedNumber, type InstanceNumbers } from "./foreign-ids.ts"
import { postLanguage } from "./post-language.ts"
import {
  filledOf,
  invalidMember,
  itemsOf,
  memberOf,
  objectOf,
  parsedRecord,
  RejectedRecord,
  unlessRejected,
  wholeOf,
  type Members,
  type Place,
  type RejectionTitle,
} from "./records.ts"
import { pointsOf, postText } from "./text-offsets.ts"

/** A converter of items. `numbers` are those of the Mastodon instances whose posts the items may be. */
export function mappedItemConverter(numbers: InstanceNumbers = new Map()): Converter {
  return {
    begin: (line) =>
      unlessRejected({}, () => {
        const item = parsedRecord(line)
        const place = itemPlace(item)
        return unlessRejected(place, () => itemConversion(item, numbers, place))
      }),
    idOf: (name) => derivedId(name, numbers),
  }
}

/** Why the line of an item cannot become a post; undefined when it can. */
export function mappedItemFault(line: string): { readonly title: RejectionTitle; readonly detail: string } | undefined {
  try {
    itemConversion(parsedRecord(line), new Map(), {})
    return undefined
  } catch (error) {
    if (!(error instanceof RejectedRecord)) throw error
    return { title: error.title, detail: error.message }
  }
}

/** The position that an item names by its `cursor`, a text or a whole number. */
export function itemPlace(item: Members): Place {
  return { position: filledOf(item.cursor) ?? wholeOf(item.cursor)?.toString() }
}

/** A post as an item names it: by an id of X's, or by a name. */
interface ItemReference {
  readonly name: string
  readonly id: PostId | undefined
  /** True for an id of X's, which is not looked up. */
  readonly isOwn: boolean
}

/** Longest `uri`, in bytes. Ours: no name of a post is longer. */
const uriBytesMax = 2_000

function referenceOf(value: unknown, name: string, numbers: InstanceNumbers): ItemReference {
  if (typeof value === "string" && isId(value)) {
    const id = asId<PostId>(value)
    return { name: id, id, isOwn: true }
  }
  if (!isUri(value)) throw invalidMember(name, value, `an id, or a name of at most ${uriBytesMax} bytes`)
  return { name: value, id: derivedId(value, numbers), isOwn: false }
}

function isUri(value: unknown): value is string {
  return typeof value === "string" && Buffer.byteLength(value) <= uriBytesMax && /^[^\s\p{Cc}\p{Cs}]+$/u.test(value)
}

function optionalReference(value: unknown, name: string, numbers: InstanceNumbers): ItemReference | undefined {
  return value === undefined || value === null ? undefined : referenceOf(value, name, numbers)
}

/** The item itself: `id` decides the id, and `uri` the name, where both are there. */
function selfOf({ id, uri }: Members, numbers: InstanceNumbers): ItemReference {
  const named = optionalReference(uri, "uri", numbers)
  const numbered = optionalReference(id, "id", numbers)
  if (named === undefined && numbered === undefined) throw invalidMember("uri", uri, "there, or `id`")
  if (numbered === undefined || named === undefined) return (numbered ?? named) as ItemReference
  return numbered.isOwn ? { ...numbered, name: named.name } : named
}

function itemConversion(item: Members, numbers: InstanceNumbers, place: Place): Conversion {
  const self = selfOf(item, numbers)
  if (item.deleted === true) return deletion(self, place)
  if (typeof item.text !== "string") throw invalidMember("text", item.text, "a string")
  const parts: ItemParts = {
    self,
    text: postText(item.text.toWellFormed()),
    author: authorOf(item.author),
    createdMs: createdMsOf(item.created_at, self.id),
    repliedTo: optionalReference(item.in_reply_to, "in_reply_to", numbers),
    quoted: optionalReference(item.quotes, "quotes", numbers),
    language: postLanguage(item.lang),
    links: linksOf(item.urls),
    media: mediaOf(item.media),
  }
  const named = [self, parts.repliedTo, parts.quoted].filter((one) => one?.isOwn === false)
  return {
    ...place,
    posts: [...new Set(named.flatMap((one) => one?.name ?? []))],
    users: parts.author === undefined ? [] : [parts.author.id],
    finish: (known) => ({
      kind: "post",
      name: self.isOwn ? undefined : self.name,
      id: self.id,
      isOld: false,
      claimedMs: latest(parts.createdMs, self.id && snowflakeAtMs(self.id)),
      envelopeWith: (id) => envelopeOf(id, parts, known),
    }),
  }
}

function deletion(self: ItemReference, place: Place): Conversion {
  const finish = (known: KnownNames): Converted => ({ kind: "post deleted", name: self.name, id: idOf(self, known) })
  return { ...place, posts: self.isOwn ? [] : [self.name], users: [], finish }
}

function idOf({ name, id, isOwn }: ItemReference, known: KnownNames): PostId | undefined {
  return isOwn ? id : (known.postId(name) ?? id)
}

/** The parts of an item that its envelope is made of. */
interface ItemParts {
  readonly self: ItemReference
  readonly text: string
  readonly author: ItemAuthor | undefined
  readonly createdMs: number | undefined
  readonly repliedTo: ItemReference | undefined
  readonly quoted: ItemReference | undefined
  readonly language: string
  /** Undefined when the item names none, and those of the text count. */
  readonly links: readonly ItemLink[] | undefined
  readonly media: readonly Members[]
}

/** The author as far as the item tells. */
interface ItemAuthor {
  readonly id: UserId
  readonly username: string
  readonly name: string | undefined
}

function authorOf(value: unknown): ItemAuthor | undefined {
  if (value === undefined || value === null) return undefined
  const author = objectOf(value)
  if (author === undefined) throw invalidMember("author", value, "an object")
  const { uri, username = uri, id } = author
  if (!isUri(username)) throw invalidMember("author.username", username, "a name without spaces")
  if (uri !== undefined && !isUri(uri)) throw invalidMember("author.uri", uri, "a name without spaces")
  const isOwn = typeof id === "string" && isId(id)
  const userId = isOwn ? asId<UserId>(id) : foreignUserId(uri ?? accountName(username))
  return { id: userId, username, name: filledOf(author.name) }
}

function createdMsOf(value: unknown, id: PostId | undefined): number | undefined {
  if (value === undefined || value === null) return undefined
  const createdMs = typeof value === "string" && isDateTime(value) ? Date.parse(value) : wholeOf(value)
  if (createdMs === undefined || createdMs < 0 || createdMs > lastMs) {
    throw invalidMember("created_at", value, "an RFC 3339 time, or Unix milliseconds")
  }
  const idMs = id === undefined ? undefined : snowflakeAtMs(id)
  if (idMs !== undefined && createdMs > idMs + aheadMsMax) {
    const minutes = Math.floor((createdMs - idMs) / minuteMs)
    const detail = `\`created_at\` is ${minutes} minutes after the time in the id, and may be at most ${aheadMsMax / minuteMs}.`
    throw new RejectedRecord("Time in the Future", detail)
  }
  return createdMs
}

function latest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other)
}

/** The last moment with a year of four digits. */
const lastMs = Date.parse("9999-12-31T23:59:59.999Z")

/** A link that an item names. */
interface ItemLink {
  readonly url: string
  readonly title: string | undefined
  readonly description: string | undefined
}

/** Most links and media of an item that are read. Ours. */
const listMax = 100

function linksOf(value: unknown): readonly ItemLink[] | undefined {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value)) throw invalidMember("urls", value, "an array")
  return itemsOf(value)
    .slice(0, listMax)
    .flatMap((one) => {
      const url = filledOf(one) ?? filledOf(memberOf(one, "url"))
      if (url === undefined) return []
      return [{ url, title: filledOf(memberOf(one, "title")), description: filledOf(memberOf(one, "description")) }]
    })
}

/** The number that X's media keys of a type begin with. */
const mediaKinds: ReadonlyMap<string, number> = new Map([
  ["photo", 3],
  ["animated_gif", 16],
  ["video", 13],
])

function mediaOf(value: unknown): readonly Members[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw invalidMember("media", value, "an array")
  const media = new Map<string, Members>()
  for (const one of itemsOf(value).slice(0, listMax)) {
    const url = filledOf(one) ?? filledOf(memberOf(one, "url"))
    if (url === undefined) continue
    const type = filledOf(memberOf(one, "type")) ?? "photo"
    const key = `${mediaKinds.get(type) ?? 0}_${hashedNumber(url)}`
    media.set(key, {
      media_key: key,
      type,
      ...(type === "photo" ? { url } : { variants: [{ url }] }),
      preview_image_url: filledOf(memberOf(one, "preview_image_url")),
      width: wholeOf(memberOf(one, "width")),
      height: wholeOf(memberOf(one, "height")),
      alt_text: filledOf(memberOf(one, "alt_text")),
    })
  }
  return [...media.values()]
}

function envelopeOf(id: PostId, parts: ItemParts, known: KnownNames): string {
  const { self, author, media } = parts
  const references = referencesOf(parts, known)
  const data = {
    id,
    text: parts.text,
    author_id: author?.id,
    created_at: parts.createdMs === undefined ? timeOf(id) : instant(parts.createdMs),
    edit_history_tweet_ids: [id],
    conversation_id: references.find(({ type }) => type === "replied_to")?.id ?? id,
    ...(references.length > 0 && { referenced_tweets: references }),
    lang: parts.language,
    entities: entitiesOf(parts),
    ...(media.length > 0 && { attachments: { media_keys: media.map((one) => one.media_key) } }),
    source_uri: self.name,
  }
  return JSON.stringify({ data, includes: includesOf({ users: [userOf(author, known)], media }) })
}

function userOf(author: ItemAuthor | undefined, known: KnownNames): UserObject | undefined {
  if (author === undefined) return undefined
  const { id, username } = author
  return { ...known.user(id), id, username, name: author.name ?? username }
}

function referencesOf({ repliedTo, quoted }: ItemParts, known: KnownNames): readonly { type: string; id: PostId }[] {
  return Object.entries({ replied_to: repliedTo, quoted }).flatMap(([type, reference]) => {
    const id = reference === undefined ? undefined : idOf(reference, known)
    return id === undefined ? [] : [{ type, id }]
  })
}

function entitiesOf({ text, links }: ItemParts): Members {
  const found = entitiesInText(text)
  const hashtags = found.hashtags.map(({ value: tag, start, end }) => ({ start, end, tag }))
  const cashtags = found.cashtags.map(({ value: tag, start, end }) => ({ start, end, tag }))
  const mentions = found.mentions.map(({ value: username, start, end }) => ({ start, end, username }))
  const shown = found.links.map(({ value, start, end }) =>
    linkOf({ url: value, title: undefined, description: undefined }, start, end),
  )
  const urls = links === undefined ? shown : placed(links, shown, pointsOf(text))
  return Object.fromEntries(
    Object.entries({ hashtags, mentions, urls, cashtags }).filter(([, list]) => list.length > 0),
  )
}

function linkOf({ url, title, description }: ItemLink, start: number, end: number): LinkEntity {
  const whole = /^[a-z][a-z0-9+.-]*:/i.test(url) ? url : `https://${url}`
  return { start, end, url, expanded_url: whole, display_url: displayedLink(url), title, description }
}

/** The links that the item names: where the text has the same one, else at its end. */
function placed(links: readonly ItemLink[], shown: readonly LinkEntity[], textEnd: number): readonly LinkEntity[] {
  const left = [...shown]
  return links.map((link) => {
    const at = left.findIndex(({ url }) => url === link.url)
    const [place = { start: textEnd, end: textEnd }] = at < 0 ? [] : left.splice(at, 1)
    return linkOf(link, place.start, place.end)
  })
}
