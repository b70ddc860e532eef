/**
 * The stream connections of all apps: who may open one, and how all of them end.
 *
 * A connection belongs to the credentials that it was opened with and ends with them: `control-watch.ts` notices when
 * they change. When several processes share the store, an app's connections to all of them are counted.
 */
import type { ServerResponse } from "node:http"
import type { DisconnectType } from "@sluice/api"
import type { App } from "../../model/app.ts"
import { instant } from "../../model/date-time.ts"
import type { AppId, MatchSeq, PostId } from "../../model/ids.ts"
import { invalidRequest, streamRefused } from "../../model/problem.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { SharedLimits } from "../../store/shared-limits.ts"
import type { Store } from "../../store/store.ts"
import { ControlWatch } from "../control-watch.ts"
import { ConnectionSlots, type ConnectionSlot } from "./connection-slots.ts"
import type { LineFormat } from "./line-format.ts"
import { serveStream, type ConnectionEnd, type StreamSpan, type UsedByStream } from "./stream-connection.ts"

const minuteMs = 60_000

/** Oldest time that a recovery may begin with. Source: docs.x.com, "Recovery and redundancy". */
const recoveryAgeMsMax = 24 * 60 * minuteMs

/** A slot that is reserved for one connection. */
interface ReservedConnection {
  /**
   * Serves the connection over this response, whose head is not written yet, until it ends, and releases the slot. Call
   * it once, even if the client has left. Does not throw.
   */
  run(response: ServerResponse): Promise<void>
}

/** Which part of its log an app requests. */
export type StreamPart =
  /** From the next match on, or from `backfillMinutes` ago. */
  | { readonly kind: "live"; readonly backfillMinutes: number }
  /** Matches of `startMs` or later and before `endMs`, or until now; a recovery. */
  | { readonly kind: "window"; readonly startMs: number; readonly endMs?: number }
  /** From after a position, or from the newest `recent` matches, on; of what is still stored. Needs no rules. */
  | { readonly kind: "watch"; readonly after?: MatchSeq; readonly recent: number }

/** The filtered streams. */
export interface StreamConnections {
  /**
   * Reserves a slot for a connection. Throws a `Problem`: 409 when the app has no rules, 429 when it has as many
   * connections of the kind as it may (unless the oldest is to be replaced), 400 for a window that cannot be recovered.
   * Rules that are deleted later leave the connection open. When the app is revoked or gets other credentials than in
   * `app`, its slot is released at once and its client is disconnected.
   */
  open(
    app: Pick<App, "id" | "generation" | "limits">,
    options: { readonly part: StreamPart; readonly format: LineFormat },
  ): Promise<ReservedConnection>
  /** Slots taken now. */
  readonly count: number
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
  /** Effect of a live connection over the limit: it is refused, or replaces the app's oldest, which is ended. */
  readonly connectionsOver: "refuse" | "replace"
  /** Longest that a client may leave what was sent unread. */
  readonly stalledMsMax: number
  /** Older matches are gone. */
  readonly matchRetentionMs: number
}

