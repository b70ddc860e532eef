import { expect, test } from "vitest"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { cachedFor } from "./cached-for.ts"

test("bytes are made once for all callers, and again when they are too old", async () => {
  const clock = createManualClock()
  let made = 0
  const bytes = cachedFor(clock, 1_000, async () => Buffer.from(String((made += 1))))
  expect(await Promise.all([bytes(), bytes()])).toEqual([Buffer.from("1"), Buffer.from("1")])
  await clock.advance(999)
  expect(await bytes()).toEqual(Buffer.from("1"))
  await clock.advance(1)
  expect(await bytes()).toEqual(Buffer.from("2"))
})

test("bytes that could not be made are made for the next caller", async () => {
  let made = 0
  const bytes = cachedFor(createManualClock(), Infinity, async () => {
    made += 1
    if (made === 1) throw new Error("no memory")
    return Buffer.from("made")
  })
  await expect(bytes()).rejects.toThrow("no memory")
  expect(await bytes()).toEqual(Buffer.from("made"))
})
