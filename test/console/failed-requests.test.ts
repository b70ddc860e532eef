/** Requests of a page fail, one or a few: it keeps what it shows and what was entered, and says what was done. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { paths } from "@sluice/api/paths"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
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

test("a further page that fails is asked for again with the next refresh, and not at once", async () => {
  const many = Array.from({ length: 300 }, (_, number) => ({ value: `heron${String(number)}` }))
  for (const from of [0, 100, 200]) await at.call("POST", paths.rules, { add: many.slice(from, from + 100) })
  const page = await at.signedIn("app", "/rules")
  let failed = 0
  await page.route(
    (url) => url.pathname === paths.ruleDetails && url.searchParams.has("pagination_token"),
    async (route) => {
      failed += 1
      await route.fulfill({ status: 500, json: { title: "Internal Server Error", detail: "A fault.", status: 500 } })
    },
  )
  await page.getByRole("region", { name: "Rules" }).evaluate((list) => list.scrollTo(0, list.scrollHeight))
  await expect.poll(() => failed).toBeGreaterThan(0)
  const before = failed
  await page.waitForTimeout(1_500)
  expect(failed - before).toBeLessThan(5)
  await page.context().close()
})

test("the live page is not live while its stream is refused", async () => {
  const page = await at.signedIn("app", "/overview")
  await page.route(
    (url) => url.pathname === paths.matches,
    (route) => route.fulfill({ status: 403, json: { title: "Forbidden", detail: "Not for this app.", status: 403 } }),
  )
  await page.goto(new URL("/console/live", page.url()).href)
  await page.getByText("Reconnecting").waitFor()
  await page.waitForTimeout(4_000)
  expect(await page.getByText("Reconnecting").count()).toBe(1)
  await page.context().close()
})

test("a session that cannot be ended stays signed in", async () => {
  const page = await at.signedIn("app", "/rules")
  await page.route(
    (url) => url.pathname === paths.session,
    (route) => (route.request().method() === "DELETE" ? route.fulfill({ status: 502 }) : route.continue()),
  )
  await page.getByRole("button", { name: "Sign out" }).click()
  await page.waitForTimeout(500)
  expect(await page.getByRole("heading", { name: "Rules" }).count()).toBe(1)
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

test("when the old rule cannot be deleted the page says so, and the next save deletes it", async () => {
  const id = await addedRule("turnstone")
  const page = await at.signedIn("app", `/rules/${id}`)
  await enterRule(page, "turnstone OR whimbrel")
  await failing(page, "POST", paths.rules, '"delete"')
  const save = page.getByRole("button", { name: "Save" })
  await save.click()
  await page.getByText(/The new rule was added, but the old one is still there/).waitFor()
  expect(await values()).toEqual(expect.arrayContaining(["turnstone", "turnstone OR whimbrel"]))
  await page.getByLabel("Tag").fill("shore")
  await page.unrouteAll()
  await save.click()
  await page.getByText("Saved the rule.").waitFor()
  expect(await values()).toContain("turnstone OR whimbrel")
  expect(await values()).not.toContain("turnstone")
  expect(await page.getByLabel("Tag").inputValue()).toBe("shore")
  expect(page.url()).not.toContain(id)
  await page.context().close()
})

test("a corrected file is chosen again", async () => {
  await using directory = await temporaryDirectory()
  const file = join(directory.path, "rules.txt")
  const page = await at.signedIn("app", "/rules/import")
  const text = page.getByRole("textbox", { name: "Rules" })
  for (const written of ["form:x", "from:x"]) {
    await writeFile(file, written)
    const choosing = page.waitForEvent("filechooser")
    await page.getByRole("button", { name: "Choose a file" }).click()
    const chooser = await choosing
    // The browser reports a file only when it differs from the one that the input has.
    expect(await chooser.element().evaluate((input) => (input as HTMLInputElement).value)).toBe("")
    await chooser.setFiles(file)
    await expect.poll(() => text.inputValue()).toBe(written)
  }
  await page.context().close()
})

test("an import that fails midway says how many rules it added, and adds the others when it is repeated", async () => {
  const page = await at.signedIn("app", "/rules/import")
  const lines = Array.from({ length: 1_100 }, (_, index) => `imported${index}`)
  await page.getByRole("textbox", { name: "Rules" }).fill(lines.join("\n"))
  await failing(page, "POST", paths.rules, '"imported1000"')
  const add = page.getByRole("button", { name: "Add 1,100 rules" })
  await add.click()
  await page.getByText("Before the error: 1,000 of 1,100 rules were added.").waitFor()
  await page.unrouteAll()
  await add.click()
  await page.getByText("100 of 1,100 rules were added; the server rejects 1,000.").waitFor()
  expect(await values()).toEqual(expect.arrayContaining(lines.slice(1_000)))
  await page.context().close()
})
