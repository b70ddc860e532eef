/**
 * A process is killed again and again while a source of each kind gives posts at full rate, on both stores: every post is
 * stored and matched once and delivered, and the position is never ahead of the stored posts.
 *
 * `SLUICE_FAULT_ROUNDS` is the number of kills (3); `SLUICE_FAULT_SEED` repeats the moments of an earlier run.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { peerKinds } from "../../packages/server/src/sources/source-peers.testing.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { isOfEdits, SourceScenario, testedStores } from "./source-scenario.ts"

const rounds = Number(process.env.SLUICE_FAULT_ROUNDS ?? 3)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/**
 * Two of four rounds end while deliveries are in flight, one while the posts that have waited are read, and one so soon that
 * the process may not be ready. Most kills come soon after that.
 */
const lifeMsMax = 700
const earlyMsMax = 1_200

const kinds = await peerKinds()

describe.each(testedStores)("on the %s store", (store) => {
  test.each(kinds)(
    `${rounds} SIGKILLs lose nothing of a source of the kind %s, and store nothing twice`,
    { timeout: 400_000 + rounds * 30_000 },
    async (kind) => {
      await using scenario = await SourceScenario.start(kind, { store })
      const random = seededRandom(seed)
      for (let round = 1; round <= rounds; round += 1) {
        await scenario.give(2 * scenario.burst)
        await using server = scenario.spawn()
        const before = scenario.arrived
        if (round % 4 !== 0) await scenario.connected()
        if (round % 2 === 1) await scenario.deliveredMore(before)
        const giving = scenario.give(scenario.burst)
        await sleep(round % 4 === 0 ? random() * earlyMsMax : random() ** 2 * lifeMsMax)
        expect(server.end("SIGKILL")).toBe(true)
        const { signal, errors } = await server.ended()
        expect(signal).toBe("SIGKILL")
        expect(errors).not.toMatch(unexpected)
        await giving
        await scenario.expectPlace()
      }
      await using last = scenario.spawn()
      const repeats = await scenario.expectAll(last, rounds)
      console.log(
        `source ${kind}, ${store}: ${rounds} kills, SLUICE_FAULT_SEED=${seed}, ${scenario.given} posts, ` +
          `${repeats} deliveries repeated, at most ${scenario.behindSeen} posts behind`,
      )
    },
  )
})

/** Lines of the log that report an error of the server, which that gap is not. */
const unexpected = new RegExp(`^(?!.*${isOfEdits.source}).*"level":[56]0`, "m")
