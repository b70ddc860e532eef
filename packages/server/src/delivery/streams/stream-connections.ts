/**
 * The stream connections of all apps: who may open one, and how all of them end.
 *
 * A connection belongs to the credentials that it was opened with and ends with them: `control-watch.ts` notices when
 * those of its app change, and the route when others, which act for the app, end. When several processes share the store,
 * an app's connections to all of them are counted.
 */
import { randomUUID } from "node:crypto"
import type { ServerResponse } from "node:http"
import type { DisconnectType } from "@sluice/api"
import type { App } from "../../model/app.ts"
import type { StreamConnection } from "../../model/connection.ts"
import type { AppId, ConnectionId, PostId } from "../../model/ids.ts"
import { streamRefused } from "../../model/problem.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { Snowflakes } from "../../runtime/snowflakes.ts"
import type { KeysetRange } from "../../store/keyset-range.ts"
import type { ConnectionFilter, ConnectionSelector } from "../../store/port/connection-store.ts"
import type { SharedLimits } from "../../store/shared-limits.ts"
import type { Store } from "../../store/store.ts"
import { ControlWatch } from "../control-watch.ts"
import { ConnectionHistory } from "./connection-history.ts"
import { ConnectionSlots, type ConnectionSlot } from "./connection-slots.ts"
import type { LineFormat } from "./line-format.ts"
import { serveStream, type BoundedSource, type ConnectionEnd, type StreamBounds } from "./stream-connection.ts"
import { checkBeginning, createStreamSources, kindOf, needsRules, type StreamPart } from "./stream-parts.ts"
import type { StreamSource } from "./stream-source.ts"

/** A slot that is reserved for one connection. */
interface ReservedConnection {
  /**
   * Serves the connection over this response, whose head is not written yet, until it ends, and releases the slot. Call
   * it once, even if the client has left. Does not throw.
   */
  run(response: ServerResponse): Promise<void>
  /** Ends the connection and releases the slot, since the client's credentials have ended, though not those of the app. */
  end(reason: "credentials"): void
}

/** The filtered streams and the samples. */
export interface StreamConnections {
  /**
   * Reserves a slot for a connection from `clientIp`. Throws a `Problem`: 409 when the app has no rules, 429 when it has as many
   * connections of the kind as it may (unless the oldest is to be replaced), 400 for a window that cannot be recovered.
   * Rules that are deleted later leave the connection open. When the app is revoked or gets other credentials than in
   * `app`, its slot is released at once and its client is disconnected.
   */
  open(
    app: Pick<App, "id" | "generation" | "limits">,
    options: { readonly part: StreamPart; readonly format: LineFormat; readonly clientIp: string },
  ): Promise<ReservedConnection>
  /** Slots taken now. */
  readonly count: number
  /** Connections of an app to any process, the newest first: of the last 7 days, at most 1,000. */
  list(filter: ConnectionFilter, range: KeysetRange<ConnectionId>): Promise<readonly StreamConnection[]>
  /**
   * Ends open connections of an app to any process, with X's disconnect message. Returns their UUIDs. Their places are free at
   * once; connections to another process end within a second.
   */
  end(appId: AppId, selector: ConnectionSelector): Promise<readonly string[]>
  /**
   * Ends the app's connections with this disconnect message, or (`none`) cuts them without one; their slots are released
   * at once. Returns how many there were.
   */
  disconnect(appId: AppId, disconnectType: DisconnectType | "none"): number
  /** Sends every client a disconnect message and ends every connection; one opened later ends at once. */
  close(): Promise<void>
}

/** Counts usage. */
interface StreamUsage {
  count(appId: AppId, postIds: Iterable<PostId>): void
  /** Whether the app may get no more posts in this month. */
  isCapped(app: Pick<App, "id" | "limits">): Promise<boolean>
}

/** Bounds of the streams of an app. */
interface StreamLimits {
  readonly connectionsMax: number
  readonly hasComplianceStreams: boolean
  /** For each connection. Absent: no bound. */
  readonly postsPerSecondMax?: number
}

/** Dependencies of stream connections. */
interface StreamConnectionsDeps {
  readonly store: Store
  /** Absent where no other process shares the store. */
  readonly sharedLimits?: SharedLimits | undefined
  readonly clock: Clock
  readonly events: Events
  /** The bounds of the streams of an app. */
  readonly limitsOf: (app: Pick<App, "limits">) => StreamLimits
  /** Counts the posts that apps get, but those that they watch. */
  readonly usage: StreamUsage
  readonly snowflakes: Snowflakes
  /** Effect of a live connection over the limit: it is refused, or replaces the app's oldest, which is ended. */
  readonly connectionsOver: "refuse" | "replace"
  /** Longest that a client may leave what was sent unread. */
  readonly stalledMsMax: number
  /** Older matches are gone. */
  readonly matchRetentionMs: number
  /** Older deletions are forgotten. */
  readonly deletionsRememberedMs: number
}

