/**
 * The stream connections of all apps: who may open one, how many there are, and how all of them end.
 *
 * A connection belongs to the credentials that it was opened with and ends with them. Other processes change
 * credentials too, and are not heard of, so each app that has connections is also looked at every 10 s.
 */
import type { ServerResponse } from "node:http"
import { setImmediate as nextTurn } from "node:timers/promises"
import type { App } from "../model/app.ts"
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, MatchSeq } from "../model/ids.ts"
import { invalidRequest, streamRefused } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events, StreamEnd } from "../runtime/events.ts"
import type { Store } from "../store/store.ts"
import { serveStream, type StreamSpan } from "./stream-connection.ts"
import { WakeUp } from "./wake-up.ts"

/** Longest time between two looks at the credentials of apps with connections. */
const pollMs = 10_000

const minuteMs = 60_000

/** Oldest moment that a recovery may begin with. Source: docs.x.com, "Recovery and redundancy". */
const recoveryAgeMsMax = 24 * 60 * minuteMs

/** Most recoveries of an app at a time. Source: docs.x.com, "Recovery and redundancy". */
const recoveriesPerAppMax = 2

/** A place that is kept for one connection. */
interface ReservedConnection {
  /**
   * Serves the connection down this answer, whose head is not written yet, until it ends, and gives the place
   * back. Call it once, whatever became of the client. Does not throw.
   */
  run(response: ServerResponse): Promise<void>
}

/** Which part of its log an app asks for. */
export type StreamPart =
  /** From the next match on, or from `backfillMinutes` ago. */
  | { readonly kind: "live"; readonly backfillMinutes: number }
  /** What was matched at `startMs` or later and before `endMs`, or until now; a recovery. */
  | { readonly kind: "window"; readonly startMs: number; readonly endMs?: number }

/** Doors to the filtered streams. */
export interface StreamConnections {
  /**
   * Keeps a place for a connection. Throws a `Problem`: 409 when the app has no rules, 429 when it has as many
   * connections of the kind as it may, 400 for a window that cannot be recovered. Rules that go later leave the
   * connection open. When the app is revoked or gets other credentials than in `app`, its place is free at once and
   * its client is told.
   */
  open(
    app: Pick<App, "id" | "generation">,
    options: { readonly part: StreamPart; readonly selection: FieldSelection },
  ): Promise<ReservedConnection>
  /** Places taken now. */
  readonly count: number
  /** Tells every client that the server closes, and ends every connection; one opened later ends at once. */
  close(): Promise<void>
}

/** What one connection of an app takes up. */
interface Place {
  /** Recoveries are counted apart: whoever recovers what was missed has a live connection beside it. */
  readonly kind: StreamPart["kind"]
  /** The app's, when the connection was opened. */
  readonly generation: number
  /** Aborted to end the connection, with `"credentials"` as the reason when that is it. */
  readonly ended: AbortController
}

/**
 * Stream connections that read a store's logs. `stalledMsMax` is how long a client may leave what was sent unread.
 * They have to be closed, even when none was opened.
 */
