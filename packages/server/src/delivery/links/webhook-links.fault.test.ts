/**
 * Crashes at every call that delivery makes to the store and to endpoints. A call may fail before it does
 * anything or after it has done it; and it may fail alone, which a running server must get over, or with it all
 * the rest, which is a killed process: nothing that it has in memory counts, and another one starts on the store.
 */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { LinkId } from "../../model/ids.ts"
import { systemClock } from "../../runtime/clock.ts"
import type { Outbound } from "../../runtime/outbound/outbound.ts"
import { systemRandom } from "../../runtime/random.ts"
import { soleLeases } from "../../store/leases.ts"
import type { Store } from "../../store/store.ts"
import { isOnPostgres } from "../../store/tested-store.testing.ts"
import {
  harnessSecretBox,
  createRecordedEvents,
  createScriptedOutbound,
  hurried,
  makeLinkHarness,
  numbered,
  type LinkHarness,
  type ScriptedOutbound,
} from "./link-harness.testing.ts"
import { createWebhookLinks } from "./webhook-links.ts"

/** Calls that crash, by number from 0 among those that are counted, and whether before or after they have done their work. */
type Crashes = ReadonlyMap<number, "before" | "after">

/** How calls fail: alone, or with all that come later. */
type Kind = "failing" | "killed"

/** The result of a call in a killed process. */
const never = new Promise<never>(() => undefined)

class Crash extends Error {
  override readonly name = "Crash"
}

/** Wraps the calls of a store and of an outbound so that some crash. */
class Crasher {
  calls = 0
  crashed = 0
  readonly #crashes: Crashes
  readonly #kind: Kind
  readonly #counted: ReadonlySet<string>

  constructor(crashes: Crashes, kind: Kind, counted: ReadonlySet<string>) {
    this.#crashes = crashes
    this.#kind = kind
    this.#counted = counted
  }

  /** True when the process is killed. */
  get isDead(): boolean {
    return this.#kind === "killed" && this.crashed > 0
  }

  wrapped<Target extends Store | Outbound>(target: Target, names: ReadonlySet<string>): Target {
    return new Proxy(target, {
      get: (inner, name) => {
        const value: unknown = Reflect.get(inner, name)
        if (typeof value !== "function") return value
        const call: unknown = value.bind(inner)
        return typeof call === "function" && names.has(String(name))
          ? (...args: unknown[]) => this.#run(String(name), () => Reflect.apply(call, undefined, args))
          : call
      },
    })
  }

