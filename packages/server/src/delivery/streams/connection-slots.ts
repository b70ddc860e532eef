import { compliancePartitions, samplePartitions, type DisconnectType, type StreamEndpoint } from "@sluice/api"
import type { App } from "../../model/app.ts"
import type { AppId } from "../../model/ids.ts"
import { streamRefused } from "../../model/problem.ts"
import type { ConnectionEnd } from "./stream-connection.ts"

/** Most recoveries of an app at a time. Source: docs.x.com, "Recovery and redundancy". */
const recoveriesPerAppMax = 2

/** Most readers of an app that watch its matches, such as pages of the console. Ours. */
const watchesPerAppMax = 10

/**
 * Kind of a connection: the endpoint of a live one. Recoveries (`window`) are counted apart: a client that recovers has a
 * live connection, too.
 */
export type ConnectionKind = StreamEndpoint | "window" | "watch"

/** Slot of one connection of an app. */
export interface ConnectionSlot {
  readonly kind: ConnectionKind
  readonly uuid: string
  /** The app's, when the connection was opened. */
  readonly generation: number
  /** Aborted to end the connection, with a `ConnectionEnd` as the reason. */
  readonly ended: AbortController
  /** Resolves when the slot is released. */
  readonly released: PromiseWithResolvers<void>
}

/** Endpoints whose stream comes in partitions: an app may have as many connections to each partition. Ours. */
const partitionsOf: Readonly<Partial<Record<ConnectionKind, number>>> = {
  sample10_stream: samplePartitions,
  tweets_compliance_stream: compliancePartitions,
  users_compliance_stream: compliancePartitions,
}

function isCompliance(kind: ConnectionKind): boolean {
  return kind === "tweets_compliance_stream" || kind === "users_compliance_stream"
}

/** The connections of all apps to this process, within their limits. */
export class ConnectionSlots {
  readonly #taken = new Map<AppId, Set<ConnectionSlot>>()
  readonly #over: "refuse" | "replace"

  /** `connectionsOver`: whether a live connection over the limit is refused, or the app's oldest ended. */
  constructor(limits: { connectionsOver: "refuse" | "replace" }) {
    this.#over = limits.connectionsOver
  }

  /** Slots taken now. */
  get count(): number {
    return this.#taken.values().reduce((sum, slots) => sum + slots.size, 0)
  }

  /** Apps that have connections. */
  get appIds(): Iterable<AppId> {
    return this.#taken.keys()
  }

  /** Most connections of the kind that an app may have, `liveMax` to a partition of an endpoint, and the effect of another one. */
  limitOf(kind: ConnectionKind, liveMax: number): { readonly max: number; readonly replacesOldest: boolean } {
    if (kind === "window") return { max: recoveriesPerAppMax, replacesOldest: false }
    if (kind === "watch") return { max: watchesPerAppMax, replacesOldest: false }
    return { max: liveMax * (partitionsOf[kind] ?? 1), replacesOldest: this.#over === "replace" }
  }

  /** True when the app has as many connections of the kind as it may. */
  isFull(appId: AppId, kind: ConnectionKind, liveMax: number): boolean {
    return this.#of(appId, kind).length >= this.limitOf(kind, liveMax).max
  }

  /** Takes a slot. Throws a `Problem`, 429, when there is none. */
  take(
    { id, generation }: Pick<App, "id" | "generation">,
    { kind, uuid, liveMax }: { readonly kind: ConnectionKind; readonly uuid: string; readonly liveMax: number },
  ): ConnectionSlot {
    if (this.limitOf(kind, liveMax).replacesOldest && this.isFull(id, kind, liveMax)) this.#replaceOldest(id, kind)
    if (this.isFull(id, kind, liveMax)) throw streamRefused("TooManyConnections")
    const [ended, released] = [new AbortController(), Promise.withResolvers<void>()]
    const slot: ConnectionSlot = { kind, uuid, generation, ended, released }
    this.#taken.set(id, (this.#taken.get(id) ?? new Set()).add(slot))
    return slot
  }

  /** Releases a slot. Does nothing when it was released before. */
  release(appId: AppId, slot: ConnectionSlot): void {
    const slots = this.#taken.get(appId)
    slots?.delete(slot)
    slot.released.resolve()
    if (slots?.size === 0) this.#taken.delete(appId)
  }

  /** Ends the app's connections with other credentials than the app has now; `undefined`: there is no such app. */
  endOutdated(appId: AppId, app: App | undefined): void {
    for (const slot of this.#taken.get(appId) ?? []) {
      // A slot may be newer than the app that was read.
      if (app?.revoked === false && slot.generation >= app.generation) continue
      this.#end(appId, slot, "credentials")
    }
  }

  /** Ends a connection: another process has opened one in its place, its app has ended it, or its client's credentials ended. */
  end(appId: AppId, slot: ConnectionSlot, reason: "replaced" | "forced" | "credentials"): void {
    this.#end(appId, slot, reason)
  }

  /** Ends the app's connections with these UUIDs, as far as they are to this process, because the app has ended them. */
  endForced(appId: AppId, uuids: readonly string[]): void {
    const named = new Set(uuids)
    for (const slot of this.#taken.get(appId) ?? []) if (named.has(slot.uuid)) this.#end(appId, slot, "forced")
  }

  /** Ends the app's connections to compliance streams, which it may read no more. */
  endCompliance(appId: AppId): void {
    for (const slot of this.#taken.get(appId) ?? []) if (isCompliance(slot.kind)) this.#end(appId, slot, "credentials")
  }

  /** Ends the app's connections with this message, and returns how many there were. */
  disconnect(appId: AppId, disconnectType: DisconnectType | "none"): number {
    const slots = Array.from(this.#taken.get(appId) ?? [])
    for (const slot of slots) this.#end(appId, slot, { reason: "on-demand", disconnectType })
    return slots.length
  }

  /** Ends every connection, because the server closes. Their slots remain until the connections have ended. */
  endAll(): void {
    const reason: ConnectionEnd = "shutdown"
    for (const slots of this.#taken.values()) for (const { ended } of slots) ended.abort(reason)
  }

  /** Oldest first. */
  #of(appId: AppId, kind: ConnectionKind): readonly ConnectionSlot[] {
    return Array.from(this.#taken.get(appId) ?? []).filter((slot) => slot.kind === kind)
  }

  /** For clients that leave their connection open and reconnect. A recovery ends by itself. */
  #replaceOldest(appId: AppId, kind: ConnectionKind): void {
    const [oldest] = this.#of(appId, kind)
    if (oldest !== undefined) this.#end(appId, oldest, "replaced")
  }

  #end(appId: AppId, slot: ConnectionSlot, reason: ConnectionEnd): void {
    slot.ended.abort(reason)
    this.release(appId, slot)
  }
}
