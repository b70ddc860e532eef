import { pino } from "pino"
import { Registry } from "prom-client"
import { expect, test } from "vitest"
import { createEvents } from "../runtime/events/recorded-events.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { remembered } from "./known-secrets.ts"
import { SourceStates } from "./source-states.ts"

function begun(...names: readonly string[]) {
  const clock = createManualClock(1_000_000)
  const events = createEvents(pino({ enabled: false }), new Registry(), clock)
  const states = new SourceStates({ clock, events })
  return { clock, states, monitors: names.map((name) => states.monitorOf(name)) }
}

test("each source has a state of its own, in the order in which they began", async () => {
  const { clock, states, monitors } = begun("a", "b")
  await clock.advance(5_000)
  monitors[1]?.connected("a broker")
  monitors[1]?.measured({ pending: 3 })
  monitors[0]?.failed(new Error("refused"), "Set a password.")
  monitors[0]?.deadLettered({ title: "Invalid JSON", detail: "none", place: "id 5" })
  monitors[0]?.gap({ reason: "trimmed", toMs: 7 })
  const counts = {
    accepted: 0,
    duplicates: 0,
    deleted: 0,
    ignored: 0,
    rejected: 0,
    returned: 0,
    redelivered: 0,
    gaps: 0,
  }
  expect(states.list()).toEqual([
    {
      name: "a",
      startedAtMs: 1_000_000,
      lastFailure: { message: "refused", advice: "Set a password.", atMs: 1_005_000 },
      lastDeadLetter: { title: "Invalid JSON", detail: "none", place: "id 5", atMs: 1_005_000 },
      lastRecordAtMs: 1_005_000,
      counts: { ...counts, rejected: 1, gaps: 1 },
      perSecond: 1 / 6,
      gaps: [{ reason: "trimmed", toMs: 7, foundAtMs: 1_005_000 }],
      notices: [],
    },
    {
      name: "b",
      startedAtMs: 1_000_000,
      connected: { to: "a broker", sinceMs: 1_005_000 },
      counts,
      perSecond: 0,
      measured: { pending: 3, atMs: 1_005_000 },
      gaps: [],
      notices: [],
    },
  ])
})

test("a source that is disconnected has neither a connection nor a measurement, and keeps its last failure", () => {
  const { states, monitors } = begun("a")
  monitors[0]?.connected("a broker")
  monitors[0]?.measured({ inFlight: 1 })
  monitors[0]?.failed("closed")
  monitors[0]?.notMeasured()
  monitors[0]?.disconnected()
  expect(states.list()[0]).toMatchObject({ disconnectedAtMs: 1_000_000, lastFailure: { message: "closed" } })
  expect(Object.keys(states.list()[0] ?? {})).not.toEqual(expect.arrayContaining(["connected"]))
  monitors[0]?.connected("a broker")
  expect(states.list()[0]?.disconnectedAtMs).toBeUndefined()
})

test("a notice holds until it is over or the connection is, and is logged once", () => {
  const lines: string[] = []
  const clock = createManualClock(1_000_000)
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) })
  const states = new SourceStates({ clock, events: createEvents(log, new Registry(), clock) })
  const monitor = states.monitorOf("a")
  const messages = () => states.list()[0]?.notices.map(({ message }) => message)
  monitor.noticed("feed", { message: "The feed is off.", advice: "Follow a list." })
  monitor.noticed("token", { message: "The token filters." })
  expect(states.list()[0]?.notices[0]).toEqual({
    message: "The feed is off.",
    advice: "Follow a list.",
    sinceMs: 1_000_000,
  })
  monitor.noticed("feed")
  expect(messages()).toEqual(["The token filters."])
  monitor.disconnected()
  expect(messages()).toEqual([])
  monitor.noticed("token", { message: "The token filters." })
  expect(messages()).toEqual(["The token filters."])
  const logged = lines.map((line) => (JSON.parse(line) as { notice?: string }).notice)
  expect(logged.filter((notice) => notice !== undefined)).toEqual(["The feed is off.", "The token filters."])
})

test("the rate is that of the last minute, however long a source is silent", async () => {
  const { clock, states, monitors } = begun("a")
  const rate = () => states.list()[0]?.perSecond
  for (let second = 0; second < 120; second += 1) {
    monitors[0]?.done({ accepted: 5, ignored: 5 })
    await clock.advance(1_000)
  }
  // The second that runs has had none yet.
  expect(rate()).toBeCloseTo((59 * 10) / 60)
  await clock.advance(29_000)
  expect(rate()).toBeCloseTo((30 * 10) / 60)
  await clock.advance(3_600_000)
  expect(rate()).toBe(0)
  monitors[0]?.done({ duplicates: 60 })
  expect(rate()).toBe(1)
  expect(states.list()[0]?.counts).toMatchObject({ accepted: 600, ignored: 600, duplicates: 60 })
})

test("the newest gaps are remembered, and long texts are cut", () => {
  const { states, monitors } = begun("a")
  for (let number = 1; number <= 25; number += 1) monitors[0]?.gap({ reason: `number ${number}` })
  monitors[0]?.failed("x".repeat(5_000))
  const state = states.list()[0]
  expect(state?.gaps.map(({ reason }) => reason)).toEqual(Array.from({ length: 20 }, (_, at) => `number ${25 - at}`))
  expect(state?.counts.gaps).toBe(25)
  expect(state?.lastFailure?.message.length).toBeLessThan(1_100)
})

test("a secret that the other side repeats is in no dead letter, gap or notice, neither in the state nor in the log", () => {
  const secret = remembered("a-token-that-is-repeated")
  const lines: string[] = []
  const log = pino({ level: "debug" }, { write: (line) => void lines.push(line) })
  const clock = createManualClock()
  const states = new SourceStates({ clock, events: createEvents(log, new Registry(), clock) })
  const monitor = states.monitorOf("a")
  monitor.deadLettered({ title: "Invalid JSON", detail: `Bearer ${secret} is not JSON`, place: `key ${secret}` })
  monitor.gap({ reason: `It says: ${secret}.` })
  monitor.noticed("profiles", { message: `It refuses ${secret}.`, advice: `Renew ${secret}.` })
  expect(lines).toHaveLength(4)
  expect(lines.join("")).toContain("It says: ********.")
  expect(JSON.stringify(states.list())).toContain("It refuses ********.")
  expect(lines.join("") + JSON.stringify(states.list())).not.toContain(secret)
})
