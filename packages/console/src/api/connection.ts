/**
 * Whether the server responds: one state for the page. Every request updates it; a heartbeat does when there are no requests.
 *
 *     a request gets no response ─► lost: the banner shows, queries pause and keep what they have
 *     the heartbeat gets one     ─► back: the banner disappears, visible queries are read again
 *
 * TanStack Query pauses and resumes queries with its `onlineManager`. By default it asks the browser whether there is a
 * network, which says nothing about the server; here it follows the responses instead.
 */
import { paths } from "@sluice/api/paths"
import { onlineManager } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"

/** Time between heartbeats: while the server responds and there are no requests, and while it does not respond. */
const heartbeatMs = { connected: 5_000, lost: 2_000 } as const

/** Time limit of a heartbeat. A server under full load responds within a few seconds. */
const heartbeatMsMax = 10_000

/** Returned by a proxy whose server is unavailable, and never by Sluice itself. */
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

/** When the server stopped responding, Unix ms; `undefined` while it responds. */
export function useConnectionLostAt(): number | undefined {
  return useSyncExternalStore(subscribe, () => lostAtMs)
}

/** The platform's `fetch`, updating the connection state. Requests that the page aborts are ignored. */
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

/** Sends a heartbeat now; returns whether the server responds. */
export async function checkConnection(): Promise<boolean> {
  try {
    const response = await fetch(paths.healthz, { cache: "no-store", signal: AbortSignal.timeout(heartbeatMsMax) })
    report(!proxyStatuses.has(response.status))
  } catch {
    report(false)
  }
  return lostAtMs === undefined
}

/** Resolves once the server responds; needs `watchConnection`. */
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

/** Sends heartbeats while the page is visible; the returned function stops them. */
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
