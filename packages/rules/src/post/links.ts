/** The links of a post, and their texts: where they lead, their short forms, and what readers see of them. */

import { classOf, separator } from "../text/character-class.ts"
import { codePointAt } from "../text/code-at.ts"
import { foldFor, type Mode } from "../text/mode.ts"
import { withoutScheme } from "../text/words.ts"
import type { EarlierPosts } from "./earlier-posts.ts"
import { passageOf, type Passage } from "./field-values.ts"
import { arrayOf, idOf, objectOf, type Members } from "./untyped-json.ts"

const none: readonly never[] = []

/** A link of a post, as X describes it or as it was found in the text. */
export type Link = {
  /** Its destinations; the shortest known step comes first. */
  readonly targets: readonly string[]
  /** Its short form, and the form that readers see. */
  readonly displayed: readonly string[]
  /** Title and description of the linked page. */
  readonly title?: string
  readonly description?: string
  /** Id of the post that the post with this link quotes. */
  readonly quotedId: string | undefined
}

/** Takes the links of the parts of a post. */
export interface LinkSink<Node> {
  /** True if a link is more than a quotation. */
  readonly hasOthers: boolean
  /** Forgets the post before. */
  clear(): void
  /** Adds the links that X lists for a text, which may be none. */
  addListed(list: Node, quotedId: Node): void
  /** Adds a link that was found in a text. */
  addFound(url: string, quotedId: Node): void
}

/** The links of a parsed post. */
export class LinkList implements LinkSink<unknown> {
  readonly links: Link[] = []

  get hasOthers(): boolean {
    return this.links.some((link) => !isQuotation(link))
  }

  clear(): void {
    this.links.length = 0
  }

  addListed(list: unknown, quotedId: unknown): void {
    for (const url of arrayOf(list)) {
      const link = linkFromEntity(objectOf(url), idOf(quotedId))
      if (link) this.links.push(link)
    }
  }

  addFound(url: string, quotedId: unknown): void {
    this.links.push(linkFromText(url, idOf(quotedId)))
  }
}

/** The link that an item of X's `entities.urls` describes; undefined if it has no URL. */
function linkFromEntity(url: Members, quotedId: string | undefined): Link | undefined {
  const { url: short, title, description } = url
  const targets = textsOf(url.expanded_url, url.unwound_url)
  const displayed = textsOf(short, url.display_url)
  if (targets.length === 0 && displayed.length === 0) return undefined
  if (targets.length === 0 && typeof short === "string" && !isShortened(short)) targets.push(short)
  const link = { targets, displayed, quotedId }
  if (typeof title !== "string" && typeof description !== "string") return link
  return {
    ...link,
    ...(typeof title === "string" ? { title } : {}),
    ...(typeof description === "string" ? { description } : {}),
  }
}

/** The link of a URL that was found in the text. */
export function linkFromText(url: string, quotedId: string | undefined): Link {
  return isShortened(url) ? { targets: [], displayed: [url], quotedId } : { targets: [url], displayed: [], quotedId }
}

/** True if the link only quotes: it leads to the post that the post with this link quotes. */
export function isQuotation({ targets, quotedId }: Link): boolean {
  return quotedId !== undefined && targets.some((target) => isPost(target, quotedId))
}

function textsOf(first: unknown, second: unknown): string[] {
  const texts: string[] = []
  if (typeof first === "string" && first !== "") texts.push(first)
  if (typeof second === "string" && second !== "") texts.push(second)
  return texts
}

function isShortened(url: string): boolean {
  return /^(?:https?:\/\/)?t\.co\//i.test(url)
}

function isPost(url: string, id: string): boolean {
  return /^https?:\/\/(?:[a-z]+\.)?(?:twitter|x)\.com\//i.test(url) && /\/status(?:es)?\/(\d+)/.exec(url)?.[1] === id
}

/** The destinations of the links. */
export function targetPassages(
  links: readonly Link[],
  mode: Mode,
  earlier: EarlierPosts | undefined,
): readonly Passage[] {
  const texts: string[] = []
  for (const link of links) for (const target of targetsOf(link, earlier)) texts.push(target)
  return linkPassages(texts, mode)
}

/** The displayed forms of the links, without those that are only a part of the destination, as most are. */
export function displayedPassages(links: readonly Link[], mode: Mode): readonly Passage[] {
  if (links.length === 0) return none
  // A link is compared with its own targets only: comparing it with all of them would cost links × links.
  return linkPassages(
    links.flatMap(({ targets, displayed }) => displayed.filter((text) => !targets.some((one) => isPartOf(text, one)))),
    mode,
  )
}

/** All texts of the links, folded. */
export function linkTextsOf(links: readonly Link[], mode: Mode, earlier: EarlierPosts | undefined): readonly string[] {
  return links.flatMap((link) => [...targetsOf(link, earlier), ...link.displayed].map((text) => foldFor(mode, text)))
}

/** The destinations of a link, according to this post and to earlier ones. */
function targetsOf(link: Link, earlier: EarlierPosts | undefined): readonly string[] {
  if (earlier === undefined) return link.targets
  const destinations = link.targets.flatMap((target) => earlier.destinationOf(target) ?? none)
  return destinations.length === 0 ? link.targets : [...link.targets, ...destinations]
}

/** Links that differ only in their scheme give one passage. */
function linkPassages(links: readonly string[], mode: Mode): readonly Passage[] {
  const passages: Passage[] = []
  for (const text of distinctTexts(links)) {
    const passage = passageOf(mode, "url", text, "rule")
    passages.push(isCutInWord(text) ? { where: "url", tokens: passage.tokens.slice(0, -1) } : passage)
  }
  return passages
}

function distinctTexts(links: readonly string[]): Iterable<string> {
  const [only] = links
  if (only === undefined) return none
  return links.length === 1 ? [withoutScheme(only)] : new Set(links.map(withoutScheme))
}

/** True if a displayed link was cut after a letter or digit. Its last token may then be half a word. */
function isCutInWord(link: string): boolean {
  return link.endsWith("…") && classOf(codePointAt(link, link.length - 2)) !== separator
}

/**
 * True if a displayed link is a part of the link that begins at a word; one that was not cut must end where the link
 * ends.
 */
function isPartOf(displayed: string, link: string): boolean {
  const stem = displayed.endsWith("…") ? displayed.slice(0, -1) : displayed
  const at = link.indexOf(stem)
  if (at < 0) return false
  const isBeginning = at === 0 || /[/.]/.test(link.charAt(at - 1))
  const isEnd = stem.length < displayed.length || at + stem.length === link.length
  return isBeginning && isEnd
}
