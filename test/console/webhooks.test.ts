import { paths } from "@sluice/api/paths"
import type { WebhookDetail } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, signIn, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole()
})
afterAll(() => at[Symbol.asyncDispose]())

test("a failing endpoint's attempts show request and response, and are redelivered until they succeed", async () => {
  at.receiver.statusOf = () => 503
  const page = await at.signedIn("app", "/webhooks")
  const row = page.getByRole("listitem").filter({ hasText: at.receiver.url })
  await row.getByText(/^(failing|down)$/).waitFor()
  await expectAccessible(page, "webhooks")
  await row.getByRole("link").click()

  const attempts = page.getByRole("region", { name: "Attempts, newest first" })
  const failed = attempts.getByRole("listitem").filter({ hasText: "server error503" })
  // The newest one moves down as others come.
  await page.getByRole("switch", { name: "Auto-refresh" }).click()
  await failed.first().getByRole("button", { expanded: false }).click()
  const request = page.getByRole("region", { name: "Request", exact: true })
  await request.getByText('"matching_rules"').waitFor()
  await request.getByText(`POST ${at.receiver.url}/hook`).waitFor()
  await request.getByText(/^webhook-signature: v1,/m).waitFor()
  await page
    .getByRole("region", { name: "Response", exact: true })
    .getByText(/^503\n/)
    .waitFor()
  await expectAccessible(page, "webhook-attempts")

  at.receiver.statusOf = () => 200
  await page.getByRole("switch", { name: "Auto-refresh" }).click()
  await page.getByRole("button", { name: "Redeliver all that failed" }).click()
  await page.getByText(/^Redelivering \d+ match(es)?\./).waitFor()
  await attempts.getByRole("listitem").filter({ hasText: "delivered200" }).first().waitFor()
  await expect.poll(async () => (await stateNow()).link?.total.retrying).toBe(0)
  await page.getByText("up to date").or(page.getByText("delivering")).first().waitFor()

  await expect.poll(async () => (await stateNow()).link?.undelivered).toBe(0)
  await page.getByRole("switch", { name: "Auto-refresh" }).click()
  const newest = await attempts.getByRole("listitem").first().innerText()
  const eventId = /msg_\d+_\d+/.exec(newest)?.[0] ?? ""
  at.receiver.received.length = 0
  await page
    .getByRole("button", { name: `Redeliver ${eventId}`, exact: true })
    .first()
    .click()
  await expect.poll(() => at.receiver.received.map((one) => one.eventId)).toContain(eventId)
})

test("a replay is started, shows its progress and completes", async () => {
  at.receiver.statusOf = () => 200
  const page = await at.signedIn("app", `/webhooks/${at.webhookId}/replays`)
  await page.getByText("No replays yet").waitFor()
  await page.getByRole("button", { name: "Start", exact: true }).click()
  await page.getByText("complete", { exact: true }).waitFor()
  await page.getByText(/^\d+ of \d+ matches delivered$/).waitFor()
  expect(await page.getByRole("progressbar").count()).toBe(1)
  await expectAccessible(page, "webhook-replays")
})

