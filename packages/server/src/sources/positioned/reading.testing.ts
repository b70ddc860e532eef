/** Reads a source in tests, as its driver would: behind the position of the last line that was taken. */
import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { SourceGap } from "../source.ts"
import { AdvisedError, type RecordReader } from "./positioned-source.ts"

/** A line that a reader has given. */
export interface TakenLine {
  readonly cursor?: string | number
  readonly error?: { readonly title: string; readonly detail: string }
  readonly record?: string
  readonly [member: string]: unknown
}

/** The life of a source: its reader is called again after each failure, 20 ms later. Disposing of it ends it. */
export interface DrivenReader extends AsyncDisposable {
  readonly lines: TakenLine[]
  readonly failures: string[]
  readonly connected: string[]
  readonly gaps: SourceGap[]
  /** Positions from which it was read. */
  readonly begun: (string | undefined)[]
}

/** How a reader is driven. */
interface Driving {
  /** The position from which it reads. */
  readonly position?: string
  /** Waited for with each line. */
  readonly taken?: (line: TakenLine) => Promise<unknown>
  /** The position that the store says, whenever it is asked; absent: that of the last line. */
  readonly durable?: () => string | Promise<string>
}

/** Drives a reader. */
export function driven(reader: RecordReader, { position, taken, durable }: Driving = {}): DrivenReader {
  const controller = new AbortController()
  const state = { lines: [] as TakenLine[], failures: [] as string[], connected: [] as string[] }
  const gaps: SourceGap[] = []
  const begun: (string | undefined)[] = []
  let reached = position
  const sink = {
    driver: 0,
    connected: (to: string) => void state.connected.push(to),
    async take(record: Uint8Array) {
      const line = JSON.parse(Buffer.from(record).toString()) as TakenLine
      await taken?.(line)
      state.lines.push(line)
      if (line.cursor !== undefined) reached = String(line.cursor)
    },
    gap: (gap: SourceGap) => Promise.resolve(void gaps.push(gap)),
    notice: () => undefined,
    durable: async () => (durable === undefined ? reached : durable()),
  }
  const run = async (): Promise<void> => {
    while (!controller.signal.aborted) {
      begun.push(reached)
      sink.driver += 1
      try {
        await reader.read(reached, sink, controller.signal)
        if (!controller.signal.aborted) state.failures.push("returned")
      } catch (error) {
        const advice = error instanceof AdvisedError ? ` (${error.advice}; ${error.waitMs})` : ""
        state.failures.push(`${(error as Error).message}${advice}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const ended = run()
  return {
    ...state,
    gaps,
    begun,
    async [Symbol.asyncDispose]() {
      if (controller.signal.aborted) return
      controller.abort()
      await ended
      await reader[Symbol.asyncDispose]?.()
    },
  }
}

/** A real server on this machine. Disposing of it cuts its connections. */
export interface TestFeed extends AsyncDisposable {
  readonly port: number
  readonly server: Server
}

/** Serves requests on 127.0.0.1. */
export async function startFeed(answer: RequestListener): Promise<TestFeed> {
  const server = createServer(answer)
  await once(server.listen(0, "127.0.0.1"), "listening")
  return {
    port: (server.address() as AddressInfo).port,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
