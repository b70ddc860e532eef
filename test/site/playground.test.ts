/** The rule playground in Chromium, from a static server. */
import type { Envelope } from "@sluice/api"
import { EarlierPosts, evaluate, parseRule, readPost } from "@sluice/rules"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible } from "../console/console.testing.ts"
import { hasSharedData, sharedLines } from "../support/shared-data.testing.ts"
import { startSite, type SiteUnderTest } from "./site.testing.ts"

const [sharedPosts, sharedRules] = [1_000, 100]

let site: SiteUnderTest
beforeAll(async () => {
  site = await startSite()
})
afterAll(() => site[Symbol.asyncDispose]())

/** The result that the page copies. */
interface Result {
  readonly rule: string
  readonly tested: number
  readonly matching: readonly string[]
}

const editorOf = (page: Page) => page.getByRole("textbox", { name: "Rule" })
const postsOf = (page: Page) => page.getByLabel("Posts to test on")

/** The text of the editor: each line of it is an element. */
async function ruleOf(page: Page): Promise<string> {
  return (await editorOf(page).locator(".cm-line").allTextContents()).join("\n")
}

async function copied(page: Page, button: string): Promise<string> {
  await page.getByRole("button", { name: button }).click()
  return page.evaluate(() => navigator.clipboard.readText())
}

/** The result of a rule, once the page has it. */
async function resultOf(page: Page, rule: string): Promise<Result> {
  await editorOf(page).fill(rule)
  let result: Result | undefined
  await expect
    .poll(async () => {
      result = JSON.parse(await copied(page, "Copy result")) as Result
      return result.rule
    })
    .toBe(rule)
  return result ?? expect.unreachable()
}

test("a rule shows its error at its place, then which of the sample posts match, why, and why not", async () => {
  await using opened = await site.open("playground.html")
  const { page, requests } = opened
  await page.getByText("3 of 6 posts match").waitFor()
  expect(await page.locator("mark").allTextContents()).toEqual(["heron", "night market", "heron"])
  await expectAccessible(page, "site-playground")

  await editorOf(page).fill("heron form:wren_at_work")
  await expect.poll(() => page.locator(".cm-lintRange-error").first().textContent()).toBe("form")
  await page.getByText("Once the rule is valid, it is tested as you type.").waitFor()
  await expectAccessible(page, "site-playground-wrong")
  await page.getByRole("button", { name: "Use from" }).click()
  await page.getByText("2 of 6 posts match").waitFor()
  await page.getByRole("button", { name: "Not matching" }).click()
  await page.getByText("Missing: heron, from:wren_at_work").first().waitFor()
  await expectAccessible(page, "site-playground-misses")
  expect(requests.filter((url) => !url.startsWith(site.url))).toEqual([])
})

test("no request leaves the page once it is loaded, and none can", async () => {
  await using opened = await site.open("playground.html")
  const { page, requests } = opened
  await page.getByText("of 6 posts match").waitFor()
  const loaded = requests.length
  await postsOf(page).fill('a heron\n{"not": JSON, https://example.com/}\n<img src="https://example.com/x.png">')
  expect((await resultOf(page, "heron")).matching).toEqual(["1"])
  await copied(page, "Copy link")
  // Chromium loads the icon late, and again when the address changes.
  expect(requests.slice(loaded).filter((url) => !/\/icon-[^/]+\.svg$/.test(url))).toEqual([])
  const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content")
  expect(policy).toContain("default-src 'self'")
  expect(policy).toContain("connect-src 'none'")
})

test("a shared link opens the same rule and posts in another browser, and in the same page", async () => {
  await using first = await site.open("playground.html")
  const rule = '(鷺 OR "night heron") -is:retweet'
  const posts = 'a night heron\n鷺がいる\n<script>alert("x")</script> heron'
  await postsOf(first.page).fill(posts)
  const result = await resultOf(first.page, rule)
  expect(result.matching).toEqual(["1", "2"])
  const link = await copied(first.page, "Copy link")
  expect(first.page.url()).toBe(link)

  await using second = await site.open(link)
  await second.page.getByText("2 of 3 posts match").waitFor()
  expect(await ruleOf(second.page)).toBe(rule)
  expect(await postsOf(second.page).inputValue()).toBe(posts)
  expect(second.requests.filter((url) => new URL(url).hash === "" && url.includes(link.split("#")[1] ?? ""))).toEqual(
    [],
  )

  await using third = await site.open("playground.html")
  await third.page.getByText("of 6 posts match").waitFor()
  await third.page.goto(link)
  await third.page.getByText("2 of 3 posts match").waitFor()
  expect(await ruleOf(third.page)).toBe(rule)
})

