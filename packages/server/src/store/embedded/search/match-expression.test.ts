import type { IndexQuery } from "@sluice/rules"
import { describe, expect, test } from "vitest"
import { tokenQuery } from "../../search-query.ts"
import { matchExpression } from "./match-expression.ts"

const [cat, dog, owl, cow] = ["t:cat", "t:dog", "t:owl", "t:cow"].map((term): IndexQuery => ({ kind: "term", term }))
const all = (...of: (IndexQuery | undefined)[]): IndexQuery => ({ kind: "all", of: of as IndexQuery[] })
const any = (...of: (IndexQuery | undefined)[]): IndexQuery => ({ kind: "any", of: of as IndexQuery[] })
const not = (of: IndexQuery | undefined): IndexQuery => ({ kind: "not", of: of as IndexQuery })
const everything: IndexQuery = { kind: "everything" }

function expressionOf(query: IndexQuery): string | boolean | undefined {
  const tokens = tokenQuery(query)
  return tokens === false ? false : matchExpression(tokens)
}

describe("a query in the language of FTS5", () => {
  const table: readonly (readonly [string, IndexQuery, string | boolean])[] = [
    ["a term", cat as IndexQuery, `"t:cat"`],
    ["all and any", all(cat, any(dog, owl)), `("t:dog" OR "t:owl") AND "t:cat"`],
    ["a part without posts", all(cat, not(dog), not(cow)), `"t:cat" NOT ("t:dog" OR "t:cow")`],
    ["only what is left out", all(not(dog), not(cow)), `"=" NOT ("t:dog" OR "t:cow")`],
    ["one of all without some", any(cat, not(dog)), `"=" NOT ("t:dog" NOT "t:cat")`],
    ["any of what is left out", any(not(cat), not(dog)), `"=" NOT ("t:cat" AND "t:dog")`],
    ["twice negated", not(not(cat)), `"t:cat"`],
    ["every post", everything, `"="`],
    ["every post as a part", all(everything, cat), `"t:cat"`],
    ["every post as one of several", any(cat, everything), `"="`],
    ["no post", any(), false],
    ["no post as a part", all(cat, not(everything)), false],
    ["no post as one of several", any(cat, not(everything)), `"t:cat"`],
    ["all of nothing", all(), `"="`],
    ["groups of the same kind", all(cat, all(dog, all(owl))), `"t:cat" AND "t:dog" AND "t:owl"`],
    ["hostile words", any({ kind: "term", term: "OR" }, { kind: "term", term: "or" }), `"=x" OR "or"`],
  ]
  for (const [what, query, expected] of table) {
    test(`translates ${what}`, () => {
      const found = expressionOf(query)
      expect(typeof found === "string" ? found.replace(/=[0-9a-f]{32}/, "=x") : found).toBe(expected)
    })
  }

  test("a group that is nested too deep for FTS5's parser has no expression", () => {
    const nested = (depth: number): IndexQuery => {
      let query = cat as IndexQuery
      for (let level = 0; level < depth; level += 1) query = level % 2 === 0 ? all(dog, query) : any(owl, query)
      return query
    }
    expect(expressionOf(nested(70))).toBeTypeOf("string")
    expect(expressionOf(nested(90))).toBeUndefined()
  })
})
