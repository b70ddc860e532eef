/**
 * The formats of posts, and the conversion of a line to envelopes.
 *
 *     envelope   {"data":{"id":"…"},"includes":{…}}          X's stream: sent unchanged
 *     page       {"data":[{"id":"…"},…],"includes":{…}}      a response of X's API: an envelope for each post
 *     post       {"id":"…","text":"…"}                       a post object by itself
 *     v1.1       {"id_str":"…","full_text":"…","user":{…}}   a post of X's API v1.1, or {"statuses":[…]}
 *
 * Nearly every line of a large file is an envelope, recognised by its start. Such a line is not parsed: the server
 * validates it.
 */
import { deletionNotices, otherNotices, tellsOfDeletion } from "@sluice/api"
import { bodyBytesMax as postBytesMax } from "@sluice/api/limits"
import { messageOf } from "../process/failure.ts"
import { envelopeOfPost } from "./flat-post.ts"
import type { InputLine } from "./input-line.ts"
import { envelopesOfPage } from "./page-posts.ts"
import { objectOf, objectsOf, type Members } from "./untyped-json.ts"
import { envelopeOfV1Post } from "./v1-post.ts"

/** The formats of lines; `auto` detects the format of each line. */
export const postFormats = ["auto", "envelope", "page", "post", "v1.1"] as const

/** The name of a format. */
export type PostFormat = (typeof postFormats)[number]

/** A post of a line, as the line of an envelope; a post that cannot be sent; or a line without a post. */
export type LinePost =
  | { readonly kind: "post"; readonly bytes: Buffer }
  | { readonly kind: "refused"; readonly title: string; readonly detail: string }
  | { readonly kind: "none" }

const shapes: Readonly<Record<Exclude<PostFormat, "auto">, string>> = {
  envelope: 'an envelope {"data":{"id":"…","text":"…"}}',
  page: 'a page {"data":[{"id":"…","text":"…"}]}',
  post: 'a post {"id":"…","text":"…"}',
  "v1.1": 'a v1.1 post {"id_str":"…","full_text":"…"}',
}

/** The posts of a line, in order, generated one by one: a page of a few megabytes may become many more. */
export function* postsOfLine(line: InputLine, format: PostFormat): Generator<LinePost, void, void> {
  if (line.kind === "too-long") {
    yield tooLong(line.byteCount, line.byteCountMax)
    return
  }
  const { bytes } = line
  const isEnvelope = format === "envelope" || (format === "auto" && beginsAsEnvelope(bytes))
  if (isEnvelope && !mayBeNotice(bytes)) {
    yield sent(withoutLineBreaks(bytes))
    return
  }
  let value: unknown
  try {
    value = JSON.parse(bytes.toString("utf8"))
  } catch (error) {
    // The server says what is wrong with an envelope.
    if (isEnvelope) yield sent(withoutLineBreaks(bytes))
    else yield { kind: "refused", title: "Invalid JSON", detail: `${expected(format)} ${messageOf(error)}.` }
    return
  }
  yield* postsOfValue(value, format, () => sent(withoutLineBreaks(bytes)))
}

/** `{"data":{`, with white space anywhere. */
const envelopeStart = /^\s*\{\s*"data"\s*:\s*\{/

/** Bytes that are enough to see the beginning of an envelope, however it is laid out. Ours. */
const headBytes = 64

function beginsAsEnvelope(bytes: Buffer): boolean {
  return envelopeStart.test(bytes.toString("latin1", 0, headBytes))
}

/**
 * Whether a line that begins as an envelope may be a notice: the server would obey a deletion. Every post has a text, and the
 * names of deletions are no names of its members; within a text a backslash stands before each quotation mark.
 */
function mayBeNotice(bytes: Buffer): boolean {
  return !bytes.includes('"text"') || deletionNotices.some((name) => bytes.includes(`"${name}"`))
}

/** `asItIs` is what the value was read from. */
function* postsOfValue(value: unknown, format: PostFormat, asItIs?: () => LinePost): Generator<LinePost, void, void> {
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) yield* postsOfValue(item, format)
    if (value.length === 0) yield { kind: "none" }
    return
  }
  const members = objectOf(value)
  const found = members && formatOf(members)
  if (members === undefined || found === undefined) {
    const keys = Object.keys(members ?? {}).slice(0, 5)
    const names = keys.length === 0 ? "" : `, with the members ${keys.join(", ")}`
    yield { kind: "refused", title: "Unknown Format", detail: `${expected(format)} It is ${kindOf(value)}${names}.` }
  } else if (found !== "notice" && format !== "auto" && found !== format) {
    yield { kind: "refused", title: "Wrong Format", detail: `${expected(format)} It is ${shapes[found]}.` }
  } else yield* converted(members, found, asItIs)
}

