import { docsPath } from "@sluice/api/paths"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole({ withTraffic: false })
})
afterAll(() => at[Symbol.asyncDispose]())

test("/docs shows the server's own description, and breaks no rule of its policy", async () => {
  const page = await (await at.browser.newContext()).newPage()
  const complaints: string[] = []
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text())
  })
  page.on("request", (request) => {
    if (!request.url().startsWith(at.dev.ready.url) && !request.url().startsWith("data:"))
      complaints.push(request.url())
  })
  await page.goto(at.dev.ready.url + docsPath)
  await page.getByRole("heading", { name: "Sluice", exact: true }).waitFor()
  await page.getByText("Add or delete rules").first().waitFor()
  expect(complaints).toEqual([])
})
