import { expect, test } from "vitest"
import { tokenSources, type TokenChoice } from "./token-sources.ts"

const nothing: TokenChoice = {
  isServerOption: false,
  isUrlVariable: false,
  isTokenGiven: false,
  contextOption: undefined,
  contextVariable: undefined,
  dataOption: undefined,
}

const cases: readonly (readonly [Partial<TokenChoice>, string])[] = [
  [{}, "dev current"],
  [{ isUrlVariable: true }, "dev current"],
  [{ isServerOption: true }, "dev current"],
  [{ contextVariable: "a" }, "context:a"],
  [{ contextVariable: "a", contextOption: "b" }, "context:b"],
  [{ contextVariable: "a", dataOption: "d" }, "dev"],
  [{ contextVariable: "a", isTokenGiven: true }, "given"],
  [{ contextVariable: "a", isTokenGiven: true, isServerOption: true, dataOption: "d" }, "given"],
]

test.each(cases)("the token of %j is from: %s", (choice, expected) => {
  const found = tokenSources({ ...nothing, ...choice })
  expect(found.map((one) => (one.kind === "context" ? `context:${one.name}` : one.kind)).join(" ")).toBe(expected)
})

test.each<Partial<TokenChoice>>([
  { isServerOption: true },
  { dataOption: "d" },
  { isTokenGiven: true },
  { isUrlVariable: true },
])("--context is refused next to %j, which would make it ineffective", (choice) => {
  expect(() => tokenSources({ ...nothing, contextOption: "a", ...choice })).toThrow(/--context/)
})
