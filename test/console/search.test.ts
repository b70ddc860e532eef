/** The search page, over posts whose ids hold the times that the tests need. */
import { snowflakeEpochMs } from "@sluice/api"
import { paths } from "@sluice/api/paths"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]

/** Posts of the last 22 hours with a heron, half an hour apart. */
const heronCount = 45

let at: ConsoleUnderTest
let nowMs: number
beforeAll(async () => {
  at = await startConsole({ withTraffic: false })
  nowMs = Date.now()
  const herons = Array.from({ length: heronCount }, (_, n) =>
    envelope(nowMs - minuteMs - n * (hourMs / 2), n % 5 === 0 ? `A heron and a kingfisher ${n}.` : `A heron ${n}.`),
  )
  const old = [envelope(nowMs - 20 * dayMs, "A bittern in the reeds."), envelope(nowMs - 40 * dayMs, "A bittern.")]
  await send(...herons, ...old, envelope(nowMs - hourMs, "A quoted heron is a stork."))
})
afterAll(() => at[Symbol.asyncDispose]())

/** The id of a post of that moment. */
function idAt(atMs: number): string {
  return String(BigInt(Math.floor(atMs) - snowflakeEpochMs) << 22n)
}

function envelope(atMs: number, text: string): { readonly data: { readonly id: string; readonly text: string } } {
  const includes = { users: [{ id: "42", username: "wren", name: "Wren" }] }
  const data = { id: idAt(atMs), text, author_id: "42", created_at: new Date(atMs).toISOString(), lang: "en" }
  return { data, includes } as { data: typeof data }
}

async function send(...envelopes: readonly unknown[]): Promise<void> {
  const body = envelopes.map((one) => `${JSON.stringify(one)}\n`).join("")
  expect((await at.call("POST", paths.posts, body)).status).toBe(200)
}

const editorOf = (page: Page) => page.getByRole("textbox", { name: "Query" })
const hitsOf = (page: Page) => page.getByRole("list", { name: "Found posts" }).getByRole("listitem")
const barsOf = (page: Page) => page.getByRole("toolbar", { name: "Posts over time" }).getByRole("button")

async function type(page: Page, query: string): Promise<void> {
  await editorOf(page).click()
  await page.keyboard.press("ControlOrMeta+A")
  await page.keyboard.type(query)
}

/** The sum of the bars, by their names. */
async function counted(page: Page): Promise<number> {
  const labels = await barsOf(page).evaluateAll((bars) => bars.map((bar) => bar.getAttribute("aria-label") ?? ""))
  return labels.reduce((sum, label) => sum + Number.parseInt(label, 10), 0)
}

test("a search shows marked hits and their counts, reads on page by page, and its address repeats it", async () => {
  const page = await at.signedIn("app", "/search")
  await page.getByText("Nothing searched yet").waitFor()
  await expectAccessible(page, "search-new")
  await type(page, "heron -stork")
  await page.keyboard.press("Enter")
  await page.getByText("45 posts by 3 hours").waitFor()
  await expect.poll(() => hitsOf(page).count()).toBe(20)
  expect(await hitsOf(page).locator("mark", { hasText: "heron" }).count()).toBe(20)
  expect(await counted(page)).toBe(heronCount)
  await expectAccessible(page, "search")

  await page.getByRole("button", { name: "Load more" }).click()
  await expect.poll(() => hitsOf(page).count()).toBe(40)
  await page.getByRole("button", { name: "Load more" }).click()
  await page.getByText("All 45 posts shown.").waitFor()
  expect(await hitsOf(page).count()).toBe(heronCount)
  expect(await page.getByRole("button", { name: "Load more" }).count()).toBe(0)

  const again = await page.context().newPage()
  await again.goto(page.url())
  await again.getByText("45 posts by 3 hours").waitFor()
  expect(await editorOf(again).textContent()).toBe("heron -stork")
  await page.context().close()
})

