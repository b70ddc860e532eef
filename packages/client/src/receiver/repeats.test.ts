import { expect, test } from "vitest"
import { memoryRepeats } from "./repeats.ts"

test("a delivery is new once, then running, and finished until its time is over", async () => {
  let now = 0
  const repeats = memoryRepeats({ nowMs: () => now })
  expect(repeats.begin("a", 10)).toBe("new")
  expect(repeats.begin("a", 10)).toBe("running")
  await repeats.finish("a", 100)
  now = 99
  expect(repeats.begin("a", 10)).toBe("finished")
  now = 100
  expect(repeats.begin("a", 10)).toBe("new")
})

test("a delivery that was forgotten, or whose lease is over, is new again", async () => {
  let now = 0
  const repeats = memoryRepeats({ nowMs: () => now })
  await repeats.begin("a", 10)
  await repeats.forget("a")
  expect(repeats.begin("a", 10)).toBe("new")
  now = 10
  expect(repeats.begin("a", 10)).toBe("new")
})

test("the number of remembered deliveries is bounded, and the oldest is forgotten first", async () => {
  const repeats = memoryRepeats({ idsMax: 3 })
  for (const id of ["a", "b", "c", "d"]) {
    await repeats.begin(id, 1_000)
    await repeats.finish(id, 1_000)
  }
  expect(["d", "c", "b", "a"].map((id) => repeats.begin(id, 1_000))).toEqual([
    "finished",
    "finished",
    "finished",
    "new",
  ])
})
