import type { Envelope } from "@sluice/api"
import { expect, test } from "vitest"
import type { StoredPost } from "../../model/post.ts"
import { testRule, type RuleTestDeps, type RuleTestRequest } from "./test-rule.ts"

const phrases = Array.from({ length: 150 }, (_, at) => `"a b a${at}"`).join(" OR ")
const longText = "a b ".repeat(6_250)

function postsOf(count: number, text: string): readonly Envelope[] {
  return Array.from({ length: count }, (_, at) => ({ data: { id: String(at + 1), text } }))
}

async function* noPosts(): AsyncGenerator<StoredPost> {}

const noScan = async () => ({ posts: [], damaged: [] })

const unbounded = { stepsMax: Number.POSITIVE_INFINITY, resultCharactersMax: Number.POSITIVE_INFINITY }

function trying(request: Partial<RuleTestRequest>, deps: Partial<RuleTestDeps> = {}) {
  return testRule(
    { value: "cat", posts: [], mode: "stream", ...request },
    { store: { recentPosts: noPosts, posts: noScan }, bounds: unbounded, pause: () => undefined, ...deps },
  )
}

test("a test stops at its bound of steps, and returns the number of posts on which the rule was tested", async () => {
  const posts = postsOf(60, longText)
  const bounds = { ...unbounded, stepsMax: 2_000_000 }
  const { tested, matches, warnings } = await trying({ value: phrases, posts }, { bounds })
  // Reading a post takes 8 steps a character.
  expect(tested).toBeLessThanOrEqual(2_000_000 / (8 * 25_000 - 8) + 1)
  expect(tested).toBeGreaterThan(5)
  expect(matches).toEqual([])
  expect(warnings[0]?.message).toContain(`tried on ${tested} of 60 posts`)
  // The same request has the same result.
  expect((await trying({ value: phrases, posts }, { bounds })).tested).toBe(tested)
})

test("the cost of explaining matches counts", async () => {
  const value = Array.from({ length: 100 }, () => '"a b"').join(" ")
  const bounds = { ...unbounded, stepsMax: 20_000_000 }
  const { tested } = await trying({ value, posts: postsOf(60, longText) }, { bounds })
  expect(tested).toBeLessThanOrEqual(3)
})

test("a result does not exceed its bound, except by the spans of one post", async () => {
  const bounds = { ...unbounded, resultCharactersMax: 10_000 }
  const posts = postsOf(1_000, "cat ".repeat(20))
  const { tested, matches, warnings } = await trying({ posts }, { bounds })
  expect(matches).toHaveLength(tested)
  expect(JSON.stringify(matches).length).toBeLessThan(10_000 + 20 * 100)
  expect(warnings[0]?.message).toContain("of 1000 posts")
})

test("within the bounds the rule is tested on every post, and the result mentions no bound", async () => {
  const posts = [...postsOf(50, "a cat"), ...postsOf(50, "a dog")]
  expect(await trying({ posts, value: "bird" })).toEqual({
    tested: 100,
    matched: 0,
    matches: [],
    unmatched: [],
    cost: 5,
    warnings: [],
  })
})

test("a cancelled test ends before its next post", async () => {
  let posts = 0
  const pause = async (): Promise<void> => {
    posts += 1
    if (posts === 4) throw new Error("given up")
  }
  await expect(trying({ posts: postsOf(100, "a cat") }, { pause })).rejects.toThrow("given up")
  expect(posts).toBe(4)
})

test("an explained test names the failed operators of each post without a match, and their positions", async () => {
  const value = "cat (lang:en OR -dog)"
  const posts = [...postsOf(1, "a cat"), ...postsOf(1, "a cat and a dog"), ...postsOf(1, "a bird")]
  const { matches, unmatched } = await trying({ value, posts, isExplained: true })
  expect(matches).toHaveLength(1)
  expect(
    unmatched.map(({ failed }) =>
      failed.map(({ start, end, isUnwanted }) => [value.slice(start, end), isUnwanted] as const),
    ),
  ).toEqual([
    [
      ["lang:en", false],
      ["dog", true],
    ],
    [["cat", false]],
  ])
})

test("explanations of posts that do not match count, by their cost and their length", async () => {
  const value = Array.from({ length: 100 }, () => '"a b"').join(" ") + " zebra"
  const posts = postsOf(60, longText)
  const bounds = { ...unbounded, stepsMax: 20_000_000 }
  expect((await trying({ value, posts, isExplained: true }, { bounds })).tested).toBeLessThanOrEqual(3)
  const short = { ...unbounded, resultCharactersMax: 1_000 }
  expect((await trying({ posts: postsOf(60, "a dog"), isExplained: true }, { bounds: short })).tested).toBeLessThan(20)
})
