import fc from "fast-check"
import { expect, test } from "vitest"
import { asId, type LinkId } from "../../model/ids.ts"
import { LinkShares } from "./link-shares.ts"

const ids = (...numbers: readonly number[]): LinkId[] => numbers.map((number) => asId<LinkId>(String(number)))

test("a link goes to the thread with the fewest links, and stays there", () => {
  const shares = new LinkShares(2)
  expect(shares.share(ids(1, 2, 3))).toEqual([
    { added: ids(1, 3), removed: [] },
    { added: ids(2), removed: [] },
  ])
  expect(shares.share(ids(1, 2, 3))).toEqual([
    { added: [], removed: [] },
    { added: [], removed: [] },
  ])
  expect(shares.share(ids(2, 4))).toEqual([
    { added: ids(4), removed: ids(1, 3) },
    { added: [], removed: [] },
  ])
})

test("while links come and go, each is at exactly one thread and never moves; new ones even the threads out", () => {
  const links = fc.uniqueArray(fc.integer({ min: 1, max: 30 }))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(links, { minLength: 1, maxLength: 10 }), (threads, steps) => {
      const shares = new LinkShares(threads)
      const driven = Array.from({ length: threads }, () => new Set<LinkId>())
      for (const step of steps) {
        const all = ids(...step)
        const before = new Map(driven.flatMap((own, thread) => [...own].map((id) => [id, thread] as const)))
        for (const [thread, { added, removed }] of shares.share(all).entries()) {
          for (const id of removed) expect(driven[thread]?.delete(id)).toBe(true)
          for (const id of added) driven[thread]?.add(id)
        }
        expect(driven.flatMap((own) => [...own]).toSorted()).toEqual(all.toSorted())
        for (const [thread, own] of driven.entries())
          for (const id of own) expect(before.get(id) ?? thread).toBe(thread)
        const sizes = driven.map(({ size }) => size)
        const [least, most] = [Math.min(...sizes), Math.max(...sizes)]
        const kept = driven.map((own) => [...own].filter((id) => before.has(id)).length)
        // A thread is above the others only by what it had.
        if (most > least + 1) expect(kept[sizes.indexOf(most)]).toBe(most)
      }
    }),
  )
})