/** Stream connections that read a store's logs. They must be closed, even when none was opened. */
export function createStreamConnections(deps: StreamConnectionsDeps): StreamConnections {
  const { store, sharedLimits, clock, events } = deps
  const slots = new ConnectionSlots(deps)
  const running = new Set<Promise<void>>()
  const history = new ConnectionHistory({ ...deps, isShared: sharedLimits !== undefined })
  const sourceOf = createStreamSources(deps)
  const closing = new AbortController()
  const keepingHistory = history.run(closing.signal)
  const watching = new ControlWatch("stream connections", endAllOutdated, deps).run(closing.signal)

  async function endOutdated(appId: AppId): Promise<void> {
    const app = await store.app(appId)
    slots.endOutdated(appId, app)
    if (app !== undefined && !deps.limitsOf(app).hasComplianceStreams) slots.endCompliance(appId)
  }

  async function endAllOutdated(signal: AbortSignal): Promise<void> {
    for (const appId of slots.appIds) {
      if (signal.aborted) return
      await endOutdated(appId)
    }
  }

  /** Counts it among those of all processes. Throws a `Problem`, 429, when the app has as many as it may. */
  async function countEverywhere(appId: AppId, slot: ConnectionSlot, liveMax: number): Promise<void> {
    if (sharedLimits === undefined) return
    const { kind, uuid: id } = slot
    const ended = (reason: "replaced" | "forced"): void => slots.end(appId, slot, reason)
    const release = await sharedLimits.countConnection({ id, appId, kind, ended }, slots.limitOf(kind, liveMax))
    if (release === undefined) throw streamRefused("TooManyConnections")
    void slot.released.promise.then(release)
  }

  async function serve(response: ServerResponse, slot: ConnectionSlot, what: BoundedSource): Promise<void> {
    const { appId } = what
    const release = (): void => slots.release(appId, slot)
    // A client that has left may connect again at once, though this connection may still wait for a read of the store.
    response.once("close", release)
    events.streamOpened({ appId })
    try {
      const { disconnectReason, ...ended } = await serveStream(deps, what, response, slot.ended.signal)
      history.ended(slot.uuid, disconnectReason)
      events.streamClosed({ appId, ...ended })
    } finally {
      history.ended(slot.uuid, "InternalError")
      release()
    }
  }

  return {
    async open(app, { part, format, clientIp }) {
      const { id: appId } = app
      const limits = deps.limitsOf(app)
      const { connectionsMax } = limits
      const [kind, uuid] = [kindOf(part), randomUUID()]
      checkBeginning(part, clock.nowMs(), deps)
      if (needsRules(part) && (await store.ruleCount(appId)) === 0) throw streamRefused("RuleConfigurationIssue")
      // Its slots may belong to credentials that are gone, which the watch has not noticed yet.
      if (slots.isFull(appId, kind, connectionsMax)) await endOutdated(appId)
      // Nothing is awaited between counting and taking, so connections that open together are counted too.
      const slot = slots.take(app, { kind, uuid, liveMax: connectionsMax })
      if (closing.signal.aborted) slot.ended.abort("shutdown" satisfies ConnectionEnd)
      let source: StreamSource
      try {
        await countEverywhere(appId, slot, connectionsMax)
        const noting = history.opened({ uuid, appId, kind, clientIp })
        source = await sourceOf(appId, part, format)
        // These credentials may have been revoked since the request was authenticated.
        await endOutdated(appId)
        await noting
      } catch (error) {
        history.ended(uuid, "InternalError")
        slots.release(appId, slot)
        throw error
      }
      const bounds = boundsOf(part, limits, usedBy(deps.usage, app))
      return {
        async run(response) {
          const serving = serve(response, slot, { appId, source, bounds })
          running.add(serving)
          await serving
          running.delete(serving)
        },
        end: (reason) => slots.end(appId, slot, reason),
      }
    },
    list: (filter, range) => history.page(filter, range),
    async end(appId, selector) {
      const uuids = await history.forced(appId, selector)
      slots.endForced(appId, uuids)
      return uuids
    },
    get count() {
      return slots.count
    },
    disconnect: (appId, disconnectType) => slots.disconnect(appId, disconnectType),
    async close() {
      closing.abort()
      slots.endAll()
      await Promise.all([watching, keepingHistory, ...running])
      await history.settled()
    },
  }
}

/** The bounds of a part. A recovery is as fast as its client; matches that are watched and deletions are no usage. */
function boundsOf(
  { kind }: StreamPart,
  { postsPerSecondMax }: StreamLimits,
  used: NonNullable<StreamBounds["used"]>,
): StreamBounds {
  const isPaced = kind === "live" || kind === "sample"
  return {
    ...(isPaced && postsPerSecondMax !== undefined && { postsPerSecondMax }),
    ...(kind !== "watch" && kind !== "deletions" && { used }),
  }
}

/** Counts what a stream of an app has sent. */
function usedBy(usage: StreamUsage, app: Pick<App, "id" | "limits">): NonNullable<StreamBounds["used"]> {
  return { count: (postIds) => usage.count(app.id, postIds), isCapped: () => usage.isCapped(app) }
}
