import fc from "fast-check"
import { expect, test } from "vitest"
import type { MatchSeq } from "../model/ids.ts"
import { FinishedHead } from "./finished-head.ts"

const seq = (value: number): MatchSeq => value as MatchSeq

test("moves over what is finished at its head, and over nothing that is under way", () => {
  const head = new FinishedHead(seq(4))
  for (const value of [5, 6, 7, 8, 9]) head.start(seq(value))
  expect(head.finish(seq(6))).toBe(false)
  expect(head.position).toBe(4)
  expect(head.finish(seq(5))).toBe(true)
  expect(head.position).toBe(6)
  expect(head.finish(seq(8))).toBe(false)
  expect([head.position, head.span]).toEqual([6, 3])
  expect(head.finish(seq(7))).toBe(true)
  expect([head.position, head.span]).toEqual([8, 1])
})

test("refuses to start what does not come after the last", () => {
  const head = new FinishedHead(seq(4))
  expect(() => head.start(seq(4))).toThrow("entries start in order")
  head.start(seq(6))
  expect(() => head.start(seq(6))).toThrow("entries start in order")
  expect(() => head.start(seq(5))).toThrow("entries start in order")
})

/** Starts in order, with gaps, and finishes in any order, in between. */
const run = fc.tuple(
  fc.nat({ max: 9 }),
  fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 30 }),
  fc.infiniteStream(fc.nat()),
)

test("is at the newest entry before which everything that was started is finished", () => {
  fc.assert(
    fc.property(run, ([first, steps, choices]) => {
      const head = new FinishedHead(seq(first))
      const started: number[] = []
      const finished = new Set<number>()
      /** The slow, obvious definition. */
      const isHead = (value: number): boolean =>
        started.every((other) => other > value || finished.has(other))
      const check = (): void => {
        const expected = [first, ...started].findLast(isHead)
        expect(head.position).toBe(expected)
        expect(head.span).toBe(started.filter((value) => value > head.position).length)
      }
      const finishAny = (choice: number): void => {
        const open = started.filter((value) => !finished.has(value))
        const value = open[choice % open.length]
        if (value === undefined) return
        const before = head.position
        finished.add(value)
        expect(head.finish(seq(value))).toBe(head.position > before)
      }
      for (const step of steps) {
        const next = (started.at(-1) ?? first) + step
        started.push(next)
        head.start(seq(next))
        check()
        const choice = choices.next().value
        if (choice % 3 > 0) finishAny(choice)
        check()
      }
      while (finished.size < started.length) finishAny(choices.next().value)
      check()
      expect(head.position).toBe(started.at(-1) ?? first)
    }),
  )
})
