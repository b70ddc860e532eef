/** The page and the examples of `sluice/testing` do what they print, under Node's own runner. */
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

async function passedBy(...files: readonly string[]): Promise<number> {
  const options = { cwd: root, timeout: 100_000, env: { ...process.env, NODE_OPTIONS: "" } }
  const args = ["--test", "--test-reporter=tap", "--test-concurrency=2", ...files]
  const { stdout } = await promisify(execFile)(process.execPath, args, options)
  expect(stdout).toMatch(/^# fail 0$/m)
  return Number(/^# pass (\d+)$/m.exec(stdout)?.[1])
}

test("the examples of tests pass", async () => {
  expect(await passedBy("examples/testing/reply-bot.test.ts", "examples/testing/receiver.test.ts")).toBe(2)
})

test("every block of the page runs as it is printed", async () => {
  const page = await readFile(join(root, "docs/sluice-testing.md"), "utf8")
  const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = ""]) => block)
  const [first = "", ...others] = blocks
  expect(others.length).toBeGreaterThan(2)
  const tests = others.map(
    (block, at) =>
      `test("block ${String(at + 2)}", async () => {\nawait using sluice = await startSluice()\n${block}})\n`,
  )
  const imports = 'import assert from "node:assert/strict"\nimport { test } from "node:test"\n'
  // Within the checkout, so that the packages are found.
  const directory = await mkdtemp(join(root, "node_modules/.cache/page-"))
  try {
    const file = join(directory, "page.test.mjs")
    await writeFile(file, imports + first + tests.join(""))
    expect(await passedBy(file)).toBe(blocks.length)
  } finally {
    await rm(directory, { recursive: true })
  }
})
