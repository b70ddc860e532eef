import { ApiError } from "@sluice/client"
import type { Envelope, MatchingRule } from "@sluice/api"
import { useEffect, useRef, useState } from "react"
import { checkConnection } from "../../api/connection.ts"
import { useSession } from "../../api/session.ts"

/** A match of the live log. */
export interface LiveMatch {
  readonly position: number
  readonly matchedAt: string
  readonly envelope: Envelope
  readonly rules: readonly MatchingRule[]
  /** The received line. */
  readonly text: string
}

/** The newest matches, and the state of the connection. */
interface LiveMatches {
  readonly matches: readonly LiveMatch[]
  readonly state: "connecting" | "live" | "paused" | "waiting"
  /** Why the connection ended, until it is open again. */
  readonly error: unknown
}

/** Most matches to keep; older ones are dropped. */
export const keptMax = 500

/** Matches from before the page was opened that are shown first. */
const recentMatches = 50

/** Pause before a lost connection is opened again. */
const reconnectMs = 3_000

/** Least time between two renderings. */
const paintMs = 200

/**
 * The app's new matches. While `isPaused` there is no connection; afterwards it continues after the last shown match, and
 * skips matches older than the newest `keptMax`.
 */
export function useMatches(isPaused: boolean): LiveMatches {
  const { client, appId } = useSession()
  const [shown, setShown] = useState<LiveMatches>({ matches: [], state: "connecting", error: undefined })
  const kept = useRef<{ appId: string | undefined; matches: readonly LiveMatch[] }>({ appId, matches: [] })
  useEffect(() => {
    if (kept.current.appId !== appId) kept.current = { appId, matches: [] }
    const show = (state: LiveMatches["state"], error?: unknown): void =>
      setShown({ matches: kept.current.matches, state, error })
    if (isPaused) {
      show("paused")
      return
    }
    const leave = new AbortController()
    let arrived: LiveMatch[] = []
    const paint = (): void => {
      if (arrived.length === 0) return
      kept.current = { appId, matches: [...arrived.toReversed(), ...kept.current.matches].slice(0, keptMax) }
      arrived = []
      setShown((before) => ({ ...before, matches: kept.current.matches }))
    }
    const timer = setInterval(paint, paintMs)
    const run = async (): Promise<void> => {
      while (!leave.signal.aborted) {
        try {
          show("connecting")
          const last = kept.current.matches[0]?.position
          const query = last === undefined ? { recent: recentMatches } : { after: last }
          const options = { query, signal: leave.signal, reconnect: false, onConnect: () => show("live") }
          for await (const { body, text } of client.matches(options)) {
            const match = body && matchOf(body, text)
            if (match !== undefined) arrived.push(match)
          }
          paint()
          if (leave.signal.aborted) return
          show("waiting")
          void checkConnection()
        } catch (error) {
          if (leave.signal.aborted) return
          // Without a connection, the banner shows the error.
          const isThere = await checkConnection()
          if (leave.signal.aborted) return
          show("waiting", isThere ? error : undefined)
          // Retrying cannot help: the token or the app must change.
          if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return
        }
        await new Promise((resolve) => setTimeout(resolve, reconnectMs))
      }
    }
    void run()
    return () => {
      paint()
      clearInterval(timer)
      leave.abort()
    }
  }, [client, appId, isPaused])
  return shown
}

/** A match from a line of the stream; `undefined` for a disconnect message. */
function matchOf(body: object, text: string): LiveMatch | undefined {
  const line = body as {
    readonly position?: number
    readonly matched_at?: string
    readonly matching_rules?: readonly MatchingRule[]
  } & Partial<Envelope>
  const { data, includes, position, matched_at: matchedAt, matching_rules: rules = [] } = line
  if (data === undefined || position === undefined || matchedAt === undefined) return undefined
  return { position, matchedAt, envelope: { data, ...(includes && { includes }) }, rules, text }
}
