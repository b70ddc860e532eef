import { PassThrough, Writable } from "node:stream"
import { expect, test } from "vitest"
import { readEnvironment } from "../environment.ts"
import { Failure } from "../process/failure.ts"
import { createTerminal, type Terminal } from "./terminal.ts"

/** A terminal whose standard output fails with this code from the second write on. */
function failing(code: string): { terminal: Terminal; writes: () => number } {
  let writes = 0
  const stdout = new Writable({
    highWaterMark: 1,
    write(_chunk, _encoding, done) {
      writes += 1
      done(writes === 1 ? null : Object.assign(new Error(code), { code }))
    },
  })
  const streams = { stdin: new PassThrough(), stdout, stderr: new PassThrough() }
  return { terminal: createTerminal(readEnvironment({}), streams), writes: () => writes }
}

async function printMany(terminal: Terminal): Promise<void> {
  for (let line = 0; line < 100; line++) await terminal.print(String(line))
}

test("an output that cannot be written ends the command at once, with the reason", async () => {
  const { terminal, writes } = failing("ENOSPC")
  await expect(printMany(terminal)).rejects.toThrow(new Failure("Standard output cannot be written: no space is left."))
  expect(terminal.readerGone.aborted).toBe(true)
  expect(writes()).toBe(2)
  await expect(terminal.flushed()).rejects.toThrow("no space is left")
})

test("an output whose reader has gone is not a failure, and nothing more is written", async () => {
  const { terminal, writes } = failing("EPIPE")
  await printMany(terminal)
  await terminal.flushed()
  expect(terminal.readerGone.aborted).toBe(true)
  expect(writes()).toBe(2)
})

test("a terminal has its columns, at least forty; a pipe has no limit", () => {
  const columns = (stdout: object): number => {
    const streams = { stdin: new PassThrough(), stderr: new PassThrough() }
    return createTerminal(readEnvironment({}), {
      ...streams,
      stdout: Object.assign(new PassThrough(), stdout),
    }).columns
  }
  expect(columns({ isTTY: true, columns: 120 })).toBe(120)
  expect(columns({ isTTY: true, columns: 3 })).toBe(40)
  expect(columns({ isTTY: true, columns: 0 })).toBe(Number.POSITIVE_INFINITY)
  expect(columns({})).toBe(Number.POSITIVE_INFINITY)
})
