/** The history of stream connections: a part of the store (`store.ts`). */
import type { ConnectionEnded, StreamConnection } from "../../model/connection.ts"
import type { AppId, ConnectionId } from "../../model/ids.ts"
import type { KeysetRange } from "../keyset-range.ts"

/** Which connections of an app. */
export interface ConnectionFilter {
  readonly appId: AppId
  /** Absent: both. */
  readonly isOpen?: boolean
  /** Absent: all. */
  readonly endpoints?: readonly StreamConnection["endpoint"][]
}

/** Which connections of an app to end: these, those of an endpoint, or all. */
export type ConnectionSelector =
  | { readonly kind: "uuids"; readonly uuids: readonly string[] }
  | { readonly kind: "endpoint"; readonly endpoint: StreamConnection["endpoint"] }
  | { readonly kind: "all" }

/** Changes of the history. */
export interface ConnectionChanges {
  readonly opened: readonly StreamConnection[]
  readonly ended: readonly (ConnectionEnded & { readonly uuid: string })[]
}

/** Reads: the history of stream connections. */
export interface ConnectionReads {
  /** A page of an app's connections, the newest first. */
  connectionPage(filter: ConnectionFilter, range: KeysetRange<ConnectionId>): Promise<readonly StreamConnection[]>
}

/** Writes: the history of stream connections. */
export interface ConnectionWrites {
  /**
   * Adds connections, except those that are there already, and notes how others ended. The first end counts, unless
   * `endLostConnections` noted it. Only the newest 1,000 connections of an app are kept, and older ones that are open.
   */
  saveConnections(changes: ConnectionChanges): Promise<void>
  /**
   * Notes that open connections of an app have ended, and returns their UUIDs. On a shared store they no longer count from
   * then on, and a hint tells the processes that hold them to end them.
   */
  endConnections(appId: AppId, selector: ConnectionSelector, ended: ConnectionEnded): Promise<readonly string[]>
  /** Notes the end of every open connection that no process holds any more. `held`: the UUIDs of those of this process. */
  endLostConnections(held: readonly string[], atMs: number): Promise<void>
  /**
   * Deletes connections of all apps that ended before `beforeMs`, and those beyond the `keptMax` that ended last: at most
   * `limit`, those that ended first. Returns how many.
   */
  trimConnections(options: {
    readonly beforeMs: number
    readonly keptMax: number
    readonly limit: number
  }): Promise<number>
}
