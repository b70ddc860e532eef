/**
 * One reader of a source, such as a match log, over an HTTP response that does not end.
 *
 *     read the source ─► write the records ─► room left? ── yes ─► read on
 *            ▲                                        └── no ──► drop the rest of the batch, wait for room
 *            └──────────── from the last one written ───────────────────┘      └─ too long: disconnect
 *
 * With an end, as in a recovery, the same loop ends there, and so does the response, without a message.
 *
 * There is no queue here: a client that reads slowly slows the reading of the source, and entries that found no room are
 * read again. So a connection buffers what its socket buffers and nothing else, however far it is behind.
 *
 * Source: docs.x.com, "Consuming streaming data" and "Handling disconnections".
 */
import type { ServerResponse } from "node:http"
import { keepAliveMs, type DisconnectType } from "@sluice/api"
import { lostReason, type DisconnectReason } from "../../model/connection.ts"
import type { AppId, PostId } from "../../model/ids.ts"
import { streamEnded, usageCapped, type Problem } from "../../model/problem.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events, StreamEnd } from "../../runtime/events/events.ts"
import type { StreamRecord } from "./line-format.ts"
import type { StreamSource } from "./stream-source.ts"
import { StreamWriter } from "./stream-writer.ts"

/** Longest that a client has to read the disconnect message. Ours. */
const disconnectMsMax = 1_000

const secondMs = 1_000

/** The bounds of a connection, and what it counts. */
export interface StreamBounds {
  /** Absent: as fast as the client reads. */
  readonly postsPerSecondMax?: number
  /** Absent: what is sent does not count as usage. */
  readonly used?: UsedByStream
}

/** The usage of the app of a stream. */
interface UsedByStream {
  count(postIds: Iterable<PostId>): void
  /** Whether the app may get no more posts in this month. */
  isCapped(): Promise<boolean>
}

/** A source, and the app and the bounds of the connection that it is for. */
export interface BoundedSource {
  readonly appId: AppId
  readonly source: StreamSource
  readonly bounds: StreamBounds
}

/**
 * Serves a source until its end, or until the client leaves, stalls for `stalledMsMax`, something fails or `ended` is
 * aborted, by a `ConnectionEnd`. After the last three the client gets X's disconnect message, as far as it reads it.
 * Returns what ended the connection, and how many records were written.
 */
export async function serveStream(
  deps: { clock: Clock; events: Events; stalledMsMax: number },
  { appId, source, bounds }: BoundedSource,
  response: ServerResponse,
  ended: AbortSignal,
): Promise<{ reason: StreamEnd; disconnectReason: DisconnectReason; delivered: number }> {
  const ending = endingOf(response, ended)
  const writer = new StreamWriter(response, deps, source.format)
  const keepingAlive = keepAlive(writer, deps.clock, ending.signal)
  try {
    await writeRecords(deps, { appId, source, bounds }, writer, ending)
  } catch (error) {
    deps.events.failed({ where: "stream connection", error })
    ending.abort("failed" satisfies StreamEnd)
  }
  await keepingAlive
  const end = ending.signal.reason as Exclude<StreamEnd, "on-demand"> | EndOnDemand
  const reason = typeof end === "string" ? end : end.reason
  if (typeof end !== "string") {
    if (end.disconnectType === "none") response.destroy()
    else await writer.end(disconnectMessage(end.disconnectType), disconnectMsMax)
  } else if (end === "finished") {
    // Bytes in the socket's buffer are part of the recovery, so there is as much time for them as for the rest.
    await writer.end("", deps.stalledMsMax, ended)
  } else if (end === "usage-cap") {
    await writer.end(lastLine(usageCapped(appId)), disconnectMsMax)
  } else if (end !== "client") {
    await writer.end(disconnectMessage(disconnectTypes[end]), disconnectMsMax)
  }
  return { reason, disconnectReason: disconnectReasonOf(end), delivered: writer.delivered }
}

