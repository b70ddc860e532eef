/** The stream connections of all apps: who may open one, how many there are, and how all of them end. */
import type { ServerResponse } from "node:http"
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, MatchSeq } from "../model/ids.ts"
import { streamRefused } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Store } from "../store/store.ts"
import { serveStream } from "./stream-connection.ts"

/** A place that is kept for one connection. */
interface ReservedConnection {
  /**
   * Serves the connection down this answer, whose head is not written yet, until it ends, and gives the place
   * back. Call it once, whatever became of the client. Does not throw.
   */
  run(response: ServerResponse): Promise<void>
}

/** Doors to the filtered streams. */
export interface StreamConnections {
  /**
   * Keeps a place for a connection that begins with the next match, or `backfillMinutes` ago. Throws a `Problem`:
   * 409 when the app has no rules, 429 when it has as many connections as it may. Rules that go later leave the
   * connection open.
   */
  open(
    appId: AppId,
    options: { readonly backfillMinutes: number; readonly selection: FieldSelection },
  ): Promise<ReservedConnection>
  /** Places taken now. */
  readonly count: number
  /** Tells every client that the server closes, and ends every connection; one opened later ends at once. */
  close(): Promise<void>
}

/** Stream connections that read a store's logs. `stalledMsMax` is how long a client may leave what was sent unread. */
export function createStreamConnections(deps: {
  store: Store
  clock: Clock
  events: Events
  connectionsPerAppMax: number
  stalledMsMax: number
}): StreamConnections {
  const { store, clock, events, connectionsPerAppMax } = deps
  const placesTaken = new Map<AppId, number>()
  const running = new Set<Promise<void>>()
  const closing = new AbortController()

  function takePlace(appId: AppId): void {
    const taken = placesTaken.get(appId) ?? 0
    if (taken >= connectionsPerAppMax) throw streamRefused("TooManyConnections")
    placesTaken.set(appId, taken + 1)
  }

  function givePlaceBack(appId: AppId): void {
    const left = (placesTaken.get(appId) ?? 0) - 1
    if (left > 0) placesTaken.set(appId, left)
    else placesTaken.delete(appId)
  }

  async function serve(
    response: ServerResponse,
    from: { appId: AppId; after: MatchSeq; selection: FieldSelection },
  ): Promise<void> {
    const { appId } = from
    events.streamOpened({ appId })
    try {
      const ended = await serveStream(deps, from, response, closing.signal)
      events.streamClosed({ appId, ...ended })
    } finally {
      givePlaceBack(appId)
    }
  }

  async function startOf(appId: AppId, backfillMinutes: number): Promise<MatchSeq> {
    return backfillMinutes > 0
      ? store.positionAt(appId, clock.nowMs() - backfillMinutes * 60_000)
      : store.head(appId)
  }

  return {
    async open(appId, { backfillMinutes, selection }) {
      if ((await store.ruleCount(appId)) === 0) throw streamRefused("RuleConfigurationIssue")
      // Nothing is awaited between the look and the taking, so connections that open together are counted too.
      takePlace(appId)
      let after: MatchSeq
      try {
        after = await startOf(appId, backfillMinutes)
      } catch (error) {
        givePlaceBack(appId)
        throw error
      }
      return {
        async run(response) {
          const serving = serve(response, { appId, after, selection })
          running.add(serving)
          await serving
          running.delete(serving)
        },
      }
    },
    get count() {
      return [...placesTaken.values()].reduce((sum, taken) => sum + taken, 0)
    },
    async close() {
      closing.abort()
      await Promise.all(running)
    },
  }
}
