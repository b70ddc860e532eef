import { describe, expect, test } from "vitest"
import type { LinkId } from "../../model/ids.ts"
import { link, anAttempt } from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** What every store does with the attempt history. */
export function attemptContract(make: MakeStore): void {
  describe("attempts", () => {
    const { store, reopen } = useDeliveries(make)

    test("the newest attempts of a link are kept, each link's by itself", async () => {
      const few = { keptPerLink: 3 }
      await store.recordAttempts([anAttempt(1), anAttempt(2)], few)
      const failed = anAttempt(3, { outcome: "rejected", status: 404, error: "answered 404." })
      const { status: _, ...without } = anAttempt(4, { outcome: "timeout", durationMs: 10_000 })
      await store.recordAttempts(
        [failed, anAttempt(9, { linkId: "32" as LinkId }), anAttempt(8, { linkId: "404" as LinkId }), without],
        few,
      )
      await reopen()
      expect(await store.attempts(link, 10)).toEqual([without, failed, anAttempt(2)])
      expect(await store.attempts(link, 1)).toEqual([without])
      expect(await store.attempts("32" as LinkId, 10)).toEqual([anAttempt(9, { linkId: "32" as LinkId })])
      expect(await store.attempts("404" as LinkId, 10)).toEqual([])
      await store.recordAttempts(
        [11, 12, 13, 14, 15].map((seq) => anAttempt(seq)),
        few,
      )
      expect((await store.attempts(link, 10)).map(({ seq }) => seq)).toEqual([15, 14, 13])
      await store.recordAttempts([anAttempt(16)], { keptPerLink: 5 })
      expect((await store.attempts(link, 10))[0]).toEqual(anAttempt(16))
      await store.recordAttempts([anAttempt(17)], { keptPerLink: 1 })
      expect(await store.attempts(link, 10)).toEqual([anAttempt(17)])
    })
  })
}
