import { expect, test } from "vitest"
import { SeenPosts } from "./healing.ts"

test("posts are remembered up to a bound, and the oldest are forgotten first", () => {
  const seen = new SeenPosts(3)
  expect(["1", "2", "3", "1", "4"].map((id) => seen.add(id))).toEqual([true, true, true, false, true])
  expect(["4", "3", "2", "1"].map((id) => seen.add(id))).toEqual([false, false, false, true])
})
