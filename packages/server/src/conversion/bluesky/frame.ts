/**
 * Frames of Bluesky's Jetstream, in both wire forms, as one kind of event.
 *
 *     /subscribe                     {"did","time_us","cursor"?,"kind","commit"|"identity"|"account"}
 *     /xrpc/…subscribeEvents         {"$type":"message","payload":{"$type":"…#commit","seq","did","time",…}}
 *
 * The frame itself tells its form. Source: bluesky-social/jetstream, docs/README.md and the lexicon of `subscribeEvents`.
 */
import { isDid } from "../foreign-ids.ts"
import {
  filledOf,
  invalidMember,
  memberOf,
  objectOf,
  parsedRecord,
  RejectedRecord,
  stringOf,
  wholeOf,
  type Members,
  type Place,
} from "../records.ts"

/** A change of one record in a repository. */
export interface Commit {
  readonly kind: "commit"
  readonly did: string
  readonly operation: unknown
  readonly collection: string
  readonly rkey: unknown
  readonly rev: unknown
  readonly record: unknown
}

/** The event in a frame. */
export type FrameEvent =
  | Commit
  | { readonly kind: "identity"; readonly did: string; readonly handle: string | undefined }
  | { readonly kind: "account"; readonly did: string; readonly isActive: boolean; readonly status: string | undefined }
  /** The answer of an AppView, which the driver of the source puts into this form. */
  | { readonly kind: "profile"; readonly did: string; readonly profile: Members }
  /** The driver of the source handles it. */
  | { readonly kind: "notice" }
  /** An event of a kind that says nothing of posts. */
  | { readonly kind: "other" }

/** A frame that is for the driver of the source and holds no record. */
export interface Notice {
  /** After an error the server ends the connection. */
  readonly kind: "error" | "info"
  /** Such as `ConsumerTooSlow`, `OutdatedCursor` or `FutureCursor`; empty when the frame has none. */
  readonly name: string
  readonly message: string
}

/** The notice in a frame; undefined for any other frame, and for a text that is no frame. */
export function noticeOf(line: string): Notice | undefined {
  // Nearly no frame is one, and parsing takes longer.
  if (!line.includes('"error"') && !line.includes("#info")) return undefined
  try {
    return noticeIn(parsedRecord(line))
  } catch (error) {
    if (error instanceof RejectedRecord) return undefined
    throw error
  }
}

function noticeIn(frame: Members): Notice | undefined {
  const payload = objectOf(frame.payload)
  const kind = frame.$type === "error" ? "error" : isInfo(payload?.$type) ? "info" : undefined
  if (kind === undefined) return undefined
  const from = kind === "error" ? frame : payload
  const name = from?.[kind === "error" ? "error" : "name"]
  return { kind, name: stringOf(name) ?? "", message: stringOf(from?.message) ?? "" }
}

function isInfo(type: unknown): boolean {
  return typeof type === "string" && type.endsWith("#info")
}

/**
 * The position of the frame, and the time at which the server had its event. Members of other types are as absent.
 *
 * The position is the time in microseconds: unlike the numbers of events, every host of either endpoint understands it.
 */
export function placeOf(frame: Members): Place {
  const timeUs = timeUsOf(frame)
  if (frame.kind === positionKind && timeUs !== undefined) return { position: timeUs.toString() }
  return timeUs === undefined ? {} : { position: timeUs.toString(), atMs: Math.floor(timeUs / 1_000) }
}

/** The kind of a frame that the driver makes, and that has nothing but a position. */
const positionKind = "position"

/** A frame without an event, with the position of a time in microseconds. */
export function positionFrame(timeUs: number): Uint8Array {
  return Buffer.from(JSON.stringify({ kind: positionKind, time_us: timeUs }))
}

function timeUsOf(frame: Members): number | undefined {
  if (!isWrapped(frame)) return wholeOf(frame.time_us)
  const payload = objectOf(frame.payload)
  const atMs = Date.parse(stringOf(payload?.witnessedAt) ?? stringOf(payload?.time) ?? "")
  return Number.isFinite(atMs) ? atMs * 1_000 : undefined
}

/** True for a frame of `subscribeEvents`. */
function isWrapped(frame: Members): boolean {
  return "$type" in frame
}

/** The event in the frame. Throws `RejectedRecord`. */
export function eventOf(frame: Members): FrameEvent {
  if (!isWrapped(frame)) return eventOfKind(frame.kind, frame, "")
  if (noticeIn(frame) !== undefined) return { kind: "notice" }
  const payload = objectOf(frame.payload)
  if (payload === undefined) throw invalidMember("payload", frame.payload, "an object")
  const type = stringOf(payload.$type)
  if (type === undefined) throw invalidMember("payload.$type", payload.$type, "a string")
  return eventOfKind(type.slice(type.indexOf("#") + 1), payload, "payload.")
}

/** The event, whose members stand in `from`, or in its member of the kind's name. `path` leads there, for messages. */
function eventOfKind(kind: unknown, from: Members, path: string): FrameEvent {
  if (typeof kind !== "string") throw invalidMember(`${path}kind`, kind, "a string")
  if (kind !== "commit" && kind !== "identity" && kind !== "account" && kind !== "profile") return { kind: "other" }
  const { did } = from
  if (typeof did !== "string" || !isDid(did)) throw invalidMember(`${path}did`, did, "a DID")
  // Commits of `subscribeEvents` stand in the payload itself.
  const isFlat = path !== "" && kind === "commit"
  const event = isFlat ? from : objectOf(from[kind])
  if (event === undefined) throw invalidMember(`${path}${kind}`, from[kind], "an object")
  const within = isFlat ? path : `${path}${kind}.`
  if (kind === "commit") return commitOf(did, event, within)
  if (kind === "identity") return { kind, did, handle: filledOf(event.handle) }
  if (kind === "profile") return { kind, did, profile: event }
  if (typeof event.active !== "boolean") throw invalidMember(`${within}active`, event.active, "true or false")
  return { kind, did, isActive: event.active, status: stringOf(event.status) }
}

function commitOf(did: string, event: Members, path: string): Commit {
  const { operation, collection, rkey, rev, record } = event
  if (typeof collection !== "string") throw invalidMember(`${path}collection`, collection, "a string")
  return { kind: "commit", did, operation, collection, rkey, rev, record }
}

/** The `uri` of a strong reference such as `{"uri","cid"}`. */
export function uriOf(reference: unknown): string | undefined {
  return stringOf(memberOf(reference, "uri"))
}
