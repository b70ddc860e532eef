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
  await page.getByRole("switch", { name: "Auto-refresh" }).click()
  await page.getByText("Auto-refresh is off").waitFor()
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
  // Over plain HTTP, as on a machine of the network, a page has no clipboard of this kind.
  await page.evaluate(() => {
    Object.defineProperty(navigator, "clipboard", { value: undefined })
    document.addEventListener("copy", () => (document.title = String(document.getSelection())))
  })
  await page.getByRole("button", { name: "Copy JSON" }).click()
  await expect.poll(() => page.title()).toContain('"matching_rules"')
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
  await page.getByRole("heading", { name: "Post not found" }).waitFor()
  await page.context().close()
})

test("an operator deletes a post after a confirmation, and an app has no button for it", async () => {
  const postPath = paths.post.replace(":post_id", "1000030")
  await expect.poll(async () => (await at.call("GET", postPath)).status, { timeout: 30_000 }).toBe(200)
  const ofApp = await at.signedIn("app", "/posts/1000030")
  await ofApp.getByRole("heading", { name: "Post 1000030" }).waitFor()
  expect(await ofApp.getByRole("button", { name: "Delete" }).count()).toBe(0)
  await ofApp.context().close()

  const page = await at.signedIn("operator", "/posts/1000030")
  await page.getByRole("heading", { name: "Post 1000030" }).waitFor()
  await expectAccessible(page, "post-of-operator")
  await page.getByRole("button", { name: "Delete" }).click()
  const dialog = page.getByRole("alertdialog")
  await dialog.getByText("Delete post 1000030?").waitFor()
  await expectAccessible(page, "post-deletion")
  await dialog.getByRole("button", { name: "Cancel" }).click()
  expect((await at.call("GET", postPath)).status).toBe(200)
  await page.getByRole("button", { name: "Delete" }).click()
  await dialog.getByRole("button", { name: "Delete" }).click()
  await page.getByText("Deleted post 1000030.").waitFor()
  await page.getByRole("list", { name: "Stored posts" }).waitFor()
  expect((await at.call("GET", postPath)).status).toBe(404)
  await page.context().close()
})

test("a post whose includes are no lists, as older stores may hold, hides no other post of the page", async () => {
  const page = await at.signedIn("app", "/posts")
  const data = { text: "A heron", author_id: "42", created_at: "2026-03-14T09:26:53.000Z" }
  const posts = [{ users: {} }, { users: [null] }, { users: "x", tweets: {} }].map((includes, index) => ({
    data: { ...data, id: String(500 + index), text: `Odd ${index}` },
    includes,
  }))
  // A card that fails: without a text there is nothing to mark.
  const failing = { data: { id: "600", author_id: "42" } }
  const sound = { data: { ...data, id: "700", text: "Sound" } }
  await page.route(`**${paths.posts}?*`, async (route) => {
    await route.fulfill({ json: { data: [...posts, failing, sound], meta: { result_count: 5 } } })
  })
  await page.reload()
  const list = page.getByRole("list", { name: "Stored posts" }).getByRole("listitem")
  await list.getByText("Sound").waitFor()
  for (const text of ["Odd 0", "Odd 1", "Odd 2"]) expect(await list.getByText(text).count()).toBe(1)
  expect(await list.getByRole("alert").count()).toBe(1)

  const lines = [...posts, sound].map((post, index) =>
    JSON.stringify({ ...post, position: index + 1, matched_at: data.created_at, matching_rules: [] }),
  )
  await page.route(`**${paths.matches}?*`, (route) => route.fulfill({ body: `${lines.join("\r\n")}\r\n` }))
  await page.getByRole("link", { name: "Live" }).click()
  await page.getByRole("region", { name: "Matches" }).getByText("Sound").waitFor()
  for (const text of ["Odd 0", "Odd 1", "Odd 2"]) await page.getByText(text).waitFor()
  await page.context().close()
})
