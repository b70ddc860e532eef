import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, beforeEach, expect, test } from "vitest"
import { storeUnavailable } from "../../model/problem.ts"
import { systemClock, type Clock } from "../../runtime/clock.ts"
import { ChangeListeners } from "../../store/change-listeners.ts"
import { soleLeases, type Leases } from "../../store/leases.ts"
import type { Store } from "../../store/store.ts"
import { openTestedStore } from "../../store/tested-store.testing.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"
import { emptyReport, type IngestReport } from "../../ingest/ingest-report.ts"
import type { IntakeBody } from "../../ingest/port-body.ts"
import type { SourceMonitor } from "../source.ts"
import { remembered } from "../known-secrets.ts"
import { AdvisedError, createPositionedSource, type RecordReader } from "./positioned-source.ts"

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let store: Store
let running: { stop: () => Promise<void> }[]
let heard: string[]

beforeEach(async () => {
  directory = await temporaryDirectory()
  store = await openTestedStore(directory.path)
  running = []
  heard = []
})

afterEach(async () => {
  for (const { stop } of running) await stop()
  await store[Symbol.asyncDispose]()
  await directory[Symbol.asyncDispose]()
})

const monitor: SourceMonitor = {
  connected: (to) => void heard.push(`connected ${to}`),
  disconnected: () => void heard.push("disconnected"),
  failed: (error, advice) => void heard.push(`failed: ${(error as Error).message} ${advice ?? ""}`.trim()),
  done: () => undefined,
  deadLettered: () => undefined,
  returned: () => undefined,
  redelivered: () => undefined,
  measured: () => undefined,
  notMeasured: () => undefined,
  gap: ({ reason }) => void heard.push(`gap: ${reason}`),
  noticed: (about, notice) => void heard.push(`${about}: ${notice?.message ?? "over"}`),
}

/** An intake that saves each line as the position, in a transaction with the number of its driver. */
function positionIntake(failWith?: () => Error | undefined) {
  return {
    openSource(
      { source }: { source: { name: string; driver: number } },
      onBatch: (report: IngestReport) => void,
    ): IntakeBody {
      const failure = new AbortController()
      const save = async (position: string): Promise<void> => {
        const reason = failWith?.()
        if (reason !== undefined) return failure.abort(reason)
        const progress = {
          source: source.name,
          driver: source.driver,
          position,
          names: [],
          assigned: [],
          deadLetters: [],
          users: [],
        }
        const { kind } = await store.appendFrom(progress, [], 1)
        if (kind === "superseded") {
          const { SourceSuperseded } = await import("../../model/source-superseded.ts")
          failure.abort(new SourceSuperseded("superseded"))
        } else onBatch({ ...emptyReport, lines: 1, accepted: 1 })
      }
      let last = Promise.resolve()
      return {
        failed: failure.signal,
        write(chunk) {
          failure.signal.throwIfAborted()
          last = last.then(() => save(Buffer.from(chunk).toString().trim()))
          return last
        },
        async end() {
          await last
          failure.signal.throwIfAborted()
          return emptyReport
        },
        stop: () => Promise.reject(new Error("not used")),
        abort: () => undefined,
      }
    },
  }
}

interface Options {
  readonly leases?: Pick<Leases, "has" | "onChange">
  readonly intake?: ReturnType<typeof positionIntake>
  readonly clock?: Clock
}

function run(
  reader: RecordReader,
  { leases = soleLeases, intake = positionIntake(), clock = systemClock }: Options = {},
) {
  const controller = new AbortController()
  const source = createPositionedSource(
    "sky",
    { reader, converter: { type: "envelopes" } },
    { store, leases, intake, clock, random: { fraction: () => 1 }, monitor, drainMsMax: 2_000 },
  )
  const ended = source.run(controller.signal)
  const stop = async (): Promise<void> => {
    controller.abort()
    await ended
  }
  running.push({ stop })
  return { stop }
}

/** A reader of endless numbers, behind the position. */
function counting(begun: (string | undefined)[] = [], pauseMs = 1): RecordReader {
  return {
    async read(position, sink, signal) {
      begun.push(position)
      sink.connected("the sea")
      for (let at = Number(position ?? 0) + 1; !signal.aborted; at += 1) {
        await sink.take(Buffer.from(String(at)))
        await sleep(pauseMs)
      }
    },
  }
}

const position = async (): Promise<number> => Number((await store.sources())[0]?.position ?? 0)

test("goes on behind the position that is stored, after an end and after a failure", async () => {
  const begun: (string | undefined)[] = []
  const { stop } = run(counting(begun))
  await expect.poll(position).toBeGreaterThan(3)
  await stop()
  const reached = await position()
  let failed = false
  run({
    async read(from, sink, signal) {
      begun.push(from)
      if (!failed) {
        failed = true
        await sink.take(Buffer.from(String(Number(from) + 1)))
        throw new AdvisedError("The sea is closed.", "Open it.")
      }
      await counting().read(from, sink, signal)
    },
  })
  await expect.poll(position, { timeout: 5_000 }).toBeGreaterThan(reached + 3)
  expect(begun).toEqual([undefined, String(reached), String(reached + 1)])
  expect(heard).toContain("failed: The sea is closed. Open it.")
  expect(heard.slice(0, 2)).toEqual(["connected the sea", "disconnected"])
})

