import { paths, pathOf } from "@sluice/api/paths"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest

beforeAll(async () => {
  at = await startConsole()
})

afterAll(() => at[Symbol.asyncDispose]())

beforeEach(async () => {
  await at.call("DELETE", paths.troubles)
})

const rows = (page: Page) => page.getByRole("region", { name: "Troubles that wait" }).getByRole("row")

async function makeItFail(page: Page, choices: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, choice] of Object.entries(choices)) {
    const control = page.getByLabel(label, { exact: true })
    const isChoice = await control.evaluate((element) => element.tagName === "SELECT")
    if (isChoice) await control.selectOption(choice)
    else await control.fill(choice)
  }
  await page.getByRole("button", { name: "Make it fail" }).click()
}

async function statuses(): Promise<readonly (number | undefined)[]> {
  const path = `${pathOf(paths.attempts, { webhook_id: at.webhookId })}?max_results=200`
  const { data } = (await (await at.call("GET", path)).json()) as { data: { status?: number }[] }
  return data.map(({ status }) => status)
}

test("the next deliveries fail as was chosen, and what remains is counted down", async () => {
  const page = await at.signedIn("app", "/trouble")
  await page.getByText("Nothing is made to fail").waitFor()
  await expectAccessible(page, "trouble-empty")
  await makeItFail(page, { Answer: "503", Number: "2", "Retry-After (s)": "1" })
  await page.getByText("Added: Delivery answered with 503, Retry-After: 1").waitFor()
  // An attempt stands in the history a moment after it was made.
  await expect.poll(async () => (await statuses()).filter((status) => status === 503)).toHaveLength(2)
  await page.getByText("Nothing is made to fail").waitFor()
})

test("a share of the answers, repeats, challenges and page tokens are listed, cleared by one and all", async () => {
  const page = await at.signedIn("operator", "/trouble")
  await makeItFail(page, { Answer: "slow", "After (ms)": "10", "How many": "percent", "Share (%)": "20" })
  await makeItFail(page, { What: "challenges", Webhook: at.webhookId })
  await makeItFail(page, { What: "page_tokens" })
  await expect.poll(() => rows(page).count()).toBe(4)
  await expectAccessible(page, "trouble")
  const texts = (await rows(page).allTextContents()).slice(1)
  expect(texts).toEqual([
    expect.stringContaining("Delivery answered after 10 ms20 % of all"),
    expect.stringContaining("Challenge answered with a wrong token1 more"),
    expect.stringContaining("Page token expiredAll issued before it"),
  ])
  await page.getByRole("button", { name: "Clear: Challenge answered with a wrong token" }).click()
  await expect.poll(() => rows(page).count()).toBe(3)
  await page.getByRole("button", { name: "Clear all" }).click()
  await page.getByText("Nothing is made to fail").waitFor()
})

test("what the server refuses is shown with what would be right", async () => {
  const page = await at.signedIn("app", "/trouble")
  await makeItFail(page, { Number: "5000" })
  await page.getByText("must be between 1 and 1000").waitFor()
  await expect.poll(() => page.getByText("Nothing is made to fail").count()).toBe(1)
})

test("a stream connection gets the disconnect message that was chosen", async () => {
  const page = await at.signedIn("app", "/trouble")
  const stream = await at.call("GET", paths.stream)
  expect(stream.status).toBe(200)
  await page.getByLabel("Last message").selectOption("SlowReader")
  await page.getByRole("button", { name: "Disconnect", exact: true }).click()
  await page.getByText("Disconnected 1 stream.").waitFor()
  expect(await stream.text()).toContain('"disconnect_type":"SlowReader"')
})
