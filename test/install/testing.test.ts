/** `sluice/testing` as it is installed: one file under three test runners, and its types. */
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { beforeAll, expect, inject, test } from "vitest"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { root } from "./nodes.testing.ts"

const run = promisify(execFile)

/** A test file of a user, for any runner. */
const sameFile = `
import assert from "node:assert/strict"
import { startSluice } from "sluice/testing"

// A global of Vitest and of Jest, and an import of Node's own runner.
const test = globalThis.test ?? (await import("node:test")).test

const used = (use) => async () => {
  const sluice = await startSluice()
  try {
    await use(sluice)
  } finally {
    await sluice.close()
  }
}

test("a heron is delivered and streamed", used(async (sluice) => {
  const receiver = await sluice.receive({ rules: ["heron"] })
  const stream = await sluice.stream()
  const { id } = await sluice.post("A heron at the gate")
  assert.equal((await receiver.next()).post.id, id)
  assert.equal((await stream.next()).data.id, id)
}))

test("25 hours of retries end in a delivery", used(async (sluice) => {
  let status = 503
  const receiver = await sluice.receive({ rules: ["heron"], respond: () => status })
  await sluice.post("A heron at the gate")
  await sluice.clock.advance("25h")
  assert.ok(receiver.all().length > 200)
  status = 200
  await sluice.clock.advance("10m")
  await receiver.settled()
  const { data } = await sluice.client.webhooks.getDetail(receiver.webhookId)
  assert.equal(data.link.total.delivered, 1)
}))
`

const typed = `
import { startSluice, type TestReceiver } from "sluice/testing"
await using sluice = await startSluice({ settings: { SLUICE_SEARCH: "off" } })
const receiver: TestReceiver = await sluice.receive({ rules: ["heron"], fields: { "tweet.fields": ["lang"] } })
await sluice.post({ text: "A heron", author: { username: "wren", verified: true } })
const { post } = await receiver.next()
export const lang: string | undefined = post.lang
await sluice.clock.advance("25h")
`

let directory: Awaited<ReturnType<typeof temporaryDirectory>>

beforeAll(async () => {
  directory = await temporaryDirectory()
  const packageJson = { type: "module", scripts: {} }
  await writeFile(join(directory.path, "package.json"), JSON.stringify(packageJson))
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--no-save", "vitest@5", "jest@30"]
  await run("npm", [...install, ...Object.values(inject("tarballs"))], { cwd: directory.path })
  await writeFile(join(directory.path, "heron.test.js"), sameFile)
  return () => directory[Symbol.asyncDispose]()
})

// Vitest and Jest end a test after 5 s by default. A busy machine needs more for a start and for 25 hours of retries.
test.each([
  ["node:test", ["--test", "heron.test.js"], {}, "pass 2"],
  ["Vitest", ["node_modules/vitest/vitest.mjs", "run", "--globals", "--testTimeout=60000"], {}, "2 passed"],
  [
    "Jest",
    ["node_modules/jest/bin/jest.js", "--testTimeout=60000"],
    { NODE_OPTIONS: "--experimental-vm-modules" },
    "2 passed",
  ],
] as const)("the same file passes under %s, which ends by itself", async (_, args, more, expected) => {
  // Not those of this runner.
  const { NODE_OPTIONS: _options, VITEST: _vitest, ...env } = process.env
  const { stdout, stderr } = await run(process.execPath, args, {
    cwd: directory.path,
    env: { ...env, NO_COLOR: "1", ...more },
    timeout: 100_000,
  })
  expect(stdout + stderr).toContain(expected)
})

test("its declarations are complete", async () => {
  await writeFile(join(directory.path, "typed.ts"), typed)
  const options = ["--noEmit", "--strict", "--target", "esnext", "--module", "nodenext", "--types", "node"]
  const types = ["--typeRoots", join(root, "node_modules/@types")]
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const { stdout } = await run(process.execPath, [tsc, ...options, ...types, "typed.ts"], { cwd: directory.path })
  expect(stdout).toBe("")
})