test("a bar narrows the search to its time, by mouse and by keyboard, and Back widens it again", async () => {
  const page = await at.signedIn("app", "/search?query=heron%20-stork&span=24h")
  await page.getByText("45 posts by hour").waitFor()
  const widest = page.url()
  const bar = barsOf(page).nth(20)
  const [count] = ((await bar.getAttribute("aria-label")) ?? "").split(" ")
  await bar.hover()
  await page.getByText(/^\d posts?, \w+ \d+/).waitFor()
  await bar.click()
  await page.getByText(`${count} posts by`).waitFor()
  await page.getByText(`All ${count} posts shown.`).waitFor()
  const parameters = new URL(page.url()).searchParams
  const [start, end] = ["start_time", "end_time"].map((name) => Date.parse(parameters.get(name) ?? "")) as [
    number,
    number,
  ]
  expect(end - start).toBe(hourMs)
  for (const post of await hitsOf(page)
    .getByRole("link", { name: /^Post / })
    .allTextContents()) {
    const atMs = Number(BigInt(post) >> 22n) + snowflakeEpochMs
    expect(start <= atMs && atMs < end).toBe(true)
  }
  expect(await page.getByLabel("From").inputValue()).not.toBe("")
  await expectAccessible(page, "search-narrowed")

  await page.goBack()
  await page.getByText("45 posts by hour").waitFor()
  expect(page.url()).toBe(widest)
  await barsOf(page).last().focus()
  await page.keyboard.press("ArrowLeft")
  await page.keyboard.press("ArrowLeft")
  const chosen = await barsOf(page).nth(-3).getAttribute("aria-label")
  expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe(chosen)
  await page.keyboard.press("Enter")
  await page.getByText(`All ${Number.parseInt(chosen ?? "", 10)} posts shown.`).waitFor()
  await page.context().close()
})

test("Enter searches for what is written, and accepts a suggestion only once it is chosen", async () => {
  const page = await at.signedIn("app", "/search")
  await type(page, "cat")
  // Three letters of its name.
  await page.getByRole("option", { name: /^bio_location:/ }).waitFor()
  await page.waitForTimeout(100)
  await page.keyboard.press("Enter")
  await page.getByText("No post matches in this time").waitFor()
  expect(new URL(page.url()).searchParams.get("query")).toBe("cat")
  await type(page, "heron has:im")
  await page.getByRole("option", { name: "images" }).waitFor()
  await page.waitForTimeout(100)
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("Enter")
  await expect.poll(() => editorOf(page).textContent()).toBe("heron has:images")
  await type(page, "emb")
  await page.waitForTimeout(400)
  expect(await page.getByRole("option", { name: /^embedding/ }).count()).toBe(0)
  await page.context().close()
})

test("the most relevant posts come first, and a text of any characters survives the address", async () => {
  const page = await at.signedIn("app", "/search")
  await type(page, 'heron OR kingfisher OR "100%41 & more"')
  await page.getByLabel("Order").selectOption({ label: "Most relevant first" })
  await page.getByRole("button", { name: "Search", exact: true }).click()
  await page.locator("mark", { hasText: "kingfisher" }).first().waitFor()
  expect(await hitsOf(page).first().textContent()).toContain("kingfisher")
  expect(await hitsOf(page).nth(8).textContent()).toContain("kingfisher")
  await page.reload()
  await hitsOf(page).first().waitFor()
  expect(await editorOf(page).textContent()).toBe('heron OR kingfisher OR "100%41 & more"')
  expect(await hitsOf(page).first().textContent()).toContain("kingfisher")
  await page.context().close()
})

test("a search without a hit offers all stored posts, which it counts back to the oldest", async () => {
  await send({ data: { id: "77", text: "A bittern without a time.", author_id: "42" } })
  const page = await at.signedIn("app", "/search?query=bittern")
  await page.getByText("No post matches in this time").waitFor()
  await expectAccessible(page, "search-none")
  await page.getByRole("button", { name: "Search all stored posts" }).click()
  await page.getByText("All 3 posts shown.").waitFor()
  await page.getByText("2 posts by day").waitFor()
  expect(await counted(page)).toBe(2)
  await page.getByText("no bar has them").waitFor()
  expect(await page.getByRole("button", { name: "Count further back" }).count()).toBe(0)
  await page.goto(`${at.dev.ready.url}/console/search?query=curlew&span=all`)
  await page.getByRole("heading", { name: "No post matches", exact: true }).waitFor()
  await page.context().close()
})

