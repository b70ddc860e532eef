/** Every row of docs/compatibility.md has one test of its name in this folder, and every test has its row. */
import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"

const page = new URL("../../docs/compatibility.md", import.meta.url)

test("every row of the page has its test, and every test has its row", () => {
  const rows = rowsOf(readFileSync(page, "utf8"))
  const tested = testFiles().flatMap(rowsTestedBy)
  expect(new Set(rows).size).toBe(rows.length)
  expect(tested.toSorted()).toEqual(rows.toSorted())
})

test("the rows of a page are its headings of the third level", () => {
  expect(rowsOf("# Page\n\n## Topic\n\n### a\n\n_Matter_: what Sluice does\n\n### b\n")).toEqual(["a", "b"])
})

test("the check finds a test that names no row or does not always run", () => {
  expect(rowsTestedBy('test("a: b is c", () => {})\ntest(\n  "b: c is d",\n')).toEqual(["a", "b"])
  expect(rowsTestedBy('test("b is c", () => {})\n')).toEqual(["b is c"])
  expect(rowsTestedBy('test.skip("a: b is c", () => {})\n')).toEqual([".skip"])
})

/** Ids of the rows, in the order of the document. */
function rowsOf(text: string): readonly string[] {
  return [...text.matchAll(/^### (.+)$/gm)].map(([, id = ""]) => id)
}

/** Texts of the other test files of this folder. */
function testFiles(): readonly string[] {
  return readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".test.ts") && name !== "rows.test.ts")
    .map((name) => readFileSync(new URL(name, import.meta.url), "utf8"))
}

/** For each test of a file, the row at the beginning of its name. */
function rowsTestedBy(text: string): readonly string[] {
  return [...text.matchAll(/^\s*(?:test|describe)(\.\w+)?\(\s*["'`](.*?)(?:: |["'`])/gm)].map(
    ([, modifier, row = ""]) => modifier ?? row,
  )
}
