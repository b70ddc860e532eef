/**
 * The server is killed again and again while a backfill looks for its matches and sends them.
 *
 *     searching ── SIGKILL ──► searching ── SIGKILL ──► sending ── SIGKILL ──► complete
 *
 * Every post that came before the rule arrives, at most eight of them twice for each kill, and none that the rule does not match.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { snowflakeEpochMs } from "@sluice/api"
import { expect, test } from "vitest"
import { AppClient } from "./app-client.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"

const kills = Number(process.env.SLUICE_FAULT_ROUNDS ?? 8)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)
const posts = 40_000
const matchEvery = 20

/** Matches of a replay in flight, or finished and not saved. */
const repeatsPerKillMax = 8

interface Replay {
  readonly state: string
  readonly end: number
  readonly position: number
  readonly delivered: number
}

test(`a backfill goes on after ${kills} SIGKILLs where it was`, { timeout: 240_000 }, async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  const random = seededRandom(seed)
  console.log(`SIGKILL of a backfill: ${kills} rounds, SLUICE_FAULT_SEED=${seed}`)
  const beginMs = Date.now() - 3_600_000
  const idAt = (number: number): string => String((BigInt(beginMs - snowflakeEpochMs) << 22n) + (BigInt(number) << 8n))
  await using processes = new AsyncDisposableStack()
  let server = processes.use(new SluiceProcess(data))
  let app = new AppClient(await server.mustBeReady())
  await using endpoint = await WebhookReceiver.start(app.consumerSecret)
  const webhookId = await app.link(endpoint.url)
  for (let at = 0; at < posts; at += 5_000) {
    const lines = Array.from({ length: 5_000 }, (_, index) => at + index).map((number) =>
      JSON.stringify({ data: { id: idAt(number), text: number % matchEvery === 0 ? "a heron" : "a duck" } }),
    )
    await app.ingest(lines)
  }
  const { data: rules } = (await app.json("POST", "/2/tweets/search/stream/rules", {
    add: [{ value: "heron", tag: "birds" }],
  })) as { data: { id: string }[] }
  await app.json("POST", "/sluice/v1/replays", {
    webhook_id: webhookId,
    rule_ids: rules.map(({ id }) => id),
    since: new Date(beginMs).toISOString(),
  })
  const replay = async (): Promise<Replay> => {
    const { data: replays } = (await app.json("GET", "/sluice/v1/replays")) as { data: Replay[] }
    const [found] = replays
    if (found === undefined) throw new Error("There is no replay.")
    return found
  }

  const killedIn = new Set<string>()
  // The search begins five seconds after the rule was added.
  await expect.poll(async () => (await replay()).end, { timeout: 30_000, interval: 10 }).toBeGreaterThan(0)
  for (let kill = 0; kill < kills; kill += 1) {
    const { state } = await replay()
    if (state === "complete") break
    killedIn.add(state)
    server.end("SIGKILL")
    await server.ended()
    server = processes.use(new SluiceProcess(data))
    app = new AppClient(await server.mustBeReady())
    await sleep(random() * 300)
  }
  await expect.poll(async () => (await replay()).state, { timeout: 60_000 }).toBe("complete")
  const matches = posts / matchEvery
  expect(await replay()).toMatchObject({ end: matches, position: matches, delivered: matches })
  expect([...killedIn]).toContain("searching")

  const arrived = endpoint.received.filter(({ headers }) => /^replay_\d+_\d+$/.test(String(headers["webhook-id"])))
  const times = Map.groupBy(arrived, ({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id)
  const expected = Array.from({ length: matches }, (_, index) => idAt(index * matchEvery))
  expect([...times.keys()].toSorted()).toEqual(expected.toSorted())
  expect(arrived.length - matches).toBeLessThanOrEqual(kills * repeatsPerKillMax)
  // A post has one event id, however often it was sent.
  for (const sent of times.values()) expect(new Set(sent.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
  server.end("SIGTERM")
  expect((await server.ended()).code).toBe(0)
})
