import { expect, test } from "vitest"
import type { AppId, UserId } from "../../../model/ids.ts"
import { aMatch, aPost } from "../../contract/fixtures.ts"
import { packBatch, unpackBatch } from "./packed-batch.ts"

test("a batch is the same on the other side of a thread boundary, and shares no memory with it", () => {
  const app = "5" as AppId
  const users = [
    { id: "7" as UserId, username: "ann", begin: 1, end: 4 },
    { id: "8" as UserId, username: "bob", begin: 0, end: 2 },
  ]
  const batch = [
    {
      post: aPost("9223372036854775807", "7", { core: "é", envelope: "\u{1F600}", isReply: true, users }),
      matches: [],
    },
    { post: aPost("2", undefined, { createdAtMs: -1.5, isRepost: true }), matches: [aMatch(app, "1", "2")] },
    {
      post: aPost("0", "8", { core: "", users: users.slice(1) }),
      matches: [{ ...aMatch(app, "3"), rulesSeq: 4, omitted: 5 }],
    },
  ]
  const expected = structuredClone(batch)
  const packed = packBatch(batch)
  for (const { post } of batch) post.envelope.fill(0)
  expect(unpackBatch(structuredClone(packed, { transfer: [packed.texts.buffer] }))).toEqual(expected)
  expect(packed.texts.length).toBe(0)
})

test("an empty batch is packed as one", () => {
  expect(unpackBatch(packBatch([]))).toEqual([])
})
