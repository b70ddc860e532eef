import { spawnSync } from "node:child_process"
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { systemClock } from "../clock.ts"
import { openLogDestination } from "./log-destination.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

const bytesMax = 10_000
const line = (index: number): string => `${String(index).padStart(99, "0")}\n`

let directory: TemporaryDirectory
let pipe: number

beforeEach(async () => {
  directory = await temporaryDirectory()
  const file = join(directory.path, "pipe")
  expect(spawnSync("mkfifo", [file]).status).toBe(0)
  // Opens both ends, so that the pipe always has a reader, even one that reads nothing.
  pipe = openSync(file, constants.O_RDWR | constants.O_NONBLOCK)
})

afterEach(async () => {
  closeSync(pipe)
  await directory.remove()
})

/** Reads the content of the pipe. */
function taken(): string {
  const chunks: Buffer[] = []
  for (;;) {
    const chunk = Buffer.alloc(65_536)
    try {
      chunks.push(chunk.subarray(0, readSync(pipe, chunk)))
    } catch {
      return Buffer.concat(chunks).toString()
    }
  }
}

test("lines without room behind a stalled reader are dropped and counted, and later ones are written", async () => {
  let drops = 0
  await using log = openLogDestination(pipe, { bytesMax, clock: systemClock })
  log.onDrop(() => {
    drops += 1
  })
  const count = 5_000
  for (let index = 0; index < count; index += 1) {
    log.write(line(index))
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(drops).toBeGreaterThan(0)
  let read = ""
  await expect
    .poll(
      () => {
        read += taken()
        return read.length / 100
      },
      { timeout: 5_000 },
    )
    .toBe(count - drops)
  // At most the pipe's 64 KiB, the line that is being written and the buffer are kept.
  expect(count - drops).toBeLessThan((65_536 + 2 * bytesMax) / 100)
  log.write(line(count))
  await expect.poll(() => taken()).toBe(line(count))
})

test("closing writes waiting lines, does not wait long for a stalled reader, and accepts no more lines", async () => {
  const read = openLogDestination(pipe, { bytesMax, clock: systemClock })
  read.write(line(1))
  await read[Symbol.asyncDispose]()
  read.write(line(2))
  expect(taken()).toBe(line(1))

  const stalled = openLogDestination(pipe, { bytesMax, clock: systemClock })
  for (let index = 0; index < 2_000; index += 1) {
    stalled.write(line(index))
    if (index % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await stalled[Symbol.asyncDispose]()
  expect(process.listeners("exit").length).toBeLessThan(10)
})

test("a file gets every line", async () => {
  const file = join(directory.path, "file")
  const fd = openSync(file, "w")
  const log = openLogDestination(fd, { bytesMax: 1_000_000, clock: systemClock })
  for (let index = 0; index < 1_000; index += 1) log.write(line(index))
  await log[Symbol.asyncDispose]()
  expect(readFileSync(file, "utf8")).toBe(Array.from({ length: 1_000 }, (_, index) => line(index)).join(""))
})