function expected(format: PostFormat): string {
  if (format !== "auto") return `Expected ${shapes[format]}.`
  return `Expected ${shapes.envelope}, ${shapes.page}, ${shapes.post} or ${shapes["v1.1"]}.`
}

function kindOf(value: unknown): string {
  if (value === null) return "null"
  return typeof value === "object" ? "an object" : `a ${typeof value}`
}

const noticeNames: ReadonlySet<string> = new Set([...deletionNotices, ...otherNotices])

/** Whether it is a message of a stream other than a post: a notice, or in v2 a disconnect message. */
function isNotice(members: Members): boolean {
  if (tellsOfDeletion(members)) return true
  const data = objectOf(members["data"])
  if (data !== undefined)
    return !("id" in data || "text" in data) && Object.keys(data).some((name) => noticeNames.has(name))
  const [only, ...others] = Object.keys(members)
  if (others.length > 0 || only === undefined) return false
  if (only !== "errors") return noticeNames.has(only)
  const errors = objectsOf(members["errors"])
  return errors.length > 0 && errors.every((error) => "disconnect_type" in error)
}

/** The format of an object; a `notice` is no post, and nothing is wrong with it. */
function formatOf(members: Members): Exclude<PostFormat, "auto"> | "notice" | undefined {
  const { data, statuses, meta, id, text, id_str: idText, full_text: fullText, user } = members
  if (objectOf(data) !== undefined) return isNotice(members) ? "notice" : "envelope"
  // A page without posts has no `data`.
  if (Array.isArray(data) || (data === undefined && objectOf(meta)?.["result_count"] === 0)) return "page"
  if (Array.isArray(statuses) || idText !== undefined || fullText !== undefined) return "v1.1"
  if (id !== undefined && text !== undefined) return objectOf(user) === undefined ? "post" : "v1.1"
  return isNotice(members) ? "notice" : undefined
}

function* converted(
  members: Members,
  format: Exclude<PostFormat, "auto"> | "notice",
  asItIs: (() => LinePost) | undefined,
): Generator<LinePost, void, void> {
  switch (format) {
    case "notice":
      yield { kind: "none" }
      return
    case "envelope":
      yield asItIs?.() ?? envelopeLine(members)
      return
    case "post":
      yield envelopeLine(envelopeOfPost(members))
      return
    case "page": {
      const data = Array.isArray(members["data"]) ? (members["data"] as readonly unknown[]) : []
      if (data.length === 0) yield { kind: "none" }
      for (const envelope of envelopesOfPage(data, members["includes"])) {
        yield envelope === undefined ? noObject : envelopeLine(envelope)
      }
      return
    }
    case "v1.1": {
      const { statuses } = members
      const posts = Array.isArray(statuses) ? (statuses as readonly unknown[]) : [members]
      if (posts.length === 0) yield { kind: "none" }
      for (const post of posts) yield v1Line(objectOf(post))
    }
  }
}

const noObject: LinePost = { kind: "refused", title: "Invalid Post", detail: "It is not a JSON object." }

function v1Line(post: Members | undefined): LinePost {
  if (post === undefined) return noObject
  const outcome = envelopeOfV1Post(post)
  return outcome.ok
    ? envelopeLine(outcome.envelope)
    : { kind: "refused", title: "Invalid Post", detail: outcome.detail }
}

function envelopeLine(envelope: Members): LinePost {
  if (tellsOfDeletion(envelope)) return { kind: "none" }
  return sent(Buffer.from(JSON.stringify(envelope)))
}

function sent(bytes: Buffer): LinePost {
  return bytes.length > postBytesMax ? tooLong(bytes.length, postBytesMax) : { kind: "post", bytes }
}

function tooLong(byteCount: number, byteCountMax: number): LinePost {
  const detail = `It has ${String(byteCount)} bytes; the limit is ${String(byteCountMax)}.`
  return { kind: "refused", title: "Too Long", detail }
}

/** A value of several lines as one. Between the tokens of JSON a line break is as good as a space, and elsewhere is none. */
function withoutLineBreaks(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a)) return bytes
  return Buffer.from(bytes.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)))
}
