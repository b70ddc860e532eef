/**
 * The server is killed again and again while posts come in and deliveries go out, and the oracle judges.
 *
 * `SLUICE_FAULT_ROUNDS` is the number of kills (6); `SLUICE_FAULT_SEED` repeats the moments of an earlier run.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { seededRandom } from "../oracle/seeded-random.ts"
import { OracleProcess } from "./oracle-process.ts"
import { readyMsMax, SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const rounds = Number(process.env.SLUICE_FAULT_ROUNDS ?? 6)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/** A server that has been ready for this long is killed in the middle of its work. */
const lifeMsMin = 50
const lifeMsMax = 700

/**
 * In every round whose number is a multiple of this, the next server is killed before it is ready: in the middle of its
 * recovery.
 */
const recoveryKillEvery = 4
const recoveryMsMax = 350

test(
  `${rounds} SIGKILLs under ingest and delivery lose nothing, repeat little, and keep the links`,
  { timeout: 180_000 + rounds * 9_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    const random = seededRandom(seed)
    console.log(`SIGKILL: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)

    await using oracle = new OracleProcess(["--journal", join(directory.path, "oracle"), "--seed", String(seed)])
    await using first = new SluiceProcess(data)
    oracle.serve(await first.mustBeReady())
    await oracle.feeding()
    first.end("SIGTERM")
    expect((await first.ended()).code).toBe(0)

    const readyMs: number[] = []
    let recoveryKills = 0
    for (let round = 0; round < rounds; round += 1) {
      if (round % recoveryKillEvery === recoveryKillEvery - 1) {
        await using recovering = new SluiceProcess(data)
        await sleep(random() * recoveryMsMax)
        if (recovering.end("SIGKILL")) recoveryKills += 1
        await recovering.ended()
      }
      // Two of four lives end with an acknowledgement; one of each pair runs delivery threads.
      const env = { SLUICE_DELIVERY_THREADS: String((Math.floor(round / 2) % 2) * 2) }
      await using server = new SluiceProcess(data, { env })
      oracle.serve(await server.mustBeReady())
      readyMs.push(server.readyMs)
      await sleep(lifeMsMin + random() * (lifeMsMax - lifeMsMin))
      // Every other life ends with an acknowledgement: the posts acknowledged in that moment must be durable already.
      // The others end while a delivery is in flight.
      if (round % 2 === 1) await oracle.acknowledgement()
      else await oracle.deliveryHeld()
      expect(server.end("SIGKILL")).toBe(true)
      const { signal, errors } = await server.ended()
      expect(signal).toBe("SIGKILL")
      expect(errors).not.toMatch(unexpected)
    }
    await using last = new SluiceProcess(data)
    oracle.serve(await last.mustBeReady())
    readyMs.push(last.readyMs)
    const { verdict, code } = await oracle.verdict(1 + rounds + recoveryKills)
    const readyMsSeen = Math.max(...readyMs)
    console.log(`SIGKILL: ready after ${readyMsSeen.toFixed()} ms at most, ${JSON.stringify(verdict)}`)

    expect(verdict.faults).toEqual([])
    expect(verdict.clean).toBe(true)
    expect(code).toBe(0)
    expect(readyMsSeen).toBeLessThan(readyMsMax)

    // The fault happened: bodies and deliveries were in flight at kills, and ingest continued between them.
    const killed = verdict.lives.slice(1, 1 + rounds)
    expect(killed.length).toBe(rounds)
    expect(recoveryKills).toBe(Math.floor(rounds / recoveryKillEvery))
    expect(killed.filter((life) => life.acknowledged > 0).length).toBeGreaterThanOrEqual(rounds / 2)
    expect(killed.filter((life) => life.bodiesCut > 0).length).toBeGreaterThan(0)
    expect(killed.filter((life) => life.deliveriesCut > 0).length).toBeGreaterThanOrEqual(rounds / 2)
    expect(verdict.links.length).toBe(2)
    for (const link of verdict.links) expect(link.refused).toBeGreaterThan(0)

    last.end("SIGTERM")
    const end = await last.ended()
    expect(end.code).toBe(0)
    expect(end.errors).not.toMatch(unexpected)
  },
)

/** Lines of the log that report an error of the server; a failed delivery is a warning. */
const unexpected = /"level":[56]0/
