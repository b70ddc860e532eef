/** The flags that `is:` and `has:` compare, like `flag-keys.ts`. */

import type { hasValues, isValues } from "../language/rule.ts"
import { jsonKind } from "./json-tape.ts"
import { names, type PostNodes } from "./post-nodes.ts"
import type { WalkedLinks } from "./walked-links.ts"
import { markLists, type WalkedParts } from "./walked-parts.ts"

/** Maximum media of a post times those that are included. A post with more is left to the plain reader. Ours. */
const mediaPairsMax = 4096

/** The flags of `is:`. */
export function isFlags(nodes: PostNodes): readonly (typeof isValues)[number][] {
  const { tape, references, original, quoted, data } = nodes
  const flags: (typeof isValues)[number][] = []
  if (references.retweeted !== 0) flags.push("retweet")
  const isReply = nodes.isReply || isReplyItself(nodes, original) || isReplyItself(nodes, quoted)
  if (isReply) flags.push("reply")
  if (references.quoted !== 0 || (original !== 0 && nodes.quotedIdOf(original) !== 0)) flags.push("quote")
  const verified = tape.member(nodes.author, names.verified)
  if (verified !== 0 && tape.kind(verified) === jsonKind.true) flags.push("verified")
  const source = nodes.string(data, names.source)
  if (source !== 0 && tape.kind(source) === jsonKind.unusual) nodes.doubt()
  const isAdvertiser =
    source !== 0 &&
    (tape.isText(source, "Twitter for Advertisers") || tape.isText(source, "Twitter for Advertisers (legacy)"))
  if (isAdvertiser) flags.push("nullcast")
  return flags
}

function isReplyItself(nodes: PostNodes, post: number): boolean {
  return nodes.filled(post, names.in_reply_to_user_id) !== 0
}

/** The flags of `has:`. */
export function hasFlags(
  nodes: PostNodes,
  parts: WalkedParts,
  links: WalkedLinks,
): readonly (typeof hasValues)[number][] {
  const flags: (typeof hasValues)[number][] = []
  for (const index of [0, 1, 2] as const) if (hasMark(nodes, parts, index)) flags.push(markLists[index].kind)
  const media = mediaOf(nodes, parts)
  // Media are links too: X's documentation says that a post with media contains a short link to it.
  if (links.hasOthers || media.has) flags.push("links")
  if (media.has) flags.push("media")
  if (media.hasImage) flags.push("images")
  if (media.hasVideo) flags.push("video_link")
  if (nodes.placeIdOf(nodes.data) !== 0 || nodes.pointOf(nodes.data) !== undefined) flags.push("geo")
  return flags
}

function hasMark(nodes: PostNodes, parts: WalkedParts, index: 0 | 1 | 2): boolean {
  const { kind, list, name } = markLists[index]
  const { tape } = nodes
  for (let at = 0; at < parts.count; at++) {
    const part = parts.part(at)
    if (part.isPrefix && kind !== "mentions") continue
    if (part.entities === 0) {
      if (parts.found(part)[kind].length > 0) return true
      continue
    }
    const items = nodes.array(part.entities, list)
    for (let item = items + 1; item < tape.itemsEnd(items); item = tape.next(item)) {
      if (nodes.filled(item, name) !== 0) return true
      if (kind === "mentions" && nodes.filled(item, names.id) !== 0) return true
    }
  }
  return false
}

type MediaFlags = { has: boolean; hasImage: boolean; hasVideo: boolean }

function mediaOf(nodes: PostNodes, parts: WalkedParts): MediaFlags {
  const { tape } = nodes
  const flags: MediaFlags = { has: false, hasImage: false, hasVideo: false }
  const included = nodes.array(nodes.includes, names.media)
  let pairs = 0
  for (let at = 0; at < parts.count; at++) {
    const part = parts.part(at)
    const keys = part.isPrefix ? 0 : nodes.array(nodes.object(part.post, names.attachments), names.media_keys)
    for (let key = keys + 1; key < tape.itemsEnd(keys); key = tape.next(key)) {
      if (!tape.isString(key)) continue
      flags.has = true
      if (tape.kind(key) !== jsonKind.plain) nodes.doubt()
      let type = 0
      for (let one = included + 1; one < tape.itemsEnd(included); one = tape.next(one)) {
        const its = nodes.string(one, names.media_key)
        if (++pairs > mediaPairsMax) {
          nodes.doubt()
          return flags
        }
        if (its !== 0 && tape.kind(its) !== jsonKind.plain) nodes.doubt()
        // Of two that are included under one key the last one counts.
        if (its !== 0 && tape.areSame(its, key)) type = nodes.string(one, names.type)
      }
      if (type !== 0 && tape.kind(type) !== jsonKind.plain) nodes.doubt()
      const kind = type === 0 ? kindOfKey(nodes, key) : kindOfType(nodes, type)
      if (kind === "image") flags.hasImage = true
      else if (kind === "video") flags.hasVideo = true
    }
  }
  return flags
}

type MediaKind = "image" | "video" | "other"

/** By X's name of the type, or by a number, as a media key begins with. */
function kindOfType({ tape }: PostNodes, type: number): MediaKind {
  if (tape.isText(type, "photo") || tape.isText(type, "animated_gif")) return "image"
  if (tape.isText(type, "video")) return "video"
  return tape.end(type) - tape.begin(type) > 2 ? "other" : kindOfNumber(tape.ascii(type))
}

/** By the number at the beginning of X's media key. */
function kindOfKey({ tape }: PostNodes, key: number): MediaKind {
  const text = tape.ascii(key)
  const number = text.slice(0, text.indexOf("_"))
  return number === "photo" || number === "animated_gif" ? "image" : number === "video" ? "video" : kindOfNumber(number)
}

function kindOfNumber(number: string): MediaKind {
  if (number === "3" || number === "16") return "image"
  return number === "7" || number === "13" ? "video" : "other"
}
