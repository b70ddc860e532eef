import { Breaker } from "./breaker.ts"
import { DeliveryRate } from "./delivery-rate.ts"

/** What a link has come to over all its runs in this process. */
export interface LinkCounters {
  delivered: number
  failed: number
  died: number
  /** Since when every attempt has failed. */
  failingSinceMs: number | undefined
}

/** What a link knows of its endpoint, over all its runs in this process. */
export interface EndpointMemory {
  readonly breaker: Breaker
  readonly rate: DeliveryRate
  /** Nothing is sent before, as the endpoint asked. By the clock that never steps back. */
  heldUntilMs: number
  /**
   * The endpoint has said that it wants no more. That was written down when this many looks at the links had begun, so
   * these may have missed it; `undefined` when a later one has been taken in.
   */
  goneAtLook: number | undefined
}

/** What outlives a run of a link that failed and was started again. */
export interface LinkMemory {
  readonly counters: LinkCounters
  readonly endpoint: EndpointMemory
}

/** A link of which nothing is known yet. */
export function newLinkMemory(settings: {
  readonly concurrencyPerLink: number
  /** 0 is without a bound. */
  readonly deliveriesPerLinkPerSecondMax: number
}): LinkMemory {
  return {
    counters: { delivered: 0, failed: 0, died: 0, failingSinceMs: undefined },
    endpoint: {
      breaker: new Breaker(settings.concurrencyPerLink),
      rate: new DeliveryRate(settings.deliveriesPerLinkPerSecondMax),
      heldUntilMs: 0,
      goneAtLook: undefined,
    },
  }
}
