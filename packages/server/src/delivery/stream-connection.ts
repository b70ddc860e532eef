/**
 * One reader of a match log, down an HTTP answer that does not end.
 *
 *     follow the log ─► a write for each match ─► room left? ── yes ─► read on
 *            ▲                                        └── no ──► forget the rest of the batch, wait for room
 *            └───────────── from the last one written ──────────────────┘      └─ too long: cut
 *
 * With an end, as in a recovery, the same loop ends there, and so does the answer, without a message.
 *
 * There is no queue here: a client that reads slowly makes the log be read slowly, and what was read and found no
 * room is read again. So a connection holds what its socket holds, and nothing else, however far it is behind.
 *
 * On the wire, for the sake of clients that look at chunks: every record is one write and ends with CRLF; a sign
 * of life is a CRLF in a write of its own; all is ASCII, so that no chunk ends inside a character; and there is no
 * content type, as X sends none and its sample client takes a JSON one for a single document.
 *
 * Source: docs.x.com, "Consuming streaming data" and "Handling disconnections"; clients seen running.
 */
import type { ServerResponse } from "node:http"
import { setImmediate as nextTurn } from "node:timers/promises"
import { keepAliveMs } from "@sluice/api"
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, MatchSeq } from "../model/ids.ts"
import type { MatchEntry } from "../model/match.ts"
import { streamEnded } from "../model/problem.ts"
import { shapeFor } from "../model/render-post.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events, StreamEnd } from "../runtime/events.ts"
import { follow } from "../store/follow.ts"
import type { Store } from "../store/store.ts"
import { chunkOf, contentOf, recordChunk } from "./stream-record.ts"

/** Matches read at a time: about what a socket takes in at once. Ours. */
const batchMax = 32

const signOfLife = chunkOf("\r\n")

/** Longest that a client has to take in the last message. Ours. */
const farewellMsMax = 1_000

/** What ended a connection, and how many matches were written to it. */
export interface EndedStream {
  readonly reason: StreamEnd
  readonly delivered: number
}

/** Which part of an app's log a connection serves, and what it shows of it. */
export interface StreamSpan {
  readonly appId: AppId
  /** Exclusive. */
  readonly after: MatchSeq
  /** Inclusive; without it there is no end. */
  readonly upTo?: MatchSeq
  readonly selection: FieldSelection
}

/**
 * Serves a part of an app's log until its end, or until the client leaves, stalls for `stalledMsMax`, something fails
 * or `ended` is aborted; the last three get X's disconnect message, as far as the client takes it in.
 */
export async function serveStream(
  deps: { store: Store; clock: Clock; events: Events; stalledMsMax: number },
  from: StreamSpan,
  response: ServerResponse,
  ended: AbortSignal,
): Promise<EndedStream> {
  const ending = new Ending(response, ended)
  const writer = new StreamWriter(response, deps, from.selection)
  const living = keepAlive(writer, deps.clock, ending.signal)
  try {
    await pour(deps, from, writer, ending)
  } catch (error) {
    deps.events.failed({ where: "stream connection", error })
    ending.because("failed")
  }
  await living
  const reason = ending.reason ?? "client"
  if (reason === "finished") {
    // What the socket holds is part of what was asked for, so there is as much time for it as for the rest.
    await sayFarewell(response, deps.clock, "", deps.stalledMsMax, ended)
  } else if (reason !== "client") await sayFarewell(response, deps.clock, farewellOf(reason), farewellMsMax)
  return { reason, delivered: writer.delivered }
}

/**
 * Writes matches until the connection ends. Throws when retention has taken what was to be written next: a client that
 * is told comes back and finds out what is left; one that is not would never know.
 */
async function pour(
  { store, clock, stalledMsMax }: { store: Store; clock: Clock; stalledMsMax: number },
  { appId, after, upTo, selection }: StreamSpan,
  writer: StreamWriter,
  ending: Ending,
): Promise<void> {
  const shape = shapeFor(selection)
  let written = after
  while (!ending.signal.aborted) {
    const span = { appId, after: written, ...(upTo !== undefined && { upTo }), shape }
    for await (const entries of follow(store, clock, { ...span, batchMax }, ending.signal)) {
      refuseGap(written, entries)
      written = writer.write(entries) ?? written
      if (writer.isFull) break
      // A long log must not keep everybody else waiting: reads of the embedded store never leave this turn.
      await nextTurn()
    }
    if (writer.isFull) {
      if (!(await writer.hasDrained(stalledMsMax, ending.signal))) ending.because("slow-reader")
    } else if (upTo !== undefined && !ending.signal.aborted) {
      if (written < upTo) throw missing(written + 1, upTo)
      ending.because("finished")
    }
  }
}

/** A log has no gaps but those that retention makes. */
function refuseGap(written: MatchSeq, entries: readonly MatchEntry[]): void {
  let expected = written + 1
  for (const { seq } of entries) {
    if (seq !== expected) throw missing(expected, seq - 1)
    expected += 1
  }
}

function missing(from: number, to: number): Error {
  return new Error(`retention took the matches from ${from} to ${to} before they were read`)
}

/** Writes a sign of life whenever nothing was written for a while. */
async function keepAlive(writer: StreamWriter, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const quietMs = clock.monotonicMs() - writer.wroteAtMs
    if (quietMs >= keepAliveMs) writer.writeSignOfLife()
    else await clock.sleep(keepAliveMs - quietMs, signal)
  }
}

