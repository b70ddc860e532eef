import fc from "fast-check"
import { expect, test } from "vitest"
import { DeliveryRate } from "./delivery-rate.ts"

test("no second has more sends than the limit, whenever sends are requested", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 60, size: "max" }),
      (perSecondMax, pausesMs) => {
        const rate = new DeliveryRate(perSecondMax)
        const sentAtMs: number[] = []
        let nowMs = 0
        for (const pauseMs of pausesMs) {
          nowMs += pauseMs
          // As many as may be sent now.
          while (nowMs >= rate.nextAtMs) {
            rate.note(nowMs)
            sentAtMs.push(nowMs)
          }
        }
        // From one to the one that would be too many in its second.
        const spans = sentAtMs.slice(perSecondMax).map((atMs, index) => atMs - (sentAtMs[index] ?? 0))
        expect(spans.filter((spanMs) => spanMs <= 999.999)).toEqual([])
      },
    ),
  )
})

test.each([1, 2, 10, 99, 100, 5_000, 1_000_000])(
  "a limit of %i a second is nearly reached by a send every 5 ms",
  (perSecondMax) => {
    const rate = new DeliveryRate(perSecondMax)
    let count = 0
    for (let nowMs = 0; nowMs < 10_000; nowMs += 5) {
      for (; nowMs >= rate.nextAtMs; count++) rate.note(nowMs)
    }
    expect(count / 10).toBeGreaterThan(perSecondMax * 0.97)
    expect(count / 10).toBeLessThanOrEqual(perSecondMax)
  },
)

test("a limit of 0 is unbounded", () => {
  const rate = new DeliveryRate(0)
  for (let count = 0; count < 1_000; count++) {
    expect(rate.nextAtMs).toBeLessThanOrEqual(5)
    rate.note(5)
  }
})
