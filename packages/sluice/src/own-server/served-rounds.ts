/**
 * The rounds of a server in one process: when its store was replaced by another one, the server ends and starts again in
 * its place, since what it held in memory may be of the store that is gone.
 *
 *     start ─► serve ─► signal ──────► close ─► end
 *       ▲        └──── replaced ──► close ─┐
 *       └── unavailable: a pause ◄─────────┘
 *
 * A first start that fails ends the process, whose operator is there to see it. A later one tries again for as long as the
 * store is unavailable, as a server that runs does.
 */
import { once } from "node:events"
import type { RunningServer } from "@sluice/server"

/** What rounds are made of. */
export interface Rounds {
  /** Starts a server that listens on a port. */
  readonly start: (port: number) => Promise<RunningServer>
  /** Of the first round; later ones take the one that this led to. */
  readonly port: number
  /** Called once, with the first server. */
  readonly ready: (server: RunningServer) => Promise<void>
  /** Called with the reason for which a later round waits for the store. */
  readonly waiting: (reason: string) => void
  /** Passes the time before another try; resolves early when `signal` is aborted. */
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

/** Resolves with false when the store was replaced. */
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

/** A server of a later round, once the store can be reached; `undefined` when the signal comes during a pause. */
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

/** Whether a start failed because the store cannot be reached for now. The error that says so may be the cause alone. */
function isUnavailable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  const codeOf = (one: unknown): unknown => (one as { readonly code?: unknown } | undefined)?.code
  return [error, error.cause].some((one) => codeOf(one) === "STORE_UNAVAILABLE")
}

/** How long after a signal a start may keep the process: for the line that says why it ends. Ours. */
const startEndMs = 500

/**
 * The server, unless a signal comes first. Then it throws the reason, and has the process end: a start may wait for a disk
 * or a database, and has acknowledged nothing, so the next one mends whatever it leaves, as after a kill.
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
