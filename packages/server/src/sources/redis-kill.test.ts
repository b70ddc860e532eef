/** Processes that share a group of Redis, and are killed. */
import { randomInt } from "node:crypto"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { systemClock } from "../runtime/clock.ts"
import { describeWithRedis, testStream } from "./redis.testing.ts"
import { startSourceProcess, type SourceProcess } from "./source-process.testing.ts"
import { idsOf, posts, storedIds } from "./stored-ids.testing.ts"

const rounds = 2
const perRound = 1_000

describeWithRedis("a process that ingests posts from a stream of Redis", () => {
  test("is killed at random moments in mid-load: every post is stored, by one of two processes", async () => {
    await using stream = await testStream()
    await using directory = await temporaryDirectory()
    const times = { claimIdleMs: 2_000, claimMs: 200 }
    const start = (name: string): Promise<SourceProcess> =>
      startSourceProcess(join(directory.path, name), { kind: "redis", settings: stream.settings, times })
    const startingOther = start("other")
    let starting = start("killed")
    await using other = await startingOther
    for (let round = 0; round < rounds; round += 1) {
      await using killed = await starting
      const publishing = (async () => {
        for (let from = 1; from <= perRound; from += 50) {
          await stream.publish(...posts(round * perRound + from, round * perRound + from + 49))
        }
      })()
      await systemClock.sleep(randomInt(20, 400))
      await killed.kill()
      starting = start("killed")
      await publishing
    }
    await using again = await starting
    await expect.poll(() => stream.unfinished()).toBe(0)
    const [stored, byOther] = [await storedIds(again), await storedIds(other)]
    // Only entries that were stored and not acknowledged are in both stores; in each, every post is once.
    expect([...new Set([...stored, ...byOther])].toSorted((a, b) => a - b)).toEqual(idsOf(1, rounds * perRound))
    expect([new Set(stored).size, new Set(byOther).size]).toEqual([stored.length, byOther.length])
    expect(await stream.deadLetters()).toEqual([])
  })
})
