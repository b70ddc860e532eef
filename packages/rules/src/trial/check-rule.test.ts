import { expect, test } from "vitest"
import { checkRule } from "./check-rule.ts"
import { postWith, ruleOf } from "../testing/matches.testing.ts"
import { readPost, type PostFacts } from "../post/post-facts.ts"

/** So many posts, of which the first so many are about cats. */
const postsOf = (count: number, cats: number): readonly PostFacts[] =>
  Array.from({ length: count }, (_, index) => readPost(postWith(index < cats ? "a cat" : "a dog, or none")))

test("the check of a rule that matches few posts has their number and no warning", () => {
  expect(checkRule("cat", postsOf(200, 20))).toEqual({
    ok: true,
    rule: ruleOf("cat"),
    warnings: [],
    tested: 200,
    matched: 20,
  })
})

test("a rule that matches more than a tenth of the posts gets a warning", () => {
  expect(checkRule("Cat", postsOf(200, 21))).toMatchObject({
    matched: 21,
    warnings: [{ part: "Cat", message: "'Cat' matches 21 of 200 posts (11 %): narrow it down" }],
  })
})

test("fewer than a hundred posts give no warning", () => {
  expect(checkRule("cat", postsOf(99, 99))).toMatchObject({ matched: 99, tested: 99, warnings: [] })
  expect(checkRule("cat", postsOf(100, 100))).toMatchObject({ warnings: [{ part: "cat" }] })
  expect(checkRule("cat", [])).toMatchObject({ ok: true, matched: 0, tested: 0, warnings: [] })
})

test("the warnings name the branches of an OR that are too broad by themselves", () => {
  const parts = (rule: string) => {
    const checked = checkRule(rule, postsOf(200, 100))
    return checked.ok ? checked.warnings.map(({ part }) => part) : []
  }
  expect(parts("zebra OR cat OR (dog -cat)")).toEqual(["cat", "dog -cat"])
  expect(parts("zebra OR cat")).toEqual(["cat"])
  expect(parts("zebra OR cow")).toEqual([])
})

test("branches that are too broad only together get one warning", () => {
  const posts = Array.from({ length: 100 }, (_, index) => readPost(postWith(`word${index % 10}`)))
  expect(checkRule("word1 OR word2", posts)).toMatchObject({
    matched: 20,
    warnings: [{ part: "word1 OR word2" }],
  })
})

test("the check of an invalid rule has its problems, and the rule is not tried", () => {
  const checked = checkRule("form:nasa has:image", postsOf(200, 200))
  expect(checked.ok ? [] : checked.problems.map(({ position }) => position)).toEqual([1, 1, 11])
})

test("the check parses the rule in the mode of the posts", () => {
  const posts = [readPost(postWith("résumé"), { mode: "search" })]
  expect(checkRule("resume", posts, { mode: "search" })).toMatchObject({ matched: 1 })
  expect(checkRule("bio:x", posts, { mode: "search", strict: true }).ok).toBe(false)
  expect(checkRule("bio:x", posts, { mode: "stream", strict: true }).ok).toBe(true)
})
