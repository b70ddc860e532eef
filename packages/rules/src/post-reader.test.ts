import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { anyEnvelope } from "./any-rule.testing.ts"
import type { Ask } from "./asks.ts"
import type { PostFacts } from "./post-facts.ts"
import { readPost } from "./post-facts.ts"
import { postReader } from "./post-reader.ts"
import { countNames, keyNames, zones } from "./rule.ts"

const zoneNames = [...new Set(Object.values(zones))]

/** Everything that is there to be asked, by the ask. */
function answer(post: PostFacts, ask: Ask): unknown {
  for (const zone of zoneNames) if (zone === ask) return post.passages(zone)
  for (const name of keyNames) {
    // Where an entity stands is for explaining only, and is not read.
    if (name === ask) return post.keys(name).map(({ key, where }) => ({ key, where }))
  }
  for (const name of countNames) if (name === ask) return post.count(name)
  switch (ask) {
    case "link texts":
      return post.linkTexts()
    case "ground":
      return post.ground()
    default:
      return post.id
  }
}

const asks: readonly Ask[] = [...zoneNames, ...keyNames, ...countNames, "link texts", "ground", "id"]

describe("a reader made for one ask answers it as the whole envelope does", () => {
  test.each(asks)("%s", (ask) => {
    const read = postReader(new Set([ask]))
    fc.assert(
      fc.property(anyEnvelope, fc.constantFrom("stream", "search"), (envelope, mode) => {
        const text = JSON.stringify(envelope)
        expect(answer(read(text, { mode }), ask)).toEqual(answer(readPost(envelope, { mode }), ask))
      }),
      { numRuns: 300 },
    )
  })
})

test("what nobody asks is not read", () => {
  const read = postReader(new Set<Ask>(["lang"]))
  const post = read('{"data":{"id":"1","text":"cat","lang":"en"},"includes":{"users":[{"id":"2"}]}}')
  expect(post.keys("lang")).toEqual([{ key: "en", where: "post" }])
  expect(post.passages("text")).toEqual([{ where: "text", tokens: [] }])
})
