/**
 * Hashtags, mentions, cashtags and links of a post.
 *
 * X marks them beside the text. A post without any marks, which is what a client gets that asked
 * for no fields and what other networks send, is searched for them instead.
 */

import { arrayOf, objectOf } from "./loose-json.ts"
import type { Members } from "./loose-json.ts"
import { foldFor } from "./mode.ts"
import type { Mode } from "./mode.ts"
import type { Key, Where } from "./post-facts.ts"
import { entitiesInText } from "./text-entities.ts"
import type { TextEntities } from "./text-entities.ts"

/** A link of a post. */
export type Link = {
  /** Where it leads, the shortest known step first. */
  readonly targets: readonly string[]
  /** How it was shortened, and what readers see of it. */
  readonly displayed: readonly string[]
  /** Title and description of the page that it leads to. */
  readonly title?: string
  readonly description?: string
  /** X says that it is the post's own media. */
  readonly isMedia: boolean
  /** The post that is quoted where the link stands. */
  readonly quotedId: string | undefined
}

/** Kinds of marks, as X names them. */
export type MarkKind = "hashtags" | "mentions" | "cashtags"

const namesOf = { hashtags: "tag", mentions: "username", cashtags: "tag" } as const

type Around = {
  readonly text: string
  readonly where: Where
  readonly mode: Mode
  readonly quotedId: string | undefined
}

const nothing: readonly unknown[] = []
const none: readonly never[] = []

/** The marks of one text, each kind read when it is asked for. */
export class Entities {
  /** X's `entities` member; undefined where there is none. */
  readonly #marked: Members | undefined
  readonly #around: Around
  #found: TextEntities | undefined

  constructor(member: unknown, around: Around) {
    const isThere = typeof member === "object" && member !== null && !Array.isArray(member)
    this.#marked = isThere ? objectOf(member) : undefined
    this.#around = around
  }

  /** Keys are folded, without `#`, `@` or `$`. */
  marks(kind: MarkKind): readonly Key[] {
    const marked = this.#marked === undefined ? nothing : arrayOf(this.#marked[kind])
    if (this.#marked !== undefined && marked.length === 0) return none
    const keys: Key[] = []
    if (this.#marked === undefined) {
      for (const { value, start, end } of this.#inText()[kind]) keys.push(this.#key(value, start, end))
      return keys
    }
    for (const item of marked) {
      const mark = objectOf(item)
      const name = mark[namesOf[kind]]
      if (typeof name === "string" && name !== "") keys.push(this.#key(name, mark.start, mark.end))
    }
    return keys
  }

  links(): readonly Link[] {
    const marked = this.#marked === undefined ? nothing : arrayOf(this.#marked.urls)
    if (this.#marked !== undefined && marked.length === 0) return none
    const links: Link[] = []
    if (this.#marked === undefined) {
      for (const { value } of this.#inText().links) links.push(foundLink(value, this.#around.quotedId))
      return links
    }
    for (const url of marked) {
      const link = linkOf(objectOf(url), this.#around.quotedId)
      if (link) links.push(link)
    }
    return links
  }

  #inText(): TextEntities {
    return (this.#found ??= entitiesInText(this.#around.text))
  }

  #key(name: string, start: unknown, end: unknown): Key {
    const { mode, where } = this.#around
    const key = foldFor(mode, name)
    return isOffset(start) && isOffset(end) && end > start ? { key, where, start, end } : { key, where }
  }
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function linkOf(url: Members, quotedId: string | undefined): Link | undefined {
  const { url: short, title, description } = url
  const targets = textsOf(url.expanded_url, url.unwound_url)
  const displayed = textsOf(short, url.display_url)
  if (targets.length === 0 && displayed.length === 0) return undefined
  if (targets.length === 0 && typeof short === "string" && !isShortened(short)) targets.push(short)
  const link = { targets, displayed, isMedia: typeof url.media_key === "string", quotedId }
  if (typeof title !== "string" && typeof description !== "string") return link
  return {
    ...link,
    ...(typeof title === "string" ? { title } : {}),
    ...(typeof description === "string" ? { description } : {}),
  }
}

function textsOf(first: unknown, second: unknown): string[] {
  const texts: string[] = []
  if (typeof first === "string" && first !== "") texts.push(first)
  if (typeof second === "string" && second !== "") texts.push(second)
  return texts
}

function foundLink(link: string, quotedId: string | undefined): Link {
  const around = { isMedia: false, quotedId }
  return isShortened(link)
    ? { targets: [], displayed: [link], ...around }
    : { targets: [link], displayed: [], ...around }
}

/** Whether a link leads elsewhere than to the post's own media or the post that it quotes. */
export function isForeign({ targets, displayed, isMedia, quotedId }: Link): boolean {
  if (isMedia || displayed.some(isPicture)) return false
  return quotedId === undefined || !targets.some((target) => isPost(target, quotedId))
}

function isShortened(link: string): boolean {
  return /^(?:https?:\/\/)?t\.co\//i.test(link)
}

function isPicture(displayed: string): boolean {
  return /^pic\.(?:twitter|x)\.com\//i.test(displayed)
}

function isPost(link: string, id: string): boolean {
  return (
    /^https?:\/\/(?:[a-z]+\.)?(?:twitter|x)\.com\//i.test(link) &&
    /\/status(?:es)?\/(\d+)/.exec(link)?.[1] === id
  )
}
