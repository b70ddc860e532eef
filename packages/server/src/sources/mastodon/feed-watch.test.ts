import { expect, test } from "vitest"
import { deletionsOnlyMs, FeedWatch } from "./feed-watch.ts"

const message = "The stream public brings deletions and no posts."

test("a stream that brings deletions and no post for ten minutes has a notice until a post comes", () => {
  const watch = new FeedWatch(["public", "user"], 0)
  const noticeAt = (nowMs: number) => watch.notices(nowMs).get("public")?.message
  for (let deletion = 1; deletion <= 10; deletion += 1) watch.count("public", "delete", deletion)
  expect(noticeAt(deletionsOnlyMs - 1)).toBeUndefined()
  expect(noticeAt(deletionsOnlyMs)).toBe(message)
  expect(watch.notices(deletionsOnlyMs)).toEqual(
    new Map([
      ["public", { message, advice: expect.stringContaining("switched this feed off") }],
      ["user", undefined],
    ]),
  )
  watch.count("public", "update", deletionsOnlyMs + 5)
  expect(noticeAt(deletionsOnlyMs + 6)).toBeUndefined()
  for (let deletion = 1; deletion <= 10; deletion += 1) watch.count("public", "delete", deletionsOnlyMs + 10)
  expect([noticeAt(2 * deletionsOnlyMs + 4), noticeAt(2 * deletionsOnlyMs + 5)]).toEqual([undefined, message])
})

test("a quiet stream has none, and events of streams that are not followed count nowhere", () => {
  const watch = new FeedWatch(["public"], 0)
  for (let deletion = 1; deletion <= 9; deletion += 1) watch.count("public", "delete", deletion)
  for (let deletion = 1; deletion <= 50; deletion += 1) watch.count(undefined, "delete", deletion)
  expect(watch.notices(deletionsOnlyMs * 5)).toEqual(new Map([["public", undefined]]))
})
