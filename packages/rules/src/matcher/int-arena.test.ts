import fc from "fast-check"
import { expect, test } from "vitest"
import { IntArena } from "./int-arena.ts"

/** Writes the mark into all of the block, and the other way round. */
function fill(arena: IntArena, address: number, length: number, mark: number): void {
  arena.ints.fill(mark, address, address + length)
}

function marks(arena: IntArena, address: number, length: number): Set<number> {
  return new Set(arena.ints.subarray(address, address + length))
}

const anyLength = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 40 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 10_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100_000, max: 300_000 }) },
)

test("blocks never overlap and keep their content, whatever is allocated and freed", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyLength, fc.nat(5)), { maxLength: 120, size: "max" }), (steps) => {
      const arena = new IntArena()
      const blocks: { address: number; length: number; mark: number }[] = []
      for (const [mark, [length, choice]] of steps.entries()) {
        if (choice < 2 && blocks.length > 0) {
          const [block] = blocks.splice(mark % blocks.length, 1)
          if (block) arena.free(block.address, block.length)
        }
        const address = arena.allocate(length)
        expect(address).toBeGreaterThan(0)
        // The two bits that lists put next to an address.
        expect(address % 2).toBe(0)
        expect(arena.capacity).toBeGreaterThanOrEqual(address + length)
        fill(arena, address, length, mark)
        blocks.push({ address, length, mark })
        expect(arena.blocks).toBe(blocks.length)
      }
      for (const { address, length, mark } of blocks)
        expect(marks(arena, address, length)).toEqual(new Set(length > 0 ? [mark] : []))
      for (const { address, length } of blocks) arena.free(address, length)
      expect([arena.blocks, arena.capacity]).toEqual([0, 0])
    }),
    { numRuns: 25 },
  )
})

test("freed blocks are reused before memory is added, and all is released with the last one", () => {
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
  expect(arena.capacity).toBe(0)
})

test("rounding up the size of a block wastes little memory", () => {
  for (const length of [3, 17, 33, 41, 100, 1000]) {
    const arena = new IntArena()
    const count = Math.floor(2_000_000 / length)
    for (let block = 0; block < count; block++) arena.allocate(length)
    expect(arena.capacity / (count * length), `${length}`).toBeLessThan(1.6)
  }
})