/** Why a connection ends: the first reason counts. */
class Ending {
  readonly #controller = new AbortController()
  #reason: StreamEnd | undefined

  constructor(response: ServerResponse, ended: AbortSignal) {
    const leave = (): void => this.because("client")
    const close = (): void => this.because(ended.reason === "credentials" ? "credentials" : "shutdown")
    response.once("close", leave)
    // A client that goes away in the middle of a write is an error to the answer and an end to us.
    response.on("error", leave)
    ended.addEventListener("abort", close)
    this.signal.addEventListener("abort", () => ended.removeEventListener("abort", close))
    if (response.destroyed) leave()
    if (ended.aborted) close()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get reason(): StreamEnd | undefined {
    return this.#reason
  }

  because(reason: StreamEnd): void {
    this.#reason ??= reason
    this.#controller.abort()
  }
}

/** The writing end: records, signs of life, and whether there is room. Writes the answer's head at once. */
class StreamWriter {
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #events: Events
  readonly #selection: FieldSelection
  #delivered = 0
  #wroteAtMs: number

  constructor(
    response: ServerResponse,
    { clock, events }: { clock: Clock; events: Events },
    selection: FieldSelection,
  ) {
    this.#response = response
    this.#clock = clock
    this.#events = events
    this.#selection = selection
    this.#wroteAtMs = clock.monotonicMs()
    response.removeHeader("content-type")
    response.setHeader("cache-control", "no-cache, no-store, max-age=0")
    // The socket has served its purpose when the stream ends; a server that closes would wait for it.
    response.shouldKeepAlive = false
    response.flushHeaders()
  }

  /** Matches written. */
  get delivered(): number {
    return this.#delivered
  }

  get wroteAtMs(): number {
    return this.#wroteAtMs
  }

  /** True while the client has more to take in than the socket should hold. */
  get isFull(): boolean {
    const { socket, writableNeedDrain } = this.#response
    return writableNeedDrain || socket?.writableNeedDrain === true
  }

  /**
   * Writes from the first on as long as there is room. The position of the last one written, if any was. A damaged one
   * is told and left out: it is no reason to keep the others from the client.
   */
  write(entries: readonly MatchEntry[]): MatchSeq | undefined {
    let last: MatchSeq | undefined
    this.#inOneCall(() => {
      for (const entry of entries) {
        if (this.isFull) break
        last = entry.seq
        const chunk = recordChunk(entry, this.#selection)
        if (chunk === undefined) {
          const error = new Error(`post ${entry.postId} is damaged`)
          this.#events.failed({ where: "stream connection", error })
          continue
        }
        this.#writeChunk(chunk)
        this.#delivered += 1
      }
    })
    return last
  }

  /** A client that has unread matches before it needs no sign; one is not even put behind them. */
  writeSignOfLife(): void {
    this.#inOneCall(() => {
      if (!this.isFull) this.#writeChunk(signOfLife)
    })
  }

  /** To the socket itself; through the answer when that is not in chunks (HTTP/1.0), or waits for its turn. */
  #writeChunk(chunk: Buffer): void {
    const { socket, chunkedEncoding } = this.#response
    if (socket !== null && chunkedEncoding) socket.write(chunk)
    else this.#response.write(contentOf(chunk))
  }

  /**
   * Lets writes leave in one system call, each a chunk of its own. It is the socket that is corked: an answer that
   * is corked, or corks itself because its socket is not, makes one chunk of all that is written in a turn.
   */
  #inOneCall(write: () => void): void {
    const { socket } = this.#response
    socket?.cork()
    write()
    socket?.uncork()
    this.#wroteAtMs = this.#clock.monotonicMs()
  }

  /** Waits for room. False when there was none within `ms`, or the signal came first. */
  async hasDrained(ms: number, signal: AbortSignal): Promise<boolean> {
    const drained = new AbortController()
    const stop = (): void => drained.abort()
    const { socket } = this.#response
    this.#response.once("drain", stop)
    socket?.once("drain", stop)
    await this.#clock.sleep(ms, AbortSignal.any([signal, drained.signal]))
    this.#response.off("drain", stop)
    socket?.off("drain", stop)
    return !this.isFull
  }
}

const farewells = {
  shutdown: "OperationalDisconnect",
  credentials: "OperationalDisconnect",
  "slow-reader": "SlowReader",
  failed: "InternalError",
} as const satisfies Readonly<
  Record<Exclude<StreamEnd, "client" | "finished">, Parameters<typeof streamEnded>[0]>
>

/** X's disconnect message. */
function farewellOf(reason: keyof typeof farewells): string {
  return `${JSON.stringify({ errors: [streamEnded(farewells[reason]).toErrorObject()] })}\r\n`
}

/** Writes the last words and ends the answer; cuts the connection when the client does not take all in in time. */
async function sayFarewell(
  response: ServerResponse,
  clock: Clock,
  lastWords: string,
  msMax: number,
  ended?: AbortSignal,
): Promise<void> {
  const taken = new AbortController()
  const stop = (): void => taken.abort()
  response.once("finish", stop)
  response.once("close", stop)
  response.end(lastWords, "latin1")
  const signal = ended === undefined ? taken.signal : AbortSignal.any([taken.signal, ended])
  await clock.sleep(msMax, signal)
  if (!response.writableFinished) response.destroy()
}
