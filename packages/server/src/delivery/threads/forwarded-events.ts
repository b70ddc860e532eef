/**
 * Events of a delivery thread on their way to the main thread, where all are logged and counted.
 *
 * They go together, a few milliseconds late, and not in a message each: deliveries come by the thousand.
 */
import type { Clock } from "../../runtime/clock.ts"
import { receivedError, sentError, type SentError } from "../../runtime/error-codec.ts"
import type { DeliveryEvents } from "../sending/sending-deps.ts"

/** The argument of each event as it crosses; the error of a failure is plain data. */
type EventArguments = {
  readonly [Name in keyof DeliveryEvents]: Name extends "failed"
    ? Omit<Parameters<DeliveryEvents["failed"]>[0], "error"> & { readonly error: SentError }
    : Parameters<DeliveryEvents[Name]>[0]
}

type Forwarded<Name extends keyof EventArguments> = {
  readonly [Each in Name]: {
    readonly name: Each
    readonly event: EventArguments[Each]
  }
}[Name]

/** An event as it crosses: the function that is called, and what with. */
export type ForwardedEvent = Forwarded<keyof EventArguments>

/** Longest wait of an event. Ours: too short to be seen in logs and metrics. */
const waitMs = 20

/** Most events of a message, and of those that wait. Ours. */
const eventsMax = 256

/** Collects events and sends them together. */
export class EventForwarding {
  readonly #send: (events: readonly ForwardedEvent[]) => void
  readonly #clock: Clock
  readonly #stopped = new AbortController()
  #waiting: ForwardedEvent[] = []

  constructor(send: (events: readonly ForwardedEvent[]) => void, clock: Clock) {
    this.#send = send
    this.#clock = clock
  }

  /** Events that are forwarded. */
  readonly events: DeliveryEvents = {
    attemptFinished: (event) => this.#add({ name: "attemptFinished", event }),
    endpointStateChanged: (event) => this.#add({ name: "endpointStateChanged", event }),
    failed: (event) => this.#add({ name: "failed", event: { ...event, error: sentError(event.error) } }),
    linksMeasured: (event) => this.#add({ name: "linksMeasured", event }),
    linksNotMeasured: () => this.#add({ name: "linksNotMeasured", event: undefined }),
    matchDeadLettered: (event) => this.#add({ name: "matchDeadLettered", event }),
    replayEnded: (event) => this.#add({ name: "replayEnded", event }),
    replayStarted: (event) => this.#add({ name: "replayStarted", event }),
    webhookValidityChanged: (event) => this.#add({ name: "webhookValidityChanged", event }),
  }

  /** Sends what waits, and from then on each event at once. */
  stop(): void {
    this.#stopped.abort()
    this.#flush()
  }

  #add(event: ForwardedEvent): void {
    this.#waiting.push(event)
    if (this.#stopped.signal.aborted || this.#waiting.length >= eventsMax) this.#flush()
    else if (this.#waiting.length === 1) void this.#flushLater()
  }

  async #flushLater(): Promise<void> {
    await this.#clock.sleep(waitMs, this.#stopped.signal)
    this.#flush()
  }

  #flush(): void {
    if (this.#waiting.length === 0) return
    const events = this.#waiting
    this.#waiting = []
    this.#send(events)
  }
}

/** Reports the events of another thread here. */
export function reportForwarded(forwarded: readonly ForwardedEvent[], events: DeliveryEvents): void {
  const failed = (event: EventArguments["failed"]): void =>
    events.failed({ ...event, error: receivedError(event.error) })
  const here = { ...events, failed }
  for (const one of forwarded) report(one, here)
}

function report<Name extends keyof EventArguments>(
  { name, event }: Forwarded<Name>,
  events: { readonly [Each in Name]: (event: EventArguments[Each]) => void },
): void {
  events[name](event)
}
