import fc from "fast-check"
import { expect, test } from "vitest"
import { Backoff, backoffMs } from "./backoff.ts"

test("the wait doubles from half a second to 30 s, and chance takes up to a half of it", () => {
  expect([1, 2, 3, 6, 7, 1_000].map((failures) => backoffMs(failures, 1))).toEqual([
    500, 1_000, 2_000, 16_000, 30_000, 30_000,
  ])
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (n, chance) => {
      const wholeMs = backoffMs(n, 1)
      expect(backoffMs(n, chance)).toBeGreaterThanOrEqual(wholeMs / 2)
      expect(backoffMs(n, chance)).toBeLessThanOrEqual(wholeMs)
    }),
  )
})

interface Session {
  readonly isOpened: boolean
  readonly lastsMs: number
  readonly reads: boolean
}

test.each<[string, Session, readonly number[]]>([
  [
    "cannot be opened, however long that takes",
    { isOpened: false, lastsMs: 60_000, reads: false },
    [500, 1_000, 2_000],
  ],
  ["is opened and fails at its first read", { isOpened: true, lastsMs: 100, reads: false }, [500, 1_000, 2_000]],
  ["has read something", { isOpened: true, lastsMs: 100, reads: true }, [500, 500, 500]],
  ["was open for more than ten seconds", { isOpened: true, lastsMs: 10_001, reads: false }, [500, 500, 500]],
])("the waits after each session that %s", (_, { isOpened, lastsMs, reads }, expected) => {
  let nowMs = 0
  const backoff = new Backoff({ clock: { monotonicMs: () => nowMs }, random: { fraction: () => 1 } })
  const waits = expected.map(() => {
    if (isOpened) backoff.opened()
    if (reads) backoff.progressed()
    nowMs += lastsMs
    return backoff.failed()
  })
  expect(waits).toEqual(expected)
})
