/**
 * Deletions of a source of Bluesky, while the process is killed: posts that are created, deleted and created again in any
 * order, and an account that is deleted with ten thousand posts.
 *
 * `SLUICE_FAULT_ROUNDS` is the number of rounds of the first test (3); `SLUICE_FAULT_SEED` repeats an earlier run.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import {
  deleteCommit,
  postCommit,
  type JetstreamEvent,
} from "../../packages/server/src/sources/bluesky/jetstream-server.testing.ts"
import { blueskyPeer, numberIn } from "../../packages/server/src/sources/source-peers.testing.ts"
import { idsOf } from "../../packages/server/src/sources/stored-ids.testing.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { waitFor } from "./app-client.ts"
import { SourceScenario, testedStores } from "./source-scenario.ts"

const rounds = Number(process.env.SLUICE_FAULT_ROUNDS ?? 3)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

type Step = "create" | "delete"

/** Steps of one post, and all orders of them. */
const steps = 4
const orders: readonly (readonly Step[])[] = Array.from({ length: 2 ** steps }, (_, bits) =>
  Array.from({ length: steps }, (__, step) => (((bits >> step) & 1) === 0 ? "create" : "delete")),
)

/** Longest time from a step until the kill, and the next step. */
const killMsMax = 300

/** Posts of the account that is deleted, and of others meanwhile. */
const accountPosts = 10_000
const otherPosts = 10_000

/** The first number of posts that are deleted, far above those that stay. */
const deletedFrom = 1_000_000

describe.each(testedStores)("on the %s store", (store) => {
  test(
    `posts that are created and deleted in any order, with kills between: ${rounds} rounds`,
    { timeout: 240_000 + rounds * 90_000 },
    async () => {
      await using peer = await blueskyPeer()
      await using scenario = await SourceScenario.start("bluesky", { store, peer })
      const random = seededRandom(seed)
      console.log(`deletions, ${store}: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)
      await using servers = new AsyncDisposableStack()
      let server = servers.use(scenario.spawn())
      let kills = 0
      const baseUs = Date.now() * 1_000
      for (let round = 0; round < rounds; round += 1) {
        const first = deletedFrom + round * orders.length
        for (const step of idsOf(0, steps - 1)) {
          for (const order of shuffled(idsOf(0, orders.length - 1), random)) {
            peer.emit(eventOf(orders[order]?.[step], first + order, baseUs))
          }
          // There are three places between steps. Each round has another set of them, by its bits.
          if (step === steps - 1 || (((round % 7) + 1) >> step) % 2 === 0) continue
          await scenario.connected()
          await sleep(random() ** 2 * killMsMax)
          expect(server.end("SIGKILL")).toBe(true)
          await server.ended()
          kills += 1
          server = servers.use(scenario.spawn())
        }
      }
      // Posts behind all of these.
      await scenario.give(scenario.burst)
      await scenario.delivered()
      const { numbers, matchedIds, gaps, deadLetters } = await scenario.contents()
      const kept = idsOf(0, rounds - 1).map((round) => deletedFrom + round * orders.length)
      expect(numbers).toEqual([...idsOf(1, scenario.given), ...kept])
      expect(new Set(matchedIds).size).toBe(matchedIds.length)
      expect({ gaps, deadLetters }).toEqual({ gaps: [], deadLetters: 0 })
      const events = eventsByPost(scenario)
      for (const [number, ids] of events) expect(ids.size, `events of ${number}`).toBe(1)
      // Those that begin with a deletion were never there.
      const neverThere = [...events.keys()].filter(
        (number) => number >= deletedFrom && orders[(number - deletedFrom) % orders.length]?.[0] === "delete",
      )
      expect(neverThere).toEqual([])
      console.log(`deletions, ${store}: ${kills} kills, ${events.size} posts delivered`)
    },
  )

  test.each([0, 1])(
    "an account is deleted with 10,000 posts while others give theirs, with %i kills meanwhile",
    { timeout: 400_000 },
    async (kills) => {
      await using peer = await blueskyPeer()
      await using scenario = await SourceScenario.start("bluesky", { store, peer })
      const random = seededRandom(seed)
      await using servers = new AsyncDisposableStack()
      let server = servers.use(scenario.spawn())
      await scenario.connected()
      const did = "did:plc:shrike222222222222222222"
      const baseUs = Date.now() * 1_000
      const deleted = idsOf(deletedFrom, deletedFrom + accountPosts - 1)
      for (const [at, number] of deleted.entries()) {
        peer.emit(postCommit(`heron ${number}`, baseUs + number * 1_000, did))
        if (at % 100 === 0) await sleep(1)
      }
      await waitFor(
        () => scenario.contents(),
        ({ numbers }) => numbers.length === scenario.given + deleted.length,
      )
      peer.emit({
        did,
        kind: "account",
        body: { active: false, did, status: "deleted", time: new Date().toISOString() },
      })
      const giving = scenario.give(otherPosts)
      if (kills > 0) {
        await sleep(random() * killMsMax)
        expect(server.end("SIGKILL")).toBe(true)
        await server.ended()
        server = servers.use(scenario.spawn())
      }
      // A later post of the account stays away.
      peer.emit(postCommit(`heron ${deletedFrom - 1}`, baseUs, did))
      await giving
      await waitFor(
        async () => (await scenario.contents()).numbers,
        (numbers) => numbers.length === scenario.given && numbers.at(-1) === scenario.given,
      )
      expect((await scenario.contents()).numbers).toEqual(idsOf(1, scenario.given))
      await scenario.delivered()
    },
  )
})

function eventOf(step: Step | undefined, number: number, baseUs: number): JetstreamEvent {
  const us = baseUs + (number - deletedFrom) * 1_000
  return step === "create" ? postCommit(`heron ${number}`, us) : deleteCommit(us)
}

/** Ids of the events that were delivered of each post. */
function eventsByPost(scenario: SourceScenario): ReadonlyMap<number, ReadonlySet<string>> {
  const events = new Map<number, Set<string>>()
  for (const { text, eventId } of scenario.received) {
    const number = numberIn(text)
    events.set(number, (events.get(number) ?? new Set()).add(eventId))
  }
  return events
}

function shuffled<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
