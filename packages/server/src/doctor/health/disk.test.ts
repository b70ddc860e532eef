import { expect, test } from "vitest"
import { diskFindings } from "./disk.ts"
import { lines } from "./lines.testing.ts"

const gibibyte = 1_073_741_824

test.each([
  [50, 100, "ok"],
  [10, 100, "ok"],
  [9.9, 100, "warning"],
  [0.99, 2, "warning"],
  [0.0625, 2, "warning"],
  [0.0624, 2, "error"],
  [0, 100, "error"],
])("%d GiB of free space out of %d is: %s", (free, total, level) => {
  const [found, ...more] = diskFindings({
    freeBytes: free * gibibyte,
    totalBytes: total * gibibyte,
    storeBytes: 1,
    logBytes: 0,
  })
  expect(found?.level).toBe(level)
  expect(more).toEqual([])
})

test("a log that has grown far is reported", () => {
  const room = { freeBytes: 50 * gibibyte, totalBytes: 100 * gibibyte, storeBytes: 3 * gibibyte }
  expect(lines(diskFindings({ ...room, logBytes: 2 * gibibyte }))).toEqual([
    "ok: 50.0 GiB of 100 GiB are free; the store takes 3.0 GiB and its log 2.0 GiB.",
    "warning: The write-ahead log has grown to 2.0 GiB: something reads the store and does not end.",
  ])
})
