/**
 * States of links that only their drivers know, shared through the store so that every process shows the same. A
 * process that does not share its store has none.
 */
import type { LinkId } from "../model/ids.ts"

/** The state of a link that its driver knows. */
export interface DrivenState {
  /** The endpoint is down, as far as deliveries show. */
  readonly isDown: boolean
  readonly inFlight: number
  /** Since when every attempt has failed, Unix ms. */
  readonly failingSinceMs: number | undefined
  /** Unix ms. */
  readonly nextAttemptAtMs: number | undefined
  /** Deliveries and failed attempts since the process that drives it took it over, or started. */
  readonly delivered: number
  readonly failed: number
}

/** The state of a link without a driver. */
export const undrivenState: DrivenState = {
  isDown: false,
  inFlight: 0,
  failingSinceMs: undefined,
  nextAttemptAtMs: undefined,
  delivered: 0,
  failed: 0,
}

/** A state, and the lease under which the link was driven. */
export interface LeasedState extends DrivenState {
  readonly linkId: LinkId
  readonly lease: number
}

/** States of links of all processes. */
export interface SharedLinkStates {
  /** Replaces the states of these links. A state under an outdated lease is ignored. */
  save(states: readonly LeasedState[]): Promise<void>
  /** States as the drivers saved them; without links that have no driver or no saved state. */
  of(linkIds: readonly LinkId[]): Promise<ReadonlyMap<LinkId, DrivenState>>
}
