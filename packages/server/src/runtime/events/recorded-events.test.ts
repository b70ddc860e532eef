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
  paused: 1,
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

test("a match whose post is deleted is no delivery that failed", () => {
  const { events, lines } = recorded()
  const attempt = { appId: "1", webhookId: "2", eventId: "msg_3_4", status: undefined, durationMs: 0, error: "deleted" }
  events.attemptFinished({ ...attempt, outcome: "post_deleted" })
  expect(lines).toEqual([])
  events.attemptFinished({ ...attempt, outcome: "connect" })
  expect(lines).toMatchObject([{ outcome: "connect", msg: "delivery failed, will be tried again" }])
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

test("the metrics and the log lines of a source name it; measurements are absent until they are made", async () => {
  const { events, lines, registry } = recorded()
  events.sourceStarted({ source: "a" })
  events.sourceStarted({ source: "b" })
  events.sourceConnected({ source: "b", to: "a broker" })
  events.sourceMessagesDone({ source: "a", accepted: 2, duplicates: 1, deleted: 3, ignored: 4 })
  events.sourceMessageDeadLettered({ source: "a", title: "Invalid JSON", detail: "none", place: "id 5" })
  events.sourceMeasured({ source: "a", pending: 7, behindMs: 1_500 })
  events.failed({ where: "source", source: "b", error: new Error("refused"), advice: "Set it." })
  events.failed({ where: "source", source: "a", error: new Error("refused") })
  events.sourceGapFound({ source: "a", reason: "trimmed" })
  const text = await registry.metrics()
  const shown = text.split("\n").filter((line) => /^sluice_(source|failures)/.test(line) && !line.endsWith(" 0"))
  expect(shown).toEqual([
    'sluice_failures_total{where="source"} 2',
    'sluice_source_connected{source="b"} 1',
    'sluice_source_messages_total{source="a",outcome="accepted"} 2',
    'sluice_source_messages_total{source="a",outcome="duplicate"} 1',
    'sluice_source_messages_total{source="a",outcome="deleted"} 3',
    'sluice_source_messages_total{source="a",outcome="ignored"} 4',
    'sluice_source_messages_total{source="a",outcome="rejected"} 1',
    'sluice_source_gaps_total{source="a"} 1',
    'sluice_source_pending_messages{source="a"} 7',
    'sluice_source_behind_seconds{source="a"} 1.5',
  ])
  expect(text).toContain('sluice_source_connected{source="a"} 0')
  expect(lines).toMatchObject([
    { source: "a", title: "Invalid JSON", place: "id 5" },
    { source: "b", where: "source", advice: "Set it." },
    { source: "a", where: "source" },
    { source: "a", reason: "trimmed" },
  ])
  events.sourceNotMeasured({ source: "a" })
  expect(await registry.metrics()).not.toMatch(/^sluice_source_(pending|behind)\w*\{/m)
})
