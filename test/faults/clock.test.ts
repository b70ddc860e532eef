/** The wall clock steps back, steps forward, or stands still. A separate clock measures durations. */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import fc from "fast-check"
import { expect, test } from "vitest"
import type { AppId } from "../../packages/server/src/model/ids.ts"
import type { Clock } from "../../packages/server/src/runtime/clock.ts"
import { systemRandom } from "../../packages/server/src/runtime/random.ts"
import { createSnowflakes } from "../../packages/server/src/runtime/snowflakes.ts"
import { createPageTokens } from "../../packages/server/src/paging/page-token.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { Cluster } from "./cluster.ts"
import { OracleProcess } from "./oracle-process.ts"
import { postgresMissing } from "./private-postgres.ts"
import { faultyMachine, preloadMissing } from "./preloaded-faults.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const hourMs = 3_600_000
const hourSeconds = 3_600

/** An arbitrary moment of 2026. */
const startMs = 1_780_000_000_000

/** A clock that the test sets. */
function settableClock(): Clock & { atMs: number } {
  return {
    atMs: startMs,
    nowMs() {
      return this.atMs
    },
    monotonicMs: () => 0,
    sleep: () => Promise.resolve(),
    pause: () => Promise.resolve(),
  }
}

test.each(["", ", over restarts too"])("ids rise however the clock goes%s", (restarts) => {
  const steps = fc.array(fc.integer({ min: -3 * hourMs, max: 3 * hourMs }), { minLength: 1, maxLength: 20 })
  const idsBetween = fc.integer({ min: 1, max: 5_000 })
  fc.assert(
    fc.property(steps, idsBetween, (jumps, count) => {
      const clock = settableClock()
      let last = -1n
      const begin = () => createSnowflakes(clock, systemRandom, last === -1n ? {} : { after: String(last) })
      let snowflakes = begin()
      for (const jump of jumps) {
        clock.atMs += jump
        if (restarts !== "") snowflakes = begin()
        // More ids than a millisecond has, while the clock stands still.
        for (let made = 0; made < count; made += 1) {
          const id = BigInt(snowflakes.next())
          expect(id > last).toBe(true)
          last = id
        }
      }
    }),
    { numRuns: 20 },
  )
})

test("two processes on one store never assign the same id, though their clocks agree", () => {
  const clock = settableClock()
  const random = { ...systemRandom, fraction: () => 0.5 }
  const ids = [1, 2, 1024 + 3].flatMap((processNumber) => {
    const snowflakes = createSnowflakes(clock, random, { after: "5", processNumber })
    return Array.from({ length: 10_000 }, () => snowflakes.next())
  })
  expect(new Set(ids).size).toBe(30_000)
})

test("a page token lasts for its lifetime, also when the clock steps back by less than a day", () => {
  const clock = settableClock()
  const tokens = createPageTokens({ key: new Uint8Array(32).fill(5), lifetimeMs: 24 * hourMs, clock })
  const scope = { endpoint: "/2/users/7/tweets", appId: "1" as AppId, parameters: "" }
  const position = { direction: "older", from: "42" } as const
  const token = tokens.issue(scope, position)
  for (const offMs of [0, -60_000, -hourMs, -23 * hourMs, 23 * hourMs]) {
    clock.atMs = startMs + offMs
    expect(tokens.read(scope, token)).toEqual(position)
  }
  for (const offHours of [-25, -10_000]) {
    clock.atMs = startMs + offHours * hourMs
    expect(() => tokens.read(scope, token)).toThrow(/still to come/)
  }
  clock.atMs = startMs + 24 * hourMs
  expect(() => tokens.read(scope, token)).toThrow(/expired/)
})

/** Offsets of the clock, one after the other. */
const offHours = [-3, 2, -20, 0]

/** Time that the server works under each offset. */
const underEachMs = 700

test.skipIf(preloadMissing !== undefined)(
  `under load, P is kept when the clock is off by ${offHours.join(", then ")} hours`,
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    using machine = faultyMachine(data)
    // Some deliveries fail, so that some are always due in the future.
    await using oracle = new OracleProcess(["--journal", join(directory.path, "oracle"), "--fail-rate", "0.05"])
    await using server = new SluiceProcess(data, { env: { ...machine.env, SLUICE_RETRY_SECONDS_MAX: "2" } })
    const line = await server.mustBeReady()
    oracle.serve(line)
    await oracle.feeding()
    const app = new AppClient(line)
    for (const hours of offHours) {
      machine.setClockOff(hours * hourSeconds)
      await sleep(underEachMs)
      // The fault happened: the server reports its wrong time.
      const { meta } = await app.json("GET", "/2/tweets/search/stream/rules")
      const seenMs = Date.parse((meta as { sent: string }).sent)
      expect(Math.abs(seenMs - Date.now() - hours * hourMs)).toBeLessThan(60_000)

      const { text } = await app.send("GET", "/metrics")
      const ages = [...text.matchAll(/^sluice_delivery_oldest_undelivered_age_seconds (.+)$/gm)]
      for (const [, age] of ages) expect(Number(age)).toBeGreaterThanOrEqual(0)
    }
    const { verdict, code } = await oracle.verdict(0)
    expect(verdict.faults).toEqual([])
    expect(code).toBe(0)
    expect(verdict.acknowledged).toBeGreaterThan(0)
    for (const link of verdict.links) expect(link.refused).toBeGreaterThan(0)
    expect(server.errors).not.toMatch(/"level":[56]0/)
  },
)

