/**
 * What only the process that drives a link knows of it, shared through the store so that every process shows the same.
 * A process that has its store for itself has none of this.
 */
import type { LinkId } from "../model/ids.ts"

/** What the driver of a link knows of it. */
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

/** The state of a link that nobody drives. */
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
  /** Replaces the states of these links. That of a link whose lease is another one by now is ignored. */
  save(states: readonly LeasedState[]): Promise<void>
  /** As their drivers have saved them; without links that nobody drives, and those of which nothing was saved yet. */
  of(linkIds: readonly LinkId[]): Promise<ReadonlyMap<LinkId, DrivenState>>
}
