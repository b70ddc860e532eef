import { expect, test } from "vitest"
import { needsServer, tryRule } from "./try-rule.ts"

const envelopes = [
  { data: { id: "1", text: "a heron" } },
  { data: { id: "2", text: "a heron and a dog" } },
  { data: { id: "3", text: "a cat" } },
]

test("each post is a match with its spans, or a miss with the parts that failed", () => {
  const value = "heron -dog"
  expect(tryRule(value, envelopes)).toMatchObject([
    { kind: "match", spans: [{ operator: "heron", where: "text", start: 2, end: 7 }] },
    { kind: "miss", failed: [{ operator: "dog", start: 7, end: 10, isUnwanted: true }] },
    { kind: "miss", failed: [{ operator: "heron", start: 0, end: 5, isUnwanted: false }] },
  ])
})

test("an invalid rule has no verdicts, and a rule with embedding: needs the server", () => {
  expect(tryRule("form:me", envelopes)).toBeUndefined()
  expect(tryRule('embedding:"birds"', envelopes)).toBeUndefined()
  expect(needsServer('(heron OR embedding:"birds") cat')).toBe(true)
  expect(needsServer("heron")).toBe(false)
  expect(needsServer("form:me")).toBe(false)
})