export function createStreamConnections(deps: {
  store: Store
  clock: Clock
  events: Events
  connectionsPerAppMax: number
  stalledMsMax: number
  /** What is older is gone. */
  matchRetentionMs: number
}): StreamConnections {
  const { store, clock, events, connectionsPerAppMax, matchRetentionMs } = deps
  const placesMax = { live: connectionsPerAppMax, window: recoveriesPerAppMax }
  const placesTaken = new Map<AppId, Set<Place>>()
  const running = new Set<Promise<void>>()
  const closing = new AbortController()
  const watching = watchCredentials()

  function isFull(appId: AppId, kind: Place["kind"]): boolean {
    const taken = Array.from(placesTaken.get(appId) ?? []).filter((place) => place.kind === kind)
    return taken.length >= placesMax[kind]
  }

  function takePlace({ id, generation }: Pick<App, "id" | "generation">, kind: Place["kind"]): Place {
    if (isFull(id, kind)) throw streamRefused("TooManyConnections")
    const place: Place = { kind, generation, ended: new AbortController() }
    if (closing.signal.aborted) place.ended.abort()
    placesTaken.set(id, (placesTaken.get(id) ?? new Set()).add(place))
    return place
  }

  /** Does nothing when the place was given back before. */
  function givePlaceBack(appId: AppId, place: Place): void {
    const taken = placesTaken.get(appId)
    taken?.delete(place)
    if (taken?.size === 0) placesTaken.delete(appId)
  }

  /** Ends the app's connections with other credentials than the app has now. */
  async function endOutdated(appId: AppId): Promise<void> {
    const app = await store.app(appId)
    for (const place of placesTaken.get(appId) ?? []) {
      // A place may be newer than what was read.
      if (app?.revoked === false && place.generation >= app.generation) continue
      place.ended.abort("credentials" satisfies StreamEnd)
      givePlaceBack(appId, place)
    }
  }

  async function watchCredentials(): Promise<void> {
    const wakeUp = new WakeUp()
    const stopListening = store.onChange((change) => {
      if (change.kind === "control") wakeUp.call()
    })
    while (!closing.signal.aborted) {
      await wakeUp.wait(clock, pollMs, closing.signal)
      try {
        for (const appId of placesTaken.keys()) {
          if (closing.signal.aborted) break
          await endOutdated(appId)
          // Many apps must not keep everybody else waiting: reads of the embedded store never leave this turn.
          await nextTurn()
        }
      } catch (error) {
        events.failed({ where: "stream connections", error })
      }
    }
    stopListening()
  }

  async function serve(response: ServerResponse, from: StreamSpan, place: Place): Promise<void> {
    const { appId } = from
    events.streamOpened({ appId })
    try {
      const ended = await serveStream(deps, from, response, place.ended.signal)
      events.streamClosed({ appId, ...ended })
    } finally {
      givePlaceBack(appId, place)
    }
  }

  async function placeInLog(appId: AppId, part: StreamPart): Promise<{ after: MatchSeq; upTo?: MatchSeq }> {
    if (part.kind === "window") {
      const { startMs, endMs } = part
      const after = await store.positionAt(appId, startMs)
      return { after, upTo: await (endMs === undefined ? store.head(appId) : store.positionAt(appId, endMs)) }
    }
    const { backfillMinutes } = part
    return backfillMinutes > 0
      ? { after: await store.positionAt(appId, clock.nowMs() - backfillMinutes * minuteMs) }
      : { after: await store.head(appId) }
  }

  return {
    async open(app, { part, selection }) {
      const { id: appId } = app
      if (part.kind === "window") refuseWindow(part, clock.nowMs(), matchRetentionMs)
      if ((await store.ruleCount(appId)) === 0) throw streamRefused("RuleConfigurationIssue")
      // Its places may be held by credentials of which nobody has heard yet that they are gone.
      if (isFull(appId, part.kind)) await endOutdated(appId)
      // Nothing is awaited between counting and taking, so connections that open together are counted too.
      const place = takePlace(app, part.kind)
      let inLog: { after: MatchSeq; upTo?: MatchSeq }
      try {
        inLog = await placeInLog(appId, part)
        // These credentials may have gone since they were let through.
        await endOutdated(appId)
      } catch (error) {
        givePlaceBack(appId, place)
        throw error
      }
      return {
        async run(response) {
          const serving = serve(response, { appId, ...inLog, selection }, place)
          running.add(serving)
          await serving
          running.delete(serving)
        },
      }
    },
    get count() {
      return [...placesTaken.values()].reduce((sum, taken) => sum + taken.size, 0)
    },
    async close() {
      closing.abort()
      for (const taken of placesTaken.values()) for (const place of taken) place.ended.abort()
      await Promise.all([watching, ...running])
    },
  }
}

function refuseWindow(
  { startMs, endMs }: Extract<StreamPart, { kind: "window" }>,
  nowMs: number,
  matchRetentionMs: number,
): void {
  const ageMsMax = Math.min(recoveryAgeMsMax, matchRetentionMs)
  const given = (name: string, atMs: number): Record<string, string[]> => ({
    [name]: [new Date(atMs).toISOString()],
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
