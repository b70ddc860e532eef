/**
 * The broker or database of a source is killed again and again while it gives posts at full rate: every post that it has
 * confirmed is stored and matched once and delivered, and nothing is repeated. Sources of the other kinds see a kill of the
 * other side as a cut of the connection (`source-cuts`).
 *
 * `SLUICE_FAULT_ROUNDS` is the number of kills (3); `SLUICE_FAULT_SEED` repeats the moments of an earlier run.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { servedPeerKinds, startServedPeer } from "../../packages/server/src/sources/source-peers.testing.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { startKillable } from "./private-broker.ts"
import { SourceScenario, testedStores } from "./source-scenario.ts"

const rounds = Number(process.env.SLUICE_FAULT_ROUNDS ?? 3)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/** Longest life of a broker that a source reads from, and longest time without it, beyond its start. */
const lifeMsMax = 700
const awayMsMax = 400

/** Time until posts that a broker refused are given again. */
const retryMs = 50

/** Bursts of a round: some are read when the broker is killed, some are given when it is back. */
const burstsPerRound = 6

const kinds = await servedPeerKinds()

describe.each(testedStores)("on the %s store", (store) => {
  test.each(kinds)(
    `${rounds} SIGKILLs of the other side lose nothing of a source of the kind %s, and repeat nothing`,
    { timeout: 400_000 + rounds * 60_000 },
    async (kind) => {
      await using broker = await startKillable(kind)
      await using peer = await startServedPeer(kind, broker.port)
      let back = Promise.resolve()
      await using scenario = await SourceScenario.start(kind, {
        store,
        peer: {
          ...peer,
          /** Gives posts until the broker has confirmed them: one that was killed may have them already. */
          async give(from, to) {
            for (let isLost = false; ; isLost = true) {
              try {
                if (isLost) await peer.reconnect()
                return await peer.give(from, to)
              } catch {
                await back
                await sleep(retryMs)
              }
            }
          },
        },
      })
      const random = seededRandom(seed)
      let inMidLoad = 0
      await using server = scenario.spawn()
      for (let round = 1; round <= rounds; round += 1) {
        await scenario.connected()
        const before = scenario.arrived
        const giving = scenario.give(burstsPerRound * scenario.burst)
        await scenario.deliveredMore(before)
        await sleep(random() ** 2 * lifeMsMax)
        const begun = Promise.withResolvers<void>()
        back = begun.promise
        await broker.kill()
        if (scenario.arrived < scenario.given) inMidLoad += 1
        await sleep(random() * awayMsMax)
        await broker.begin()
        begun.resolve()
        await giving
        await peer.reconnect()
      }
      await scenario.expectAll(server, 0)
      expect(inMidLoad, "kills while posts waited").toBeGreaterThan(0)
      console.log(
        `source ${kind}, ${store}: ${rounds} kills of the other side, ${inMidLoad} while posts waited, ` +
          `SLUICE_FAULT_SEED=${seed}, ${scenario.given} posts`,
      )
    },
  )
})
