/** Search in the documents: which sections are found, and the field on every page of a document. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { sectionsOf } from "../../site/documentation/sections.ts"
import { indexText, openIndex, type IndexedSection } from "../../site/src/search/section-index.ts"
import { expectAccessible } from "../console/console.testing.ts"
import { siteDirectory, startSite, type SiteUnderTest } from "./site.testing.ts"

let site: SiteUnderTest
beforeAll(async () => {
  site = await startSite()
})
afterAll(() => site[Symbol.asyncDispose]())

test("a section is a heading with its anchor and the text up to the next heading, without markup", () => {
  const html = `<p>Before.</p><h1 id="a">A &amp; <code>b</code></h1>\n<p>One <code>has:images</code>, <em>two</em>.</p><ul><li>x</li><li>&lt;y&gt;</li></ul>
<h2 id="c">C</h2>\n<!-- <b>no</b> --><pre tabindex="0"><code>d\n  e</code></pre>\n<h2 id="empty">Empty</h2>\n`
  expect(sectionsOf(html)).toEqual([
    { anchor: "a", heading: "A & b", text: "One has:images, two. x <y>" },
    { anchor: "c", heading: "C", text: "d e" },
    { anchor: "empty", heading: "Empty", text: "" },
  ])
})

const section = (id: string, heading: string, text: string): IndexedSection => ({ id, page: "Page", heading, text })

const find = openIndex(
  indexText([
    section("links", "Links", "A webhook has links. See --webhook-allow and SLUICE_MASTER_KEY."),
    section("webhooks", "Webhooks", "A URL that receives matches."),
    section("posts", "Posts", "What url_title: finds in a post."),
  ]),
)

test.each([
  ["links", "links"],
  // A word of a heading counts more than one of a text.
  ["webhook", "webhooks links"],
  // All terms, the last of which may be unfinished, in any case and with wrong letters.
  ["receives mat", "webhooks"],
  ["receives links", ""],
  ["WEBHOOKS", "webhooks links"],
  ["recieves", "webhooks"],
  ["--webhook-allow", "links"],
  ["sluice_master_key", "links"],
  ["url_title:", "posts"],
  ["zzzz", ""],
  ["::", ""],
])("the query %s finds: %s", (query, expected) => {
  expect(
    find(query)
      .map(({ id }) => id)
      .join(" "),
  ).toBe(expected)
})

/** The sections of the built site, by the module that its pages load. */
const builtIndex = async (): Promise<string> => {
  const assets = readdirSync(join(siteDirectory, "assets"))
  const file = assets.find((name) => /^search-index-.*\.js$/.test(name)) ?? expect.unreachable()
  const module = (await import(join(siteDirectory, "assets", file))) as Readonly<Record<string, string>>
  return Object.values(module)[0] ?? expect.unreachable()
}

