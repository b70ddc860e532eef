import fc from "fast-check"
import { expect, test } from "vitest"
import { isSampled } from "./sample.ts"

/** Ids as X gives them: ascending, at uneven steps, far beyond what a double holds. */
function idsOf(count: number): readonly string[] {
  let id = 1_800_000_000_000_000_000n
  return Array.from({ length: count }, (_, index) => String((id += BigInt(1 + ((index * 7919) % 4_194_304)))))
}

const ids = idsOf(100_000)

test.each([1, 2, 10, 33, 50, 90, 99])("sample:%i takes about so many of a hundred", (percent) => {
  const share = percent / 100
  const taken = ids.filter((id) => isSampled(id, percent)).length
  // Five standard deviations of a fair draw.
  const bound = 5 * Math.sqrt(ids.length * share * (1 - share))
  expect(Math.abs(taken - ids.length * share)).toBeLessThan(bound)
})

test("every range of ids is sampled evenly, also if ids differ only in their last digits", () => {
  for (const some of [
    ...Array.from({ length: 10 }, (_, part) => ids.slice(part * 10_000, (part + 1) * 10_000)),
    Array.from({ length: 10_000 }, (_, index) => `18000000000000${String(index).padStart(5, "0")}`),
    Array.from({ length: 10_000 }, (_, index) => String(index)),
    Array.from({ length: 10_000 }, (_, index) => String(index * 4096)),
  ]) {
    const taken = some.filter((id) => isSampled(id, 10)).length
    expect(Math.abs(taken - 1000)).toBeLessThan(5 * Math.sqrt(900))
  }
})

test("a sample of 100 per cent has every post, and one of 0 per cent has none", () => {
  for (const id of ["", "0", "x", ...ids.slice(0, 1000)]) {
    expect(isSampled(id, 100)).toBe(true)
    expect(isSampled(id, 0)).toBe(false)
  }
})

test("a larger sample contains every smaller one", () => {
  fc.assert(
    fc.property(fc.string(), (id) => {
      const taken = Array.from({ length: 100 }, (_, index) => isSampled(id, index + 1))
      expect(taken.indexOf(true)).toBe(100 - taken.filter(Boolean).length)
    }),
  )
})

/** From which percentage on a post is taken, computed by another program; a change changes what running streams are sent. */
const pinned = [
  ["1", 72],
  ["20", 9],
  ["1067094924124872705", 70],
  ["1212092628029698048", 16],
  ["1445880548472328192", 3],
  ["1800000000000000000", 39],
  ["1800000000000000001", 100],
  ["9223372036854775807", 86],
] as const

test("two samples of the same size have the same posts, on every run and machine", () => {
  const percentOf = (id: string): number => {
    for (let percent = 1; percent < 100; percent++) if (isSampled(id, percent)) return percent
    return 100
  }
  expect(Object.fromEntries(pinned.map(([id]) => [id, percentOf(id)]))).toEqual(Object.fromEntries(pinned))
})
