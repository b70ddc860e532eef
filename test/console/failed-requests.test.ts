/** Requests of a page fail, one or a few: it keeps what it shows and what was entered, and says what was done. */
import { paths } from "@sluice/api/paths"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole({ withTraffic: false })
})
afterAll(() => at[Symbol.asyncDispose]())

/** Adds a rule and returns its id. */
async function addedRule(value: string): Promise<string> {
  const response = await at.call("POST", paths.rules, { add: [{ value }] })
  const { data } = (await response.json()) as { data: readonly { id: string }[] }
  return data[0]?.id ?? ""
}

/** The rules of the app. */
async function values(): Promise<readonly string[]> {
  const { data = [] } = (await (await at.call("GET", paths.rules)).json()) as { data?: readonly { value: string }[] }
  return data.map(({ value }) => value)
}

/** From now on requests of a page fail with 500: by method, path, and text in the body. */
async function failing(page: Page, method: string, path: string, text = ""): Promise<void> {
  await page.route(
    (url) => url.pathname === path,
    (route) => {
      const request = route.request()
      const isFailing = request.method() === method && (request.postData() ?? "").includes(text)
      return isFailing
        ? route.fulfill({ status: 500, json: { title: "Internal Server Error", detail: "A fault.", status: 500 } })
        : route.continue()
    },
  )
}

/** Replaces the text of the rule in the editor. */
async function enterRule(page: Page, value: string): Promise<void> {
  await page.getByRole("textbox", { name: "Rule" }).click()
  await page.keyboard.press("ControlOrMeta+a")
  await page.keyboard.type(value)
}

test("a refresh that fails keeps the draft of a rule", async () => {
  const id = await addedRule("avocet")
  const page = await at.signedIn("app", `/rules/${id}`)
  await enterRule(page, "avocet OR plover")
  await failing(page, "GET", paths.ruleDetails)
  for (const status of [500, 200]) {
    await page.waitForResponse((response) => response.url().includes(paths.ruleDetails) && response.status() === status)
    await page.waitForTimeout(200)
    expect(await page.getByRole("textbox", { name: "Rule" }).textContent()).toBe("avocet OR plover")
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0)
    await page.unrouteAll()
  }
  await page.context().close()
})

test.each([
  ["/connections", "/2/connections", "No open connections"],
  ["/sources", "/sluice/v1/sources", "No sources"],
  ["/trouble", "/sluice/v1/trouble", "No active faults"],
])("a refresh of %s that fails keeps the page", async (address, path, text) => {
  const page = await at.signedIn("operator", address)
  await page.getByText(text).waitFor()
  await failing(page, "GET", path)
  await page.waitForResponse((response) => response.status() === 500)
  await page.waitForTimeout(200)
  expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0)
  expect(await page.getByText(text).count()).toBe(1)
  await page.context().close()
})

test("leaving a changed rule asks first, and an unchanged or saved one does not", async () => {
  const id = await addedRule("dunlin")
  const page = await at.signedIn("app", `/rules/${id}`)
  const editor = page.getByRole("textbox", { name: "Rule" })
  await editor.waitFor()
  await page.getByRole("link", { name: "All rules" }).click()
  await page.getByRole("link", { name: /dunlin/ }).click()
  await enterRule(page, "dunlin OR sanderling")

  await page.getByRole("link", { name: "Live" }).click()
  await page.getByRole("alertdialog", { name: "Discard your changes?" }).getByText("Cancel").click()
  expect(await editor.textContent()).toBe("dunlin OR sanderling")
  const closing = page.waitForEvent("dialog")
  const reloading = page.reload({ timeout: 3_000 }).catch(() => undefined)
  const dialog = await closing
  expect(dialog.type()).toBe("beforeunload")
  await dialog.dismiss()
  await reloading
  expect(await editor.textContent()).toBe("dunlin OR sanderling")

  await page.getByRole("button", { name: "Backfill …" }).click()
  await page.getByRole("dialog", { name: /backfill/i }).waitFor()
  await page.keyboard.press("Escape")
  expect(await editor.textContent()).toBe("dunlin OR sanderling")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByText("Saved the rule.").waitFor()
  await page.getByText("dunlin OR sanderling").first().waitFor()
  await enterRule(page, "dunlin OR knot")
  await page.getByRole("link", { name: "Live" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Discard" }).click()
  await page.getByRole("heading", { name: "Live", level: 1 }).waitFor()
  expect(await values()).not.toContain("dunlin OR knot")
  await page.context().close()
})