test("one of two processes drives, and the other one follows when the lease changes hands", async () => {
  const changed = new ChangeListeners<void>()
  let holder = 0
  const leasesOf = (process: number): Pick<Leases, "has" | "onChange"> => ({
    has: () => holder === process,
    onChange: (listener) => changed.onChange(listener),
  })
  const first: (string | undefined)[] = []
  const second: (string | undefined)[] = []
  run(counting(first), { leases: leasesOf(0) })
  run(counting(second), { leases: leasesOf(1) })
  await expect.poll(position).toBeGreaterThan(3)
  expect(second).toEqual([])
  holder = 1
  changed.announce()
  await expect.poll(() => second.length).toBe(1)
  const taken = Number(second[0])
  await expect.poll(position).toBeGreaterThan(taken + 3)
  expect(first).toHaveLength(1)
})

test("a driver that does not know that it was superseded stores nothing, and begins again when it may", async () => {
  const begun: (string | undefined)[] = []
  const readers: AbortSignal[] = []
  // Leases that never change: as of a process that was stopped for a while.
  run(
    {
      async read(from, sink, signal) {
        readers.push(signal)
        await counting(begun).read(from, sink, signal)
      },
    },
    { leases: { has: () => true, onChange: () => () => undefined } },
  )
  await expect.poll(position).toBeGreaterThan(2)
  await store.beginSource("sky")
  await expect.poll(() => readers.length, { timeout: 5_000 }).toBe(2)
  expect(heard.filter((line) => line.startsWith("failed"))).toEqual([])
})

test("a source that is paused reads nothing until it is resumed, and one that is rewound begins there", async () => {
  const begun: (string | undefined)[] = []
  run(counting(begun))
  await expect.poll(position).toBeGreaterThan(2)
  await store.pauseSource("sky", true)
  await expect.poll(() => heard.at(-1)).toBe("disconnected")
  const paused = await position()
  const numberOf = async (): Promise<number | undefined> => (await store.sources())[0]?.driver
  const number = await numberOf()
  await sleep(300)
  expect(await position()).toBe(paused)
  expect(await numberOf(), "a paused source begins once").toBe(number)
  await store.pauseSource("sky", false)
  await expect.poll(position).toBeGreaterThan(paused)
  await store.rewindSource("sky", "1000000")
  await expect.poll(position).toBeGreaterThan(1_000_001)
  expect(begun.at(-1)).toBe("1000000")
})

test.each([
  ["brings nothing", 0, [500, 1_000]],
  ["brings a record", 1, [500, 500]],
])("after a connection that %s the next wait is as long as it should be", async (_, records, expected) => {
  const waits: number[] = []
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => 0,
    // The longer ones are looks at the store.
    sleep(ms, signal) {
      if (ms >= 2_000) return systemClock.sleep(ms, signal)
      waits.push(ms)
      return systemClock.sleep(1, signal)
    },
  }
  const closing: RecordReader = {
    async read(from, sink) {
      for (let at = 1; at <= records; at += 1) await sink.take(Buffer.from(String(Number(from ?? 0) + at)))
      throw new Error("closed")
    },
  }
  const { stop } = run(closing, { clock })
  await expect.poll(() => waits.length).toBeGreaterThanOrEqual(2)
  await stop()
  expect(waits.slice(0, 2)).toEqual(expected)
})

test("while the store is away nothing is lost: the source begins again behind what is stored", async () => {
  let isAway = true
  const intake = positionIntake(() => (isAway ? storeUnavailable(new Error("The disk is full.")) : undefined))
  const begun: (string | undefined)[] = []
  run(counting(begun), { intake })
  await expect.poll(() => heard.some((line) => line.startsWith("failed"))).toBe(true)
  expect(await position()).toBe(0)
  isAway = false
  await expect.poll(position, { timeout: 5_000 }).toBeGreaterThan(2)
  expect(begun.at(-1)).toBeUndefined()
})

test("a secret that the other side repeats is in no stored gap", async () => {
  const secret = remembered("a-token-that-is-repeated")
  run({
    async read(from, sink, signal) {
      await sink.gap({ reason: `It says: ${secret}.` })
      await counting().read(from, sink, signal)
    },
  })
  await expect.poll(async () => (await store.sourceGaps("sky"))[0]?.reason).toBe("It says: ********.")
})

test("notes a gap in the store and tells of it", async () => {
  run({
    async read(from, sink, signal) {
      await sink.gap({ fromMs: 1, toMs: 2, reason: "The position was too old." })
      await counting().read(from, sink, signal)
    },
  })
  await expect.poll(() => store.sourceGaps("sky")).toMatchObject([{ fromMs: 1, toMs: 2, source: "sky" }])
  expect(heard).toContain("gap: The position was too old.")
})

test("a reader that returns without being asked to counts as failed, and begins again", async () => {
  let reads = 0
  run({
    async read() {
      reads += 1
    },
  })
  await expect.poll(() => reads, { timeout: 5_000 }).toBeGreaterThan(1)
  expect(heard[0]).toBe("failed: The source has ended the connection.")
})
