/**
 * Events of a delivery thread on their way to the main thread, where all are logged and counted.
 *
 * They go together, a few milliseconds late: a message for each would cost either thread as much as a tenth of a
 * delivery.
 */
import type { Clock } from "../../runtime/clock.ts"
import { storeFaultCode, storeFaultOf } from "../../store/store-faults.ts"
import { deliveryEventNames, type DeliveryEvents } from "../sending/sending-deps.ts"

/** An event as it crosses: the function that is called, and what with. */
export interface ForwardedEvent {
  readonly name: keyof DeliveryEvents
  readonly event: unknown
  /** Of a failure that is a store fault: errors lose their class between threads. */
  readonly code?: string
}

/** Longest that an event waits. Ours: nobody sees the difference. */
const waitMs = 20

/** Most events of a message, and of those that wait. Ours. */
const eventsMax = 256

type AnyEvents = Readonly<Record<keyof DeliveryEvents, (event?: unknown) => void>>

/** Collects events and has them sent. */
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
  readonly events = Object.fromEntries(
    deliveryEventNames.map((name) => [name, (event?: unknown) => this.#add(name, event)]),
  ) as unknown as DeliveryEvents

  /** Sends what waits, and from then on each event at once. */
  stop(): void {
    this.#stopped.abort()
    this.#flush()
  }

  #add(name: keyof DeliveryEvents, event: unknown): void {
    const code = name === "failed" ? storeFaultCode((event as { readonly error: unknown }).error) : undefined
    this.#waiting.push({ name, event, ...(code !== undefined && { code }) })
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
  for (const { name, event, code } of forwarded) {
    const restored = code === undefined ? event : restoredFailure(event, code)
    ;(events as unknown as AnyEvents)[name](restored)
  }
}

function restoredFailure(event: unknown, code: string): unknown {
  const failure = event as { readonly where: string; readonly error: unknown }
  return { ...failure, error: storeFaultOf(code, failure.error) }
}
