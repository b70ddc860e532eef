import { expect, test } from "vitest"
import { readEnvelopes } from "./pasted-posts.ts"

const textsOf = (text: string): readonly string[] => readEnvelopes(text).envelopes.map(({ data }) => data.text)

test("posts are read from texts, envelopes, lines of them, posts and pages of a response", () => {
  expect(textsOf("a heron\n\n a dog ")).toEqual(["a heron", "a dog"])
  expect(textsOf('{"data":{"id":"1","text":"a"}}\n{"id":"2","text":"b"}')).toEqual(["a", "b"])
  expect(textsOf('[{"text":"a"},{"data":{"text":"b"}}]')).toEqual(["a", "b"])
  expect(textsOf('{\n  "data": [{"id":"1","text":"a"}],\n  "includes": {"users": []}\n}')).toEqual(["a"])
  expect(readEnvelopes('{"data":[{"id":"1","text":"a"}],"includes":{"users":[{"id":"7"}]}}').envelopes).toEqual([
    { data: { id: "1", text: "a" }, includes: { users: [{ id: "7" }] } },
  ])
})

test("posts without an id differ", () => {
  const { envelopes } = readEnvelopes("a\nb\nc")
  expect(new Set(envelopes.map(({ data }) => data.id)).size).toBe(3)
})

test("unreadable lines are named, and extra posts are dropped", () => {
  expect(readEnvelopes("")).toEqual({ envelopes: [] })
  expect(readEnvelopes('{"text":"a"}\n{broken').problem).toBe("Line 2 is not JSON")
  expect(readEnvelopes('{"id":"1"}').problem).toContain("No posts found")
  const many = readEnvelopes("a\n".repeat(1_001))
  expect(many.envelopes).toHaveLength(1_000)
  expect(many.problem).toContain("1,000")
})
