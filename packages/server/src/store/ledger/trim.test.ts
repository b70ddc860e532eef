import fc from "fast-check"
import { expect, test } from "vitest"
import type { MatchSeq } from "../../model/ids.ts"
import { seqs } from "../contract/fixtures.ts"
import { overtake } from "./overtake.ts"
import { afterRecheck, trimEnd, trimStep } from "./trim.ts"

const at = (seq: number): MatchSeq => seq as MatchSeq

test("a log is trimmed up to its age limit, except for undelivered matches that are not too old for their link", () => {
  fc.assert(
    fc.property(fc.nat(9), fc.nat(9), fc.option(fc.nat(9), { nil: undefined }), (a, b, cursor) => {
      const [owedOld, old] = [Math.min(a, b), Math.max(a, b)].map(at) as [MatchSeq, MatchSeq]
      const end = trimEnd({ old, owedOld, firstCursor: cursor === undefined ? undefined : at(cursor) })
      const goes = (seq: number): boolean => seq <= owedOld || (seq <= old && (cursor === undefined || seq <= cursor))
      for (let seq = 1; seq <= 10; seq += 1) expect(goes(seq)).toBe(seq <= end)
    }),
  )
})

test("steps reach the end, never longer than the limit, and never go back", () => {
  expect(trimStep({ trimmedTo: at(3), leftoversAfter: null }, at(9), 4)).toEqual({ to: 7, isAtEnd: false })
  expect(trimStep({ trimmedTo: at(7), leftoversAfter: null }, at(9), 4)).toEqual({ to: 9, isAtEnd: true })
  expect(trimStep({ trimmedTo: at(9), leftoversAfter: null }, at(5), 4)).toEqual({ to: 9, isAtEnd: true })
})

test("spared matches are checked again once the end is reached, with the rest of the limit", () => {
  const log = { trimmedTo: at(7), leftoversAfter: at(1) }
  expect(trimStep(log, at(20), 4)).toEqual({ to: 11, isAtEnd: false })
  expect(trimStep(log, at(9), 4)).toEqual({ to: 9, isAtEnd: true, recheck: { after: 1, to: 9, limit: 2 } })
})

test("the next check begins after the last one, and there is none when fewer than the limit were left", () => {
  const recheck = { after: at(1), to: at(9), limit: 2 }
  const checked = (...found: number[]) =>
    afterRecheck(
      recheck,
      seqs(...found).map((seq) => ({ seq })),
    )
  expect(checked(4, 6)).toEqual({ last: 6, leftoversAfter: 6 })
  expect(checked(4)).toEqual({ last: 4, leftoversAfter: null })
  expect(checked()).toEqual({ last: 1, leftoversAfter: null })
  expect(afterRecheck({ ...recheck, limit: 0 }, [])).toEqual({ last: 1, leftoversAfter: 1 })
})

test("a gap marker grows when the cursor has not moved since, and is a new one otherwise", () => {
  const newest = { from: at(2), to: at(5) }
  expect(overtake({ position: at(5), newest }, at(8), 70)).toEqual({
    missed: 3,
    gap: { from: 6, to: 8, atMs: 70 },
    marker: { from: 2, to: 8, atMs: 70 },
  })
  for (const other of [newest, undefined]) {
    const { missed, gap, marker } = overtake({ position: at(6), newest: other }, at(8), 70)
    expect([missed, marker]).toEqual([2, { from: 7, to: 8, atMs: 70 }])
    expect(marker).toEqual(gap)
  }
})
