import { paths } from "@sluice/api/paths"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole()
})
afterAll(() => at[Symbol.asyncDispose]())

test("matches come live, stand still while paused, are filtered by rule, and are inspected", async () => {
  const page = await at.signedIn("app", "/live")
  const rows = page.getByRole("region", { name: "Matches" }).getByRole("listitem")
  await rows.first().waitFor()
  const first = await rows.first().textContent()
  await expect.poll(() => rows.first().textContent()).not.toBe(first)
  await page.getByRole("button", { name: /Pause/ }).click()
  await page.getByText("Paused", { exact: true }).waitFor()
  await page.waitForTimeout(400)
  const still = await page
    .getByRole("link", { name: /^Post \d+$/ })
    .first()
    .textContent()
  await page.waitForTimeout(1_500)
  expect(
    await page
      .getByRole("link", { name: /^Post \d+$/ })
      .first()
      .textContent(),
  ).toBe(still)
  await expectAccessible(page, "live")

  await page
    .getByRole("button", { name: /Inspect match/ })
    .first()
    .click()
  await page.getByRole("dialog").getByText('"matching_rules"').waitFor()
  await expectAccessible(page, "live-match")
  await page.getByRole("button", { name: "Copy curl: send" }).click()
  await page.getByRole("dialog").getByText("Copied").first().waitFor()
  await page.keyboard.press("Escape")

  await page.getByLabel("Rule").selectOption({ label: "birds" })
  expect(await page.getByText(/night market/).count()).toBe(0)
  await page.context().close()
})

test("a post is looked up with the rules that matched it and why, and a user's pages go both ways", async () => {
  await expect
    .poll(async () => (await at.call("GET", paths.post.replace(":post_id", "1000025"))).status, { timeout: 30_000 })
    .toBe(200)
  const page = await at.signedIn("app", "/posts")
  await page.getByRole("list", { name: "Stored posts" }).waitFor()
  await expectAccessible(page, "posts")
  await page.getByLabel("Id of a post or a user").fill("1000025")
  await page.getByRole("button", { name: "Post", exact: true }).click()
  await page.getByRole("heading", { name: "Post 1000025" }).waitFor()
  await page.locator("mark", { hasText: "heron" }).first().waitFor()
  await expectAccessible(page, "post")

  await page.getByRole("link", { name: /Wren/ }).first().click()
  const list = page.getByRole("list", { name: "Posts of user 42" })
  const newest = await list.getByRole("listitem").first().textContent()
  await page.getByRole("button", { name: "Older" }).click()
  await expect.poll(() => list.getByRole("listitem").first().textContent()).not.toBe(newest)
  await expectAccessible(page, "user-posts")
  const older = await list.getByRole("listitem").first().textContent()
  await page.getByRole("button", { name: "Newer" }).click()
  await expect.poll(() => list.getByRole("listitem").first().textContent()).not.toBe(older)
  await page.goto(`${at.dev.ready.url}/console/posts/404`)
  await page.getByRole("heading", { name: "No such post is stored" }).waitFor()
  await page.context().close()
})
