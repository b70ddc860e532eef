/**
 * Whether the server responds. One state for the page: every request reports to it, and a heartbeat asks where no request does.
 *
 *     a request gets no response ─► lost: the banner shows, queries pause and keep what they have
 *     the heartbeat gets one     ─► back: the banner goes, queries that show are read again
 *
 * TanStack Query pauses and resumes queries with its `onlineManager`. That asks the browser whether there is a network,
 * which says nothing of a server; here it follows the responses instead.
 */
import { paths } from "@sluice/api/paths"
import { onlineManager } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"

/** How often the server is asked while it responds and nothing else asks it, and while it does not. */
const heartbeatMs = { connected: 5_000, lost: 2_000 } as const

/** How long it has for the heartbeat. A server under full load responds within a few seconds. */
const heartbeatMsMax = 10_000

/** A proxy returns these where the server behind it is gone; Sluice itself never does. */
const proxyStatuses: ReadonlySet<number> = new Set([502, 504])

let lostAtMs: number | undefined
let respondedAtMs = 0
const listeners = new Set<() => void>()

onlineManager.setEventListener(() => undefined)

function report(isThere: boolean): void {
  if (isThere) respondedAtMs = Date.now()
  if (isThere === (lostAtMs === undefined)) return
  lostAtMs = isThere ? undefined : Date.now()
  onlineManager.setOnline(isThere)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Since when the server has not responded, Unix ms; `undefined` while it does. */
export function useConnectionLostAt(): number | undefined {
  return useSyncExternalStore(subscribe, () => lostAtMs)
}

/** The platform's `fetch`, which reports whether a response came. A request that the page aborts says nothing. */
export async function reportingFetch(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init)
    report(!proxyStatuses.has(response.status))
    return response
  } catch (error) {
    if (init.signal?.aborted !== true) report(false)
    throw error
  }
}

/** Asks the server now; whether it responded. */
export async function checkConnection(): Promise<boolean> {
  try {
    const response = await fetch(paths.healthz, { cache: "no-store", signal: AbortSignal.timeout(heartbeatMsMax) })
    report(!proxyStatuses.has(response.status))
  } catch {
    report(false)
  }
  return lostAtMs === undefined
}

/** Resolves once the server responds, which may be at once. Needs `watchConnection`. */
export async function connected(): Promise<void> {
  if (lostAtMs === undefined) return
  await new Promise<void>((resolve) => {
    const unsubscribe = subscribe(() => {
      if (lostAtMs !== undefined) return
      unsubscribe()
      resolve()
    })
  })
}

/** Asks the server from time to time while the page is visible; the returned function ends that. */
export function watchConnection(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let hasEnded = false
  const beat = async (): Promise<void> => {
    const isRecent = lostAtMs === undefined && Date.now() - respondedAtMs < heartbeatMs.connected
    if (document.visibilityState === "visible" && !isRecent) await checkConnection()
    if (hasEnded) return
    timer = setTimeout(() => void beat(), lostAtMs === undefined ? heartbeatMs.connected : heartbeatMs.lost)
  }
  const onVisible = (): void => {
    if (document.visibilityState === "visible") void checkConnection()
  }
  document.addEventListener("visibilitychange", onVisible)
  void beat()
  return () => {
    hasEnded = true
    clearTimeout(timer)
    document.removeEventListener("visibilitychange", onVisible)
  }
}
