/**
 * HTML of posts as plain text, with the places of its links.
 *
 *     HTML ─► tokenizer ─► text, white space as browsers show it ─► line breaks of paragraphs
 *                     └──► links, from the first character that they show to the last
 *
 * Places are counted while the text is made, since no later search could tell which part of it was a link. Tags need not be
 * nested rightly, and no depth costs anything: there is no stack, only the link and the hidden element that are open.
 */
import { Tokenizer, type TokenizerCallbacks } from "htmlparser2"
import { pointsOf } from "../text-offsets.ts"

/** A link of a text. Offsets are code points, the end exclusive. */
export interface TextLink {
  readonly start: number
  readonly end: number
  readonly href: string
  /** The names in its `class`. */
  readonly classes: readonly string[]
  /** Its text. */
  readonly text: string
  /** Its text as readers see it: without parts that are hidden, and with an ellipsis where the tail is. */
  readonly shown: string
}

/** Text with its links in their order; no two overlap. */
export interface LinkedText {
  readonly text: string
  readonly links: readonly TextLink[]
}

/** Choices of a conversion. */
export interface HtmlOptions {
  /** Text before that of the HTML, in a paragraph of its own. */
  readonly before?: string | undefined
  /** Elements with one of these classes are left out. */
  readonly hiddenClasses?: readonly string[]
}

const plain: HtmlOptions = {}

/** The text of HTML, in time linear in its length, for any tags. The HTML is well-formed Unicode. */
export function linkedTextOf(html: string, options: HtmlOptions = plain): LinkedText {
  const writer = new TextWriter(html, options)
  // Without entities the tokenizer searches for the next tag, and need not walk there.
  const tokenizer = new Tokenizer({ decodeEntities: html.includes("&") }, writer)
  tokenizer.write(html)
  tokenizer.end()
  return writer.finished()
}

/** Line breaks before and after elements. Elements that are not here are part of a line. */
const blockBreaks: ReadonlyMap<string, number> = new Map([
  ["p", 2],
  ["blockquote", 2],
  ["pre", 2],
  ["ul", 2],
  ["ol", 2],
  ["h1", 2],
  ["h2", 2],
  ["h3", 2],
  ["h4", 2],
  ["h5", 2],
  ["h6", 2],
  ["li", 1],
  ["div", 1],
])

/** Elements whose text is not for readers. */
const hiddenElements: ReadonlySet<string> = new Set(["script", "style", "title", "noscript", "template", "textarea"])

/** A link that is open. */
interface OpenLink {
  readonly href: string
  readonly classes: readonly string[]
  /** -1 until it shows a character. */
  start: number
  text: string
  shown: string
}

class TextWriter implements TokenizerCallbacks {
  readonly #html: string
  readonly #hiddenClasses: readonly string[]
  readonly #links: TextLink[] = []
  #text: string
  #points: number
  /** Line breaks and a space that stand before the next character, if one comes. */
  #breaks = 0
  #hasSpace = false
  #link: OpenLink | undefined
  /** The element that is left out, and how many of its name are open within. */
  #hidden: { readonly name: string; depth: number } | undefined
  #preDepth = 0
  /** Name and attributes of the tag that is read. */
  #tag = ""
  #attribute = ""
  #value = ""
  #href = ""
  #class = ""
  /** Classes of the spans of a link that are open: the innermost one decides what is shown. */
  #spans: string[] = []

  constructor(html: string, { before = "", hiddenClasses = [] }: HtmlOptions) {
    this.#html = html
    this.#hiddenClasses = hiddenClasses
    this.#text = before
    this.#points = pointsOf(before)
    if (before !== "") this.#breaks = 2
  }

  finished(): LinkedText {
    this.#closeLink()
    return { text: this.#text, links: this.#links }
  }

  ontext(start: number, end: number): void {
    if (this.#hidden === undefined) this.#write(this.#html.slice(start, end))
  }

  ontextentity(codePoint: number): void {
    if (this.#hidden !== undefined) return
    const isScalar = codePoint <= 0x10ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff)
    this.#add(isScalar ? String.fromCodePoint(codePoint) : "\uFFFD")
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#html.slice(start, end).toLowerCase()
    this.#href = ""
    this.#class = ""
  }

  onattribname(start: number, end: number): void {
    // Nothing else is read, and most attributes have another length.
    const isRead = end - start === "href".length || end - start === "class".length
    this.#attribute = isRead ? this.#html.slice(start, end).toLowerCase() : ""
    this.#value = ""
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute !== "") this.#value += this.#html.slice(start, end)
  }

  onattribentity(codePoint: number): void {
    const isScalar = codePoint <= 0x10ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff)
    if (isScalar) this.#value += String.fromCodePoint(codePoint)
  }

