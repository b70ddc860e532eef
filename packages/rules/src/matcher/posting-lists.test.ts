import fc from "fast-check"
import { expect, test } from "vitest"
import { IntArena } from "./int-arena.ts"
import { postingSlot, PostingLists, walkEnd } from "./posting-lists.ts"
import { TermTable } from "./term-table.ts"
import { fieldNumber, termBits, termSlot } from "./term-layout.ts"

function emptyLists() {
  const arena = new IntArena()
  const terms = new TermTable(arena)
  const term = terms.intern(fieldNumber("text"), "cat")
  const addresses = new Map<number, number>()
  const counts = { moves: 0 }
  const lists = new PostingLists(arena, terms, (entry, itsTerm, address) => {
    expect(itsTerm).toBe(term)
    counts.moves++
    addresses.set(entry, address)
  })
  const add = (entry: number) => void addresses.set(entry, lists.add(term, entry, entry + 1, -entry))
  const remove = (entry: number) => {
    const address = addresses.get(entry)
    if (address === undefined) return
    addresses.delete(entry)
    lists.remove(term, address)
  }
  return { arena, terms, term, lists, addresses, counts, add, remove }
}

test("every posting is at the address that its owner was notified of, after any additions and removals", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -200, max: 300 }), { maxLength: 600, size: "max" }), (steps) => {
      const { arena, terms, term, lists, addresses, add, remove } = emptyLists()
      for (const [index, step] of steps.entries()) {
        if (step >= 0) add(index + 1)
        else remove([...addresses.keys()][-step % Math.max(addresses.size, 1)] ?? 0)
        expect(lists.countOf(term)).toBe(addresses.size)
      }
      for (const [entry, address] of addresses) {
        expect(lists.entryAt(term, address)).toBe(entry)
        expect(lists.guardAt(term, address)).toBe(entry + 1)
        const at = address === 0 ? (term << termBits) + termSlot.mask : address + postingSlot.mask
        expect(address === 0 ? terms.slots.get(at) : arena.read(at, 0)).toBe(-entry)
      }
      const seen = new Set<number>()
      const walk = lists.startWalk(term)
      for (let address = lists.step(walk); address !== walkEnd; address = lists.step(walk))
        seen.add(lists.entryAt(term, address))
      expect(seen).toEqual(new Set(addresses.keys()))
      for (const entry of Array.from(addresses.keys())) remove(entry)
      expect([lists.countOf(term), arena.blocks]).toEqual([0, 0])
    }),
    { numRuns: 200 },
  )
})

test("no addition or removal moves more than a chunk, with hundreds of thousands of postings under a term", () => {
  const { lists, term, counts, add, remove } = emptyLists()
  const count = 300_000
  let most = 0
  const counted = (change: () => void) => {
    const before = counts.moves
    change()
    most = Math.max(most, counts.moves - before)
  }
  for (let entry = 1; entry <= count; entry++) counted(() => add(entry))
  expect(lists.countOf(term)).toBe(count)
  for (let index = 0; index < count; index++) counted(() => remove(1 + ((index * 7919) % count)))
  expect(lists.countOf(term)).toBe(0)
  expect(most).toBeLessThan(64)
})

test("a walk visits every posting that stays while others are added, removed and moved", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 400 }),
      fc.array(fc.nat(9), { minLength: 1, maxLength: 50, size: "max" }),
      (count, steps) => {
        const { term, lists, addresses, add, remove } = emptyLists()
        for (let entry = 1; entry <= count; entry++) add(entry)
        const left = new Set(addresses.keys())
        const walk = lists.startWalk(term)
        let turn = 0
        for (let address = lists.step(walk); address !== walkEnd; address = lists.step(walk)) {
          const entry = lists.entryAt(term, address)
          left.delete(entry)
          const step = steps[turn++ % steps.length] ?? 0
          // As a review does: what it is at may go; and others, at either end.
          if (step < 5) remove(entry)
          if (step === 6) add(count + turn)
          if (step === 7) {
            const [first] = addresses.keys()
            if (first !== undefined && first !== entry) {
              remove(first)
              left.delete(first)
            }
          }
          if (turn > 5000) break
        }
        // A list that shrinks to a single posting ends the walk; the posting waits for the next one.
        expect(left.size).toBeLessThanOrEqual(1)
      },
    ),
    { numRuns: 300 },
  )
})
