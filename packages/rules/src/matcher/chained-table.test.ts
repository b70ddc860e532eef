import { expect, test } from "vitest"
import { ChainedTable } from "./chained-table.ts"

/** A table with the hashes of `hashOf`, and the number of times that an entry was linked. */
function tableOf(hashOf: (entry: number) => number, size: ConstructorParameters<typeof ChainedTable>[1] = {}) {
  const nexts = new Map<number, number>()
  const counts = { linked: 0 }
  const next = (entry: number) => nexts.get(entry) ?? 0
  const setNext = (entry: number, to: number) => {
    counts.linked++
    nexts.set(entry, to)
  }
  const table = new ChainedTable({ hashOf, next, setNext }, size)
  const chain = (hash: number) => {
    const found: number[] = []
    for (let entry = table.first(hash); entry !== 0; entry = next(entry)) found.push(entry)
    return found
  }
  return { table, chain, counts }
}

const spread = (entry: number) => Math.imul(entry, 0x9e3779b1) ^ (entry << 7)

test.each([
  ["", {}],
  [" with tags", { bucketsPerEntry: 2, entryBits: 26 }],
])("entries are found by their hash after any number of additions and removals%s", (_, size) => {
  const { table, chain } = tableOf(spread, size)
  for (let entry = 1; entry <= 21_000; entry++) {
    table.add(entry, spread(entry))
    if (entry % 3 === 0) table.remove(entry - 1)
  }
  for (let entry = 1; entry <= 21_000; entry++) {
    const isThere = entry % 3 !== 2
    expect(chain(spread(entry)).filter((one) => one === entry)).toEqual(isThere ? [entry] : [])
  }
  const all = new Set<number>()
  table.forEach((entry) => all.add(entry))
  expect(all.size).toBe(table.size)
})

test("the chains of a table stay short", () => {
  const { table, chain } = tableOf(spread, { bucketsPerEntry: 2 })
  for (let entry = 1; entry <= 50_000; entry++) table.add(entry, spread(entry))
  let steps = 0
  for (let entry = 1; entry <= 50_000; entry++) steps += chain(spread(entry)).length
  expect(steps / 50_000).toBeLessThan(1.5)
})

test("a table with tags recognises most absent entries without reading an entry", () => {
  const { table } = tableOf(spread, { bucketsPerEntry: 2, entryBits: 26 })
  for (let entry = 1; entry <= 50_000; entry++) table.add(entry, spread(entry))
  let read = 0
  for (let other = 50_001; other <= 100_000; other++) if (table.first(spread(other)) !== 0) read++
  expect(read / 50_000).toBeLessThan(0.15)
})

test("no addition moves more than the entries of a few buckets", () => {
  const { table, counts } = tableOf(spread)
  let most = 0
  for (let entry = 1; entry <= 100_000; entry++) {
    const before = counts.linked
    table.add(entry, spread(entry))
    most = Math.max(most, counts.linked - before)
  }
  expect(most).toBeLessThan(20)
})

test("an emptied table starts again with few buckets", () => {
  const { table, chain } = tableOf(spread)
  for (let entry = 1; entry <= 1000; entry++) table.add(entry, spread(entry))
  for (let entry = 1; entry <= 1000; entry++) table.remove(entry)
  expect(table.size).toBe(0)
  expect(table.first(spread(7))).toBe(0)
  table.add(7, spread(7))
  expect(chain(spread(7))).toEqual([7])
})
