/** The documents name the actor first: no sentence begins with a clause, and no word of the old dialect is left. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { faultySentences } from "../architecture/plain-english.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** `docs/bounds.md` is made from docstrings. */
const pages = globSync(["README.md", "docs/**/*.md", "bench/README.md", "packages/*/README.md"], { cwd: root }).filter(
  (path) => path !== join("docs", "bounds.md"),
)

/** A page's sentences, list items and cells, one a line: without code and headings. */
function sentencesOf(page: string): readonly string[] {
  return page
    .replaceAll(/^( *)```.*?^ *```$/gms, "")
    .replaceAll(/^ {4,}[^ \n-].*$/gm, "")
    .replaceAll(/^#.*$/gm, "\n")
    .replaceAll(/^( *)([-*]|\d+\.) /gm, "\n\n")
    .replaceAll(/ *\| */g, "\n\n")
    .replaceAll(/([.:?!]\)?\**) +|([.:?!]\)?\**)\n/g, "$1$2\n\n")
    .split(/\n\n+/)
    .map((sentence) => sentence.replaceAll(/\s+/g, " ").replace(/^[*_ ]+/, ""))
}

test.each(pages)("%s is in plain English", (path) => {
  expect(faultySentences(sentencesOf(readFileSync(join(root, path), "utf8")))).toEqual([])
})

test("openings and words of the old dialect are found", () => {
  const page =
    "# Where\n\nIt is. What it keeps, it\nkeeps.\n\n- Of all: the one beside.\n\n```sh\n# What\n```\n\n| What for |\n"
  expect(faultySentences(sentencesOf(page))).toEqual([
    "What it keeps, it keeps.",
    "Of all:",
    "the one beside.",
    "What for",
  ])
})
