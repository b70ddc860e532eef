/**
 * The server is killed at each named point of its work, under load; the oracle judges.
 *
 * `SLUICE_FAULT_ROUNDS` is the number of rounds over all points (5); `SLUICE_FAULT_SEED` repeats the counts of an
 * earlier run.
 */
import { join } from "node:path"
import { expect, test } from "vitest"
import { seededRandom } from "../oracle/seeded-random.ts"
import { AppClient, postLine } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { OracleProcess } from "./oracle-process.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const points = ["before-commit", "after-commit", "before-send", "after-response", "in-recovery"] as const

const rounds = Math.ceil(Number(process.env.SLUICE_FAULT_ROUNDS ?? 5) / points.length)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/** A server under load makes this many visits within a second or two. */
const visitsMax = 20

test(
  `P is kept when the server is killed at ${points.join(", ")}: ${rounds} times each`,
  { timeout: 180_000 + rounds * 60_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    const random = seededRandom(seed)
    console.log(`crash points: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)
    await using oracle = new OracleProcess(["--journal", join(directory.path, "oracle"), "--seed", String(seed)])
    {
      await using first = new SluiceProcess(data)
      oracle.serve(await first.mustBeReady())
      await oracle.feeding()
      first.end("SIGTERM")
      expect((await first.ended()).code).toBe(0)
    }

    const visited = new Map<string, number>()
    for (let round = 0; round < rounds; round += 1) {
      for (const point of points) {
        const visits = point === "in-recovery" ? 1 : 1 + Math.floor(random() * visitsMax)
        // A delivery visits one of its points in a delivery thread, the other in the main thread.
        const env = {
          SLUICE_CRASH_POINT: `${point}:${visits}`,
          SLUICE_DELIVERY_THREADS: point === "after-response" ? "1" : "0",
        }
        await using server = new SluiceProcess(data, { env })
        const line = await server.ready
        // With deliveries left over from the last life, the server may reach the point before that.
        if (line !== undefined) oracle.serve(line)
        if (point === "in-recovery") expect(line).toBeUndefined()
        const { signal, errors } = await server.ended()
        expect(signal, `${point}: ${errors}`).toBe("SIGKILL")
        if (errors.includes(`crash point ${point}\n`)) visited.set(point, (visited.get(point) ?? 0) + 1)
        expect(errors).not.toMatch(/"level":[56]0/)
      }
    }
    expect(Object.fromEntries(visited)).toEqual(Object.fromEntries(points.map((point) => [point, rounds])))

    await using last = new SluiceProcess(data)
    oracle.serve(await last.mustBeReady())
    const { verdict, code } = await oracle.verdict(1 + rounds * points.length)
    console.log(`crash points: ${JSON.stringify(verdict)}`)
    expect(verdict.faults).toEqual([])
    expect(code).toBe(0)
  },
)

test("a kill between the response and the save repeats that delivery once, under the same event id", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  await using first = new SluiceProcess(data, { env: { SLUICE_CRASH_POINT: "after-response" } })
  const app = new AppClient(await first.mustBeReady())
  await using endpoint = await WebhookReceiver.start(app.consumerSecret)
  await app.addRule("cat")
  const webhookId = await app.link(endpoint.url)
  // The delivery may be faster than the response to ingest.
  await app.tryIngest([postLine(1, "a cat")]).catch(() => undefined)
  const { signal, errors } = await first.ended()
  expect({ signal, errors }).toEqual({ signal: "SIGKILL", errors: "crash point after-response\n" })
  expect(endpoint.received.length).toBe(1)

  await using second = new SluiceProcess(data)
  const again = new AppClient(await second.mustBeReady())
  await again.ingest([postLine(2, "another cat")])
  await endpoint.arrived(3)
  expect(await again.caughtUp(webhookId)).toMatchObject({ position: 2, total: { delivered: 2 } })
  expect(endpoint.postIds.toSorted()).toEqual(["1", "1", "2"])
  const [delivered, repeated] = endpoint.received
    .filter(({ body }) => body.includes('"a cat"'))
    .map(({ eventId, body, headers }) => [eventId, body, headers["x-twitter-webhooks-signature"]])
  expect(repeated).toEqual(delivered)
})
