import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { expect, test } from "vitest"
import { prepare, type Statement } from "../connection/statements.ts"
import { createNumbers, PostNumbers } from "./post-numbers.ts"

/** A partition's numbers in a database of their own, and how many statements were run on it. */
function numbersOfPartition(): { readonly numbers: PostNumbers; readonly statements: () => number } {
  const db = new DatabaseSync(":memory:")
  createNumbers(db, "numbers_0")
  let statements = 0
  const prepared = <Row>(sql: string): Statement<Row> => {
    statements += 1
    return prepare<Row>(db, sql)
  }
  return { numbers: new PostNumbers("numbers_0", prepared), statements: () => statements }
}

const range = (from: number, to: number): readonly bigint[] =>
  Array.from({ length: to - from }, (_, at) => BigInt(from + at))

test("posts in the order of their ids get numbers with gaps between them", () => {
  const { numbers } = numbersOfPartition()
  expect(numbers.assign([10n, 20n, 30n])).toEqual([16, 32, 48])
  expect(numbers.assign([40n])).toEqual([64])
  expect(numbers.assign([])).toEqual([])
})

test("posts that come out of order are spread over the gap between their neighbours", () => {
  const { numbers } = numbersOfPartition()
  numbers.assign([10n, 20n, 30n])
  expect(numbers.assign([12n, 14n, 16n, 25n, 40n])).toEqual([20, 24, 28, 40, 64])
  expect(numbers.assign([13n])).toEqual([22])
  expect(numbers.assign([15n])).toEqual([26])
})

test("posts that find no number left between those of their neighbours get none", () => {
  const { numbers } = numbersOfPartition()
  numbers.assign([10n, 100n])
  const between = range(20, 38)
  const given = [...Array.from({ length: 15 }, (_, at) => 17 + at), undefined, undefined, undefined]
  expect(numbers.assign(between)).toEqual(given)
  expect(numbers.assign([19n, 50n, 101n])).toEqual([undefined, undefined, 48])
  expect(between.map((id) => numbers.numberOf(id))).toEqual(given)
})

test("posts that come from the newest to the oldest, as some lists do, all get numbers", () => {
  const { numbers } = numbersOfPartition()
  for (let from = 9_000; from >= 0; from -= 1_000) {
    expect(numbers.assign(range(from, from + 1_000))).not.toContain(undefined)
  }
  expect(numbers.numberUpTo(0n)).toBe(16 - 9_000 * 16)
  expect(numbers.idsUpTo(4n, 3)).toEqual(["0", "1", "2"])
})

test("the number of a post that was removed is free again", () => {
  const { numbers } = numbersOfPartition()
  const [, second = 0] = numbers.assign([1n, 2n, 3n])
  numbers.release(second)
  expect(numbers.numberOf(2n)).toBeUndefined()
  expect(numbers.numberUpTo(2n)).toBe(16)
  expect(numbers.assign([2n])).toEqual([32])
})

test("the newest post is found by one statement, and any other among 50,000 by some twenty", () => {
  const { numbers, statements } = numbersOfPartition()
  numbers.assign(range(0, 50_000))
  const taken = (id: bigint): number => {
    const before = statements()
    expect(numbers.numberUpTo(id)).toBe((Number(id) + 1) * 16)
    return statements() - before
  }
  expect(taken(49_999n)).toBe(1)
  for (const id of [0n, 1n, 777n, 25_000n, 49_998n]) expect(taken(id)).toBeLessThanOrEqual(23)
})

test("numbers rise with ids, whatever the order in which posts come and go", () => {
  const id = fc.bigInt(0n, 30n)
  const step = fc.record({ added: fc.uniqueArray(id, { maxLength: 9 }), removed: fc.array(id, { maxLength: 4 }) })
  const steps = fc.array(step, { maxLength: 8 })
  fc.assert(
    fc.property(steps, (all) => {
      const { numbers } = numbersOfPartition()
      const held = new Map<bigint, number>()
      for (const { added, removed } of all) {
        const ids = added.filter((one) => !held.has(one)).toSorted((a, b) => Number(a - b))
        for (const [at, number] of numbers.assign(ids).entries())
          if (number !== undefined) held.set(ids[at] ?? 0n, number)
        for (const one of removed) {
          const number = held.get(one)
          if (number !== undefined) numbers.release(number)
          held.delete(one)
        }
        const sorted = [...held].toSorted(([a], [b]) => Number(a - b))
        expect(sorted).toEqual(sorted.toSorted(([, a], [, b]) => a - b))
        expect(new Set(held.values()).size).toBe(held.size)
        for (const one of range(0, 31)) {
          expect(numbers.numberOf(one)).toBe(held.get(one))
          expect(numbers.numberUpTo(one)).toBe(sorted.findLast(([other]) => other <= one)?.[1])
        }
      }
    }),
  )
})
