/**
 * The server is killed at each named point of its work, under load; the oracle judges.
 *
 * `SLUICE_FAULT_ROUNDS` is how often at all points together (5), `SLUICE_FAULT_SEED` makes the counts those of an
 * earlier run.
 */
import { join } from "node:path"
import { expect, test } from "vitest"
import { seededRandom } from "../oracle/seeded-random.ts"
import { AppClient, postLine } from "./app-client.ts"
import { Endpoint } from "./endpoint.ts"
import { OracleProcess } from "./oracle-process.ts"
import { SluiceProcess } from "./sluice-process.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

const points = ["before-commit", "after-commit", "before-send", "after-answer", "in-recovery"] as const

const rounds = Math.ceil(Number(process.env.SLUICE_FAULT_ROUNDS ?? 5) / points.length)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

/** The visits that a server under load sees within a second or two. */
const visitsMax = 20

test(
  `P is kept when the server is killed at ${points.join(", ")}: ${rounds} times each`,
  { timeout: 180_000 + rounds * 60_000 },
  async () => {
    const directory = temporaryDirectory()
    const data = join(directory, "data")
    const random = seededRandom(seed)
    console.log(`crash points: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)
    await using oracle = new OracleProcess(["--journal", join(directory, "oracle"), "--seed", String(seed)])
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
        await using server = new SluiceProcess(data, { env: { SLUICE_CRASH_POINT: `${point}:${visits}` } })
        const line = await server.ready
        // With deliveries left over from the last life, the point may come before that.
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

test("a kill between the answer and the save repeats that delivery once, under the same event id", async () => {
  const data = join(temporaryDirectory(), "data")
  await using first = new SluiceProcess(data, { env: { SLUICE_CRASH_POINT: "after-answer" } })
  const app = new AppClient(await first.mustBeReady())
  await using endpoint = await Endpoint.start(app.consumerSecret)
  await app.addRule("cat")
  const webhookId = await app.link(endpoint.url)
  // The delivery may be faster than the answer to whoever poured.
  await app.tryPour([postLine(1, "a cat")]).catch(() => undefined)
  const { signal, errors } = await first.ended()
  expect({ signal, errors }).toEqual({ signal: "SIGKILL", errors: "crash point after-answer\n" })
  expect(endpoint.arrived.length).toBe(1)

  await using second = new SluiceProcess(data)
  const again = new AppClient(await second.mustBeReady())
  await again.pour([postLine(2, "another cat")])
  await endpoint.have(3)
  expect(await again.caughtUp(webhookId)).toMatchObject({ position: 2, total: { delivered: 2 } })
  expect(endpoint.postIds.toSorted()).toEqual(["1", "1", "2"])
  const [delivered, repeated] = endpoint.arrived.filter(({ body }) => body.includes('"a cat"'))
  expect(repeated).toEqual(delivered)
})
