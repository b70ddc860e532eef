/** The pages of the documents: all of them, with links that lead somewhere, readable in light, dark and on a phone. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible } from "../console/console.testing.ts"
import { siteDirectory, startSite, type SiteUnderTest } from "./site.testing.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

let site: SiteUnderTest
beforeAll(async () => {
  site = await startSite()
})
afterAll(() => site[Symbol.asyncDispose]())

const pages = readdirSync(siteDirectory, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".html"))

/** Links, scripts, styles and pictures of a page that lead to no file, or to no anchor of one. */
function brokenLinks(path: string): readonly string[] {
  const html = readFileSync(join(siteDirectory, path), "utf8")
  const targets = Array.from(html.matchAll(/ (?:href|src)="([^"]*)"/g), ([, target = ""]) => target)
  return targets.filter((target) => {
    if (/^https?:/.test(target)) return false
    const [file = "", anchor] = target.split("#")
    const to = file === "" ? path : relative(siteDirectory, join(siteDirectory, dirname(path), file))
    if (!existsSync(join(siteDirectory, to))) return true
    return anchor !== undefined && !readFileSync(join(siteDirectory, to), "utf8").includes(` id="${anchor}"`)
  })
}

test("each document has a page, and each link of a page leads somewhere", () => {
  const documents = [
    "README.md",
    ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".md"))
      .map((path) => `docs/${path}`),
  ]
  const expected = documents.map((path) => path.replace(/README\.md$/, "index.md").replace(/md$/, "html"))
  expect(pages).toEqual(expect.arrayContaining(expected))
  expect(
    Object.fromEntries(pages.map((path) => [path, brokenLinks(path)] as const).filter(([, links]) => links.length > 0)),
  ).toEqual({})
})

test.each(["index.html", "docs/index.html", "docs/rules.html", "docs/performance.html"])(
  "%s is readable for everyone",
  async (path) => {
    await using opened = await site.open(path)
    const { page, requests } = opened
    expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1)
    await expectAccessible(page, `site-${path.replaceAll(/\W/g, "-")}`)
    expect(requests.filter((url) => !url.startsWith(site.url))).toEqual([])
    await page.getByRole("link", { name: "Playground" }).first().click()
    await page.getByText("3 of 6 posts match").waitFor()
  },
)
