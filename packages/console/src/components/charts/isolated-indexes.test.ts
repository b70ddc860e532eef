import { expect, test } from "vitest"
import { isolatedIndexes } from "./isolated-indexes.ts"

test("a value without neighbours is found at either end and between, zero included", () => {
  expect(isolatedIndexes([null, null, 0])).toEqual([2])
  expect(isolatedIndexes([1, null, 2, 3, undefined, 4, null])).toEqual([0, 5])
  expect(isolatedIndexes([1, 2, 3])).toEqual([])
  expect(isolatedIndexes([7])).toEqual([0])
})
