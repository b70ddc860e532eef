/**
 * The server ends while posts come in and deliveries go out; the oracle judges. In every other round separate threads
 * deliver.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { OracleProcess } from "./oracle-process.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const rounds = 4

/** Time that a server works before SIGTERM. */
const lifeMs = 300

/** The documented bound of a drain. */
const drainMsMax = 10_000

test(
  "SIGTERM under load drains within 10 s, exits 0, and repeats at most one delivery of each link",
  {
    timeout: 180_000,
  },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    await using oracle = new OracleProcess(["--journal", join(directory.path, "oracle"), "--repeats-max", "1"])
    const drainMs: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      await using server = new SluiceProcess(data, { env: { SLUICE_DELIVERY_THREADS: String((round % 2) * 2) } })
      oracle.serve(await server.mustBeReady())
      await oracle.working()
      await sleep(lifeMs)
      const askedAtMs = performance.now()
      server.end("SIGTERM")
      const { code, errors } = await server.ended()
      drainMs.push(performance.now() - askedAtMs)
      expect(code, errors).toBe(0)
    }
    await using last = new SluiceProcess(data)
    oracle.serve(await last.mustBeReady())
    const { verdict, code } = await oracle.verdict(rounds)
    const drainMsSeen = Math.max(...drainMs)
    console.log(`SIGTERM: drained within ${drainMsSeen.toFixed()} ms, ${JSON.stringify(verdict)}`)

    expect(verdict.faults).toEqual([])
    expect(code).toBe(0)
    expect(drainMsSeen).toBeLessThan(drainMsMax)
    // The drain happened under load.
    for (const life of verdict.lives.slice(0, rounds)) {
      expect(life.acknowledged).toBeGreaterThan(0)
      expect(life.received).toBeGreaterThan(0)
    }
  },
)