test("a hostile link gets a message, and the sample is shown", async () => {
  for (const fragment of ["1.", "1.AAAA", "2.x", "<img src=x onerror=alert(1)>", "x".repeat(40_000), "%00%ff"]) {
    await using opened = await site.open(`playground.html#${fragment}`)
    await opened.page.getByText("The link cannot be opened: ").waitFor()
    await opened.page.getByText("of 6 posts match").waitFor()
    expect(await ruleOf(opened.page)).toBe('(heron OR "night market") -is:retweet')
  }
})

test("posts of a wrong form get a message, not an error", async () => {
  await using opened = await site.open("playground.html")
  const { page } = opened
  const hostile = [
    '{"text":"heron","entities":7,"referenced_tweets":"x","created_at":"never","author_id":{}}',
    '{"data":{"text":"heron","entities":{"urls":[null,{"expanded_url":3}]}},"includes":{"users":"x","tweets":[null]}}',
    '{"data":{"text":"heron","geo":[],"attachments":"x"},"includes":[]}',
  ]
  for (const posts of [...hostile, hostile.join("\n")]) {
    await postsOf(page).fill(posts)
    await page.getByText(/of \d+ posts? match|These posts cannot be tested/).waitFor()
  }
  await postsOf(page).fill("a heron")
  expect((await resultOf(page, "heron")).matching).toEqual(["1"])
})

test("posts that are too many for a link are tested, and have none", async () => {
  await using opened = await site.open("playground.html")
  const { page } = opened
  const lines = Array.from({ length: 1_000 }, (_, n) => `${crypto.randomUUID()}${crypto.randomUUID()} heron ${n}`)
  await postsOf(page).fill(lines.join("\n"))
  await page.getByText("1000 of 1,000 posts match").waitFor()
  await page.getByText("These posts are too long for a link.").waitFor()
  expect(new URL(page.url()).hash).toBe("")
})

test.runIf(hasSharedData)(
  `the page matches what evaluate matches, with ${sharedRules} recorded rules on ${sharedPosts} recorded posts`,
  async () => {
    const lines = sharedLines("data/x/posts.ndjson")
    const byId = new Map(lines.map((line) => [(JSON.parse(line) as Envelope).data.id, line]))
    const pasted = [...byId.values()].slice(0, sharedPosts)
    const envelopes = pasted.map((line) => JSON.parse(line) as Envelope)
    expect(envelopes).toHaveLength(sharedPosts)
    const earlier = new EarlierPosts()
    for (const envelope of envelopes) earlier.learn(envelope)
    const posts = envelopes.map((envelope) => ({ id: envelope.data.id, post: readPost(envelope, { earlier }) }))
    const rules = chosenRules(posts)
    expect(rules).toHaveLength(sharedRules)

    await using opened = await site.open("playground.html")
    // Two megabytes: a busy machine takes its time.
    await postsOf(opened.page).fill(pasted.join("\n"), { timeout: 120_000 })
    let matches = 0
    for (const { value, matching } of rules) {
      const result = await resultOf(opened.page, value)
      expect(result).toEqual({ rule: value, tested: sharedPosts, matching })
      matches += matching.length
    }
    // The comparison is about matches too, and not of nothing with nothing.
    expect(matches).toBeGreaterThan(sharedPosts)
  },
  240_000,
)

/** Recorded rules that a page can compute, those with matches first, and the ids that `evaluate` selects for each. */
function chosenRules(posts: readonly { readonly id: string; readonly post: ReturnType<typeof readPost> }[]) {
  const values = sharedLines("data/rules/rules.ndjson").map((line) => (JSON.parse(line) as { value: string }).value)
  const computed = [...new Set(values)].flatMap((value) => {
    const parsed = parseRule(value)
    if (!parsed.ok) return []
    const { rule } = parsed
    return [{ value, matching: posts.flatMap(({ id, post }) => (evaluate(rule, post) ? [id] : [])) }]
  })
  return computed.toSorted((a, b) => b.matching.length - a.matching.length).slice(0, sharedRules)
}
