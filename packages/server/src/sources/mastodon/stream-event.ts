/**
 * Messages of an instance's WebSocket:
 *
 *     {"stream":["hashtag","cats"],"event":"update","payload":"JSON of a status, or the id of a deleted one"}
 *     {"error":"Invalid access token","status":401}
 *
 * Events of other kinds are for the account alone (notifications, conversations), and never leave the reader.
 * Source: mastodon/documentation, "streaming"; mastodon/mastodon, streaming/index.js.
 */
import { filledOf, itemsOf, memberOf, wholeOf } from "../../conversion/records.ts"
import { isStatusId } from "./mastodon-position.ts"
import type { MastodonStream } from "./streams.ts"

/** An event for the converter. */
export interface StreamEvent {
  /** The stream by its name in the settings; undefined when the instance names none that is followed. */
  readonly stream: string | undefined
  /** Absent for a message that is no event: it becomes a dead letter. */
  readonly event?: "update" | "status.update" | "delete"
  readonly payload: unknown
  /** The post that it brings for the first time, with the stream whose timeline has it. */
  readonly post: { readonly stream: string; readonly id: string } | undefined
  /** Unix ms. */
  readonly receivedMs: number
  /** The length of the message. */
  readonly bytes: number
}

/** A message as it is understood. */
export type StreamMessage =
  | StreamEvent
  | { readonly error: string; readonly status: number }
  /** Nothing for Sluice. */
  | undefined

/** Reads messages of a WebSocket that follows these streams. */
export function messageReader(
  streams: readonly MastodonStream[],
): (message: Buffer, receivedMs: number) => StreamMessage {
  const names = new Map(streams.map(({ name, key }) => [key, name]))
  const only = streams.length === 1 ? streams[0]?.name : undefined
  return (bytes, receivedMs) => {
    const text = bytes.toString("utf8")
    const message = parsed(text)
    const event = memberOf(message, "event")
    const place = { receivedMs, bytes: bytes.length }
    if (typeof event !== "string") {
      const error = filledOf(memberOf(message, "error"))
      if (error !== undefined) return { error, status: wholeOf(memberOf(message, "status")) ?? 0 }
      return unreadable(text, place)
    }
    const key = itemsOf(memberOf(message, "stream")).join(":").toLowerCase()
    const stream = key === "" ? only : names.get(key)
    return eventOf({ stream, event, payload: memberOf(message, "payload") }, place)
  }
}

type EventPlace = Pick<StreamEvent, "receivedMs" | "bytes">

/** An event of a stream, of any kind. */
export function eventOf(
  {
    stream,
    event,
    payload,
  }: { readonly stream: string | undefined; readonly event: string; readonly payload: unknown },
  place: EventPlace,
): StreamEvent | undefined {
  if (event !== "update" && event !== "status.update" && event !== "delete") return undefined
  const id = event === "update" ? idOf(payload) : undefined
  const post = stream === undefined || id === undefined ? undefined : { stream, id }
  return { ...place, stream, event, payload, post }
}

/** A text that is no event. */
export function unreadable(text: string, place: EventPlace): StreamEvent {
  return { ...place, stream: undefined, payload: text, post: undefined }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function idOf(payload: unknown): string | undefined {
  const id = memberOf(typeof payload === "string" ? parsed(payload) : payload, "id")
  return isStatusId(id) ? id : undefined
}