/** Writes records until the connection ends. Throws what the source throws. */
async function writeRecords(
  { clock, stalledMsMax }: { clock: Clock; stalledMsMax: number },
  { source, bounds: { postsPerSecondMax, used } }: BoundedSource,
  writer: StreamWriter,
  ending: AbortController,
): Promise<void> {
  const pace = new StreamPace(clock, postsPerSecondMax)
  while (!ending.signal.aborted) {
    await pace.room(ending.signal)
    let isAtEnd = true
    for await (const batch of source.read(ending.signal)) {
      const count = writer.write(pace.left < batch.length ? batch.slice(0, pace.left) : batch)
      source.take(batch, count)
      pace.note(count)
      used?.count(wholePosts(batch.slice(0, count)))
      if ((await used?.isCapped()) === true) ending.abort("usage-cap" satisfies StreamEnd)
      // Records that were left out are read again: only the source, never the writer, says what is missing.
      isAtEnd = count === batch.length && !writer.isFull
      if (!isAtEnd) break
    }
    if (writer.hasLeft) ending.abort("client" satisfies StreamEnd)
    if (writer.isFull) {
      const hasDrained = await writer.hasDrained(stalledMsMax, ending.signal)
      if (!hasDrained) ending.abort("slow-reader" satisfies StreamEnd)
    } else if (isAtEnd && source.hasEnd && !ending.signal.aborted) {
      source.requireEnd()
      ending.abort("finished" satisfies StreamEnd)
    }
  }
}

function wholePosts(records: readonly StreamRecord[]): readonly PostId[] {
  return records.filter(({ postJson }) => postJson !== undefined).map(({ postId }) => postId)
}

/** Writes a keep-alive whenever nothing was written for `keepAliveMs`. */
async function keepAlive(writer: StreamWriter, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const quietMs = clock.monotonicMs() - writer.wroteAtMs
    if (quietMs >= keepAliveMs) writer.writeKeepAlive()
    else await clock.pause(keepAliveMs - quietMs, signal)
  }
}

/** Why a connection is ended from outside, as the reason of its signal. */
export type ConnectionEnd = Extract<StreamEnd, "credentials" | "replaced" | "forced" | "shutdown"> | EndOnDemand

/** An end that the app asked for, with the message that it asked for; `none`: the connection is cut without one. */
interface EndOnDemand {
  readonly reason: "on-demand"
  readonly disconnectType: DisconnectType | "none"
}

/** Aborted when the connection is to end, with a `StreamEnd` or an `EndOnDemand` as the reason. The first reason counts. */
function endingOf(response: ServerResponse, ended: AbortSignal): AbortController {
  const ending = new AbortController()
  const leave = (): void => ending.abort("client" satisfies StreamEnd)
  const close = (): void => ending.abort(ended.reason)
  response.once("close", leave)
  // A client that leaves in the middle of a write is an error to the response, and an end to the connection.
  response.on("error", leave)
  ended.addEventListener("abort", close, { signal: ending.signal })
  if (response.destroyed || response.req.socket.readableEnded) leave()
  if (ended.aborted) close()
  return ending
}

/** The posts that a connection may still get in the present second. */
class StreamPace {
  readonly #clock: Clock
  readonly #max: number
  #beganAtMs = Number.NEGATIVE_INFINITY
  #sent = 0

  /** Without `max` there is no bound. */
  constructor(clock: Clock, max = Number.POSITIVE_INFINITY) {
    this.#clock = clock
    this.#max = max
  }

  get left(): number {
    return this.#max - this.#sent
  }

  note(posts: number): void {
    this.#sent += posts
  }

  /** Waits until there is room for a post, or the signal aborts. */
  async room(signal: AbortSignal): Promise<void> {
    if (this.#max === Number.POSITIVE_INFINITY) return
    const endsInMs = this.#beganAtMs + secondMs - this.#clock.monotonicMs()
    if (endsInMs > 0 && this.left > 0) return
    if (endsInMs > 0) await this.#clock.sleep(Math.ceil(endsInMs), signal)
    this.#beganAtMs = this.#clock.monotonicMs()
    this.#sent = 0
  }
}

const disconnectTypes = {
  shutdown: "OperationalDisconnect",
  credentials: "OperationalDisconnect",
  replaced: "OperationalDisconnect",
  forced: "ForceDisconnect",
  "slow-reader": "SlowReader",
  failed: "InternalError",
} as const satisfies Record<Exclude<StreamEnd, "client" | "finished" | "on-demand" | "usage-cap">, DisconnectType>

/** How a connection's history calls its end. */
export function disconnectReasonOf(end: Exclude<StreamEnd, "on-demand"> | EndOnDemand): DisconnectReason {
  if (typeof end !== "string") return end.disconnectType === "none" ? lostReason : end.disconnectType
  if (end === "client") return "ClientDisconnected"
  if (end === "usage-cap") return "UsageCapExceeded"
  return end === "finished" ? "Completed" : disconnectTypes[end]
}

/** X's disconnect message. Source: docs.x.com, "Handling disconnections". */
function disconnectMessage(disconnectType: DisconnectType): string {
  return lastLine(streamEnded(disconnectType))
}

function lastLine(problem: Problem): string {
  return `${JSON.stringify({ errors: [problem.toErrorObject()] })}\r\n`
}
