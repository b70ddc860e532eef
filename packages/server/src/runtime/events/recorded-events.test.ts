import { pino } from "pino"
import { Registry } from "prom-client"
import { expect, test } from "vitest"
import { createEvents } from "./recorded-events.ts"
import { createManualClock } from "../manual-clock.testing.ts"

const measured = {
  links: 3,
  lag: 2,
  oldestUndeliveredAgeMs: 5_000,
  byApp: new Map(),
  inFlight: 1,
  down: 1,
  invalid: 0,
  deadLetters: 4,
}

/** Events whose log lines are kept, as values. */
function recorded() {
  const lines: Record<string, unknown>[] = []
  const clock = createManualClock()
  const registry = new Registry()
  const logger = pino({ level: "warn" }, { write: (line) => void lines.push(JSON.parse(line)) })
  return { events: createEvents(logger, registry, clock), lines, clock, registry }
}

test("gauges of links are absent before they are measured, and again when the measurement fails", async () => {
  const { events, registry } = recorded()
  expect(await registry.metrics()).not.toMatch(/^sluice_(links|delivery_lag_matches|dead_letters) /m)
  events.linksMeasured(measured)
  expect(await registry.metrics()).toMatch(/^sluice_links 3$/m)
  events.linksNotMeasured()
  expect(await registry.metrics()).not.toMatch(
    /^sluice_(links\w*|delivery_lag_matches|delivery_oldest\w+|deliveries_in_flight|dead_letters) /m,
  )
  events.linksMeasured(measured)
  expect(await registry.metrics()).toMatch(/^sluice_dead_letters 4$/m)
})

test("a failure that repeats is logged once a minute, with how often it came, and counted every time", async () => {
  const { events, lines, clock, registry } = recorded()
  const fail = (where: string, message: string): void => events.failed({ where, error: new Error(message) })
  for (let second = 0; second < 150; second += 1) {
    fail("webhook link", "a page makes no sense")
    await clock.advance(1_000)
  }
  expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 59, 59])
  fail("webhook link", "another page makes no sense")
  fail("replays", "a page makes no sense")
  expect(lines).toHaveLength(5)
  expect(await registry.metrics()).toContain('sluice_failures_total{where="webhook link"} 151')
})

test("the newest thousand distinct failures are remembered", () => {
  const { events, lines } = recorded()
  for (let number = 0; number < 1_001; number += 1) events.failed({ where: "http", error: `number ${number}` })
  expect(lines).toHaveLength(1_001)
  events.failed({ where: "http", error: "number 1" })
  expect(lines).toHaveLength(1_001)
  events.failed({ where: "http", error: "number 0" })
  expect(lines).toHaveLength(1_002)
})

test("damaged records are logged when they are found and counted as long as they are there", async () => {
  const { events, lines, registry } = recorded()
  const found = { reader: "rules", records: ["rule 5 of app 100"] } as const
  for (let time = 0; time < 3; time += 1) events.recordsDamaged(found)
  expect(lines).toMatchObject([{ records: ["rule 5 of app 100"], msg: expect.stringContaining("sluice doctor") }])
  expect(await registry.metrics()).toContain('sluice_damaged_records{reader="rules"} 1')
  events.recordsDamaged({ reader: "rules", records: [] })
  expect(lines).toHaveLength(1)
  expect(await registry.metrics()).toContain('sluice_damaged_records{reader="rules"} 0')
})
