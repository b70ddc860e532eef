/**
 * The texts that count as the post's own, with the entities and media beside them.
 *
 *     post      its text
 *     repost    `RT @name:`, then the text of the original
 *     quote     the text of either, then the text of the quoted post (on a stream)
 */

import { foldFor, type Mode } from "../text/mode.ts"
import { entitiesInText, type TextEntities } from "../text/text-entities.ts"
import type { FieldSource, Key } from "./field-values.ts"
import { linkFromEntity, linkFromText, type Link } from "./links.ts"
import { referencesOf, type PostObjects } from "./post-objects.ts"
import { arrayOf, idOf, objectOf, textOf, type Members } from "./untyped-json.ts"

const none: readonly never[] = []

/** One of these texts. */
export type PostPart = {
  readonly where: FieldSource
  readonly text: string
  readonly entities: Entities
  /** Only the mentions of a repost's prefix count. */
  readonly isRepostPrefix: boolean
  readonly mediaKeys: readonly unknown[]
}

/** The parts of the post; at least one. */
export function partsOf(post: PostObjects): readonly PostPart[] {
  const { original, quoted } = post
  const shown = original ?? post.data
  const parts = [partOf(post, shown, original ? "original" : "text", referencesOf(shown).quoted)]
  if (original) parts.unshift(repostPrefix(post))
  if (quoted) parts.push(partOf(post, quoted, "quoted", undefined))
  return parts
}

/** The marks of the parts. */
export function marksOf(parts: readonly PostPart[], kind: MarkKind): readonly Key[] {
  let keys: readonly Key[] = none
  for (const { entities, isRepostPrefix } of parts) {
    if (isRepostPrefix && kind !== "mentions") continue
    const more = entities.marks(kind)
    if (more.length > 0) keys = keys.length === 0 ? more : [...keys, ...more]
  }
  return keys
}

/** The links of the parts. */
export function linksOf(parts: readonly PostPart[]): readonly Link[] {
  let links: readonly Link[] = none
  for (const { entities, isRepostPrefix } of parts) {
    if (isRepostPrefix) continue
    const more = entities.links()
    if (more.length > 0) links = links.length === 0 ? more : [...links, ...more]
  }
  return links
}

function partOf({ mode }: PostObjects, post: Members, where: FieldSource, quotedId: string | undefined): PostPart {
  const text = textOf(post.text) ?? ""
  return {
    where,
    text,
    entities: new Entities(post.entities, { text, where, quotedId, mode }),
    isRepostPrefix: false,
    mediaKeys: arrayOf(objectOf(post.attachments).media_keys),
  }
}

/** A repost's own text is cut off, and its entities with it. Its prefix `RT @name:` and its mentions are complete. */
function repostPrefix({ data, mode }: PostObjects): PostPart {
  const own = textOf(data.text) ?? ""
  const text = own.startsWith("RT @") ? (/^RT @\w+:/.exec(own)?.[0] ?? "") : ""
  return {
    where: "text",
    text,
    entities: new Entities(data.entities, { text, where: "text", quotedId: undefined, mode }),
    isRepostPrefix: true,
    mediaKeys: none,
  }
}

/** Kinds of marks, by X's names. */
export const markKinds = ["hashtags", "mentions", "cashtags"] as const

/** A kind of marks. */
export type MarkKind = (typeof markKinds)[number]

const nameMembers = { hashtags: "tag", mentions: "username", cashtags: "tag" } as const

type TextContext = {
  readonly text: string
  readonly where: FieldSource
  readonly mode: Mode
  readonly quotedId: string | undefined
}

/**
 * The marks and links of one text. Each kind is read when it is requested.
 *
 * X lists them beside the text as `entities`. A post without this member is searched for them instead: clients that
 * request no fields get such posts, and other networks send them.
 */
class Entities {
  /** X's `entities` member; undefined if the post has none. */
  readonly #listed: Members | undefined
  readonly #context: TextContext
  #found: TextEntities | undefined

  constructor(member: unknown, context: TextContext) {
    const isPresent = typeof member === "object" && member !== null && !Array.isArray(member)
    this.#listed = isPresent ? objectOf(member) : undefined
    this.#context = context
  }

  /**
   * Keys are folded, without `#`, `@` or `$`. A mention has two keys, name and id, if X gives the id. Source: enterprise
   * documentation of `@`.
   */
  marks(kind: MarkKind): readonly Key[] {
    if (this.#listed === undefined)
      return this.#inText()[kind].map(({ value, start, end }) => this.#key(value, start, end))
    const listed = arrayOf(this.#listed[kind])
    if (listed.length === 0) return none
    const keys: Key[] = []
    for (const item of listed) {
      const mark = objectOf(item)
      const name = mark[nameMembers[kind]]
      if (typeof name === "string" && name !== "") keys.push(this.#key(name, mark.start, mark.end))
      const id = kind === "mentions" ? idOf(mark.id) : undefined
      if (id !== undefined) keys.push(this.#key(id, mark.start, mark.end))
    }
    return keys
  }

  /** The first `@name` in the text, also if X lists other entities and not this one; undefined if there is none. */
  mentionInText(): Key | undefined {
    const [found] = this.#inText().mentions
    return found && this.#key(found.value, found.start, found.end)
  }

  links(): readonly Link[] {
    const { quotedId } = this.#context
    if (this.#listed === undefined) return this.#inText().links.map(({ value }) => linkFromText(value, quotedId))
    const listed = arrayOf(this.#listed.urls)
    if (listed.length === 0) return none
    const links: Link[] = []
    for (const url of listed) {
      const link = linkFromEntity(objectOf(url), quotedId)
      if (link) links.push(link)
    }
    return links
  }

  #inText(): TextEntities {
    return (this.#found ??= entitiesInText(this.#context.text))
  }

  #key(name: string, start: unknown, end: unknown): Key {
    const { mode, where } = this.#context
    const key = foldFor(mode, name)
    return isOffset(start) && isOffset(end) && end > start ? { key, where, start, end } : { key, where }
  }
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
