import { expect, test } from "vitest"
import type { MatchSeq, PostId } from "../../model/ids.ts"
import { selectionOfQuery } from "../../model/link-query.ts"
import type { MatchEntry } from "../../model/match.ts"
import { deliveryBody } from "./delivery-body.ts"

const text = { seq: 7 as MatchSeq, postId: "70" as PostId, atMs: 1, rulesJson: '[{"id":"5"}]' }
const postJson = '{"data":{"id":"70","text":"heron","author_id":"42","lang":"en"}}'

function bodyOf(entry: MatchEntry, query: string): Uint8Array | undefined {
  return deliveryBody(entry, selectionOfQuery(query))
}

test("links that show the same fields of a match share its body, however they name the fields", () => {
  const entry = { ...text, postJson }
  const body = bodyOf(entry, "tweet.fields=lang,author_id")
  expect(bodyOf(entry, "tweet.fields=author_id,lang")).toBe(body)
  expect(bodyOf({ ...text, postJson }, "tweet.fields=lang,author_id")).toEqual(body)
})

test("a link that shows other fields of a match has a body of its own", () => {
  const entry = { ...text, postJson }
  const [lang, author] = ["tweet.fields=lang", "tweet.fields=author_id"].map((query) => String(bodyOf(entry, query)))
  expect(lang).toContain('"lang":"en"')
  expect(lang).not.toContain("author_id")
  expect(author).toContain('"author_id":"42"')
  expect(String(bodyOf(entry, "tweet.fields=lang"))).toBe(lang)
})

test("a damaged entry has no body", () => {
  expect(bodyOf(text, "")).toBeUndefined()
})
