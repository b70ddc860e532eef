/** Makes a page of a Markdown file of the repository: its HTML, its title, and the pictures that it shows. */
import { Marked, type Tokens } from "marked"
import { posix } from "node:path"

/** A document as a part of a page. */
export interface Document {
  /** The text of its first heading. */
  readonly title: string
  readonly html: string
  /** Paths of its pictures, from the root of the repository. */
  readonly pictures: readonly string[]
}

/** The path of the page of a document: `docs/rules.html`, and `index.html` for a README. */
export function pagePath(markdownPath: string): string {
  return markdownPath.replace(/README\.md$/, "index.md").replace(/\.md$/, ".html")
}

/**
 * Renders the document at `path`, both from the root of the repository. Links to other documents lead to their pages. A
 * link to any other file of the repository becomes plain text, because the site does not have the file.
 */
export function renderDocument(path: string, markdown: string, documents: ReadonlySet<string>): Document {
  const anchors = new Map<string, number>()
  const pictures = new Set<string>()
  let title = ""
  const fromRoot = (href: string): string => posix.normalize(posix.join(posix.dirname(path), href))
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading): string {
        if (title === "") title = plainText(text)
        return `<h${depth} id="${anchorOf(text, anchors)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link): string {
        const text = this.parser.parseInline(tokens)
        const to = linkTo(href, path, documents)
        return to === undefined ? text : `<a href="${escaped(to)}">${text}</a>`
      },
      image({ href, text }: Tokens.Image): string {
        pictures.add(fromRoot(href))
        return `<img src="${escaped(href)}" alt="${escaped(text)}">`
      },
      code({ text }: Tokens.Code): string {
        return `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`
      },
      table(token: Tokens.Table): string {
        return `<div class="table" tabindex="0">${tableHtml(token, (cell) => this.parser.parseInline(cell.tokens))}</div>\n`
      },
    },
  })
  const html = marked.parse(markdown, { async: false })
  for (const [, source = ""] of html.matchAll(/<img src="([^":]+)"/g)) pictures.add(fromRoot(source))
  return { title, html, pictures: [...pictures] }
}

/** A table; a head without text is none for screen readers. */
function tableHtml({ header, rows }: Tokens.Table, inline: (cell: Tokens.TableCell) => string): string {
  const head = header.map((cell) => (cell.text === "" ? "<td></td>" : `<th scope="col">${inline(cell)}</th>`))
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${inline(cell)}</td>`).join("")}</tr>`)
  return `<table><thead><tr>${head.join("")}</tr></thead><tbody>${body.join("\n")}</tbody></table>`
}

/** The target of a link on a page; `undefined` when the site does not have it. */
function linkTo(href: string, path: string, documents: ReadonlySet<string>): string | undefined {
  if (/^https?:/.test(href)) return href
  const [file = "", anchor] = href.split("#")
  const after = anchor === undefined ? "" : `#${anchor}`
  if (file === "") return after
  const target = posix.normalize(posix.join(posix.dirname(path), file))
  if (!documents.has(target)) return undefined
  return posix.relative(posix.dirname(path), pagePath(target)) + after
}

/** The anchor of a heading, as GitHub makes it: a repeated one gets a number. */
function anchorOf(heading: string, taken: Map<string, number>): string {
  const anchor = plainText(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-")
  const count = taken.get(anchor) ?? 0
  taken.set(anchor, count + 1)
  return count === 0 ? anchor : `${anchor}-${count}`
}

/** The text of a heading without its signs and comments. */
function plainText(heading: string): string {
  return heading.replaceAll(/<!--.*?-->|[`*]/g, "").replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
}

/** A text as a part of HTML, quotes included. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
}