/** Stream connections that read a store's logs. They must be closed, even when none was opened. */
export function createStreamConnections(deps: StreamConnectionsDeps): StreamConnections {
  const { store, sharedLimits, clock, events, matchRetentionMs } = deps
  const slots = new ConnectionSlots(deps)
  const running = new Set<Promise<void>>()
  const closing = new AbortController()
  const watching = new ControlWatch("stream connections", endAllOutdated, deps).run(closing.signal)

  async function endOutdated(appId: AppId): Promise<void> {
    slots.endOutdated(appId, await store.app(appId))
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
    const { kind } = slot
    const replaced = (): void => slots.endReplaced(appId, slot)
    const release = await sharedLimits.countConnection({ appId, kind, replaced }, slots.limitOf(kind, liveMax))
    if (release === undefined) throw streamRefused("TooManyConnections")
    void slot.released.promise.then(release)
  }

  async function serve(response: ServerResponse, from: StreamSpan, slot: ConnectionSlot): Promise<void> {
    const { appId } = from
    const release = (): void => slots.release(appId, slot)
    // A client that has left may connect again at once, though this connection may still wait for a read of the store.
    response.once("close", release)
    events.streamOpened({ appId })
    try {
      const ended = await serveStream(deps, from, response, slot.ended.signal)
      events.streamClosed({ appId, ...ended })
    } finally {
      release()
    }
  }

  async function spanOf(appId: AppId, part: StreamPart): Promise<{ after: MatchSeq; upTo?: MatchSeq }> {
    if (part.kind === "window") {
      const { startMs, endMs } = part
      const after = await store.positionAt(appId, startMs)
      return { after, upTo: await (endMs === undefined ? store.head(appId) : store.positionAt(appId, endMs)) }
    }
    if (part.kind === "watch") return { after: await watchedAfter(appId, part) }
    const { backfillMinutes } = part
    return backfillMinutes > 0
      ? { after: await store.positionAt(appId, clock.nowMs() - backfillMinutes * minuteMs) }
      : { after: await store.head(appId) }
  }

  /**
   * Not before the oldest match that retention has left: that would be a gap. Not beyond the head either: positions
   * there are to come.
   */
  async function watchedAfter(
    appId: AppId,
    { after, recent }: Extract<StreamPart, { kind: "watch" }>,
  ): Promise<MatchSeq> {
    const head = await store.head(appId)
    const trimmedTo = (await store.trimmed(appId))?.to ?? 0
    return Math.max(trimmedTo, Math.min(head, after ?? head - recent)) as MatchSeq
  }

  return {
    async open(app, { part, format }) {
      const { id: appId } = app
      const { connectionsMax, postsPerSecondMax } = deps.limitsOf(app)
      if (part.kind === "window") checkWindow(part, clock.nowMs(), matchRetentionMs)
      if (part.kind !== "watch" && (await store.ruleCount(appId)) === 0) throw streamRefused("RuleConfigurationIssue")
      // Its slots may belong to credentials that are gone, which the watch has not noticed yet.
      if (slots.isFull(appId, part.kind, connectionsMax)) await endOutdated(appId)
      // Nothing is awaited between counting and taking, so connections that open together are counted too.
      const slot = slots.take(app, part.kind, connectionsMax)
      if (closing.signal.aborted) slot.ended.abort("shutdown" satisfies ConnectionEnd)
      let span: { after: MatchSeq; upTo?: MatchSeq }
      try {
        await countEverywhere(appId, slot, connectionsMax)
        span = await spanOf(appId, part)
        // These credentials may have been revoked since the request was authenticated.
        await endOutdated(appId)
      } catch (error) {
        slots.release(appId, slot)
        throw error
      }
      // A recovery is as fast as its client, and what is watched is no part of X's API.
      const bounds = {
        ...(part.kind === "live" && postsPerSecondMax !== undefined && { postsPerSecondMax }),
        ...(part.kind !== "watch" && { used: usedBy(deps.usage, app) }),
      }
      return {
        async run(response) {
          const serving = serve(response, { appId, ...span, ...bounds, format }, slot)
          running.add(serving)
          await serving
          running.delete(serving)
        },
      }
    },
    get count() {
      return slots.count
    },
    disconnect: (appId, disconnectType) => slots.disconnect(appId, disconnectType),
    async close() {
      closing.abort()
      slots.endAll()
      await Promise.all([watching, ...running])
    },
  }
}

/** Counts what a stream of an app has sent. */
function usedBy(usage: StreamUsage, app: Pick<App, "id" | "limits">): UsedByStream {
  return { count: (postIds) => usage.count(app.id, postIds), isCapped: () => usage.isCapped(app) }
}

/** Throws a `Problem`, 400, for a window that cannot be recovered. */
function checkWindow(
  { startMs, endMs }: Extract<StreamPart, { kind: "window" }>,
  nowMs: number,
  matchRetentionMs: number,
): void {
  const ageMsMax = Math.min(recoveryAgeMsMax, matchRetentionMs)
  const given = (name: string, atMs: number): Record<string, string[]> => ({
    [name]: [instant(atMs)],
  })
  if (startMs < nowMs - ageMsMax) {
    const hours = ageMsMax / (60 * minuteMs)
    throw invalidRequest(`\`start_time\` is more than ${hours} hours ago`, given("start_time", startMs))
  }
  if (startMs > nowMs) throw invalidRequest("`start_time` is in the future", given("start_time", startMs))
  if (endMs !== undefined && endMs <= startMs) {
    throw invalidRequest("`end_time` is not after `start_time`", given("end_time", endMs))
  }
}
