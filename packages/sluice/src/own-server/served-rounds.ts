/**
 * Runs a server in rounds: when its store is replaced, the server closes and starts again, because its memory may hold
 * data of the old store.
 *
 *     start ─► serve ─► signal ──────► close ─► end
 *       ▲        └──── replaced ──► close ─┐
 *       └── unavailable: a pause ◄─────────┘
 *
 * If the first start fails, the process ends. Later starts are retried while the store is unavailable, as a running server
 * does.
 */
import { once } from "node:events"
import type { RunningServer } from "@sluice/server"

/** The parts of the rounds. */
export interface Rounds {
  /** Starts a server that listens on a port. */
  readonly start: (port: number) => Promise<RunningServer>
  /** The port of the first round; later rounds keep the port that it got. */
  readonly port: number
  /** Called once, with the first server. */
  readonly ready: (server: RunningServer) => Promise<void>
  /** Called with the reason when a later round waits for the store. */
  readonly waiting: (reason: string) => void
  /** Waits before the next attempt; resolves early when `signal` is aborted. */
  readonly pause: (signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
}

/** Serves until `signal` is aborted. Throws the error with which a server fails, and the signal's reason during a start. */
export async function serveInRounds(rounds: Rounds): Promise<void> {
  const { start, port, ready, signal } = rounds
  const first = await unlessInterrupted(() => start(port), signal)
  const taken = Number(new URL(first.url).port)
  let hasEnded = await servesToItsEnd(first, ready, signal)
  while (!hasEnded) {
    const next = await startAgain(rounds, taken)
    hasEnded = next === undefined || (await servesToItsEnd(next, async () => undefined, signal))
  }
}

/** Resolves to false when the store was replaced. */
async function servesToItsEnd(server: RunningServer, ready: Rounds["ready"], signal: AbortSignal): Promise<boolean> {
  try {
    await ready(server)
    await Promise.race([signal.aborted || once(signal, "abort"), server.failed])
    return true
  } catch (error) {
    const { StoreReplaced } = await import("@sluice/server")
    if (error instanceof StoreReplaced) return false
    throw error
  } finally {
    await server.close()
  }
}

/** The server of a later round, once the store is available; `undefined` when interrupted during a pause. */
async function startAgain({ start, waiting, pause, signal }: Rounds, port: number): Promise<RunningServer | undefined> {
  let said: string | undefined
  while (!signal.aborted) {
    try {
      return await unlessInterrupted(() => start(port), signal)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      if (error.message !== said) waiting(error.message)
      said = error.message
      await pause(signal)
    }
  }
  return undefined
}

/** Whether a start failed because the store is unavailable: the error itself or its cause has the code. */
function isUnavailable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  const codeOf = (one: unknown): unknown => (one as { readonly code?: unknown } | undefined)?.code
  return [error, error.cause].some((one) => codeOf(one) === "STORE_UNAVAILABLE")
}

/** Time after a signal until a start is abandoned, so that the reason can be printed. Ours. */
const startEndMs = 500

/**
 * Starts the server. If a signal comes first, throws its reason and ends the process: a start may wait for a disk or a
 * database, and has acknowledged nothing, so the next start recovers as after a kill.
 */
async function unlessInterrupted(start: () => Promise<RunningServer>, signal: AbortSignal): Promise<RunningServer> {
  signal.throwIfAborted()
  const started = new AbortController()
  const interrupted = once(signal, "abort", { signal: started.signal }).then(() => {
    setTimeout(() => process.exit(), startEndMs)
    throw signal.reason
  })
  try {
    return await Promise.race([start(), interrupted])
  } finally {
    interrupted.catch(() => undefined)
    started.abort()
  }
}
