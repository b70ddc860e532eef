import { expect, test } from "vitest"
import type { TokenUse } from "../model/app.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { StoreUnavailable } from "../store/store-faults.ts"
import { TokenUses } from "./token-uses.ts"

const [one, two] = [Buffer.from([1]), Buffer.from([2])]

/** Uses over a store that keeps what is saved, and refuses it while `isAway`. */
function usesOver() {
  const clock = createManualClock()
  const saved: (readonly TokenUse[])[] = []
  const store = {
    isAway: false,
    async noteTokenUses(uses: readonly TokenUse[]) {
      if (store.isAway) throw new StoreUnavailable("away")
      saved.push(uses)
    },
  }
  return { clock, saved, store, uses: new TokenUses({ store, clock }) }
}

test("uses are saved together once a minute, the last of each token, and once more at the end", async () => {
  const { clock, saved, uses } = usesOver()
  const closing = new AbortController()
  const running = uses.run(closing.signal)
  uses.note(one)
  uses.note(two)
  await clock.advance(1_000)
  uses.note(one)
  const lastMs = clock.nowMs()
  expect(uses.unsavedOf(one)).toBe(lastMs)
  await clock.advance(60_000)
  expect(saved).toEqual([
    [
      { hash: one, lastUsedAtMs: lastMs },
      { hash: two, lastUsedAtMs: lastMs - 1_000 },
    ],
  ])
  expect(uses.unsavedOf(one)).toBeUndefined()
  await clock.advance(60_000)
  expect(saved, "nothing was used").toHaveLength(1)
  uses.note(two)
  closing.abort()
  await running
  expect(saved[1]).toEqual([{ hash: two, lastUsedAtMs: clock.nowMs() }])
})

test("what cannot be saved waits for the next time, and a use in between is not lost", async () => {
  const { clock, saved, store, uses } = usesOver()
  const closing = new AbortController()
  const running = uses.run(closing.signal)
  store.isAway = true
  uses.note(one)
  await clock.advance(60_000)
  expect(saved).toEqual([])
  uses.note(one)
  store.isAway = false
  await clock.advance(60_000)
  expect(saved).toEqual([[{ hash: one, lastUsedAtMs: clock.nowMs() - 60_000 }]])
  closing.abort()
  await running
})

test("at most 10,000 tokens wait to be saved", () => {
  const { uses } = usesOver()
  const hashOf = (index: number): Buffer => Buffer.from(String(index))
  for (let index = 0; index <= 10_000; index += 1) uses.note(hashOf(index))
  expect(uses.unsavedOf(hashOf(9_999))).toBeDefined()
  expect(uses.unsavedOf(hashOf(10_000))).toBeUndefined()
})
