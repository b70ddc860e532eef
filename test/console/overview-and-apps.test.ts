import { paths } from "@sluice/api/paths"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole()
})
afterAll(() => at[Symbol.asyncDispose]())

test("the overview shows posts, matches and deliveries as they happen, and reads no more once auto-refresh is off", async () => {
  const page = await at.signedIn("operator")
  const numbers = page.getByRole("main").getByRole("listitem").filter({ hasText: "Posts" }).first()
  await expect.poll(() => numbers.textContent()).toMatch(/[1-9]/)
  await page.getByText("No problems.").waitFor()
  await expectAccessible(page, "overview")
  await page.getByRole("switch", { name: "Auto-refresh" }).click()
  const requests: string[] = []
  page.on("request", (request) => requests.push(request.url()))
  await page.waitForTimeout(6_000)
  expect(requests.filter((url) => !url.endsWith(paths.healthz))).toEqual([])
})

test("an endpoint that fails is named with the way to it", async () => {
  at.receiver.statusOf = () => 410
  const page = await at.signedIn("app")
  const endpoint = new URL(`${at.receiver.url}/hook`)
  await page.getByText(`${endpoint.host}${endpoint.pathname} is invalid`).waitFor({ timeout: 60_000 })
  await page.getByText(/it responded with 410 Gone\. \d+ match(es)? waits?\./).waitFor()
  await page.getByText(`Webhook …${at.webhookId.slice(-6)}`).waitFor()
  await expectAccessible(page, "overview-problem")
  await page.getByRole("link", { name: "Challenge again" }).click()
  expect(page.url()).toContain(`/console/webhooks/${at.webhookId}`)
})

test("an operator makes an app whose credentials are shown once, rotates them, and revokes it", async () => {
  const page = await at.signedIn("operator", "/apps")
  await page.getByRole("button", { name: "Create an app" }).click()
  await page.getByLabel("Name").fill("kingfisher")
  await page.getByRole("button", { name: "Create", exact: true }).click()
  const dialog = page.getByRole("dialog", { name: "Credentials of kingfisher" })
  const token = (await dialog.getByText(/^sluice_app_/).textContent()) ?? ""
  expect((await at.call("GET", "/sluice/v1/session", undefined, token)).status).toBe(200)
  await dialog.getByRole("button", { name: "Done" }).click()
  expect(await page.content()).not.toContain(token)
  await expectAccessible(page, "apps")
  await page.getByRole("button", { name: "Revoke kingfisher" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click()
  await page.getByText("Revoked kingfisher.").waitFor()
  expect((await at.call("GET", "/sluice/v1/session", undefined, token)).status).toBe(401)
})

test("an operator sees the usage of an app, and sets and removes limits of it", async () => {
  const page = await at.signedIn("operator", "/apps")
  await page.getByRole("button", { name: "Usage and limits of default" }).click()
  const dialog = page.getByRole("dialog", { name: "Usage and limits of default" })
  await dialog.getByText(/posts? since day 1 of the month, without a cap\./).waitFor()
  await expectAccessible(page, "app-usage")
  await dialog.getByRole("button", { name: "Change limits" }).click()
  const form = page.getByRole("dialog", { name: "Limits of default" })
  await form.getByLabel("Requests in a window").fill("GET /2/nothing app 1")
  await form.getByText("Name endpoints, each with app or user and a number.").waitFor()
  await form.getByLabel("Requests in a window").fill("GET /2/tweets app 4321")
  await form.getByLabel("Posts a month (0: no bound)").fill("98765")
  await expectAccessible(page, "app-limits")
  await form.getByRole("button", { name: "Save" }).click()
  await dialog.getByText("of at most 98,765.").waitFor()
  expect(await dialog.getByRole("row").filter({ hasText: "GET /2/tweets, the app" }).textContent()).toMatch(/4,321$/)
  await dialog.getByRole("button", { name: "Change limits" }).click()
  expect(await form.getByLabel("Requests in a window").inputValue()).toBe("GET /2/tweets app 4321")
  for (const label of ["Requests in a window", "Posts a month (0: no bound)"]) await form.getByLabel(label).fill("")
  await form.getByRole("button", { name: "Save" }).click()
  await dialog.getByText(/without a cap/).waitFor()
  await dialog.getByRole("button", { name: "Done" }).click()
})

test("an operator makes a token of a user of an app, which is shown once and listed with both, and revokes it", async () => {
  const page = await at.signedIn("operator", "/apps")
  await page.getByRole("button", { name: "Create a token" }).click()
  const form = page.getByRole("dialog", { name: "Create a token" })
  await form.getByLabel("Kind").selectOption("user")
  await form.getByLabel("Name").fill("Reader of the zoo")
  await form.getByLabel("User id").fill("9223372036854775808")
  await form.getByRole("button", { name: "Create", exact: true }).click()
  await form
    .getByRole("alert")
    .getByText(/user_id/)
    .first()
    .waitFor()
  await expectAccessible(page, "token-of-user")
  await form.getByLabel("User id").fill("2244994945")
  await form.getByRole("button", { name: "Create", exact: true }).click()
  const dialog = page.getByRole("dialog", { name: "New token of user 2244994945" })
  const token = (await dialog.getByText(/^sluice_user_/).textContent()) ?? ""
  await dialog.getByRole("button", { name: "Done" }).click()
  expect(await page.content()).not.toContain(token)
  const me = await at.call("GET", paths.me, undefined, token)
  expect(await me.json()).toMatchObject({ data: { id: "2244994945" } })

  const row = page.getByRole("region", { name: "Tokens" }).getByRole("row").filter({ hasText: "2244994945" })
  expect(await row.textContent()).toMatch(/user.*Reader of the zoo.*default.*2244994945.*never/)
  await page.reload()
  await expect.poll(() => row.textContent()).not.toContain("never")
  await row.getByRole("button", { name: /^Revoke the token/ }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click()
  await page.getByText("Revoked the user token Reader of the zoo.").waitFor()
  await expect.poll(() => row.count()).toBe(0)
  expect((await at.call("GET", paths.me, undefined, token)).status).toBe(401)
})

test("an app sees neither apps nor tokens", async () => {
  const page = await at.signedIn("app")
  expect(await page.getByRole("link", { name: "Apps and tokens" }).count()).toBe(0)
  await page.goto(`${at.dev.ready.url}/console/apps`)
  await page.getByText("Page not found").waitFor()
})
