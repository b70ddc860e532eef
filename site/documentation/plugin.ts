/**
 * Adds a page for each Markdown file of the repository to the site, in the frame of `document.html`, and the module that holds
 * the index of their sections.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"
import type { Plugin } from "vite"
import { indexText } from "../src/search/section-index.ts"
import { escaped, pagePath, renderDocument, type Document } from "./document.ts"
import { sectionsOf } from "./sections.ts"

const frame = "document.html"

const [indexModule, indexFile] = ["virtual:search-index", "search-index"]

/** Makes the pages of the repository in `root`. */
export function documentation(root: string): Plugin {
  let documents: ReadonlyMap<string, Document> = new Map()
  return {
    name: "documentation",
    apply: "build",
    buildStart() {
      documents = readDocuments(root)
    },
    // The resolved name becomes the file's, and hosts may hide files whose names begin with _.
    resolveId: (id) => (id === indexModule ? indexFile : undefined),
    load: (id) => (id === indexFile ? `export default ${JSON.stringify(indexOf(documents))}` : undefined),
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const framed = bundle[frame]
        if (framed?.type !== "asset") throw new Error(`The build has no ${frame}.`)
        delete bundle[frame]
        const pictures = new Set([...documents.values()].flatMap((document) => document.pictures))
        for (const [path, document] of documents) {
          const source = pageOf(String(framed.source), path, documents, document)
          this.emitFile({ type: "asset", fileName: pagePath(path), source })
        }
        for (const picture of pictures) {
          this.emitFile({ type: "asset", fileName: picture, source: readFileSync(join(root, picture)) })
        }
      },
    },
  }
}

/** The text of the index of their sections. */
function indexOf(documents: ReadonlyMap<string, Document>): string {
  return indexText(
    [...documents].flatMap(([path, { title, html }]) =>
      sectionsOf(html).map(({ anchor, heading, text }) => ({
        id: `${pagePath(path)}#${anchor}`,
        page: title,
        heading,
        text,
      })),
    ),
  )
}

/** The documents by their paths from `root`: those at the top, in `docs`, of the packages and of the examples. */
function readDocuments(root: string): ReadonlyMap<string, Document> {
  const paths = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => /^([A-Z]+|docs\/.+|examples\/.+|packages\/[a-z]+\/README)\.md$/.test(path))
    .filter((path) => !path.includes("node_modules"))
    .toSorted()
  const known = new Set(paths)
  return new Map(paths.map((path) => [path, renderDocument(path, readFileSync(join(root, path), "utf8"), known)]))
}

function pageOf(
  html: string,
  path: string,
  documents: ReadonlyMap<string, Document>,
  { title, html: content }: Document,
): string {
  const up = "../".repeat(path.split("/").length - 1)
  const parts: Readonly<Record<string, string>> = {
    TITLE: escaped(title),
    ROOT: up,
    CONTENT: content,
    PAGES: listOf(path, documents),
  }
  return html
    .replaceAll(/(href|src)="\.\//g, (_, name: string) => `${name}="${up === "" ? "./" : up}`)
    .replaceAll(/%(TITLE|ROOT|CONTENT|PAGES)%/g, (mark, name: string) => parts[name] ?? mark)
}

/** Links to the documents that users read: those of `docs` itself, by their titles. */
function listOf(path: string, documents: ReadonlyMap<string, Document>): string {
  const listed = [...documents].filter(([one]) => one === "README.md" || /^docs\/[^/]+\.md$/.test(one))
  return listed
    .map(([one, { title }]) => {
      const to = posix.relative(posix.dirname(path), pagePath(one))
      return `<a href="${escaped(to)}"${one === path ? ' aria-current="page"' : ""}>${escaped(title)}</a>`
    })
    .join("\n")
}
