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
  // 24 hours less the time since the newest post, at a post in five seconds: a slow machine takes a minute until here.
  await page.getByText(/^1,72\d of 17,2\d\d posts match \(10%\)$/).waitFor()
  await page.getByText(/^1,7[23]0 a day$/).waitFor()
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

test("a rule is added and backfilled, with the server's errors at their place, and a backfill is cancelled", async () => {
  const page = await at.signedIn("app", "/rules/new?value=heron+(10+OR+20+OR+30)")
  await page.getByLabel("Tag").fill("three herons")
  await page.getByRole("button", { name: "Add and backfill" }).click()
  const dialog = page.getByRole("dialog", { name: "Backfill the rule" })
  await dialog.getByText("No webhook is linked").waitFor()
  await expectAccessible(page, "rule-backfill-unlinked")
  const address = new URL(page.url()).pathname
  const ruleId = address.split("/").at(-1)

  at.receiver.statusOf = () => 503
  const webhookId = await linkedWebhook()
  await page.reload()
  const start = dialog.getByRole("button", { name: "Start" })
  await dialog.getByLabel("Since").selectOption("Custom")
  const zone = await page.evaluate(() => new Date().getTimezoneOffset() * 60_000)
  await dialog.getByLabel("From").fill(new Date(Date.now() + hourMs - zone).toISOString().slice(0, 19))
  await start.click()
  await dialog.getByText(/^The rules were added by .*Give a `since` before that\.$/).waitFor()
  expect(await dialog.getByRole("alert").count()).toBe(1)
  expect(await dialog.getByLabel("From").getAttribute("aria-invalid")).toBe("true")
  await expectAccessible(page, "rule-backfill")
  await dialog.getByLabel("Since").selectOption("24 hours before the rule was added")
  await start.click()

  await page.getByText("Started a backfill").waitFor()
  expect(new URL(page.url()).pathname).toBe(`/console/webhooks/${webhookId}/replays`)
  expect(await page.getByRole("list", { name: "Rules" }).textContent()).toBe("heron (10 OR 20 OR 30)three herons")
  await page.getByRole("button", { name: /^Cancel replay / }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel the replay" }).click()
  await page.getByText("cancelled", { exact: true }).waitFor()
  at.receiver.statusOf = () => 200
  at.receiver.received.length = 0
  expect(await page.getByRole("button", { name: /^Cancel replay / }).count()).toBe(0)

  await page.goto(`${at.dev.ready.url}${address}`)
  await page.getByRole("button", { name: "Backfill …", exact: true }).click()
  await start.click()
  await page.getByText("complete", { exact: true }).waitFor()
  await page.getByText("3 of 3 matches delivered").waitFor()
  await expectAccessible(page, "webhook-backfills")
  const delivered = at.receiver.received.filter(({ headers }) => /^replay_\d+_\d+$/.test(String(headers["webhook-id"])))
  const bodies = delivered.map(({ body }) => JSON.parse(body) as Delivered)
  expect(bodies.map(({ data }) => data.text)).toEqual(["A heron 30.", "A heron 20.", "A heron 10."])
  expect(bodies.flatMap(({ matching_rules }) => matching_rules.map(({ id }) => id))).toEqual([ruleId, ruleId, ruleId])
  await page.context().close()
})

test("while a webhook has a replay, the dialog says why another one cannot begin", async () => {
  const webhookId = await linkedWebhook()
  const add = await at.call("POST", paths.rules, { add: [{ value: "heron -kingfisher" }] })
  const { data } = (await add.json()) as { data: readonly { id: string }[] }
  const ruleId = data[0]?.id ?? ""
  const since = new Date(nowMs - 24 * hourMs).toISOString()
  const body = { webhook_id: webhookId, rule_ids: [ruleId], since }
  // Every other match fails, after five attempts: 1,700 matches take many minutes, and the endpoint is never considered down.
  at.receiver.statusOf = ({ body: match }) => (/A heron \d*[02468]0\./.test(match) ? 200 : 503)
  expect((await at.call("POST", paths.replays, body)).status).toBe(200)
  // The search begins five seconds after the rule was added, and may be over before a page shows it: it is kept for the page.
  const searching = await at.call("GET", paths.replays)
  const whileSearching = { status: searching.status, contentType: "application/json", body: await searching.text() }

  const replays = await at.signedIn("app", "/")
  await replays.route(`**${paths.replays}*`, (route) => route.fulfill(whileSearching))
  await replays.goto(`${at.dev.ready.url}/console/webhooks/${webhookId}/replays`)
  await replays.getByText("searching", { exact: true }).waitFor()
  await replays.getByText(/^Searching the stored posts: done up to /).waitFor()
  expect(await replays.getByRole("progressbar", { name: /^Search of replay / }).count()).toBe(1)
  await expectAccessible(replays, "webhook-backfill-searching")

  const page = await at.signedIn("app", `/rules/${ruleId}`)
  await page.getByRole("button", { name: "Backfill …", exact: true }).click()
  const dialog = page.getByRole("dialog", { name: "Backfill the rule" })
  await dialog.getByLabel("Webhook").selectOption(webhookId)
  await dialog.getByRole("button", { name: "Start" }).click()
  const refusal = `A replay to the webhook [${webhookId}] is running. Another one may begin when it has ended.`
  await dialog.getByRole("alert").getByText(refusal).waitFor()
  await expectAccessible(page, "rule-backfill-conflict")
  await dialog.getByRole("button", { name: "Cancel" }).click()
  await expect.poll(() => dialog.count()).toBe(0)
  expect(new URL(page.url()).search).toBe("")
  await page.context().close()
  await replays.context().close()
})

/** A match as a webhook receives it. */
interface Delivered {
  readonly data: { readonly text: string }
  readonly matching_rules: readonly { readonly id: string }[]
}

let webhooks = 0

/** The id of another webhook, which is linked. */
async function linkedWebhook(): Promise<string> {
  webhooks += 1
  const made = await at.call("POST", paths.webhooks, { url: `${at.receiver.url}/hook-${webhooks}` })
  const { id } = ((await made.json()) as { data: { id: string } }).data
  expect((await at.call("POST", paths.link.replace(":webhook_id", id))).status).toBe(200)
  return id
}
