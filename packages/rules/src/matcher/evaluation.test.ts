import { expect, test } from "vitest"
import { Evaluation } from "./evaluation.ts"
import { Expressions } from "./expressions.ts"
import { IntArena } from "./int-arena.ts"
import { parseRule } from "../language/parse-rule.ts"
import { readPost } from "../post/post-facts.ts"
import { PostTerms } from "./post-terms.ts"
import { TermTable } from "./term-table.ts"

/** Evaluates one rule after the other for posts, each with its own stamp. */
function asker(...rules: readonly string[]) {
  const arena = new IntArena()
  const terms = new TermTable(arena)
  const expressions = new Expressions(arena, terms, [0, 0])
  const roots = rules.map((rule) => {
    const parsed = parseRule(rule)
    if (!parsed.ok) throw new Error(rule)
    return expressions.rootOf(parsed.rule)
  })
  const postTerms = new PostTerms(terms)
  const evaluationAfter = (posts: number) => new Evaluation(arena, expressions, postTerms, (posts * 2) | 0)
  const ask = (evaluation: Evaluation, text: string) => {
    const post = readPost({ data: { id: "1", text } })
    postTerms.read(post)
    evaluation.begin(post)
    return roots.map((root) => evaluation.rootHolds(root))
  }
  return { evaluationAfter, ask }
}

test("after the stamps wrap around, no result of two thousand million posts ago is used", () => {
  const { evaluationAfter, ask } = asker('"hot dog hot"', 'cat -"hot dog hot"')
  const before = evaluationAfter(0)
  for (let posts = 0; posts < 5; posts++) expect(ask(before, "hot dog hot, cat")).toEqual([true, false])
  // Posts for which nothing is evaluated, and then one with the stamp of the last result.
  const after = evaluationAfter(2 ** 31 - 3)
  for (let posts = 0; posts < 6; posts++) after.begin(readPost({ data: { id: "1", text: "" } }))
  expect(after.stamp).toBe(before.stamp - 2)
  expect(ask(after, "hot dog, dog hot, cat")).toEqual([false, true])
})

test("a phrase is evaluated once for a post, and only if its pairs of words are present", () => {
  const { evaluationAfter, ask } = asker('"hot dog hot"', 'cat -"hot dog hot"', '"hot dog hot" OR cow')
  const evaluation = evaluationAfter(0)
  expect(ask(evaluation, "hot dog hot, cat")).toEqual([true, false, true])
  expect(evaluation.evaluations).toBe(1)
  expect(ask(evaluation, "hot dog, hot, cat, dog, hot")).toEqual([true, false, true])
  expect(ask(evaluation, "hot dog cat hot")).toEqual([false, true, false])
  expect(evaluation.evaluations).toBe(2)
  expect(ask(evaluation, "hot dog cat dog hot")).toEqual([false, true, false])
  expect(evaluation.evaluations).toBe(3)
})
