/** The calls between the main thread and a delivery thread. */
import type { LinkId } from "../../model/ids.ts"
import type { DrivenState } from "../../store/shared-link-states.ts"
import type { ForwardedEvent } from "./forwarded-events.ts"

/** Links that a thread drives from now on, and links that are gone. */
export interface AssignmentChange {
  readonly added: readonly LinkId[]
  readonly removed: readonly LinkId[]
}

/** Functions of a delivery thread. */
export interface DeliveryFunctions {
  assign(change: AssignmentChange): void
  /** States of those of these links that it drives. */
  states(linkIds: readonly LinkId[]): ReadonlyMap<LinkId, DrivenState>
}

/** Functions of the main thread, which the delivery thread calls. */
export interface DeliveryReports {
  report(events: readonly ForwardedEvent[]): void
}
