/**
 * An endpoint always refuses some matches, and the server is killed meanwhile: these become dead letters, all others
 * arrive.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { seededRandom } from "../oracle/seeded-random.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { OracleProcess } from "./oracle-process.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const rounds = Math.ceil(Number(process.env.SLUICE_FAULT_ROUNDS ?? 8) / 4)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/** Few attempts, so that dead letters appear in every life. */
const givenUpSoon = { SLUICE_DELIVERY_ATTEMPTS_MAX: "3", SLUICE_RETRY_SECONDS_MAX: "1" }

/** More than the matches that fail at a time, so that these do not look like an endpoint that is down. */
const slots = "500"
const settings = { ...givenUpSoon, SLUICE_DELIVERIES_PER_LINK_MAX: slots }

/** Options of the oracle's receiver: it always refuses one post in twenty, and no other. */
const moods = ["--poison-every", "20", "--fail-rate", "0", "--repeats-max", slots, "--settle-seconds", "10"]

test(
  `every match is delivered or becomes a dead letter, over ${rounds} SIGKILLs`,
  { timeout: 180_000 + rounds * 15_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    const random = seededRandom(seed)
    console.log(`poison: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)
    await using oracle = new OracleProcess(
      ["--journal", join(directory.path, "oracle"), "--seed", String(seed)].concat(moods),
    )
    for (let round = 0; round < rounds; round += 1) {
      await using server = new SluiceProcess(data, { env: settings })
      oracle.serve(await server.mustBeReady())
      await oracle.working()
      await sleep(500 + random() * 2_000)
      expect(server.end("SIGKILL")).toBe(true)
      await server.ended()
    }
    await using last = new SluiceProcess(data, { env: settings })
    oracle.serve(await last.mustBeReady())
    const { verdict, code } = await oracle.verdict(rounds)
    console.log(`poison: ${JSON.stringify(verdict)}`)
    expect(verdict.faults).toEqual([])
    expect(code).toBe(0)
    expect(verdict.dead_letters).toBeGreaterThan(rounds)
    for (const life of verdict.lives.slice(0, rounds)) expect(life.acknowledged).toBeGreaterThan(0)
  },
)

/** As many as a link's default number of slots: all of them are in flight at once. */
const poisoned = 32

test("as many failing matches as slots do not delay the delivery of others", { timeout: 180_000 }, async () => {
  await using directory = await temporaryDirectory()
  await using server = new SluiceProcess(join(directory.path, "data"), { env: givenUpSoon })
  const app = new AppClient(await server.mustBeReady())
  await using endpoint = await WebhookReceiver.start(app.consumerSecret)
  endpoint.statusOf = ({ body }) => (body.includes("poison") ? 500 : 200)
  await app.addRule("cat")
  const webhookId = await app.link(endpoint.url)
  await app.ingest(Array.from({ length: poisoned }, (_, index) => postLine(1 + index, "a cat with poison")))
  // Each has failed, and some again: nothing arrives.
  await endpoint.arrived(2 * poisoned)

  const good = poisoned + 1
  await app.ingest([postLine(good, "a cat")])
  await waitFor(
    () => endpoint.postIds.includes(String(good)),
    (isThere) => isThere,
  )
  // Once others arrive between their failures, the link gives them up.
  let next = good + 1
  await waitFor(
    async () => {
      await app.ingest([postLine(next++, "a cat")])
      return (await app.linkState(webhookId)).total
    },
    ({ dead_letters: dead }) => dead === poisoned,
  )
  const { total } = await app.caughtUp(webhookId)
  expect(total).toMatchObject({ delivered: next - good, dead_letters: poisoned })
})
