/**
 * The history of the connections of this process, in the store.
 *
 *     a connection opens ─┐
 *                         ├─► one write at a time, with all changes that came during the one before
 *     a connection ends ──┘
 *
 * The head of a response waits for the write of its connection, so that a client finds its own in the list. A stream does
 * not depend on the history: a failed write is reported and tried again, and the stream goes on. After a crash, the next
 * process notes the ends of the connections that were open, or another process of those that share the store does.
 */
import type { DisconnectReason, StreamConnection } from "../../model/connection.ts"
import { asId, type AppId, type ConnectionId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { Snowflakes } from "../../runtime/snowflakes.ts"
import type { KeysetRange } from "../../store/keyset-range.ts"
import type {
  ConnectionChanges,
  ConnectionFilter,
  ConnectionReads,
  ConnectionSelector,
  ConnectionWrites,
} from "../../store/port/connection-store.ts"
import type { ConnectionKind } from "./connection-slots.ts"
import { disconnectReasonOf } from "./stream-connection.ts"
import { endpointOf } from "./stream-parts.ts"

/** Time between two searches for open connections of processes that have died. A failed write is tried again as often. Ours. */
const pollMs = 10_000

/** Most opened and most ended connections that wait for a store that fails. Beyond it the oldest are forgotten. Ours. */
const pendingMax = 10_000

/** Dependencies of the history. */
interface HistoryDeps {
  readonly store: ConnectionReads & Omit<ConnectionWrites, "trimConnections">
  readonly clock: Clock
  readonly events: Pick<Events, "failed">
  readonly snowflakes: Snowflakes
  /** Whether other processes share the store. */
  readonly isShared: boolean
}

/** A connection as it opens. */
interface OpenedConnection {
  readonly uuid: string
  readonly appId: AppId
  readonly kind: ConnectionKind
  readonly clientIp: string
}

/** Writes the history of the connections of one process, and reads that of all processes. */
export class ConnectionHistory {
  readonly #deps: HistoryDeps
  /** The open connections of this process. */
  readonly #held = new Set<string>()
  #pending: { opened: StreamConnection[]; ended: ConnectionChanges["ended"][number][] } = { opened: [], ended: [] }
  /** The write in progress. */
  #writing: Promise<void> | undefined

  constructor(deps: HistoryDeps) {
    this.#deps = deps
  }

  /**
   * Notes a connection that opens, if its kind is listed. Resolves when that is durable, or its write has failed and will be
   * tried again.
   */
  async opened({ kind, ...connection }: OpenedConnection): Promise<void> {
    const endpoint = endpointOf(kind)
    if (endpoint === undefined) return
    const { clock, snowflakes } = this.#deps
    const id = asId<ConnectionId>(snowflakes.next())
    this.#held.add(connection.uuid)
    this.#pending.opened.push({ id, endpoint, connectedAtMs: clock.nowMs(), ...connection })
    await this.settled()
  }

  /** Notes that a connection has ended; nothing for one that did not open. */
  ended(uuid: string, reason: DisconnectReason): void {
    if (!this.#held.delete(uuid)) return
    this.#pending.ended.push({ uuid, reason, atMs: this.#deps.clock.nowMs() })
    void this.settled()
  }

  /** A page of an app's connections to any process. */
  async page(filter: ConnectionFilter, range: KeysetRange<ConnectionId>): Promise<readonly StreamConnection[]> {
    await this.settled()
    return this.#deps.store.connectionPage(filter, range)
  }

  /** Notes that an app has ended open connections to any process. Returns their UUIDs. */
  async forced(appId: AppId, selector: ConnectionSelector): Promise<readonly string[]> {
    await this.settled()
    const { store, clock } = this.#deps
    return store.endConnections(appId, selector, { atMs: clock.nowMs(), reason: disconnectReasonOf("forced") })
  }

  /** Resolves when everything noted so far is written, or has failed to be. */
  async settled(): Promise<void> {
    // Several callers may wait here: the first begins the next write, which has the changes of all of them.
    while (this.#writing !== undefined) await this.#writing
    const { opened, ended } = this.#pending
    if (opened.length === 0 && ended.length === 0) return
    this.#writing = this.#write()
    await this.#writing
  }

  /** Tries failed writes again, and notes the ends of connections whose process has died, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, isShared } = this.#deps
    let areLostEnded = false
    while (!signal.aborted) {
      if (!areLostEnded || isShared) areLostEnded = await this.#endLost()
      await this.settled()
      await clock.pause(pollMs, signal)
    }
  }

  /** Returns whether the store has noted it. */
  async #endLost(): Promise<boolean> {
    const { store, clock, events } = this.#deps
    try {
      await store.endLostConnections([...this.#held], clock.nowMs())
      return true
    } catch (error) {
      events.failed({ where: "connection history", error })
      return false
    }
  }

  async #write(): Promise<void> {
    const changes = this.#pending
    this.#pending = { opened: [], ended: [] }
    try {
      await this.#deps.store.saveConnections(changes)
    } catch (error) {
      this.#deps.events.failed({ where: "connection history", error })
      const { opened, ended } = this.#pending
      this.#pending = {
        opened: [...changes.opened, ...opened].slice(-pendingMax),
        ended: [...changes.ended, ...ended].slice(-pendingMax),
      }
    } finally {
      this.#writing = undefined
    }
  }
}
