import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { mutate } from "./mutant.ts"
import { mutants } from "./mutants.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("the list of mutants", () => {
  test("every text that a mutant changes stands once in the program", () => {
    for (const mutant of mutants) {
      const source = readFileSync(root + mutant.file, "utf8")
      expect(mutate(source, mutant), mutant.name).not.toBe(source)
    }
  })

  test("every mutant has a name of its own, and names tests that exist", () => {
    for (const { name, tests } of mutants)
      expect(
        tests.filter((file) => existsSync(root + file)),
        name,
      ).toEqual(tests)
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  })

  test("a text that stands in the file twice, or not at all, is refused", () => {
    const mutant = { name: "m", file: "f", changes: [{ from: "a", to: "b" }], tests: [] }
    expect(mutate("x a y", mutant)).toBe("x b y")
    expect(() => mutate("a a", mutant)).toThrow("2 times instead of once")
    expect(() => mutate("x", mutant)).toThrow("0 times instead of once")
  })
})
