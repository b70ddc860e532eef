/**
 * The connection to a source of each kind is cut again and again while it gives posts at full rate: as when the other side
 * is killed, restarts, or the network fails.
 *
 * `SLUICE_FAULT_ROUNDS` is the number of cuts (3); `SLUICE_FAULT_SEED` repeats the moments of an earlier run.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { peerKinds } from "../../packages/server/src/sources/source-peers.testing.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { SourceScenario, testedStores } from "./source-scenario.ts"

const rounds = Number(process.env.SLUICE_FAULT_ROUNDS ?? 3)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/** Longest time with a connection, and without. */
const connectedMsMax = 700
const cutMsMax = 400

const kinds = await peerKinds()

describe.each(testedStores)("on the %s store", (store) => {
  test.each(kinds)(
    `${rounds} cuts of the connection lose nothing of a source of the kind %s, and repeat nothing`,
    { timeout: 400_000 + rounds * 60_000 },
    async (kind) => {
      await using scenario = await SourceScenario.start(kind, { store })
      const { network } = scenario
      const random = seededRandom(seed)
      await using server = scenario.spawn()
      for (let round = 1; round <= rounds; round += 1) {
        await scenario.connected()
        const giving = scenario.give(2 * scenario.burst)
        await sleep(random() ** 2 * connectedMsMax)
        // An instance is asked for its timelines between, over connections of their own.
        await scenario.connected()
        const { hits } = network
        network.set("cut")
        expect(network.hits, "connections that were cut").toBeGreaterThan(hits)
        await giving
        await sleep(random() * cutMsMax)
        network.set("good")
      }
      await scenario.expectAll(server, 0)
      console.log(`source ${kind}, ${store}: ${rounds} cuts, SLUICE_FAULT_SEED=${seed}, ${scenario.given} posts`)
    },
  )
})
