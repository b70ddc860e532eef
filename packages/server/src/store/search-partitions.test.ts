import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { groupByPartition, partitionsWithin, placePosts, type SearchPartition } from "./search-partitions.ts"

const dayMs = 86_400_000
const epochMs = 1_288_834_974_657
const startMs = Date.UTC(2026, 10, 22)
const idAt = (day: number, ms = 0): bigint => BigInt(startMs + day * dayMs + ms - epochMs) << 22n

/** Adds posts of these ids, as a store does. */
function add(partitions: readonly SearchPartition[], ids: readonly bigint[], postsMin = 2): readonly SearchPartition[] {
  const posts = ids.map((id) => ({ id: String(id) }))
  const known = new Map(partitions.map((partition) => [partition.from, partition]))
  for (const { from, isNew, posts: placed } of placePosts(partitions, posts, postsMin)) {
    expect(known.has(from)).toBe(!isNew)
    const numbers = placed.map(({ id }) => BigInt(id))
    expect(numbers).toEqual(numbers.toSorted((a, b) => (a < b ? -1 : 1)))
    const { posts: count, lastId } = known.get(from) ?? { posts: 0, lastId: -1n }
    const last = [lastId, ...numbers].reduce((a, b) => (a > b ? a : b))
    known.set(from, { from, posts: count + numbers.length, lastId: last })
  }
  return [...known.values()].toSorted((a, b) => (a.from < b.from ? -1 : 1))
}

const begins = (partitions: readonly SearchPartition[]) => partitions.map(({ from }) => from)

describe("the partitions of an index", () => {
  test("the first one takes all ids, and the next begins with a day when it has enough posts", () => {
    let partitions = add([], [5n, idAt(0, 7)])
    expect(partitions).toEqual([{ from: 0n, posts: 2, lastId: idAt(0, 7) }])
    partitions = add(partitions, [idAt(0, 9), idAt(1, 3), idAt(0, 8), 6n])
    expect(partitions).toEqual([
      { from: 0n, posts: 5, lastId: idAt(0, 9) },
      { from: idAt(1), posts: 1, lastId: idAt(1, 3) },
    ])
    partitions = add(partitions, [idAt(2)])
    expect(begins(partitions), "the second one has too few").toEqual([0n, idAt(1)])
    partitions = add(partitions, [idAt(2, 5), idAt(3), idAt(4)])
    expect(begins(partitions)).toEqual([0n, idAt(1), idAt(3)])
  })

  test("a day that has posts in the partition before it gets none of its own", () => {
    const partitions = add([], [5n, 6n, 7n, idAt(3, 1)], 4)
    expect(begins(add(partitions, [idAt(3, 2)]))).toEqual([0n])
    expect(begins(add(partitions, [idAt(2)]))).toEqual([0n])
    expect(begins(add(partitions, [idAt(4)]))).toEqual([0n, idAt(4)])
  })

  test("posts of twenty years that come in no order share a partition", () => {
    const ids = Array.from({ length: 1_000 }, (_, number) => idAt(-((number * 7_919) % 7_300)))
    expect(begins(add([], ids.slice(0, 500), 50_000))).toEqual([0n])
  })

  test("when the first ones are gone, the next one takes all smaller ids", () => {
    const left = [{ from: idAt(5), posts: 9, lastId: idAt(5, 9) }]
    expect(begins(add(left, [3n, idAt(4), idAt(5, 2)]))).toEqual([idAt(5)])
    const below = [{ from: idAt(5), posts: 9, lastId: idAt(1) }]
    expect(begins(add(below, [idAt(3), idAt(5, 2)]))).toEqual([idAt(5)])
  })

  test("each id has one partition: posts are placed where they are looked for", () => {
    const anyId = fc.oneof(
      fc.tuple(fc.integer({ min: -3, max: 9 }), fc.nat(3)).map(([day, ms]) => idAt(day, ms)),
      fc.constantFrom(0n, 1n, 9_223_372_036_854_775_807n),
    )
    fc.assert(
      fc.property(fc.array(fc.array(anyId, { maxLength: 9 })), fc.integer({ min: 1, max: 6 }), (batches, postsMin) => {
        let partitions: readonly SearchPartition[] = []
        const placedIn = new Map<bigint, bigint>()
        for (const [number, ids] of batches.entries()) {
          const posts = ids.map((id) => ({ id: String(id) }))
          for (const { from, posts: placed } of placePosts(partitions, posts, postsMin)) {
            for (const { id } of placed) {
              expect(placedIn.get(BigInt(id)) ?? from, "as before").toBe(from)
              placedIn.set(BigInt(id), from)
            }
          }
          partitions = add(partitions, ids, postsMin)
          expect(new Set(begins(partitions)).size).toBe(partitions.length)
          for (const [id, from] of placedIn) {
            expect([...groupByPartition(partitions, [String(id)]).keys()]).toEqual([from])
            const within = partitionsWithin(partitions, { above: id - 1n, upTo: id, direction: "newer" })
            expect(begins(within)).toContain(from)
          }
          if (number % 3 === 2 && partitions.length > 1) {
            const [gone] = partitions
            partitions = partitions.slice(1)
            for (const [id, from] of placedIn) if (from === gone?.from) placedIn.delete(id)
          }
        }
      }),
    )
  })

  test("a search reads them in its direction, and none beyond its range", () => {
    const partitions = [1, 2, 3].map((day) => ({ from: idAt(day), posts: 1, lastId: idAt(day, 9) }))
    const within = (above: bigint, upTo: bigint, direction: "older" | "newer" = "older") =>
      begins(partitionsWithin(partitions, { above, upTo, direction }))
    expect(within(-1n, idAt(9))).toEqual([idAt(3), idAt(2), idAt(1)])
    expect(within(-1n, idAt(9), "newer")).toEqual([idAt(1), idAt(2), idAt(3)])
    expect(within(idAt(1, 9), idAt(3) - 1n)).toEqual([idAt(2)])
    expect(within(idAt(1, 8), idAt(2))).toEqual([idAt(2), idAt(1)])
    expect(within(-1n, 3n)).toEqual([idAt(1)])
  })
})
