import { describe, expect, test } from "vitest"
import { bytes } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

const dayMs = 86_400_000

/** Every store's behaviour for sessions of the console. */
export function sessionContract(make: MakeStore): void {
  describe("sessions", () => {
    const { store, reopen } = useStore(make)

    test("a session that was ended stays so, also when it is ended again", async () => {
      const expiresAtMs = Date.now() + dayMs
      await store.endSession(bytes(1), expiresAtMs)
      await store.endSession(bytes(1), expiresAtMs)
      await reopen()
      expect(await store.isSessionEnded(bytes(1))).toBe(true)
      expect(await store.isSessionEnded(bytes(2))).toBe(false)
    })

    test("sessions that expired more than a day ago are forgotten, once a minute at most", async () => {
      const remembered = async (ids: readonly number[]): Promise<readonly boolean[]> =>
        Promise.all(ids.map((id) => store.isSessionEnded(bytes(id))))
      await store.endSession(bytes(1), Date.now() - dayMs / 2)
      await store.endSession(bytes(2), Date.now() - 2 * dayMs)
      await store.endSession(bytes(3), Date.now() + dayMs)
      expect(await remembered([1, 2, 3])).toEqual([true, true, true])
      // The minute is one of a process, so that the next process forgets at once.
      await reopen()
      await store.endSession(bytes(4), Date.now() + dayMs)
      expect(await remembered([1, 2, 3, 4])).toEqual([true, false, true, true])
    })

    test("a clock that is ahead of the time that the store knows forgets nothing by it", async () => {
      const believedMs = Date.now() - 3 * dayMs
      await store.saveKnownTime({ believedMs, clockMs: Date.now(), steadyMs: 0 })
      await store.endSession(bytes(1), Date.now() - 2 * dayMs)
      await reopen()
      await store.endSession(bytes(2), Date.now() + dayMs)
      expect(await store.isSessionEnded(bytes(1))).toBe(true)
    })
  })
}