const twoDaysSeconds = 48 * hourSeconds

/** Posts that match a rule of one word. */
const cats = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => postLine(from + index, "a cat"))

/** The value of a metric without labels. */
async function metric(app: AppClient, name: string): Promise<number> {
  const { text } = await app.send("GET", "/metrics")
  return Number(new RegExp(`^${name} (.+)$`, "m").exec(text)?.[1])
}

test.skipIf(preloadMissing !== undefined)(
  "a server that starts with its clock two days ahead keeps every undelivered match, says so, and delivers it",
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    using machine = faultyMachine(data)
    // Only the clock's jump keeps matches older than a day.
    const env = { ...machine.env, SLUICE_UNDELIVERED_RETENTION_HOURS: "24", SLUICE_RETRY_SECONDS_MAX: "1" }
    let webhookId: string
    await using receiver = await (async () => {
      await using server = new SluiceProcess(data, { env })
      const app = new AppClient(await server.mustBeReady())
      const endpoint = await WebhookReceiver.start(app.consumerSecret)
      await app.addRule("cat")
      webhookId = await app.link(endpoint.url)
      await app.ingest(cats(1, 20))
      await app.caughtUp(webhookId)
      endpoint.hold()
      await app.ingest(cats(21, 220))
      server.end("SIGKILL")
      return endpoint
    })()
    machine.setClockOff(twoDaysSeconds)
    await using server = new SluiceProcess(data, { env })
    const app = new AppClient(await server.mustBeReady())
    const ahead = await waitFor(
      () => metric(app, "sluice_clock_ahead_seconds"),
      (seconds) => seconds > 0,
    )
    expect(ahead).toBeGreaterThan(twoDaysSeconds - hourSeconds)
    receiver.release()
    const link = await app.caughtUp(webhookId!)
    expect(link.total).toMatchObject({ delivered: 220, missed: 0 })
    expect(link.gaps).toEqual([])
    expect(server.errors).toContain("the clock has jumped ahead")
  },
)

test.skipIf(preloadMissing !== undefined || postgresMissing !== undefined)(
  "three processes on PostgreSQL, one two days ahead and one two days behind, delete nothing and accept every page token",
  async () => {
    await using directory = await temporaryDirectory()
    const offs = [0, twoDaysSeconds, -twoDaysSeconds]
    using machines = new DisposableStack()
    const envs = offs.map((seconds, number) => {
      const machine = machines.use(faultyMachine(join(directory.path, `member-${number}`)))
      machine.setClockOff(seconds)
      return machine.env
    })
    await using cluster = await Cluster.start({ envOf: (number) => envs[number] ?? {} })
    const apps = cluster.members.map(({ readyLine }) => new AppClient(readyLine))
    const [first] = apps as [AppClient, ...AppClient[]]
    await using receiver = await WebhookReceiver.start(first.consumerSecret)
    await first.addRule("cat")
    const webhookId = await first.link(receiver.url)
    receiver.hold()
    for (const [number, app] of apps.entries()) await app.ingest(cats(1 + number * 50, 50 + number * 50))
    for (const app of apps) {
      const { meta } = await app.json("GET", "/2/tweets/search/stream/rules")
      expect(Math.abs(Date.parse((meta as { sent: string }).sent) - Date.now())).toBeLessThan(60_000)
      expect(await metric(app, "sluice_clock_ahead_seconds")).toBe(0)
    }
    const path = "/2/tweets/search/stream/rules?max_results=1"
    await first.addRule("dog")
    for (const issuer of apps) {
      const { meta } = await issuer.json("GET", path)
      const token = (meta as { next_token: string }).next_token
      for (const reader of apps) {
        const { status } = await reader.send("GET", `${path}&pagination_token=${token}`)
        expect(status).toBe(200)
      }
    }
    receiver.release()
    const link = await first.caughtUp(webhookId)
    expect(link.total).toMatchObject({ delivered: 150, missed: 0 })
  },
)