test("the same search, repeated, finds what came meanwhile, and is no further step back", async () => {
  const page = await at.signedIn("app", "/search?query=curlew")
  await page.getByText("No post matches in this time").waitFor()
  const steps = await page.evaluate(() => history.length)
  await send(envelope(Date.now() - minuteMs, "A curlew."))
  await page.getByRole("button", { name: "Search", exact: true }).click()
  await page.getByText("This is the only post.").waitFor()
  await page.getByText("1 post by 3 hours").waitFor()
  expect(await page.evaluate(() => history.length)).toBe(steps)
  await page.context().close()
})

test("counts of all posts stop before a gap, and go further back on request", async () => {
  const plovers = Array.from({ length: 25 }, (_, n) => envelope(nowMs - n * hourMs - 7 * minuteMs, `A plover ${n}.`))
  await send(...plovers, envelope(nowMs - 100 * dayMs, "An early plover."))
  const page = await at.signedIn("app", "/search?query=plover&span=all")
  await page.getByText(/^25 posts since /).waitFor()
  await page.getByRole("button", { name: "Count further back" }).click()
  await page.getByRole("button", { name: "Count further back" }).click()
  await page.getByText(/^26 posts since /).waitFor()
  expect(await counted(page)).toBe(26)
  await page.getByRole("button", { name: "Load more" }).click()
  await page.getByText("All 26 posts shown.").waitFor()
  await page.getByText(/^26 posts by/).waitFor()
  expect(await page.getByRole("button", { name: "Count further back" }).count()).toBe(0)
  await page.context().close()
})

test("a wrong query is underlined and not sent, and refused times stand at their fields", async () => {
  const page = await at.signedIn("app", "/search")
  const sent: string[] = []
  page.on("request", (request) => sent.push(new URL(request.url()).pathname))
  await type(page, "heron form:wren")
  await expect.poll(() => page.locator(".cm-lintRange-error").first().textContent()).toBe("form")
  await page.getByText("Reference to invalid operator 'form' (at position 7).").waitFor()
  await page.keyboard.press("Enter")
  expect(await page.getByRole("button", { name: "Search", exact: true }).isDisabled()).toBe(true)
  await expectAccessible(page, "search-wrong")
  await page.goto(`${at.dev.ready.url}/console/search?query=heron%20form%3Awren`)
  await page.getByText("Reference to invalid operator 'form' (at position 7).").waitFor()
  expect(sent.filter((path) => path === paths.searchAll || path === paths.countsAll)).toEqual([])

  const times = "start_time=2020-06-21T01:00:00Z&end_time=2020-06-21T00:00:00Z"
  await page.goto(`${at.dev.ready.url}/console/search?query=heron&${times}`)
  await page
    .getByText("Invalid 'start_time':'2020-06-21T01:00Z'. 'start_time' must be before 'end_time':2020-06-21T00:00Z", {
      exact: true,
    })
    .waitFor()
  expect(await page.getByLabel("From").getAttribute("aria-invalid")).toBe("true")
  expect(await page.getByLabel("Until").getAttribute("aria-invalid")).toBe(null)
  await expectAccessible(page, "search-refused")
  await page.context().close()
})

test("pages that are empty before the last one are read on, and the end is the end", async () => {
  const many = Array.from({ length: 12_000 }, (_, n) => envelope(nowMs - 2 * dayMs - n, `A dunlin ${n}.`))
  for (let from = 0; from < many.length; from += 2_000) await send(...many.slice(from, from + 2_000))
  const page = await at.signedIn("app")
  const pages: (readonly [count: number, hasMore: boolean])[] = []
  await page.route(`**${paths.searchAll}?*`, async (route) => {
    const response = await route.fetch()
    const { meta } = (await response.json()) as { meta: { result_count: number; next_token?: string } }
    pages.push([meta.result_count, meta.next_token !== undefined])
    await route.fulfill({ response })
  })
  // The index has no term for a part of a link, so each post with the word is evaluated.
  const query = 'dunlin url_contains:"nowhere"'
  await page.goto(`${at.dev.ready.url}/console/search?${new URLSearchParams({ query }).toString()}`)
  await page.getByText("No post matches in this time").waitFor()
  await page.getByText(/X has url_contains: on its stream only/).waitFor()
  expect(pages.length).toBeGreaterThan(2)
  expect(pages.slice(0, -1).every(([count, hasMore]) => count === 0 && hasMore)).toBe(true)
  expect(pages.at(-1)).toEqual([0, false])
  await page.context().close()
})