  async #run(name: string, work: () => unknown): Promise<unknown> {
    if (this.isDead) return never
    if (!this.#counted.has(name)) return work()
    const crash = this.#crashes.get(this.calls++)
    if (crash !== "before") {
      const result = await work()
      if (crash === undefined) return result
    }
    this.crashed += 1
    if (this.#kind === "failing") throw new Crash("failed")
    return never
  }
}

const crashableCalls = new Set([
  "allLinks",
  "retries",
  "matches",
  "saveProgress",
  "recordAttempts",
  "invalidateWebhook",
  "send",
])
const postIds = numbered(12)

/** Runs links until all is delivered, or dead, and that is saved; again whenever the process is killed. */
async function deliverAll(
  harness: LinkHarness,
  outbound: Outbound,
  options: {
    crashes: readonly Crashes[]
    kind: Kind
    concurrency: number
    attemptsMax?: number
    counted?: ReadonlySet<string>
  },
): Promise<{ crashed: number }> {
  const lives = options.crashes.values()
  let crashed = 0
  while ((await harness.deliveredUpTo("100")) !== postIds.length) {
    const crasher = new Crasher(lives.next().value ?? new Map(), options.kind, options.counted ?? crashableCalls)
    const links = createWebhookLinks({
      store: crasher.wrapped(harness.store, crashableCalls),
      leases: soleLeases,
      outbound: crasher.wrapped(outbound, crashableCalls),
      secretBox: harnessSecretBox,
      clock: hurried(systemClock),
      random: systemRandom,
      events: createRecordedEvents(),
      concurrencyPerLink: options.concurrency,
      deliveriesPerLinkPerSecondMax: 0,
      deliveryAttemptsMax: options.attemptsMax ?? 100,
      attemptsKeptPerLink: 1_000,
      attemptResponseBytesMax: 1_024,
      attemptMsMax: 10_000,
      retryBaseMs: 5,
      retryMaxMs: 20,
      drainMsMax: 8_000,
    })
    const stop = new AbortController()
    const ended = links.run(stop.signal)
    const giveUpAtMs = systemClock.monotonicMs() + 20_000
    while (!(crasher.isDead || (await harness.deliveredUpTo("100")) === postIds.length)) {
      if (systemClock.monotonicMs() > giveUpAtMs) throw new Error("not delivered in time")
      await systemClock.sleep(1)
    }
    stop.abort()
    if (options.kind === "failing") await ended
    // The store completes the writes of the killed process before the next one reads, as in one data directory.
    await harness.store.saveProgress([])
    crashed += crasher.crashed
  }
  return { crashed }
}

/** Responds with these, and then 200. Counts what is taken again: a repeat that is refused comes once more by right. */
function respondWith(outbound: ScriptedOutbound, statuses: readonly number[]): { repeats: number } {
  const counted = { repeats: 0 }
  const left = statuses.values()
  const taken = new Set<string>()
  outbound.respondToAll(({ postId }) => {
    const status = left.next().value ?? 200
    if (status === 200 && taken.has(postId)) counted.repeats += 1
    if (status === 200) taken.add(postId)
    return status
  })
  return counted
}

const crashes = fc
  .uniqueArray(fc.tuple(fc.nat({ max: 40 }), fc.constantFrom("before" as const, "after" as const)), {
    selector: ([call]) => call,
    minLength: 1,
    maxLength: 8,
  })
  .map((entries): Crashes => new Map(entries))

const kinds = ["failing", "killed"] as const

describe.each(kinds)("when any calls crash, %s,", (kind) => {
  test("every match arrives, in order, repeats aside, when one is sent at a time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(crashes, { minLength: 1, maxLength: 6 }), async (lives) => {
        await using harness = await makeLinkHarness()
        await harness.addLink("1", "100", "https://example.com/")
        await harness.post("1", ...postIds)
        const outbound = createScriptedOutbound()
        const counted = respondWith(outbound, [])
        const { crashed } = await deliverAll(harness, outbound, { crashes: lives, kind, concurrency: 1 })
        expect(counted.repeats).toBeLessThanOrEqual(crashed)
        const arrived = outbound.received.map((one) => Number(one.postId))
        expect([...new Set(arrived)].map(String)).toEqual(postIds)
        // A killed process may repeat what it had not saved, so the order holds within each life of it.
        if (kind === "failing") expect(arrived).toEqual(arrived.toSorted((a, b) => a - b))
      }),
      { numRuns: 12 },
    )
  })

  test("every match arrives, with at most as many repeats as may be in flight, and the same ones, when several are sent", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(crashes, { minLength: 1, maxLength: 6 }),
        fc.array(fc.constantFrom(200, 503), { maxLength: 20 }),
        async (lives, statuses) => {
          await using harness = await makeLinkHarness()
          await harness.addLink("1", "100", "https://example.com/")
          await harness.post("1", ...postIds)
          const outbound = createScriptedOutbound()
          const counted = respondWith(outbound, statuses)
          const { crashed } = await deliverAll(harness, outbound, { crashes: lives, kind, concurrency: 4 })
          expect(counted.repeats).toBeLessThanOrEqual(crashed * 4)
          expect(new Set(outbound.received.map((one) => one.postId))).toEqual(new Set(postIds))
          const sent = outbound.received.map((one) => `${one.eventId} ${String(one.request.body)}`)
          expect(new Set(sent).size).toBe(postIds.length)
        },
      ),
      { numRuns: 12 },
    )
  })

  test("every match is delivered or a dead letter, each is counted once, and dead letters arrive when they are redelivered", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(crashes, { minLength: 1, maxLength: 6 }),
        fc.uniqueArray(fc.constantFrom(...postIds), { maxLength: 2 }),
        async (lives, poison) => {
          await using harness = await makeLinkHarness()
          await harness.addLink("1", "100", "https://example.com/")
          await harness.post("1", ...postIds)
          const outbound = createScriptedOutbound()
          const arrived = new Set<string>()
          outbound.respondToAll(({ postId }) => {
            if (poison.includes(postId)) return 400
            arrived.add(postId)
            return 200
          })
          // More slots than can fail in a row: then a failure tells of the match.
          const options = { kind, concurrency: 16, attemptsMax: 3 }
          await deliverAll(harness, outbound, { ...options, crashes: lives })
          const letters = await harness.store.deadLetters({}, { direction: "older", limit: 100 })
          expect(new Set(letters.map(({ postId }) => String(postId)))).toEqual(new Set(poison))
          expect(arrived.size).toBe(postIds.length - poison.length)
          const tally = await harness.store.linkTally("100" as LinkId)
          expect(tally).toMatchObject({ position: postIds.length, retries: 0, deadLetters: poison.length })
          // A save that is done and says that it is not is done again, and counts what it delivered again.
          if (kind === "killed") expect(tally?.delivered).toBe(arrived.size)
          outbound.respondToAll(({ postId }) => {
            arrived.add(postId)
            return 200
          })
          await harness.store.redeliver({ kind: "all" })
          await deliverAll(harness, outbound, { ...options, crashes: lives.toReversed() })
          expect(arrived).toEqual(new Set(postIds))
        },
      ),
      { numRuns: 12 },
    )
  })

  test.each(["before", "after"] as const)("a crash at each call in turn, %s its work, is survived", async (moment) => {
    await using harness = await makeLinkHarness()
    await harness.addLink("1", "100", "https://example.com/")
    await harness.post("1", ...postIds)
    const outbound = createScriptedOutbound()
    outbound.respondToAll(() => 200)
    const everyCall = Array.from({ length: 12 }, (_, call): Crashes => new Map([[call, moment]]))
    const { crashed } = await deliverAll(harness, outbound, { crashes: everyCall, kind, concurrency: 2 })
    expect(crashed).toBeGreaterThan(0)
    expect(new Set(outbound.received.map((one) => one.postId))).toEqual(new Set(postIds))
  })
})

// The calls of a store that takes time come in another order.
test.skipIf(isOnPostgres)(
  "a process that is killed after a response and before its save repeats that delivery, under the same id",
  async () => {
    await using harness = await makeLinkHarness()
    await harness.addLink("1", "100", "https://example.com/")
    await harness.post("1", ...postIds)
    const outbound = createScriptedOutbound()
    outbound.respondToAll(() => 200)
    const first: Crashes = new Map([[0, "before"]])
    const counted = new Set(["saveProgress"])
    await deliverAll(harness, outbound, { crashes: [first], kind: "killed", concurrency: 1, counted })
    const counts = postIds.map((id) => outbound.received.filter((one) => one.postId === id).length)
    expect(counts).toEqual([2, ...postIds.slice(1).map(() => 1)])
    expect(outbound.received.slice(0, 2).map((one) => one.eventId)).toEqual(["msg_100_1", "msg_100_1"])
  },
)
