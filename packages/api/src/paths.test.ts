import { expect, test } from "vitest"
import { pathOf, paths } from "./paths.ts"

test("a path is filled in with its parameters, each escaped", () => {
  expect(pathOf(paths.attempts, { webhook_id: "7/../8?" })).toBe("/sluice/v1/links/7%2F..%2F8%3F/attempts")
  expect(pathOf(paths.userPosts, { id: "7" })).toBe("/2/users/7/tweets")
  expect(pathOf(paths.rules, {})).toBe("/2/tweets/search/stream/rules")
})

test("a path without one of its parameters is refused", () => {
  expect(() => pathOf<string>(paths.link, {})).toThrow("needs webhook_id")
})
