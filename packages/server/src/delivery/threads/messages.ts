/** The messages between the main thread and a delivery thread. */
import type { LinkId } from "../../model/ids.ts"
import type { DrivenState } from "../../store/shared-link-states.ts"
import type { ForwardedEvent } from "./forwarded-events.ts"

/** To a delivery thread. */
export type DeliveryRequest =
  /** Links that it drives from now on, and links that are gone. */
  | { readonly kind: "links"; readonly added: readonly LinkId[]; readonly removed: readonly LinkId[] }
  /** Asks for what it knows of these links. */
  | { readonly kind: "states"; readonly request: number; readonly linkIds: readonly LinkId[] }

/** From a delivery thread. */
export type DeliveryReply =
  | { readonly kind: "events"; readonly events: readonly ForwardedEvent[] }
  /** Of the links that it drives of those that were asked for. */
  | { readonly kind: "states"; readonly request: number; readonly states: ReadonlyMap<LinkId, DrivenState> }
