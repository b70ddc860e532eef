/**
 * Two processes on one store, one of which drives a source. It is stopped for longer than its lease, in the middle of a
 * batch, and goes on: the other one has taken over, and the first one stores nothing more of what it has in its memory.
 */
import { expect, test } from "vitest"
import { seededRandom } from "../oracle/seeded-random.ts"
import { whyNoPostgres } from "../support/postgres.testing.ts"
import { setTimeout as sleep } from "node:timers/promises"
import { waitFor } from "./app-client.ts"
import { SluiceClient } from "../oracle/sluice-client.ts"
import { SourceScenario } from "./source-scenario.ts"
import type { SluiceProcess } from "../support/sluice-process.testing.ts"

const rounds = Number(process.env.SLUICE_FAULT_ROUNDS ?? 2)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/** Posts of a round: many more than a source has in flight. */
const posts = 6_000

/** Longest time from the first of them until the driver is stopped. */
const stopMsMax = 300

test.skipIf((await whyNoPostgres()) !== undefined)(
  `${rounds} drivers that are stopped past their leases and go on are refused: nothing is lost, nothing stored twice`,
  { timeout: 240_000 + rounds * 60_000 },
  async () => {
    await using scenario = await SourceScenario.start("bluesky", { store: "postgres" })
    const random = seededRandom(seed)
    console.log(`driver stopped: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)
    await using first = scenario.spawn()
    await scenario.connected()
    await using second = scenario.spawn()
    await second.mustBeReady()
    let [driver, other] = [first, second]
    for (let round = 0; round < rounds; round += 1) {
      const before = await scenario.contents()
      const giving = scenario.give(posts)
      await sleep(random() * stopMsMax)
      driver.pause()
      await giving
      // It has records in its memory that are not stored.
      expect((await scenario.contents()).numbers.length).toBeLessThan(scenario.given)
      const taken = await waitFor(
        () => scenario.contents(),
        ({ driver: number, numbers }) => number > before.driver && numbers.length === scenario.given,
      )
      driver.resume()
      await waitFor(
        () => hasLeft(driver),
        (isLeft) => isLeft,
      )
      expect(await scenario.contents()).toEqual(taken)
      ;[driver, other] = [other, driver]
    }
    // The one that was refused may drive the source again.
    driver.end("SIGTERM")
    await driver.ended()
    await scenario.give(posts)
    const repeats = await scenario.expectAll(other, rounds)
    console.log(`driver stopped: ${scenario.given} posts, ${repeats} deliveries repeated`)
  },
)

/** Whether another process drives the source, and this one has ended all its work at it. */
async function hasLeft(process: SluiceProcess): Promise<boolean> {
  const { url, operator_token: token } = JSON.parse(await process.mustBeReady()) as {
    url: string
    operator_token: string
  }
  const { data } = await new SluiceClient(url, token).json("GET", "/sluice/v1/sources")
  const [source] = data as { readonly activity: string; readonly connected_to?: string }[]
  return source?.activity === "elsewhere" && source.connected_to === undefined
}