test("every page of a document has sections in the index, and every section leads to an anchor of its page", async () => {
  const { documentIds } = JSON.parse(await builtIndex()) as { readonly documentIds: Readonly<Record<string, string>> }
  const ids = Object.values(documentIds)
  const found = new Set(ids.map((id) => id.replace(/#.*/, "")))
  const pages = readdirSync(siteDirectory, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".html"),
  )
  expect(found).toEqual(new Set(pages.filter((path) => path !== "playground.html")))
  const broken = ids.filter((id) => {
    const [path = "", anchor = ""] = id.split("#")
    return !existsSync(join(siteDirectory, path)) || !readPage(path).includes(` id="${anchor}"`)
  })
  expect(broken).toEqual([])
})

const readPage = (path: string): string => readFileSync(join(siteDirectory, path), "utf8")

const fieldOf = (page: Page) => page.getByRole("searchbox", { name: "Search the documents" })
const resultsOf = (page: Page) => page.getByRole("search").getByRole("listitem")
const isIndex = (url: string): boolean => /\/search-index-[^/]+\.js$/.test(url)

test("keys alone reach the field, the sections and one of them on another page", async () => {
  await using opened = await site.open("docs/decisions/threads.html")
  const { page, requests } = opened
  await fieldOf(page).waitFor()
  expect(requests.filter(isIndex)).toEqual([])
  // The name of the site, its three links, and the field.
  for (let at = 0; at < 5; at++) await page.keyboard.press("Tab")
  await page.keyboard.type("retention and ga")
  await expect.poll(() => resultsOf(page).first().innerText()).toMatch(/^Retention and gaps\s+Delivery to webhooks$/)
  await expect.poll(() => page.getByRole("status").textContent()).toMatch(/^(?:The first 20 of )?\d+ sections?$/)
  expect(requests.filter(isIndex)).toHaveLength(1)
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("ArrowUp")
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toContain("Retention and gaps")
  await page.keyboard.press("Enter")
  await page.waitForURL(`${site.url}docs/delivery.html#retention-and-gaps`)
  expect(requests.filter((url) => !url.startsWith(site.url))).toEqual([])
})

test("Enter opens the best section, Escape returns to the field, and a section of the same page closes the list", async () => {
  await using opened = await site.open("docs/rules.html")
  const { page } = opened
  await fieldOf(page).fill("problems of a rule")
  await resultsOf(page).first().waitFor()
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("Escape")
  expect(await resultsOf(page).count()).toBe(0)
  expect(await fieldOf(page).inputValue()).toBe("problems of a rule")
  await page.keyboard.type(" ")
  await resultsOf(page).first().waitFor()
  await page.keyboard.press("Enter")
  await page.waitForURL(`${site.url}docs/rules.html#problems-of-a-rule`)
  expect(await resultsOf(page).count()).toBe(0)
  // As a browser that keeps the focus where it is.
  await page.evaluate(() => document.addEventListener("click", (event) => event.preventDefault(), { capture: true }))
  await fieldOf(page).fill("rule")
  await resultsOf(page).first().getByRole("link").click()
  expect(await resultsOf(page).count()).toBe(0)
})

test("a query without sections says so, and its text is no markup", async () => {
  await using opened = await site.open("index.html")
  const { page } = opened
  const query = "zzzz<img src=x onerror=alert(1)>"
  await fieldOf(page).fill(query)
  await expect.poll(() => page.locator(".site-search-note").textContent()).toBe(`No section has ${query}.`)
  expect(await page.getByRole("search").locator("img").count()).toBe(0)
  await page.getByRole("heading", { level: 1 }).click()
  expect(await page.locator(".site-search-panel").isVisible()).toBe(false)
})

test("an index that cannot be loaded is reported, and the page remains readable", async () => {
  await using opened = await site.open("docs/rules.html")
  const { page } = opened
  await page.route(/search-index/, (route) => route.abort())
  await fieldOf(page).fill("rules")
  await page.getByText("The index could not be loaded. Reload the page.").first().waitFor()
  expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1)
})

test("the list is readable for everyone, also on a phone", async () => {
  await using opened = await site.open("docs/delivery.html")
  const { page } = opened
  await fieldOf(page).fill("webhook")
  await resultsOf(page).first().waitFor()
  await expectAccessible(page, "site-search")
  await page.setViewportSize({ width: 390, height: 800 })
  expect(await resultsOf(page).count()).toBe(20)
  const panel = await page.locator(".site-search-panel").boundingBox()
  expect(panel?.x).toBeGreaterThanOrEqual(0)
  expect((panel?.x ?? 0) + (panel?.width ?? 0)).toBeLessThanOrEqual(390)
  await resultsOf(page).nth(19).getByRole("link").click()
  await page.waitForURL(/#/)
})

test("without scripts no page shows a field that does nothing", () => {
  expect(readPage("docs/rules.html")).toMatch(/<search class="site-search"[^>]* hidden>/)
})
