/** Delivery threads as the main thread sees them; those here are ports in the hands of the test. */
import { MessageChannel } from "node:worker_threads"
import { expect, onTestFinished, test } from "vitest"
import { asId, type LinkId, type WebhookId } from "../../model/ids.ts"
import { systemClock } from "../../runtime/clock.ts"
import { PortCalls } from "../../runtime/port-calls.ts"
import type { LinksMeasured } from "../../runtime/events/events.ts"
import { undrivenState } from "../../store/shared-link-states.ts"
import { createRecordedEvents, makeLinkHarness } from "../links/link-harness.testing.ts"
import type { DeliveryThread } from "./delivery-thread.ts"
import type { ForwardedEvent } from "./forwarded-events.ts"
import { linksOfThreads } from "./delivery-threads.ts"
import type { DeliveryFunctions, DeliveryReports } from "./messages.ts"

const threads = 2

/** Links 10 and 11 of an app, shared out over two threads. */
async function running() {
  const harness = await makeLinkHarness()
  onTestFinished(() => harness[Symbol.asyncDispose]())
  await harness.addLink("1", "10", "https://a.example/")
  await harness.addLink("1", "11", "https://b.example/")
  const given: LinkId[][] = Array.from({ length: threads }, () => [])
  const channels = given.map(() => new MessageChannel())
  const stops = channels.map(
    ({ port1 }) =>
      async (): Promise<void> =>
        port1.close(),
  )
  const faked = channels.map(({ port1 }, index): DeliveryThread => ({
    port: port1,
    start: () => Promise.reject(new Error("not started here")),
    [Symbol.asyncDispose]: stops[index] ?? (async () => undefined),
  }))
  const ends = channels.map(({ port2 }, index) => {
    const functions: DeliveryFunctions = {
      assign: ({ added }) => given[index]?.push(...added),
      states(linkIds) {
        const known = new Set(linkIds).intersection(new Set(given[index]))
        return new Map([...known].map((id) => [id, { ...undrivenState, delivered: 7 + index }]))
      },
    }
    return new PortCalls<DeliveryReports>(port2, functions)
  })
  const events = createRecordedEvents()
  const links = linksOfThreads(faked, { store: harness.store, clock: systemClock, events })
  const stopping = new AbortController()
  const ended = links.run(stopping.signal)
  const stop = async (): Promise<void> => {
    stopping.abort()
    await ended
  }
  onTestFinished(stop)
  await expect.poll(() => given.flat().toSorted()).toEqual(["10", "11"])
  const report = (thread: number, sums?: LinksMeasured): void => {
    const event: ForwardedEvent =
      sums === undefined ? { name: "linksNotMeasured", event: undefined } : { name: "linksMeasured", event: sums }
    ends[thread]?.tell("report", [[event]])
  }
  return { harness, links, given, events, report, stop }
}

function measured(lag: number, ageMs: number): LinksMeasured {
  const byApp = new Map([["1", { lag, oldestUndeliveredAgeMs: ageMs }]])
  const counts = { links: 1, lag, inFlight: 2, down: 1, paused: 1, invalid: 0, deadLetters: 3 }
  return { ...counts, oldestUndeliveredAgeMs: ageMs, byApp }
}

test("each link is driven by one thread, which knows its state", async () => {
  const { links, given } = await running()
  expect(given.map(({ length }) => length)).toEqual([1, 1])
  const states = await links.states()
  expect(new Set(states.map(({ delivered }) => delivered))).toEqual(new Set([7, 8]))
})

test("once its thread has ended, a link has the state that the store knows", async () => {
  const { links, stop } = await running()
  await stop()
  expect(await links.state(asId<WebhookId>("10"))).toMatchObject({ delivered: 0, valid: true })
})

test("measurements of threads are summed up when all have reported", async () => {
  const { events, report } = await running()
  report(0, measured(5, 100))
  report(1, measured(7, 300))
  await expect
    .poll(() => events.measured)
    .toEqual([
      {
        links: 2,
        lag: 12,
        oldestUndeliveredAgeMs: 300,
        inFlight: 4,
        down: 2,
        paused: 2,
        invalid: 0,
        deadLetters: 6,
        byApp: new Map([["1", { lag: 12, oldestUndeliveredAgeMs: 300 }]]),
      },
    ])
  // Without the links of a thread the sums would be wrong, until it has measured again.
  report(1)
  await expect.poll(() => events.measured.slice(1)).toEqual([undefined])
  report(0, measured(1, 1))
  report(0, measured(4, 1))
  report(1, measured(2, 1))
  await expect.poll(() => events.measured.at(-1)?.lag).toBe(6)
  expect(events.measured).toHaveLength(3)
})
