/** The console of the installed package, in a browser. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { expect, inject, test } from "vitest"
import { launchChromium } from "../support/chromium.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { devUnder, nodeOf, runUnder, startUnder } from "./nodes.testing.ts"

const installed = inject("installed")

/** The posts that `sluice demo` sends, a line each. */
async function demoPosts(): Promise<readonly string[]> {
  const sample = await readFile(join(installed, "node_modules/sluice/sample/posts.ndjson"), "utf8")
  return sample.trimEnd().split("\n")
}

/** Complaints of the page: failed scripts and requests, and what its policy forbids. */
function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = []
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())))
  return complaints
}

test.each([24, 26])("on Node %i the link that sluice dev prints opens the console, and posts flow", async (major) => {
  await using data = await temporaryDirectory()
  const node = await nodeOf(major)
  await using dev = await devUnder(node, installed, data.path)
  await using browser = await launchChromium()
  const page = await browser.newPage()
  const complaints = complaintsOf(page)
  await page.goto(dev.ready.console_url)
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
  expect(page.url()).toBe(`${dev.ready.url}/console/`)

  const rule = ["rules", "add", "cat OR 猫", "--data", data.path]
  expect(await runUnder(node, installed, "npx", "sluice", ...rule)).toMatchObject({ status: 0 })
  await using importing = startUnder(node, installed, "npx", "sluice", "import", "-", "--data", data.path)
  const posts = (await demoPosts()).values()
  const flow = setInterval(() => {
    const { value: post } = posts.next()
    if (post === undefined) clearInterval(flow)
    else importing.child.stdin.write(`${post}\n`)
  }, 100)
  const number = (title: string) => page.getByRole("link", { name: new RegExp(`^${title}.*per second$`) }).textContent()
  await expect.poll(() => number("Posts")).toMatch(/[1-9]/)
  await expect.poll(() => number("Matches")).toMatch(/[1-9]/)
  clearInterval(flow)
  expect(complaints).toEqual([])
})
