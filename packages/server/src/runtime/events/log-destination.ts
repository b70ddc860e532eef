/**
 * The destination of log lines; no caller waits for the reader of the log.
 *
 *     line ─► buffer, up to `bytesMax` ─► written in the background ─► pipe, terminal or file
 *                └─ full, since the reader stands still: the line is dropped, and counted
 *
 * A write to a pipe that is full waits, and one that waits in a thread of the pool keeps the process from ending as well.
 * So a pipe or terminal is opened once more, without waiting: the flag belongs to the opened file, which may be the
 * standard error of other processes too. A socket, such as systemd gives, cannot be opened again; Node does not wait for
 * that of its standard error once it has made a stream of it.
 */
import { constants, fstatSync, openSync } from "node:fs"
import { destination as openDestination, type DestinationStream } from "pino"
import type { Clock } from "../clock.ts"

/** Most bytes of lines that wait to be written. Ours: some 5,000 lines. */
export const logBytesMax = 1024 * 1024

/** Longest that a server which closes waits for the reader of its log. Ours. */
const flushMsMax = 1_000

/** Interval at which a full pipe is tried again. Source: sonic-boom, BUSY_WRITE_TIMEOUT. */
const retryMs = 100

/** How often a process that ends at once checks for room in the pipe. Ours. */
const lastTriesMax = 5

/** A place for log lines. Disposing writes what waits, as far as it is taken in; lines that come later are ignored. */
export interface LogDestination extends DestinationStream, AsyncDisposable {
  /** Called with each line that finds no room. */
  onDrop(listener: () => void): void
}

/** Opens the destination over a descriptor, which stays the caller's. A socket has to be the standard error. */
export function openLogDestination(
  fd: number,
  { bytesMax, clock }: { readonly bytesMax: number; readonly clock: Clock },
): LogDestination {
  let triesLeft = Infinity
  let isClosed = false
  const destination = openDestination({
    dest: withoutWaiting(fd),
    sync: false,
    maxLength: bytesMax,
    retryEAGAIN: () => {
      triesLeft -= 1
      return triesLeft >= 0
    },
  })
  // A log that cannot be written, since its reader has gone, is no reason to end.
  destination.on("error", () => undefined)

  /** A process that ends has no turns left in which something could be written. */
  const flushNow = (): void => {
    triesLeft = lastTriesMax
    try {
      destination.flushSync()
    } catch {
      // There is nothing left to report to.
    }
  }
  flushAtExit(flushNow)

  return {
    write(line) {
      if (!isClosed) destination.write(line)
    },
    onDrop(listener) {
      destination.on("drop", listener)
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      const ended = new AbortController()
      destination.once("close", () => ended.abort())
      destination.end()
      await clock.sleep(flushMsMax, ended.signal)
      if (!ended.signal.aborted) {
        // The pending retry must give up first: a write after the close would go to the descriptor's next file.
        triesLeft = 0
        destination.once("error", () => ended.abort())
        await clock.sleep(retryMs * lastTriesMax, ended.signal)
        destination.destroy()
      }
      flushes.delete(flushNow)
    },
  }
}

/** One listener calls them for all open destinations: a process may have many servers, and Node warns of many listeners. */
const flushes = new Set<() => void>()

function flushAtExit(flushNow: () => void): void {
  if (!process.listeners("exit").includes(flushAll)) process.on("exit", flushAll)
  flushes.add(flushNow)
}

function flushAll(): void {
  for (const flushNow of flushes) flushNow()
}

/** The same file, opened once more for writes that do not wait; or the descriptor itself where that cannot be had. */
function withoutWaiting(fd: number): number {
  const file = fstatSync(fd)
  if (file.isSocket()) return process.stderr.fd
  // A regular file never makes its writer wait for a reader, and has one position for all who write to it.
  if (!file.isFIFO() && !file.isCharacterDevice()) return fd
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return fd
  }
}
