import { MessageChannel } from "node:worker_threads"
import { once } from "node:events"
import { expect, test } from "vitest"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { StoreFailed } from "../../store/store-faults.ts"
import { createRecordedEvents } from "../links/link-harness.testing.ts"
import { EventForwarding, reportForwarded, type ForwardedEvent } from "./forwarded-events.ts"

const down = (webhookId: string) => ({ webhookId, isDown: true })

test("events are sent together after a short wait, in their order", async () => {
  const clock = createManualClock()
  const sent: (readonly ForwardedEvent[])[] = []
  const forwarding = new EventForwarding((events) => sent.push(events), clock)
  forwarding.events.endpointStateChanged(down("1"))
  forwarding.events.linksNotMeasured()
  expect(sent).toEqual([])
  await clock.advance(20)
  expect(sent).toEqual([
    [
      { name: "endpointStateChanged", event: down("1") },
      { name: "linksNotMeasured", event: undefined },
    ],
  ])
})

test("many events do not wait, and a stop sends the last ones", () => {
  const sent: (readonly ForwardedEvent[])[] = []
  const forwarding = new EventForwarding((events) => sent.push(events), createManualClock())
  for (let count = 0; count < 300; count += 1) forwarding.events.endpointStateChanged(down(String(count)))
  expect(sent.map(({ length }) => length)).toEqual([256])
  forwarding.stop()
  expect(sent.map(({ length }) => length)).toEqual([256, 44])
  forwarding.events.endpointStateChanged(down("late"))
  expect(sent.at(-1)).toEqual([{ name: "endpointStateChanged", event: down("late") }])
})

test("a store's failure that crosses threads keeps its class", async () => {
  const { port1, port2 } = new MessageChannel()
  const forwarding = new EventForwarding((events) => port1.postMessage(events), createManualClock())
  forwarding.events.failed({ where: "progress saves", error: new StoreFailed("the disk has failed") })
  forwarding.events.failed({ where: "webhook link", error: new TypeError("no such thing") })
  forwarding.stop()
  const [events] = (await once(port2, "message")) as [readonly ForwardedEvent[]]
  port1.close()
  const recorded = createRecordedEvents()
  const failures: unknown[] = []
  reportForwarded(events, { ...recorded, failed: ({ error }) => void failures.push(error) })
  expect(failures[0]).toBeInstanceOf(StoreFailed)
  expect(failures).toMatchObject([{ message: "the disk has failed" }, { name: "TypeError", message: "no such thing" }])
})
