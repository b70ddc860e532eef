import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { consoleDirectory } from "@sluice/console"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startConsole, type ConsoleUnderTest } from "./console.testing.ts"

/** Most JavaScript that the first page may load, gzip. */
const firstPageBytesMax = 250 * 1024

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole()
})
afterAll(() => at[Symbol.asyncDispose]())

test("the JavaScript of the first page is at most 250 KB, and the policy forbids nothing that the page does", async () => {
  const page = await at.signedIn("operator")
  const scripts = new Set<string>()
  const refused: string[] = []
  page.on("response", (response) => {
    const path = /\/console\/(.*\.js)$/.exec(response.url())?.[1]
    if (path !== undefined) scripts.add(path)
  })
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) refused.push(message.text())
  })
  await page.goto(`${at.dev.ready.url}/console`)
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  await page.waitForLoadState("load")
  await page.waitForTimeout(500)
  let bytes = 0
  for (const path of scripts) {
    const file = join(consoleDirectory, path)
    bytes += (await readFile(`${file}.gz`).catch(() => readFile(file))).length
  }
  expect(scripts.size).toBeGreaterThan(1)
  expect(bytes).toBeLessThanOrEqual(firstPageBytesMax)
  expect(refused).toEqual([])
})