  onattribend(): void {
    if (this.#attribute === "href") this.#href = this.#value
    else if (this.#attribute === "class") this.#class = this.#value
  }

  onopentagend(): void {
    this.#open(this.#tag, false)
  }

  onselfclosingtag(): void {
    this.#open(this.#tag, true)
  }

  onclosetag(start: number, end: number): void {
    const name = this.#html.slice(start, end).toLowerCase()
    if (this.#hidden !== undefined) {
      if (name === this.#hidden.name && --this.#hidden.depth === 0) this.#hidden = undefined
      return
    }
    if (name === "a") this.#closeLink()
    else if (name === "span") this.#closeSpan()
    else if (name === "pre") this.#preDepth = Math.max(0, this.#preDepth - 1)
    this.#break(blockBreaks.get(name) ?? 0)
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onprocessinginstruction(): void {}

  #open(name: string, isClosed: boolean): void {
    if (this.#hidden !== undefined) {
      if (name === this.#hidden.name && !isClosed) this.#hidden.depth++
      return
    }
    if (this.#isHidden(name)) {
      if (!isClosed) this.#hidden = { name, depth: 1 }
      return
    }
    this.#break(blockBreaks.get(name) ?? 0)
    if (name === "br") this.#addBreak()
    else if (name === "a") this.#openLink()
    else if (name === "span" && this.#link !== undefined) this.#spans.push(this.#class)
    else if (name === "pre" && !isClosed) this.#preDepth++
  }

  #isHidden(name: string): boolean {
    if (hiddenElements.has(name)) return true
    if (this.#hiddenClasses.length === 0 || this.#class === "") return false
    const classes = this.#class.split(/\s+/)
    return this.#hiddenClasses.some((one) => classes.includes(one))
  }

  #openLink(): void {
    this.#closeLink()
    if (this.#href === "") return
    this.#link = { href: this.#href, classes: this.#class.split(/\s+/), start: -1, text: "", shown: "" }
  }

  #closeLink(): void {
    const link = this.#link
    this.#link = undefined
    this.#spans = []
    if (link === undefined || link.start < 0) return
    const { start, href, classes, text, shown } = link
    this.#links.push({ start, end: this.#points, href, classes, text, shown })
  }

  /** An ellipsis stands for the part of a link that is hidden after the span. */
  #closeSpan(): void {
    if (this.#spans.pop()?.includes("ellipsis") === true && this.#link !== undefined) this.#link.shown += "…"
  }

  /** At least so many line breaks before the next character. */
  #break(count: number): void {
    this.#breaks = Math.max(this.#breaks, count)
  }

  #addBreak(): void {
    this.#breaks = Math.min(this.#breaks + 1, breaksMax)
  }

  /** Adds text of HTML, in which white space of any length is one space, except in `pre`. */
  #write(text: string): void {
    if (this.#preDepth > 0) {
      this.#add(text)
      return
    }
    const single = hasLongSpace.test(text) ? text.replaceAll(spaces, " ") : text
    const from = single.startsWith(" ") ? 1 : 0
    const to = single.endsWith(" ") ? single.length - 1 : single.length
    if (from > 0) this.#hasSpace = true
    if (to <= from) return
    this.#add(single.slice(from, to))
    if (to < single.length) this.#hasSpace = true
  }

  /** Adds characters as they are, after what stands before them. */
  #add(text: string): void {
    const gap = this.#breaks > 0 ? "\n".repeat(this.#breaks) : this.#hasSpace ? " " : ""
    if (gap !== "" && this.#text !== "") this.#append(gap)
    this.#breaks = 0
    this.#hasSpace = false
    if (this.#link?.start === -1) this.#link.start = this.#points
    this.#append(text)
  }

  #append(text: string): void {
    this.#text += text
    this.#points += pointsOf(text)
    const link = this.#link
    if (link === undefined || link.start < 0) return
    link.text += text
    // Mastodon hides the scheme of a link and the end of a long one.
    const classes = this.#spans.at(-1) ?? ""
    if (!classes.includes("invisible")) link.shown += text
  }
}

/** White space that HTML collapses; a no-break space is none. */
const spaces = /[ \t\n\r\f]+/g

/** White space other than single spaces, which most texts do not have. */
const hasLongSpace = / {2}|[\t\n\r\f]/

/** Most line breaks in a row that are kept. Ours: more empty lines tell readers no more. */
const breaksMax = 10
