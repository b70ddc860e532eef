/**
 * Hashtags, mentions, cashtags and links of a post.
 *
 * X marks them beside the text. A post without any marks, which is what a client gets that asked
 * for no fields and what other networks send, is searched for them instead.
 */

import { fold } from "./fold.ts"
import type { Where } from "./post-facts.ts"

/** A hashtag, mention or cashtag. */
export type Entity = {
  /** Case-folded, without its `#`, `@` or `$`. */
  readonly key: string
  readonly where: Where
  /** Code points in the text, end exclusive; absent when the post does not say. */
  readonly start?: number
  readonly end?: number
}

/** A link of a post. */
type Link = {
  /** Where it leads, the shortest known step first. */
  readonly targets: readonly string[]
  /** What readers see of it. */
  readonly displayed: readonly string[]
  /** Leads elsewhere than to the post's own media or the post that it quotes. */
  readonly isForeign: boolean
}

/** The marks of a post, in the order given. */
export type Entities = {
  readonly hashtags: readonly Entity[]
  readonly mentions: readonly Entity[]
  readonly cashtags: readonly Entity[]
  readonly links: readonly Link[]
}

type Members = Readonly<Record<string, unknown>>

type Around = { readonly text: string; readonly where: Where; readonly quotedId: string | undefined }

/** Reads X's `entities` member, or the text when there is none. */
export function entitiesOf(entities: unknown, around: Around): Entities {
  if (!isObject(entities)) return entitiesInText(around)
  return {
    hashtags: marked(entities.hashtags, "tag", around.where),
    mentions: marked(entities.mentions, "username", around.where),
    cashtags: marked(entities.cashtags, "tag", around.where),
    links: objectsIn(entities.urls).flatMap((url) => linkOf(url, around.quotedId)),
  }
}

function marked(list: unknown, member: string, where: Where): readonly Entity[] {
  return objectsIn(list).flatMap((mark) => {
    const name = mark[member]
    if (typeof name !== "string" || name === "") return []
    return [entity(name, where, mark.start, mark.end)]
  })
}

function entity(name: string, where: Where, start: unknown, end: unknown): Entity {
  const key = fold(name)
  if (!isOffset(start) || !isOffset(end) || end <= start) return { key, where }
  return { key, where, start, end }
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function linkOf(url: Members, quotedId: string | undefined): readonly Link[] {
  const targets = [url.expanded_url, url.unwound_url].filter(
    (one) => typeof one === "string" && one !== "",
  ) as string[]
  const displayed = [url.display_url].filter((one) => typeof one === "string" && one !== "") as string[]
  if (targets.length === 0 && typeof url.url === "string" && url.url !== "") {
    return [{ targets: isShortened(url.url) ? [] : [url.url], displayed, isForeign: true }]
  }
  if (targets.length === 0 && displayed.length === 0) return []
  const isMedia =
    typeof url.media_key === "string" || displayed.some((one) => /^pic\.(?:twitter|x)\.com\//i.test(one))
  const isQuoted =
    quotedId !== undefined &&
    targets.some(
      (one) => /^https?:\/\/(?:[a-z]+\.)?(?:twitter|x)\.com\//i.test(one) && statusIn(one) === quotedId,
    )
  return [{ targets, displayed, isForeign: !isMedia && !isQuoted }]
}

function isShortened(link: string): boolean {
  return /^https?:\/\/t\.co\//i.test(link)
}

function statusIn(link: string): string | undefined {
  return /\/status(?:es)?\/(\d+)/.exec(link)?.[1]
}

const hashtagInText = /(?<![\p{L}\p{M}\p{N}_&])[#＃]([\p{L}\p{M}\p{N}_]*[\p{L}\p{M}][\p{L}\p{M}\p{N}_]*)/gu
const mentionInText = /(?<![\p{L}\p{N}_@＠#$%&*!])[@＠](\w{1,64})(?![@＠]|:\/\/)/gu
const cashtagInText = /(?<![^\s(["'])\$([a-z]{1,6}(?:[._][a-z]{1,2})?)(?![\p{L}\p{N}_])/giu
const linkInText = /(?<![\p{L}\p{N}_@])https?:\/\/[^\s<>"“”]+/giu

function entitiesInText({ text, where }: Around): Entities {
  const hashtags = namesIn(text, hashtagInText, where, "#＃")
  const mentions = namesIn(text, mentionInText, where, "@＠")
  const cashtags = namesIn(text, cashtagInText, where, "$")
  const links = text.includes("://") ? Array.from(text.matchAll(linkInText), ([link]) => foundLink(link)) : []
  return { hashtags, mentions, cashtags, links }
}

function foundLink(link: string): Link {
  return { targets: isShortened(link) ? [] : [link], displayed: [], isForeign: true }
}

function namesIn(text: string, pattern: RegExp, where: Where, sigils: string): readonly Entity[] {
  if (!Array.from(sigils).some((sigil) => text.includes(sigil))) return []
  let point = 0
  let index = 0
  return Array.from(text.matchAll(pattern), (found) => {
    point += Array.from(text.slice(index, found.index)).length
    index = found.index
    return entity(found[1] ?? "", where, point, point + Array.from(found[0]).length)
  })
}

function objectsIn(list: unknown): readonly Members[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
