import { expect, test } from "vitest"
import { knownNames } from "../post/member-names.ts"
import { newWalk } from "./walk-module.ts"

test("the module numbers the names that it reads as they are numbered here", () => {
  const exported = Object.entries(newWalk()).filter(([key]) => /^name[A-Z]/.test(key))
  expect(exported.length).toBeGreaterThan(8)
  for (const [key, constant] of exported) {
    const name = key.slice("name".length).replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const { value } = constant as { readonly value: number }
    expect(`_${knownNames[value - 1]}`).toBe(name)
  }
})
