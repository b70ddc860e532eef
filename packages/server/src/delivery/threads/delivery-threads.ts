/**
 * Webhook links that delivery threads drive, seen from the main thread.
 *
 *     main thread                                            delivery threads, each with
 *     links of the store ── shares ─────────────────────►    its links and their replays
 *     a link's state     ◄── what its driver knows of it     a connection that reads
 *     log and metrics    ◄── events                          sockets
 *
 * Delivery threads use the same lease interface as processes on a shared database: a thread drives the links that it
 * has leases of. All changes of deliveries go to the one writer.
 */
import type { LinkId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { LinksMeasured } from "../../runtime/events/events.ts"
import { PortCalls } from "../../runtime/port-calls.ts"
import type { DrivenState } from "../../store/shared-link-states.ts"
import type { Store } from "../../store/store.ts"
import { ControlWatch } from "../control-watch.ts"
import { LinkStates } from "../links/link-states.ts"
import { webhookLinksOf, type WebhookLinks } from "../links/webhook-links.ts"
import type { DeliveryEvents } from "../sending/sending-deps.ts"
import type { DeliveryThread } from "./delivery-thread.ts"
import { reportForwarded } from "./forwarded-events.ts"
import { LinkShares } from "./link-shares.ts"
import type { AssignmentChange, DeliveryFunctions, DeliveryReports } from "./messages.ts"

interface DeliveryThreadsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly events: DeliveryEvents
}

/**
 * Webhook links that these threads drive. `run` delivers over them, replays included, once the threads have started; it
 * resolves when the threads have ended.
 */
export function linksOfThreads(threads: readonly DeliveryThread[], deps: DeliveryThreadsDeps): WebhookLinks {
  const { store, clock } = deps
  const measured = new MeasuredSums(threads.length, deps.events)
  const drivers = threads.map((thread, index) => new Driver(thread, measured.of(index)))
  const shares = new LinkShares(threads.length)
  const sharedLinkStates = {
    async of(linkIds: readonly LinkId[]): Promise<ReadonlyMap<LinkId, DrivenState>> {
      const found = await Promise.all(drivers.map((driver) => driver.states(linkIds)))
      return new Map(found.flatMap((states) => [...states]))
    },
  }
  const shareOut = async (): Promise<void> => {
    const links = await store.allLinks()
    const changes = shares.share(links.map(({ id }) => id))
    for (const [index, change] of changes.entries()) drivers[index]?.give(change)
  }
  const watch = new ControlWatch("delivery threads", shareOut, deps)
  return webhookLinksOf({ store }, new LinkStates({ store, clock, sharedLinkStates }, new Map()), async (signal) => {
    await watch.run(signal)
    await Promise.all(threads.map((thread) => thread[Symbol.asyncDispose]()))
  })
}

/** One thread. */
class Driver {
  readonly #port: PortCalls<DeliveryFunctions>
  #hasEnded = false

  /** Drives a thread, whose events are reported to `events`. */
  constructor({ port }: DeliveryThread, events: DeliveryEvents) {
    const functions: DeliveryReports = { report: (forwarded) => reportForwarded(forwarded, events) }
    this.#port = new PortCalls(port, functions, { closed: () => void (this.#hasEnded = true) })
  }

  /** Changes the links that the thread drives. */
  give(change: AssignmentChange): void {
    if (change.added.length > 0 || change.removed.length > 0) this.#port.tell("assign", [change])
  }

  /** States of those of these links that it drives; empty once it has ended. */
  async states(linkIds: readonly LinkId[]): Promise<ReadonlyMap<LinkId, DrivenState>> {
    try {
      return await this.#port.call("states", [linkIds])
    } catch (error) {
      if (this.#hasEnded) return new Map()
      throw error
    }
  }
}

/** Measurements of the threads, as sums over all links. */
class MeasuredSums {
  readonly #events: DeliveryEvents
  readonly #last: (LinksMeasured | undefined)[]

  constructor(threads: number, events: DeliveryEvents) {
    this.#events = events
    this.#last = Array.from({ length: threads })
  }

  /** Events of one thread, whose measurements are added to those of the others. */
  of(thread: number): DeliveryEvents {
    return {
      ...this.#events,
      linksMeasured: (measured) => this.#note(thread, measured),
      linksNotMeasured: () => this.#note(thread, undefined),
    }
  }

  /** Sums that lack a thread's links would be wrong. */
  #note(thread: number, measured: LinksMeasured | undefined): void {
    this.#last[thread] = measured
    const known = this.#last.filter((one) => one !== undefined)
    if (known.length === this.#last.length) this.#events.linksMeasured(known.reduce(sum))
    else if (measured === undefined) this.#events.linksNotMeasured()
  }
}

function sum(a: LinksMeasured, b: LinksMeasured): LinksMeasured {
  const byApp = new Map(a.byApp)
  for (const [appId, { lag, oldestUndeliveredAgeMs }] of b.byApp) {
    const other = byApp.get(appId) ?? { lag: 0, oldestUndeliveredAgeMs: 0 }
    const oldest = Math.max(other.oldestUndeliveredAgeMs, oldestUndeliveredAgeMs)
    byApp.set(appId, { lag: other.lag + lag, oldestUndeliveredAgeMs: oldest })
  }
  return {
    links: a.links + b.links,
    lag: a.lag + b.lag,
    oldestUndeliveredAgeMs: Math.max(a.oldestUndeliveredAgeMs, b.oldestUndeliveredAgeMs),
    inFlight: a.inFlight + b.inFlight,
    down: a.down + b.down,
    paused: a.paused + b.paused,
    invalid: a.invalid + b.invalid,
    deadLetters: a.deadLetters + b.deadLetters,
    byApp,
  }
}