test("a webhook is added with a choice of fields, put in strict order, challenged, unlinked and deleted", async () => {
  const page = await at.signedIn("app", "/webhooks")
  const url = `${at.receiver.url}/another`
  await page.getByRole("button", { name: "Add a webhook" }).click()
  await page.getByLabel("URL", { exact: true }).fill(url)
  await page.getByText("Related objects (expansions)").click()
  await page.getByRole("checkbox", { name: "author_id", exact: true }).first().check()
  await page.getByText("Fields of users").click()
  await page.getByRole("checkbox", { name: "username", exact: true }).check()
  await expectAccessible(page, "webhook-add")
  await page.getByRole("button", { name: "Add", exact: true }).click()
  await page.getByRole("heading", { level: 1, name: url }).waitFor()
  await page.getByText("expansions=author_id user.fields=username").waitFor()

  await page.getByRole("button", { name: "Use strict order" }).click()
  await page.getByText("strict: one at a time").waitFor()
  await page.getByRole("button", { name: "Pause" }).click()
  await page.getByText("nothing is sent to it").waitFor()
  await expectAccessible(page, "webhook-paused")
  await page.getByRole("button", { name: "Resume" }).click()
  await page.getByText("nothing is sent to it").waitFor({ state: "detached" })
  const { challenges } = at.receiver
  await page.getByRole("button", { name: "Challenge now" }).click()
  await page.getByText(`${url} passed the challenge.`).waitFor()
  expect(at.receiver.challenges).toBe(challenges + 1)

  await page.getByRole("button", { name: "Unlink" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Unlink" }).click()
  await page.getByText("Not linked to the stream").waitFor()
  await page.getByRole("button", { name: "More actions for the webhook" }).click()
  await page.getByRole("menuitem", { name: "Delete the webhook" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click()
  await page.getByRole("heading", { level: 1, name: "Webhooks and links" }).waitFor()
  await expect.poll(() => page.getByText(url).count()).toBe(0)
})

test("a webhook is named and described, and a test says how it ended", async () => {
  at.receiver.statusOf = () => 200
  const page = await at.signedIn("app", `/webhooks/${at.webhookId}`)
  await page.getByRole("button", { name: "More actions for the webhook" }).click()
  await page.getByRole("menuitem", { name: "Name and describe" }).click()
  await page.getByLabel("Name", { exact: true }).fill("Archive of the zoo")
  await page.getByLabel("Description").fill("Writes posts to the archive.")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByRole("heading", { level: 1, name: "Archive of the zoo" }).waitFor()
  await page.getByText("Writes posts to the archive.").waitFor()
  at.receiver.received.length = 0
  await page.getByRole("button", { name: "Send a test" }).click()
  await page.getByRole("status").getByText("The endpoint accepted the test").waitFor()
  expect(at.receiver.received.filter(({ eventId }) => eventId.startsWith("test_"))).toHaveLength(1)
  at.receiver.statusOf = () => 500
  at.receiver.echoes = true
  await page.getByRole("button", { name: "Send a test" }).click()
  await page
    .getByRole("status")
    .getByText("The test was not delivered: the endpoint responded with status 500.")
    .waitFor()
  await page.getByRole("region", { name: "the body of the response" }).getByText("Nobody wrote this post.").waitFor()
  await expectAccessible(page, "webhook-test")
  at.receiver.statusOf = () => 200
  at.receiver.echoes = false
  await page.goto(`${at.dev.ready.url}/console/webhooks`)
  await page.getByRole("listitem").filter({ hasText: "Archive of the zoo" }).getByText(at.receiver.url).waitFor()
  await expectAccessible(page, "webhook-named")
})

test("a signing key is shown on request, and a new one replaces it", async () => {
  const page = await at.signedIn("app", `/webhooks/${at.webhookId}/key`)
  await page.getByRole("button", { name: "Show the key" }).click()
  const before = await page.getByRole("region", { name: "the signing key", exact: true }).textContent()
  await page.getByRole("button", { name: "Rotate the key" }).click()
  await page.getByRole("button", { name: "Rotate", exact: true }).click()
  const after = await page.getByRole("region", { name: "the new signing key" }).textContent()
  expect(after).toMatch(/^whsec_/)
  expect(after).not.toBe(before)
  await page.getByRole("button", { name: "Done" }).click()
  await expectAccessible(page, "webhook-key")
})

test("an app sees no webhook of another app, and a page without webhooks shows the first step", async () => {
  const made = await at.call("POST", paths.apps, { name: "other" }, at.dev.ready.operator_token)
  expect(made.status).toBe(200)
  const { bearer_token: token } = ((await made.json()) as { data: { bearer_token: string } }).data
  const page = await at.open("/sign-in")
  await signIn(page, token)
  await page.getByRole("navigation", { name: "Pages" }).waitFor()
  await page.goto(`${at.dev.ready.url}/console/webhooks`)
  await page.getByText("No webhooks yet").waitFor()
  await expectAccessible(page, "webhooks-empty")
  await page.goto(`${at.dev.ready.url}/console/webhooks/${at.webhookId}`)
  await page.getByRole("alert").waitFor()
  expect(await page.getByText(at.receiver.url).count()).toBe(0)
})

test("a list of 1,000 webhooks has only the rows that show, and reads the next page as it is scrolled", async () => {
  const page = await at.signedIn("app", "/rules")
  const one = await stateNow()
  let requests = 0
  await page.route(`**${paths.webhookDetails}?*`, async (route) => {
    requests += 1
    const first = Number(new URL(route.request().url()).searchParams.get("pagination_token") ?? 0)
    const data = Array.from({ length: 100 }, (_, index) => ({
      ...one,
      id: String(first + index + 1),
      url: `https://example.com/${first + index + 1}`,
    }))
    const next = first + 100
    await route.fulfill({
      json: { data, meta: { result_count: 100, ...(next < 1_000 && { next_token: String(next) }) } },
    })
  })
  await page.getByRole("link", { name: "Webhooks and links" }).click()
  const list = page.getByRole("region", { name: "Webhooks" })
  await list.getByText("https://example.com/1", { exact: true }).waitFor()
  await page.getByRole("switch", { name: "Auto-refresh" }).click()
  await expect
    .poll(async () => {
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
      return list.getByText("https://example.com/1000", { exact: true }).count()
    })
    .toBe(1)
  expect(requests).toBeGreaterThanOrEqual(10)
  expect(await list.getByRole("listitem").count()).toBeLessThan(60)
})

async function stateNow(): Promise<WebhookDetail> {
  const response = await at.call("GET", paths.webhookDetail.replace(":webhook_id", at.webhookId))
  return ((await response.json()) as { data: WebhookDetail }).data
}
