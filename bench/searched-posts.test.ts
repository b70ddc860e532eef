import { expect, test } from "vitest"
import { readEnvelope } from "../packages/server/src/ingest/read-envelope.ts"
import { frequentWord, marks, SearchedPosts } from "./searched-posts.ts"

const posts = new SearchedPosts({ count: 20_000, endMs: Date.parse("2026-03-14T00:00:00Z") })
const read = posts
  .lines(0, posts.count)
  .trimEnd()
  .split("\n")
  .map((line) => readEnvelope(line, 0))
const texts = read.map((one) => (one.ok && !one.post.isRepost ? textOf(one.post.core) : ""))

function textOf(core: Uint8Array): string {
  return (JSON.parse(Buffer.from(core).toString()) as { text: string }).text
}

test("a server accepts the posts, whose ids rise over the week and hold their times", () => {
  expect(read.filter((one) => !one.ok)).toEqual([])
  const [ids, times] = [
    read.map((one) => (one.ok ? BigInt(one.post.id) : 0n)),
    read.map((one) => (one.ok ? one.post.createdAtMs : 0)),
  ]
  expect(ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? 0n))).toBe(true)
  expect(ids.map((id) => Number(id >> 22n) + 1_288_834_974_657)).toEqual(times)
  expect([times[0], (times.at(-1) ?? 0) > Date.parse("2026-03-13T23:59:00Z")]).toEqual([
    Date.parse("2026-03-07T00:00:00Z"),
    true,
  ])
})

test("the marks are in exactly their share of the posts, and in no repost", () => {
  const shareOf = (word: string): number => texts.filter((text) => text.split(" ").includes(word)).length / texts.length
  expect([shareOf(marks.frequent), shareOf(marks.selective), shareOf(marks.rare)]).toEqual([0.1, 0.001, 0.0001])
})

test("words are as frequent as those of a language, and a fifth of the posts are replies and a quarter reposts", () => {
  const original = texts.filter((text) => text !== "")
  const share = (rank: number): number =>
    original.filter((text) => text.split(" ").includes(frequentWord(rank))).length / original.length
  expect([share(0) > 0.3, share(0) < 0.45, share(10) > 0.03, share(10) < 0.15, share(1_000) < 0.01]).toEqual(
    Array.from({ length: 5 }, () => true),
  )
  const kinds = read.map((one) => (one.ok ? `${one.post.isReply} ${one.post.isRepost}` : ""))
  expect(kinds.filter((kind) => kind === "true false").length / posts.count).toBeCloseTo(0.2, 2)
  expect(kinds.filter((kind) => kind === "false true").length / posts.count).toBeCloseTo(0.25, 2)
})

test("users and posts that the bench looks up are there", () => {
  const users = new Set(read.flatMap((one) => (one.ok ? one.post.users.map(({ username }) => username) : [])))
  expect(posts.someUsernames(100).filter((name) => !users.has(name))).toEqual([])
  const ids = new Set(read.map((one) => (one.ok ? one.post.id : "")))
  expect(posts.someIds(100).filter((id) => !ids.has(id as never))).toEqual([])
})
