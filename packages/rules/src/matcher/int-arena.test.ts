import fc from "fast-check"
import { expect, test } from "vitest"
import { IntArena } from "./int-arena.ts"
import { pageBits, pageLength, pageMask } from "./paged-ints.ts"

/** Writes the mark into all of the block, and the other way round. */
function fill(arena: IntArena, address: number, length: number, mark: number): void {
  arena.pages[address >>> pageBits]?.fill(mark, address & pageMask, (address & pageMask) + length)
}

function marks(arena: IntArena, address: number, length: number): Set<number> {
  const begin = address & pageMask
  return new Set(arena.pages[address >>> pageBits]?.subarray(begin, begin + length))
}

const anyLength = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 40 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: pageLength }) },
  { weight: 1, arbitrary: fc.integer({ min: pageLength - 2, max: 3 * pageLength }) },
)

test("blocks are within a page and never overlap, whatever is allocated and freed", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyLength, fc.nat(5)), { maxLength: 120 }), (steps) => {
      const arena = new IntArena()
      const blocks: { address: number; length: number; mark: number }[] = []
      for (const [mark, [length, choice]] of steps.entries()) {
        if (choice < 2 && blocks.length > 0) {
          const [block] = blocks.splice(mark % blocks.length, 1)
          if (block) arena.free(block.address, block.length)
        }
        const address = arena.allocate(length)
        expect(address).toBeGreaterThan(0)
        // The two bits that lists put beside an address.
        expect(address % 2).toBe(0)
        expect(arena.pages[address >>> pageBits]?.length).toBeGreaterThanOrEqual((address & pageMask) + length)
        fill(arena, address, length, mark)
        blocks.push({ address, length, mark })
        expect(arena.blocks).toBe(blocks.length)
      }
      for (const { address, length, mark } of blocks)
        expect(marks(arena, address, length)).toEqual(new Set(length > 0 ? [mark] : []))
      for (const { address, length } of blocks) arena.free(address, length)
      expect(arena.blocks).toBe(0)
      expect(arena.capacity).toBeLessThanOrEqual(pageLength)
    }),
  )
})

test("freed blocks are reused before pages are added", () => {
  const arena = new IntArena()
  const kept = arena.allocate(1)
  const lengths = Array.from({ length: 3000 }, (_, index) => 1 + ((index * 37) % 200))
  let capacity = 0
  for (let round = 0; round < 10; round++) {
    const addresses = lengths.map((length) => arena.allocate(length))
    if (round === 0) ({ capacity } = arena)
    for (const [index, address] of addresses.entries()) arena.free(address, lengths[index] ?? 0)
  }
  expect(arena.capacity).toBe(capacity)
  expect(arena.blocks).toBe(1)
  arena.free(kept, 1)
  expect(arena.capacity).toBe(pageLength)
})

test("rounding up the size of a block wastes little memory", () => {
  for (const length of [3, 17, 33, 41, 100, 1000]) {
    const arena = new IntArena()
    const count = Math.floor((4 * pageLength) / length)
    for (let block = 0; block < count; block++) arena.allocate(length)
    expect(arena.capacity / (count * length), `${length}`).toBeLessThan(1.6)
  }
})
