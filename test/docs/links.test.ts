/** Links between the documents lead to files and headings that exist, and the index names every page. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

const pages = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
  (path) => path.endsWith(".md") && !/(^|\/)(node_modules|dist|\.\w+)\//.test(path),
)

/** Text without code, in which brackets are no links. */
function prose(path: string): string {
  return readFileSync(join(root, path), "utf8")
    .replaceAll(/^```.*?^```/gms, "")
    .replaceAll(/`[^`\n]*`/g, "code")
}

/** Anchors of a page's headings, as GitHub makes them. */
function anchorsOf(path: string): ReadonlySet<string> {
  const headings = readFileSync(join(root, path), "utf8").matchAll(/^#+ (.+)$/gm)
  return new Set(
    Array.from(headings, ([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  )
}

/** Links of a page to files of the repository that lead nowhere. */
function brokenLinks(path: string): readonly string[] {
  const targets = Array.from(
    prose(path).matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g),
    ([, link, source]) => link ?? source ?? "",
  )
  return targets.filter((target) => {
    if (/^\w+:/.test(target)) return false
    const [file = "", anchor] = target.split("#")
    const to = file === "" ? path : relative(root, join(root, dirname(path), file))
    if (!existsSync(join(root, to))) return true
    return anchor !== undefined && !anchorsOf(to).has(anchor)
  })
}

test.each(pages)("the links of %s lead somewhere", (path) => {
  expect(brokenLinks(path)).toEqual([])
})

test("the index names every page of docs/", () => {
  const index = readFileSync(join(root, "docs/README.md"), "utf8")
  const own = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md") && name !== "README.md")
  expect(own.filter((name) => !index.includes(`(${name}`))).toEqual([])
})
