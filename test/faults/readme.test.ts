import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const packages = fileURLToPath(new URL("../../packages", import.meta.url))

/** Paths of tests, without `.test.ts`, in the second column of the README's table. */
function namedTests(): readonly string[] {
  const readme = readFileSync(new URL("README.md", import.meta.url), "utf8")
  const cells = [...readme.matchAll(/^\|[^|]*\|([^|]*)\|$/gm)].map(([, cell = ""]) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`([\w/-]+)`/g)].map(([, name = ""]) => name))
}

test("the README names every fault test of this folder, and only tests that exist", () => {
  const here = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".test.ts") && name !== "readme.test.ts")
    .map((name) => name.replace(".test.ts", ""))
  const named = [...new Set(namedTests())]
  expect(named.filter((name) => !name.includes("/")).toSorted()).toEqual(here.toSorted())
  const elsewhere = named.filter((name) => name.includes("/"))
  expect(elsewhere.length).toBeGreaterThan(10)
  expect(elsewhere.filter((name) => !existsSync(`${packages}/${name}.test.ts`))).toEqual([])
})
