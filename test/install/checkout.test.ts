/** The checkout itself, as a user has it who wants to run it and not to change it. */
import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { devUnder, nodeOf, root, runUnder } from "./nodes.testing.ts"

test("after npm ci --omit=dev, by Node 20, npx sluice and npm run demo work, on the Node that it brought", async () => {
  await using directory = await temporaryDirectory()
  const { path } = directory
  await promisify(execFile)("git", ["checkout-index", "--all", `--prefix=${path}/`], { cwd: root })
  const node = await nodeOf(20)
  const installed = await runUnder(node, path, "npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline")
  expect(installed).toMatchObject({ status: 0, stderr: "" })
  expect(readdirSync(join(path, "node_modules"))).not.toContain("typescript")
  await using dev = await devUnder(node, path, join(path, "data"))
  expect((await fetch(`${dev.ready.url}/healthz`)).status).toBe(200)
  const demo = await runUnder(node, path, "npm", "run", "demo")
  expect([demo.status, demo.stdout]).toEqual([0, expect.stringContaining("All checks passed.")])
})
