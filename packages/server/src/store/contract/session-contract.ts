import { describe, expect, test } from "vitest"
import { bytes } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

const dayMs = 86_400_000

/** What every store does with sessions of the console. */
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

    test("one that has expired for more than a day is forgotten when another ends", async () => {
      await store.endSession(bytes(1), Date.now() - dayMs / 2)
      await store.endSession(bytes(2), Date.now() - 2 * dayMs)
      await store.endSession(bytes(3), Date.now() + dayMs)
      const ended = await Promise.all([1, 2, 3].map((id) => store.isSessionEnded(bytes(id))))
      expect(ended).toEqual([true, false, true])
    })
  })
}
