/** The flags that `is:` and `has:` compare. */

import type { hasValues, isValues } from "../language/rule.ts"
import type { FieldSource, Key } from "./field-values.ts"
import { isQuotation, type Link } from "./links.ts"
import { referencesOf, type PostObjects } from "./post-objects.ts"
import { markKinds, type MarkKind, type PostPart } from "./post-parts.ts"
import { hasGeo } from "./post-place.ts"
import { idOf, textOf } from "./untyped-json.ts"

/** The flags of `is:`. On a stream, replies and quotes among the reposted and quoted posts count too. */
export function isKeys(post: PostObjects): readonly Key[] {
  const keys: Key[] = []
  const add = (key: (typeof isValues)[number], where: FieldSource): void => void keys.push({ key, where })
  const original = post.mode === "stream" ? post.original : undefined
  const { quoted, references } = post
  if (references.retweeted !== undefined) add("retweet", "post")
  if (post.isReply) add("reply", "reply")
  else if (original && idOf(original.in_reply_to_user_id) !== undefined) add("reply", "original")
  else if (quoted && idOf(quoted.in_reply_to_user_id) !== undefined) add("reply", "quoted")
  if (references.quoted !== undefined) add("quote", "post")
  else if (original && referencesOf(original).quoted !== undefined) add("quote", "original")
  if (post.author.verified === true) add("verified", "author")
  if (/^Twitter for Advertisers(?: \(legacy\))?$/.test(textOf(post.data.source) ?? "")) add("nullcast", "post")
  return keys
}

/** The flags of `has:`, of a post with its parts, links and marks. */
export function hasKeys(
  post: PostObjects,
  parts: readonly PostPart[],
  links: readonly Link[],
  marks: (kind: MarkKind) => readonly Key[],
): readonly Key[] {
  const keys: Key[] = []
  const add = (key: (typeof hasValues)[number], where: FieldSource): void => void keys.push({ key, where })
  for (const kind of markKinds) {
    const [first] = marks(kind)
    if (first) add(kind, first.where)
  }
  if (post.mode === "search" && keys.every(({ key }) => key !== "mentions")) {
    const unlisted = mentionInTexts(parts)
    if (unlisted) keys.push({ ...unlisted, key: "mentions" })
  }
  const media = mediaKindsOf(post, parts)
  // Media are links too: X's documentation says that a post with media contains a short link to it.
  if (links.some((link) => !isQuotation(link))) add("links", "url")
  else if (media.length > 0) add("links", "media")
  if (media.length > 0) add("media", "media")
  if (media.includes("image")) add("images", "media")
  if (media.includes("video")) add("video_link", "media")
  if (hasGeo(post)) add("geo", "place")
  return keys
}

/**
 * X's search, unlike its stream, also counts a mention that only the text shows, such as one of a user who no longer
 * exists. Source: results of X's own search for `has:mentions`.
 */
function mentionInTexts(parts: readonly PostPart[]): Key | undefined {
  for (const { entities } of parts) {
    const found = entities.mentionInText()
    if (found) return found
  }
  return undefined
}

type MediaKind = "image" | "video" | "other"

/** X's media keys begin with a kind, which is used if the media object is not included. */
function mediaKindsOf(post: PostObjects, parts: readonly PostPart[]): readonly MediaKind[] {
  const keys = parts.flatMap((part) => part.mediaKeys).filter((key) => typeof key === "string")
  if (keys.length === 0) return []
  const types = new Map(post.media().map((one) => [one.media_key, textOf(one.type)]))
  return keys.map((key) => mediaKindOf(types.get(key) ?? key.slice(0, key.indexOf("_"))))
}

/** By X's name of the type, or by the number at the beginning of a media key. Source: results of X's own search. */
function mediaKindOf(type: string): MediaKind {
  if (type === "photo" || type === "animated_gif" || type === "3" || type === "16") return "image"
  return type === "video" || type === "7" || type === "13" ? "video" : "other"
}
