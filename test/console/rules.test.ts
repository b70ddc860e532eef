import { paths } from "@sluice/api/paths"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole()
})
afterAll(() => at[Symbol.asyncDispose]())

/** The rules of the app. */
async function values(): Promise<readonly string[]> {
  const body = (await (await at.call("GET", paths.rules)).json()) as { data: readonly { value: string }[] }
  return body.data.map(({ value }) => value)
}

test("a wrong rule shows its error under its characters, is mended, tested and saved", async () => {
  const page = await at.signedIn("app", "/rules")
  await page.getByRole("link", { name: "New rule" }).click()
  const editor = page.getByRole("textbox", { name: "Rule" })
  await editor.click()
  await page.keyboard.type("heron form:wren")
  await expect.poll(() => page.locator(".cm-lintRange-error").first().textContent()).toBe("form")
  await expectAccessible(page, "rules-wrong")
  const save = page.getByRole("button", { name: "Add rule" })
  expect(await save.isDisabled()).toBe(true)

  await page.getByRole("button", { name: "Use from" }).click()
  await page.getByText("The rule is valid.").waitFor()
  await page.getByText("matches", { exact: true }).first().waitFor()
  expect(await page.locator("mark", { hasText: "heron" }).count()).toBeGreaterThan(0)
  await page.getByRole("button", { name: "Not matching" }).click()
  await page
    .getByText(/Missing:/)
    .first()
    .waitFor()
  await page.getByText(/an hour/).waitFor()
  await expectAccessible(page, "rules-tested")

  await page.getByLabel("Tag").fill("wrens")
  await save.click()
  await page.getByText("wrens").first().waitFor()
  expect(await values()).toContain("heron from:wren")
  await expectAccessible(page, "rules-list")
  await page.context().close()
})

test("operators are completed as they are written", async () => {
  const page = await at.signedIn("app", "/rules/new")
  await page.getByRole("textbox", { name: "Rule" }).click()
  await page.keyboard.type("cat conver")
  await page.getByRole("option", { name: /conversation_id:/ }).waitFor()
  await page.waitForTimeout(100)
  await page.keyboard.press("Enter")
  await expect.poll(() => page.getByRole("textbox", { name: "Rule" }).textContent()).toBe("cat conversation_id:")
  await page.context().close()
})

test("another tag keeps the rule, and a deleted one is gone", async () => {
  await at.call("POST", paths.rules, { add: [{ value: "kestrel", tag: "old" }] })
  const page = await at.signedIn("app", "/rules")
  await page.getByRole("link", { name: /kestrel/ }).click()
  const address = page.url()
  await page.getByLabel("Tag").fill("falcons")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByText("Saved the rule.").waitFor()
  expect(page.url()).toBe(address)
  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click()
  await page.getByText("Deleted the rule falcons.").waitFor()
  expect(await values()).not.toContain("kestrel")
  await page.context().close()
})

test("rules are imported from lines, and the wrong ones are named with their lines", async () => {
  const page = await at.signedIn("app", "/rules/import")
  await page.getByRole("textbox", { name: "Rules" }).fill("godwit\nform:x\nwhimbrel lang:en\n")
  await page.getByRole("button", { name: "Dry run" }).click()
  await page.getByText("2 of 3 rules can be added").waitFor()
  expect(await values()).not.toContain("godwit")
  await expectAccessible(page, "rules-import")
  await page.getByRole("button", { name: "Add 2 rules" }).click()
  await page.getByText("2 of 3 rules were added").waitFor()
  expect(await values()).toEqual(expect.arrayContaining(["godwit", "whimbrel lang:en"]))
  await page.context().close()
})

test("10,000 rules scroll with few rows in the page, and are searched", async () => {
  for (let from = 0; from < 10_000; from += 1_000) {
    const add = Array.from({ length: 1_000 }, (_, index) => ({ value: `many${from + index} heron`, tag: "many" }))
    await at.call("POST", paths.rules, { add })
  }
  const page = await at.signedIn("app", "/rules")
  const list = page.getByRole("region", { name: "Rules" })
  await list.getByRole("listitem").first().waitFor()
  for (let step = 0; step < 8; step += 1) {
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.waitForTimeout(150)
  }
  await expect.poll(() => page.getByText(/of 10,0\d\d loaded/).textContent()).not.toMatch(/^200 /)
  expect(await list.getByRole("listitem").count()).toBeLessThan(60)
  await page.getByRole("searchbox").fill("many77 heron")
  await page.getByText("many77 heron").waitFor()
  await page.context().close()
})
