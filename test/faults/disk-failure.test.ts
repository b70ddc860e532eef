/** The disk fails to write or to flush: the server acknowledges nothing after that, and ends. */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { makePost } from "../oracle/made-posts.ts"
import { AppClient } from "./app-client.ts"
import { faultyMachine, preloadMissing } from "./preloaded-faults.ts"
import { OracleProcess } from "./oracle-process.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** Longest life of a server after its disk failed. Ours. */
const endMsMax = 10_000

/** Time under load before the disk fails. */
const wellMs = 300

const failures = [
  { name: "fsync", mode: "sync-fails", count: "syncs" },
  { name: "a write", mode: "write-fails", count: "writes" },
] as const

describe.skipIf(preloadMissing !== undefined)("a disk of which nothing is known any more", () => {
  test.each(failures)("when $name fails, the server acknowledges nothing more and ends", async ({ mode, count }) => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    using machine = faultyMachine(data)
    const [kept, doubtful] = [range(0, 40), range(40, 40)]
    {
      await using server = new SluiceProcess(data, { env: machine.env })
      const app = new AppClient(await server.mustBeReady())
      expect(machine.hits().isLoaded).toBe(true)
      expect(await app.ingest(kept)).toEqual({ accepted: 40, duplicates: 0 })

      machine.turnDisk(mode)
      const response = await app.tryIngest(doubtful).catch(() => "cut" as const)
      if (response !== "cut") expect(response.status).toBe(503)
      expect(machine.hits()[count]).toBeGreaterThan(0)
      const { code, signal, errors } = await within(endMsMax, server.ended())
      expect(signal).toBeNull()
      expect(code).not.toBe(0)
      expect(errors).toMatch(/disk I\/O error/)
      expect(errors).not.toMatch(/\n {4}at |\\n {4}at /)
      // Each line reports it once.
      for (const line of errors.split("\n")) expect(line.split("disk I/O error").length).toBeLessThanOrEqual(2)
    }

    machine.turnDisk("none")
    await using restarted = new SluiceProcess(data)
    const app = new AppClient(await restarted.mustBeReady())
    expect(await app.ingest(kept)).toEqual({ accepted: 0, duplicates: 40 })
    const { accepted, duplicates } = await app.ingest(doubtful)
    // Stored completely or not at all: it was one transaction.
    expect([accepted, duplicates].toSorted((a, b) => a - b)).toEqual([0, 40])
  })

  test.each(failures)("under load, P is kept when $name fails", async ({ mode, count }) => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    using machine = faultyMachine(data)
    await using oracle = new OracleProcess(["--journal", join(directory.path, "oracle")])
    {
      await using server = new SluiceProcess(data, { env: machine.env })
      oracle.serve(await server.mustBeReady())
      await oracle.working()
      await sleep(wellMs)
      machine.turnDisk(mode, 3)
      const { code, signal } = await within(endMsMax, server.ended())
      expect(signal).toBeNull()
      expect(code).not.toBe(0)
      expect(machine.hits()[count]).toBeGreaterThan(0)
    }
    machine.turnDisk("none")
    await using restarted = new SluiceProcess(data)
    oracle.serve(await restarted.mustBeReady())
    await oracle.working()
    const { verdict, code } = await oracle.verdict(1)
    expect(verdict.faults).toEqual([])
    expect(code).toBe(0)
    for (const life of verdict.lives) expect(life.acknowledged).toBeGreaterThan(0)
  })

  test("the server completes writes that were cut short", async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    using machine = faultyMachine(data)
    await using oracle = new OracleProcess(["--journal", join(directory.path, "oracle")])
    await using server = new SluiceProcess(data, { env: machine.env })
    machine.turnDisk("short-writes")
    oracle.serve(await server.mustBeReady())
    await oracle.working()
    await sleep(wellMs)
    const { verdict, code } = await oracle.verdict(0)
    expect(verdict.faults).toEqual([])
    expect(code).toBe(0)
    expect(verdict.acknowledged).toBeGreaterThan(0)
    expect(machine.hits().shorts).toBeGreaterThan(0)
  })
})

function range(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => makePost(1, from + index).line)
}

/** Resolves as `promise` does; rejects after `ms`. */
async function within<Result>(ms: number, promise: Promise<Result>): Promise<Result> {
  const late = new AbortController()
  const timeout = sleep(ms, undefined, { signal: late.signal }).then(() => {
    throw new Error(`not within ${ms} ms`)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    timeout.catch(() => undefined)
    late.abort()
  }
}
