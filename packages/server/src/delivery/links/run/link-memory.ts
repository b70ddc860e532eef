import { Breaker } from "./breaker.ts"
import { DeliveryRate } from "../../sending/delivery-rate.ts"

/** Counters of a link over all its runs in this process. */
interface LinkCounters {
  delivered: number
  failed: number
  deadLettered: number
  /** Since when every attempt has failed. */
  failingSinceMs: number | undefined
}

/** The state of a link's endpoint, over all its runs in this process. */
export interface EndpointMemory {
  readonly breaker: Breaker
  readonly rate: DeliveryRate
  /** Nothing is sent before, as the endpoint requested. By the monotonic clock. */
  pausedUntilMs: number
  /**
   * While the endpoint is down, or nothing leaves this server: probes that have failed in a row, and when the next may be
   * sent, by the monotonic clock.
   */
  probe: { readonly failed: number; readonly atMs: number }
  /**
   * The endpoint has returned 410 Gone, and its webhook was invalidated during this generation of reconciles, which may
   * have read the link before; `undefined` when a later one has reconciled it.
   */
  goneAtGeneration: number | undefined
}

/** State that outlives a run of a link that failed and was started again. */
export interface LinkMemory {
  readonly counters: LinkCounters
  readonly endpoint: EndpointMemory
}

/** No probe has failed, and one may be sent at once. */
export const noProbe: EndpointMemory["probe"] = { failed: 0, atMs: 0 }

/** A link of which nothing is known yet. */
export function newLinkMemory(settings: {
  readonly concurrencyPerLink: number
  /** 0: unbounded. */
  readonly deliveriesPerLinkPerSecondMax: number
}): LinkMemory {
  return {
    counters: { delivered: 0, failed: 0, deadLettered: 0, failingSinceMs: undefined },
    endpoint: {
      breaker: new Breaker(settings.concurrencyPerLink),
      rate: new DeliveryRate(settings.deliveriesPerLinkPerSecondMax),
      pausedUntilMs: 0,
      probe: noProbe,
      goneAtGeneration: undefined,
    },
  }
}
