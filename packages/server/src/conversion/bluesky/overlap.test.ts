import { expect, test } from "vitest"
import { isReadAgain, rewindUs } from "./overlap.ts"

const begunUs = 1_790_000_000_000_000

test.each([
  [-1, true],
  [-rewindUs, true],
  // The host is behind the one before.
  [-rewindUs - 1, false],
  [0, false],
  [1, false],
])("an event of %i microseconds after the position is read again: %s", (us, isAgain) => {
  expect(isReadAgain(String(begunUs + us), String(begunUs))).toBe(isAgain)
})
