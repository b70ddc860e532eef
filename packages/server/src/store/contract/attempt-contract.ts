import { describe, expect, test } from "vitest"
import type { StoredAttempt } from "../../model/attempt.ts"
import type { AttemptId, LinkId } from "../../model/ids.ts"
import { link, anAttempt } from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** Every store's behaviour for the attempt history. */
export function attemptContract(make: MakeStore): void {
  describe("attempts", () => {
    const { store, reopen } = useDeliveries(make)

    test("the newest attempts of a link are kept, each link's by itself", async () => {
      const few = { keptPerLink: 3 }
      await store.recordAttempts([anAttempt(1), anAttempt(2)], few)
      const failed = anAttempt(3, { outcome: "rejected", status: 404, error: "responded with 404." })
      const { status: _, ...without } = anAttempt(4, { outcome: "timeout", durationMs: 10_000 })
      await store.recordAttempts(
        [failed, anAttempt(9, { linkId: "32" as LinkId }), anAttempt(8, { linkId: "404" as LinkId }), without],
        few,
      )
      await reopen()
      expect(await store.attempts(link, 10)).toEqual([
        numbered(4, without),
        numbered(3, failed),
        numbered(2, anAttempt(2)),
      ])
      expect(await store.attempts(link, 1)).toEqual([numbered(4, without)])
      expect(await store.attempts("32" as LinkId, 10)).toEqual([numbered(1, anAttempt(9, { linkId: "32" as LinkId }))])
      expect(await store.attempts("404" as LinkId, 10)).toEqual([])
      await store.recordAttempts(
        [11, 12, 13, 14, 15].map((seq) => anAttempt(seq)),
        few,
      )
      expect((await store.attempts(link, 10)).map(({ seq }) => seq)).toEqual([15, 14, 13])
      await store.recordAttempts([anAttempt(16)], { keptPerLink: 5 })
      expect((await store.attempts(link, 10))[0]).toEqual(numbered(10, anAttempt(16)))
      await store.recordAttempts([anAttempt(17)], { keptPerLink: 1 })
      expect(await store.attempts(link, 10)).toEqual([numbered(11, anAttempt(17))])
    })

    test("an attempt is kept with its signatures and its response, and found by its number", async () => {
      const whole = anAttempt(2, {
        signatures: { x: "sha256=abc", standard: "v1,abc v1,def" },
        response: {
          status: 503,
          headers: [
            ["retry-after", "7"],
            ["server", 'a "b" \u2028'],
          ],
          body: "no\u0000w \uFFFD",
          bytes: 5_000,
        },
      })
      await store.recordAttempts([anAttempt(1), whole, anAttempt(3)], { keptPerLink: 2 })
      await reopen()
      const attempt = (id: string, of = link) => store.attempt(of, id as AttemptId)
      expect(await attempt("2")).toEqual(numbered(2, whole))
      expect(await attempt("1"), "no longer among those that are kept").toBeUndefined()
      expect(await attempt("4")).toBeUndefined()
      expect(await attempt("2", "32" as LinkId), "another link's").toBeUndefined()
    })
  })
}

function numbered(id: number, attempt: Omit<StoredAttempt, "id">): StoredAttempt {
  return { ...attempt, id: String(id) as AttemptId }
}
