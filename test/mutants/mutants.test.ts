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

  test("a change names its declaration, and neither layout nor comments hide it", () => {
    const source =
      "class A {\n  #b() {\n    // Why.\n    return a( /* one */ 1,\n      2)\n  }\n}\nconst c = () => a(1, 2)\n"
    const changed = (within: string | undefined, from: string): string =>
      mutate(source, { name: "m", file: "f.ts", changes: [{ within, from, to: "0" }], tests: [] })
    expect(changed("A.#b", "a(1, 2)")).toBe(source.replace(/a\( .*\n.*2\)/, "0"))
    expect(changed("c", "a(1,2)")).toBe(source.replace("a(1, 2)", "0"))
    expect(() => changed(undefined, "a(1, 2)")).toThrow("2 times instead of once")
    expect(() => changed("A.#b", "a(3)")).toThrow('"m": A.#b in f.ts has this 0 times instead of once')
    expect(() => changed("d", "a(1, 2)")).toThrow("0 times instead of once")
  })

  test("nearly every mutant names the declaration that it changes", () => {
    const unnamed = mutants.filter(({ changes }) => changes.some(({ within }) => within === undefined))
    expect(unnamed.length).toBeLessThan(mutants.length / 20)
  })
})
