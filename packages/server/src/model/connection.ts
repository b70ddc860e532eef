/** The history of an app's stream connections. */
import type { DisconnectType, StreamEndpoint } from "@sluice/api"
import type { AppId, ConnectionId } from "./ids.ts"

/** A stream connection, open or ended. */
export interface StreamConnection {
  /** Ids rise in the order in which connections were opened. */
  readonly id: ConnectionId
  /** Its name in the API. */
  readonly uuid: string
  readonly appId: AppId
  readonly endpoint: StreamEndpoint
  /** The address from which the client connected. */
  readonly clientIp: string
  readonly connectedAtMs: number
  /** Absent while it is open. */
  readonly ended?: ConnectionEnded
}

/** How a connection ended. */
export interface ConnectionEnded {
  readonly atMs: number
  readonly reason: DisconnectReason
}

/**
 * Why a connection ended: the type of X's disconnect message that the client got, or would have got; `ClientDisconnected`
 * when the client left, `Completed` at the end of a recovery, `UsageCapExceeded` at the monthly cap. Source of the types: docs.x.com, "Handling disconnections";
 * that they are the reasons: ours.
 */
export type DisconnectReason = DisconnectType | "ClientDisconnected" | "Completed" | "UsageCapExceeded"

/** The reason of a connection whose process has died: the client got no message. */
export const lostReason = "UpstreamUncleanDisconnect" satisfies DisconnectReason
