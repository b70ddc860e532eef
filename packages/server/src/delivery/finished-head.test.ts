import fc from "fast-check"
import { expect, test } from "vitest"
import type { MatchSeq } from "../model/ids.ts"
import { FinishedHead } from "./finished-head.ts"

const seq = (value: number): MatchSeq => value as MatchSeq

test("the head moves over finished positions only, and over positions that never come", () => {
  const head = new FinishedHead(seq(4))
  for (const value of [5, 6, 9]) head.start(seq(value))
  head.finish(seq(6))
  expect([head.position, head.passed]).toEqual([4, 6])
  head.finish(seq(5))
  expect([head.position, head.passed]).toEqual([6, 6])
  head.finish(seq(9))
  expect(head.position).toBe(9)
})

test("a position that is passed and not finished holds the head, also when it is resumed later", () => {
  const head = new FinishedHead(seq(4))
  head.resume(seq(2))
  expect([head.position, head.unfinishedUpTo(seq(10))]).toEqual([1, 7])
  head.pass(seq(8))
  expect([head.position, head.passed, head.unfinishedUpTo(seq(10))]).toEqual([1, 8, 3])
  head.finish(seq(2))
  expect([head.position, head.isUnfinished(seq(2))]).toEqual([8, false])
})

test("in any order of finishing, everything up to the head is finished, and the head never moves back", () => {
  const order = fc.shuffledSubarray(
    Array.from({ length: 20 }, (_, index) => index + 1),
    { minLength: 20 },
  )
  fc.assert(
    fc.property(order, (finished) => {
      const head = new FinishedHead(seq(0))
      for (let value = 1; value <= 20; value += 1) head.start(seq(value))
      const done = new Set<number>()
      for (const value of finished) {
        head.finish(seq(value))
        done.add(value)
        let expected = 0
        while (done.has(expected + 1)) expected += 1
        expect(head.position).toBe(expected)
      }
    }),
  )
})
