import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, signIn, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole({ withTraffic: false })
})
afterAll(() => at[Symbol.asyncDispose]())

test("an operator's token signs in, and the token is kept nowhere in the page", async () => {
  const page = await at.open()
  await signIn(page, at.dev.ready.operator_token)
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  expect(await page.getByRole("link", { name: "Apps and tokens" }).count()).toBe(1)
  const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie, location.href]))
  expect(kept).not.toContain("sluice_operator_")
  expect(kept).not.toContain("sluice_session")
})

test("an app's token signs in to the app's own pages, and signing out ends the session", async () => {
  const page = await at.open()
  await signIn(page, at.dev.ready.app.bearer_token)
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  expect(await page.getByRole("link", { name: "Apps and tokens" }).count()).toBe(0)
  await page.getByRole("button", { name: "Sign out" }).click()
  await page.getByLabel("Bearer token").waitFor()
  await page.reload()
  await page.getByLabel("Bearer token").waitFor()
})

test("the link that sluice dev prints signs in, once", async () => {
  const { console_url: link } = at.dev.ready
  const path = link.replace(/^.*\/console/, "")
  const page = await at.open(path)
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  expect(page.url()).not.toContain("code")
  const again = await at.open(path)
  await again.getByText("This link has already been used").waitFor()
})

test("a wrong token is refused with a reason, next to the field", async () => {
  const page = await at.open()
  await signIn(page, "sluice_operator_wrong")
  await page.getByText("This token is not valid here.").waitFor()
  const field = page.getByLabel("Bearer token")
  expect(await field.getAttribute("aria-invalid")).toBe("true")
  expect(await field.evaluate((input) => input === document.activeElement)).toBe(true)
  await signIn(page, "")
  await page.getByText("Enter a token.").waitFor()
  await expectAccessible(page, "sign-in")
})

test("a session that the server no longer knows ends, and the page reports it", async () => {
  const page = await at.signedIn("app", "/rules")
  await page.context().clearCookies()
  await page.getByRole("link", { name: "Overview" }).click()
  await page.getByText("Your session has ended").waitFor()
  expect(await page.getByRole("navigation").count()).toBe(0)
})

test("the address leads to its page after a reload, and an unknown address shows an error", async () => {
  const page = await at.signedIn("app", "/posts")
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Posts")
  await page.goto(`${at.dev.ready.url}/console/nothing`)
  await page.getByText("Page not found").waitFor()
})

test("the whole frame works by keyboard, and the menu opens and closes at 390 px", async () => {
  const page = await at.signedIn("operator")
  await page.keyboard.press("Tab")
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to content")
  await page.keyboard.press("Enter")
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("main")
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByRole("button", { name: "Menu" }).click()
  await page.getByRole("dialog").getByRole("link", { name: "Rules" }).click()
  await page.getByRole("heading", { name: "Rules", level: 1 }).waitFor()
  expect(await page.getByRole("dialog").count()).toBe(0)
})

test("a chosen theme lasts over a reload, without a flash of another", async () => {
  const page = await at.signedIn("app")
  await page.getByRole("button", { name: "Dark" }).click()
  await page.reload({ waitUntil: "commit" })
  await page.waitForSelector("#root", { state: "attached" })
  expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark")
})
