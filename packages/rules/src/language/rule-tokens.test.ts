import { expect, test } from "vitest"
import { Draw } from "../testing/draw.testing.ts"
import { hostileRule } from "../testing/hostile-rules.testing.ts"
import { writtenRules } from "../testing/written-rules.testing.ts"
import { tokensOf } from "./rule-tokens.ts"

function shown(text: string): readonly string[] {
  return tokensOf(text).map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)
}

test("a rule is cut into tokens", () => {
  expect(shown('(cat OR "hot dog"~3) -from:nasa #heron --(@a $BTC) url_title:"x y"')).toEqual([
    "parenthesis (",
    "word cat",
    "or OR",
    'phrase "hot dog"',
    "proximity ~3",
    "parenthesis )",
    "negation -",
    "operator from:",
    "value nasa",
    "mark #heron",
    "negation --",
    "parenthesis (",
    "mark @a",
    "mark $BTC",
    "parenthesis )",
    "operator url_title:",
    'value "x y"',
  ])
})

test("a name of another network is one token, with its dots, dashes and host", () => {
  expect(shown("-from:alice-b.bsky.social (to:@bob@social.example @a.b@c.d) @e.")).toEqual([
    "negation -",
    "operator from:",
    "value alice-b.bsky.social",
    "parenthesis (",
    "operator to:",
    "value @bob@social.example",
    "mark @a.b@c.d",
    "parenthesis )",
    "mark @e.",
  ])
})

test("a wrong rule is cut too", () => {
  expect(shown('form: has:image ((cat and "open')).toEqual([
    "operator form:",
    "operator has:",
    "value image",
    "parenthesis (",
    "parenthesis (",
    "word cat",
    "invalid and",
    'invalid "open',
  ])
})

test("tokens are in order, lie in the text and do not overlap, whatever the text", () => {
  const hostile = Array.from({ length: 500 }, (_, part) => hostileRule(new Draw(7, part)))
  for (const text of [...writtenRules, ...hostile]) {
    let end = 0
    for (const token of tokensOf(text)) {
      expect(token.start).toBeGreaterThanOrEqual(end)
      expect(token.end).toBeGreaterThan(token.start)
      end = token.end
    }
    expect(end).toBeLessThanOrEqual(text.length)
  }
})
