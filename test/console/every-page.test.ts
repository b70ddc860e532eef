/** Accessibility of the pages and states that no other test here opens. */
import { docsPath, paths, pathOf } from "@sluice/api/paths"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let empty: ConsoleUnderTest
let at: ConsoleUnderTest
beforeAll(async () => {
  empty = await startConsole({ withTraffic: false })
  at = await startConsole({ env: { SLUICE_DELIVERY_ATTEMPTS_MAX: "2" } })
})
afterAll(() => Promise.all([empty[Symbol.asyncDispose](), at[Symbol.asyncDispose]()]))

test.each([
  ["overview-empty", "/", "First steps"],
  ["rules-empty", "/rules", "No rules yet"],
  ["live-empty", "/live", "No matches yet"],
  ["posts-empty", "/posts", "No posts yet"],
  ["no-such-page", "/nothing", "Page not found"],
])("%s", async (name, path, words) => {
  const page = await empty.signedIn("app")
  await page.goto(`${empty.dev.ready.url}/console${path}`)
  await page.getByText(words).first().waitFor()
  await expectAccessible(page, name)
})

test("a used sign-in link", async () => {
  const path = empty.dev.ready.console_url.replace(/^.*\/console/, "")
  await (await empty.open(path)).getByRole("heading", { name: "Overview" }).waitFor()
  const again = await empty.open(path)
  await again.getByText("This link has already been used").waitFor()
  await expectAccessible(again, "sign-in-used-link")
})

test("the credentials of an app, and the confirmation of its revocation", async () => {
  const page = await empty.signedIn("operator", "/apps")
  await page.getByRole("button", { name: "Create an app" }).click()
  await page.getByLabel("Name").fill("grebe")
  await page.getByRole("button", { name: "Create", exact: true }).click()
  await page.getByRole("dialog", { name: "Credentials of grebe" }).waitFor()
  await expectAccessible(page, "app-credentials")
  await page.getByRole("button", { name: "Done" }).click()
  await page.getByRole("button", { name: "Revoke grebe" }).click()
  await page.getByRole("alertdialog").waitFor()
  await expectAccessible(page, "app-revoke")
  await page.getByRole("button", { name: "Cancel" }).click()
  await page.goto(`${empty.dev.ready.url}/console/rules`)
  await page.getByText("Choose an app").waitFor()
  await expectAccessible(page, "choose-app")
})

test("a rule with its matches", async () => {
  const rules = (await (await at.call("GET", paths.rules)).json()) as { data: readonly { id: string; tag: string }[] }
  // One post in five matches it, so that a match is among the first verdicts, which are all that is drawn.
  const rule = rules.data.find(({ tag }) => tag === "birds")
  const page = await at.signedIn("app", `/rules/${rule?.id ?? ""}`)
  await page.getByRole("button", { name: "Save" }).waitFor()
  await page.getByText("matches", { exact: true }).first().waitFor()
  await expectAccessible(page, "rule")
})

test("a match that keeps failing becomes a dead letter, and is delivered when it is redelivered", async () => {
  at.receiver.statusOf = ({ body }) => (body.includes("lost heron") ? 500 : 200)
  await at.call("POST", paths.posts, '{"data":{"id":"88","text":"A lost heron.","author_id":"42"}}\n')
  const page = await at.signedIn("app", `/webhooks/${at.webhookId}/dead-letters`)
  const rows = page.getByRole("region", { name: "Dead letters" }).getByRole("row")
  await rows.filter({ hasText: "server error" }).waitFor()
  await expectAccessible(page, "webhook-dead-letters")
  await page.getByRole("button", { name: /^Inspect msg_/ }).click()
  await page.getByRole("dialog").getByText('"A lost heron."').waitFor()
  await expectAccessible(page, "webhook-dead-letter")
  await page.keyboard.press("Escape")
  at.receiver.statusOf = () => 200
  at.receiver.received.length = 0
  await page.getByRole("button", { name: /^Redeliver msg_/ }).click()
  await page.getByText("No dead letters").waitFor()
  await expect.poll(() => at.receiver.postIds).toContain("88")
})

test("a webhook without a link", async () => {
  const made = await at.call("POST", paths.webhooks, { url: `${at.receiver.url}/unlinked` })
  const { id } = ((await made.json()) as { data: { id: string } }).data
  const page = await at.signedIn("app", `/webhooks/${id}`)
  await page.getByText("Not linked to the stream").waitFor()
  await expectAccessible(page, "webhook-unlinked")
  await page.getByRole("button", { name: "Link to the stream" }).first().click()
  await page.getByRole("dialog").waitFor()
  await expectAccessible(page, "webhook-link")
  await at.call("DELETE", pathOf(paths.webhook, { webhook_id: id }))
})

test("the description of the API", async () => {
  const page = await (await at.browser.newContext()).newPage()
  await page.goto(at.dev.ready.url + docsPath)
  await page.getByText("Add or delete rules").first().waitFor()
  await expectAccessible(page, "docs")
})
