/** An operator has chosen an app that is revoked, or that this server never had. */
import { paths } from "@sluice/api/paths"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole({ withTraffic: false })
})
afterAll(() => at[Symbol.asyncDispose]())

test("an app that the server does not have is forgotten, and the only app is chosen", async () => {
  const page = await at.signedIn("operator", "/apps")
  await page.evaluate(() => localStorage.setItem("sluice.app", "1234567"))
  await page.goto(`${at.dev.ready.url}/console/rules`)
  await page.getByRole("heading", { name: "Rules", level: 1 }).waitFor()
  await page.getByText("No rules yet").waitFor()
  const { application_id: id } = at.dev.ready.app
  expect(await page.evaluate(() => localStorage.getItem("sluice.app"))).toBe(id)
  await page.context().close()
})

test("a chosen app is forgotten when it is revoked", async () => {
  await at.call("POST", paths.apps, { name: "short-lived" }, at.dev.ready.operator_token)
  const page = await at.signedIn("operator", "/apps")
  const choice = page.getByRole("complementary").getByLabel("App")
  await choice.selectOption("short-lived")
  await page.getByRole("button", { name: "Revoke short-lived" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click()
  await page.getByText("Revoked short-lived.").waitFor()
  await expect.poll(() => page.evaluate(() => localStorage.getItem("sluice.app"))).toBe(null)
  expect(await choice.inputValue()).toBe("")
  await page.getByRole("link", { name: "Overview" }).click()
  await page.getByRole("main").getByText("all apps").waitFor()
  await page.getByText("No problems.").waitFor()
  await page.context().close()
})