test("a search that finds little says so while it goes on, can be stopped, and stands still after twenty pages", async () => {
  const page = await at.signedIn("app")
  let requests = 0
  await page.route(`**${paths.searchAll}?*`, async (route) => {
    requests += 1
    const found = requests === 3 ? [envelope(nowMs, "A heron.").data] : []
    const meta = { result_count: found.length, next_token: `t${requests}` }
    await new Promise((resolve) => setTimeout(resolve, requests < 40 ? 20 : 300))
    await route.fulfill({ json: { data: found, meta } })
  })
  await page.goto(`${at.dev.ready.url}/console/search?query=heron`)
  await page.getByText(/in \d+ pages so far: .* The search goes on\.$/).waitFor()
  await page.getByText("1 post in 20 pages so far").waitFor()
  await page.getByText(/There are more posts to search\.$/).waitFor()
  expect(requests).toBe(20)
  await expectAccessible(page, "search-short")
  await page.getByRole("button", { name: "Go on" }).click()
  await page.getByText("1 post in 40 pages so far").waitFor()
  await page.getByRole("button", { name: "Go on" }).click()
  await page.getByRole("button", { name: "Stop" }).click()
  await page.getByRole("button", { name: "Go on" }).waitFor()
  const stoppedAt = requests
  await page.waitForTimeout(1_000)
  expect(requests).toBe(stoppedAt)
  expect(stoppedAt).toBeLessThan(60)
  await page.context().close()
})

test("a page that fails keeps the posts before it, and is read again on request", async () => {
  const page = await at.signedIn("app", "/search?query=heron")
  await expect.poll(() => hitsOf(page).count()).toBe(20)
  const problem = { title: "Invalid Request", detail: "The token is expired.", type: "about:blank", status: 400 }
  await page.route(`**${paths.searchAll}?*`, (route) => route.fulfill({ status: 400, json: problem }))
  await page.getByRole("button", { name: "Load more" }).click()
  await page.getByText("The token is expired.").waitFor()
  expect(await hitsOf(page).count()).toBe(20)
  await page.unroute(`**${paths.searchAll}?*`)
  await page.getByRole("button", { name: "Try again" }).click()
  await expect.poll(() => hitsOf(page).count()).toBe(40)
  expect(await page.getByText("The token is expired.").count()).toBe(0)
  await page.context().close()
})

test("a query becomes a rule, which names the operators that X has in searches only", async () => {
  const page = await at.signedIn("app", "/search")
  await type(page, "heron OR quotes_of_tweet_id:1")
  await page.getByRole("link", { name: "Make this a rule" }).click()
  await page.getByRole("heading", { name: "New rule" }).waitFor()
  expect(await page.getByRole("textbox", { name: "Rule" }).textContent()).toBe("heron OR quotes_of_tweet_id:1")
  await page.getByText(/X has quotes_of_tweet_id: in searches only/).waitFor()
  await page.getByText(/On the stream it also matches reposts/).waitFor()
  await expectAccessible(page, "rule-of-search")
  await page.getByRole("button", { name: "Add rule" }).click()
  await page.getByText("Added the rule").waitFor()
  const { data } = (await (await at.call("GET", paths.rules)).json()) as { data: readonly { value: string }[] }
  expect(data.map(({ value }) => value)).toEqual(["heron OR quotes_of_tweet_id:1"])
  await page.context().close()
})

test("a strict server's refusal shows below the query, and a server without an index names its setting", async () => {
  await using strict = await startConsole({ withTraffic: false, env: { SLUICE_RULE_DIALECT: "strict" } })
  const refused = await strict.signedIn("app", "/search?query=bio%3Abird")
  await refused
    .getByRole("alert")
    .getByText(/Reference to invalid operator 'bio'\. Operator is not available in current product/)
    .first()
    .waitFor()
  await using without = await startConsole({ withTraffic: false, env: { SLUICE_SEARCH: "off" } })
  const off = await without.signedIn("app", "/search?query=heron")
  await off.getByRole("heading", { name: "The search is off" }).waitFor()
  await off.getByText("SLUICE_SEARCH=on").waitFor()
  await expectAccessible(off, "search-off")
})
