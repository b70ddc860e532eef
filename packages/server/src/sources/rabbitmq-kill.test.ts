/** Processes that share a queue of RabbitMQ, and are killed. */
import { randomInt } from "node:crypto"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { systemClock } from "../runtime/clock.ts"
import { describeWithRabbitMq, testQueue } from "./rabbitmq.testing.ts"
import { startSourceProcess, type SourceProcess } from "./source-process.testing.ts"
import { idsOf, posts, storedIds } from "./stored-ids.testing.ts"

const rounds = 2
const perRound = 1_000

describeWithRabbitMq("a process that ingests posts from a queue of RabbitMQ", () => {
  test("is killed at random moments in mid-load: every post is stored, by one of two processes", async () => {
    await using queue = await testQueue()
    await using directory = await temporaryDirectory()
    const start = (name: string): Promise<SourceProcess> =>
      startSourceProcess(join(directory.path, name), { kind: "rabbitmq", settings: queue.settings })
    const startingOther = start("other")
    let starting = start("killed")
    await using other = await startingOther
    for (let round = 0; round < rounds; round += 1) {
      await using killed = await starting
      const publishing = (async () => {
        for (let from = 1; from <= perRound; from += 50) {
          await queue.publish(...posts(round * perRound + from, round * perRound + from + 49))
        }
      })()
      await systemClock.sleep(randomInt(20, 400))
      await killed.kill()
      starting = start("killed")
      await publishing
    }
    await using again = await starting
    const both = async () => [await storedIds(again), await storedIds(other)] as const
    // Only messages that were stored and not acknowledged are in both stores; in each, every post is once.
    await expect
      .poll(async () => [...new Set((await both()).flat())].toSorted((a, b) => a - b))
      .toEqual(idsOf(1, rounds * perRound))
    const [stored, byOther] = await both()
    expect([new Set(stored).size, new Set(byOther).size]).toEqual([stored.length, byOther.length])
    expect(await queue.ready()).toBe(0)
    expect(await queue.deadLetters()).toEqual([])
  })
})
