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

const rows = (page: Page) => page.getByRole("region", { name: "Active faults" }).getByRole("row")

async function addFault(page: Page, choices: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, choice] of Object.entries(choices)) {
    const control = page.getByLabel(label, { exact: true })
    const isChoice = await control.evaluate((element) => element.tagName === "SELECT")
    if (isChoice) await control.selectOption(choice)
    else await control.fill(choice)
  }
  await page.getByRole("button", { name: "Add fault" }).click()
}

async function statuses(): Promise<readonly (number | undefined)[]> {
  const path = `${pathOf(paths.attempts, { webhook_id: at.webhookId })}?max_results=200`
  const { data } = (await (await at.call("GET", path)).json()) as { data: { status?: number }[] }
  return data.map(({ status }) => status)
}

test("the next deliveries fail as chosen, and the remaining number counts down", async () => {
  const page = await at.signedIn("app", "/trouble")
  await page.getByText("No active faults").waitFor()
  await expectAccessible(page, "trouble-empty")
  await addFault(page, { Response: "503", Number: "2", "Retry-After (s)": "1" })
  await page.getByText("Added: Delivery: response 503, Retry-After: 1").waitFor()
  // An attempt stands in the history a moment after it was made.
  await expect.poll(async () => (await statuses()).filter((status) => status === 503)).toHaveLength(2)
  await page.getByText("No active faults").waitFor()
})

test("faults of responses, challenges and page tokens are listed, and cleared one by one and together", async () => {
  const page = await at.signedIn("operator", "/trouble")
  await addFault(page, { Response: "slow", "Delay (ms)": "10", "Applies to": "percent", "Share (%)": "20" })
  await addFault(page, { Affects: "challenges", Webhook: at.webhookId })
  await addFault(page, { Affects: "page_tokens" })
  await expect.poll(() => rows(page).count()).toBe(4)
  await expectAccessible(page, "trouble")
  const texts = (await rows(page).allTextContents()).slice(1)
  expect(texts).toEqual([
    expect.stringContaining("Delivery: response after 10 ms20% of all"),
    expect.stringContaining("Challenge: response with a wrong token1 more"),
    expect.stringContaining("Page token expiredAll issued before it"),
  ])
  await page.getByRole("button", { name: "Clear: Challenge: response with a wrong token" }).click()
  await expect.poll(() => rows(page).count()).toBe(3)
  await page.getByRole("button", { name: "Clear all" }).click()
  await page.getByText("No active faults").waitFor()
})

test("a rejected fault shows the message of the server", async () => {
  const page = await at.signedIn("app", "/trouble")
  await addFault(page, { Number: "5000" })
  await page.getByText("must be between 1 and 1000").waitFor()
  await expect.poll(() => page.getByText("No active faults").count()).toBe(1)
})

test("a stream connection gets the chosen disconnect message", async () => {
  const page = await at.signedIn("app", "/trouble")
  const stream = await at.call("GET", paths.stream)
  expect(stream.status).toBe(200)
  await page.getByLabel("Disconnect message").selectOption("SlowReader")
  await page.getByRole("button", { name: "Disconnect", exact: true }).click()
  await page.getByText("Disconnected 1 stream.").waitFor()
  expect(await stream.text()).toContain('"disconnect_type":"SlowReader"')
})
