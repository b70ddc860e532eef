/** Rules that are tried on what is stored, and backfilled, over posts whose ids hold their times. */
import { snowflakeEpochMs } from "@sluice/api"
import { paths } from "@sluice/api/paths"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

const [secondMs, hourMs] = [1_000, 3_600_000]

/** Posts of the last 28 hours, five seconds apart: more than one request tests. Every tenth has a heron. */
const [postCount, spacingMs] = [20_160, 5 * secondMs]

let at: ConsoleUnderTest
let nowMs: number
beforeAll(async () => {
  at = await startConsole({ withTraffic: false })
  nowMs = Date.now() - 10 * secondMs
  for (let n = 0; n < postCount; n += 5_000) {
    const part = Array.from({ length: Math.min(5_000, postCount - n) }, (_, index) => envelope(n + index))
    const body = part.map((one) => `${JSON.stringify(one)}\n`).join("")
    expect((await at.call("POST", paths.posts, body)).status).toBe(200)
  }
})
afterAll(() => at[Symbol.asyncDispose]())

/** The n-th newest post. */
function envelope(n: number): unknown {
  const atMs = nowMs - n * spacingMs
  const id = String(BigInt(atMs - snowflakeEpochMs) << 22n)
  const text = n % 10 === 0 ? `A heron ${n}.` : `Good morning ${n}.`
  return {
    data: { id, text, author_id: "42", created_at: new Date(atMs).toISOString() },
    includes: { users: [{ id: "42", username: "wren", name: "Wren" }] },
  }
}

async function openTester(rule: string): Promise<Page> {
  const page = await at.signedIn("app", `/rules/new?value=${encodeURIComponent(rule)}`)
  await page.getByRole("button", { name: "Posts since a time" }).click()
  return page
}

const testButton = (page: Page) => page.getByRole("button", { name: "Test", exact: true })
const matchesOf = (page: Page) => page.getByRole("region", { name: "Matches" }).getByRole("listitem")

test("a rule is tested on all posts of a time, with its rate and cost, and shows the newest matches", async () => {
  const page = await openTester("heron")
  await page.getByLabel("Time").selectOption("Last 24 hours")
  await testButton(page).click()
  // 24 hours less ten seconds, at a post in five seconds.
  await page.getByText(/^1,72[78] of 17,2\d\d posts match \(10%\)$/).waitFor()
  await page.getByText(/^1,730 a day$/).waitFor()
  await page.getByText("costs 5 steps a post").waitFor()
  await page.getByText("The newest 100 matches are shown.").waitFor()
  await matchesOf(page)
    .filter({ hasText: /A heron 0\./ })
    .waitFor()
  expect(await matchesOf(page).first().textContent()).toContain("A heron 0.")
  expect(await matchesOf(page).nth(1).textContent()).toContain("A heron 10.")
  expect(await matchesOf(page).first().textContent()).toContain("@wren")
  expect(await matchesOf(page).first().locator("mark").textContent()).toBe("heron")
  expect(await page.getByRole("progressbar").count()).toBe(0)
  await expectAccessible(page, "rules-past")

  await page.getByRole("textbox", { name: "Rule" }).click()
  await page.keyboard.press("End")
  await page.keyboard.type(" 20160")
  await page.getByText("The rule is tested on every stored post of this time").waitFor()
  expect(await matchesOf(page).count()).toBe(0)
  await page.context().close()
})

test("a test that takes several requests shows its progress, is stopped, and goes on to the end", async () => {
  const page = await openTester("heron")
  let isHeld = true
  await page.route(`**${paths.ruleTest}`, async (route) => {
    const isSecond = route.request().postData()?.includes("until_id") === true
    // The page ends the second request itself.
    if (!isHeld || !isSecond) await route.continue()
  })
  await page.getByLabel("Time").selectOption("Last 7 days")
  await testButton(page).click()
  await page.getByText(/^2,000 of 20,000 posts match/).waitFor()
  const progress = Number(await page.getByRole("progressbar").getAttribute("value"))
  // 27.8 of 168 hours.
  expect(progress).toBeCloseTo(27.8 / 168, 2)
  await expectAccessible(page, "rules-past-running")
  await page.getByRole("button", { name: "Stop" }).click()
  await page.getByText("Stopped before the end.").waitFor()
  await page.getByText(/^2,000 of 20,000 posts match/).waitFor()
  expect(await testButton(page).isEnabled()).toBe(true)
  isHeld = false
  await page.getByRole("button", { name: "Go on" }).click()
  await page.getByText(/^2,016 of 20,160 posts match/).waitFor()
  expect(await page.getByRole("progressbar").count()).toBe(0)
  await page.context().close()
})

test("a test since a time of one's own has the posts since then", async () => {
  const page = await openTester("heron")
  await page.getByLabel("Time").selectOption("Custom")
  await page.getByLabel("From").fill("")
  expect(await testButton(page).isDisabled()).toBe(true)
  const zone = await page.evaluate(() => new Date().getTimezoneOffset() * 60_000)
  await page.getByLabel("From").fill(new Date(nowMs - hourMs - zone).toISOString().slice(0, 19))
  await testButton(page).click()
  await page.getByText(/^7[23] of 72[01] posts match/).waitFor()
  await page.getByLabel("From").fill(new Date(nowMs + 60 * secondMs - zone).toISOString().slice(0, 19))
  await testButton(page).click()
  await page.getByText("No posts of this time are stored.").waitFor()
  await page.context().close()
})
