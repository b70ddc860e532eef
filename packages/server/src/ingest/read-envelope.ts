/**
 * One line of NDJSON into a post that can be stored, or the reason why not.
 *
 * Only what the server itself relies on is checked. Every other member of a post is kept as it came, so a
 * recorded stream of X goes in and comes out whole; `matching_rules` and other members beside `data` and
 * `includes` are another server's, and are dropped.
 */
import { postCharactersMax, snowflakeAtMs, type Envelope, type Post } from "@sluice/api"
import { isDateTime } from "../model/date-time.ts"
import { asId, isId, type PostId, type UserId } from "../model/ids.ts"
import { repeatedMember } from "../model/json-text.ts"
import type { AcceptedPost } from "../model/post.ts"

/** A post that may be stored, with the envelope that it is matched by; or what was wrong with the line. */
export type ReadEnvelope =
  | { readonly ok: true; readonly post: AcceptedPost; readonly envelope: Envelope }
  | { readonly ok: false; readonly title: string; readonly detail: string }

/** Thrown within this file; never leaves it. */
class Refused extends Error {
  readonly title: string

  constructor(title: string, detail: string) {
    super(detail)
    this.title = title
  }
}

type Members = Readonly<Record<string, unknown>>

/** A member that is null, somewhere in a line; or a text that only looks like one, which costs time and no more. */
const nullMember = /:\s*null\b/

/** `nowMs` is the time of arrival, for a post that says nothing of its time. */
export function readEnvelope(line: string, nowMs: number): ReadEnvelope {
  try {
    return { ok: true, ...acceptEnvelope(line, nowMs) }
  } catch (error) {
    if (error instanceof Refused) return { ok: false, title: error.title, detail: error.message }
    // What is nested so deeply that the stack does not hold it can be read, but not written again.
    if (error instanceof RangeError) {
      return { ok: false, title: "Invalid Envelope", detail: "The line is nested too deeply." }
    }
    throw error
  }
}

function acceptEnvelope(line: string, nowMs: number): { post: AcceptedPost; envelope: Envelope } {
  // The word is found faster than the pattern, and most lines do not have it.
  const hasNulls = line.includes("null") && nullMember.test(line)
  const came = parseJson(line)
  refuseRepeated(line, came)
  const parsed = hasNulls ? withoutNulls(came) : came
  const data = objectAt(parsed, "data", 'An envelope is {"data": {post}, "includes": {…}}.')
  const includes =
    parsed.includes === undefined
      ? undefined
      : objectAt(parsed, "includes", "Leave it out when there is nothing to include.")
  const id = requiredId(data)
  const text = requiredText(data)
  const authorId = optionalId(data, "author_id")
  const inReplyTo = optionalId(data, "in_reply_to_user_id")
  const references = referenceTypes(data)
  const history = editHistory(data)
  const createdAtMs = createdAt(data) ?? snowflakeAtMs(id) ?? nowMs
  const isRepost = references.includes("retweeted")
  const envelope: Envelope = {
    data: {
      ...(data as Post),
      ...(data.created_at === undefined && { created_at: new Date(createdAtMs).toISOString() }),
    },
    ...(includes !== undefined && { includes }),
  }
  // What came is kept letter for letter where nothing had to be added or dropped.
  const isWhole =
    !hasNulls &&
    data.created_at !== undefined &&
    Object.keys(parsed).every((name) => name === "data" || name === "includes")
  return {
    envelope,
    post: {
      id,
      ...(authorId !== undefined && { authorId }),
      createdAtMs,
      isReply: !isRepost && (inReplyTo !== undefined || references.includes("replied_to")),
      isRepost,
      core: JSON.stringify({ id, text, edit_history_tweet_ids: history.length > 0 ? history : [id] }),
      envelope: isWhole ? line : JSON.stringify(envelope),
      userIds: knownUsers(authorId, envelope.includes?.users),
    },
  }
}

function parseJson(line: string): Members {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch (error) {
    throw new Refused("Invalid JSON", `The line is not JSON: ${(error as Error).message}`)
  }
  if (!isObject(parsed))
    throw new Refused("Invalid Envelope", `The line is ${nameOf(parsed)}, and must be an object.`)
  return parsed
}

/** The same with every member that is null left out: absent values are omitted, never null. */
function withoutNulls<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item)) as Value
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member)])) as Value
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** What a value is, in words. */
function nameOf(value: unknown): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return "an array"
  return typeof value === "object" ? "an object" : `a ${typeof value}`
}

function objectAt(parent: Members, name: string, hint: string): Members {
  const value = parent[name]
  if (isObject(value)) return value
  const found = value === undefined ? "is missing" : `is ${nameOf(value)}, and must be an object`
  throw new Refused("Invalid Envelope", `\`${name}\` ${found}. ${hint}`)
}

/** Which of the two was meant nobody knows, and a line that is kept letter for letter would go out with both. */
function refuseRepeated(line: string, envelope: Members): void {
  const names = Object.keys(envelope).length
  const namesWithin = isObject(envelope.data) ? Object.keys(envelope.data).length : 0
  const path = repeatedMember(line, "data", names + namesWithin)
  if (path === undefined) return
  throw new Refused("Invalid Envelope", `\`${path}\` stands twice.`)
}

function requiredId(data: Members): PostId {
  if (data.id === undefined) throw new Refused("Invalid Post", "`data.id` is missing.")
  return checkedId("data.id", data.id)
}

function optionalId(data: Members, name: string): UserId | undefined {
  return data[name] === undefined ? undefined : checkedId(`data.${name}`, data[name])
}

function checkedId<Id extends PostId | UserId>(name: string, value: unknown): Id {
  if (typeof value === "number") {
    throw new Refused(
      "Invalid Post",
      `\`${name}\` is a number, and must be a string: a JSON number loses digits.`,
    )
  }
  if (typeof value !== "string" || !isId(value) || (value.length > 1 && value.startsWith("0"))) {
    throw new Refused(
      "Invalid Post",
      `\`${name}\` must be a string of 1 to 19 decimal digits, up to 9223372036854775807.`,
    )
  }
  return asId<Id>(value)
}

function requiredText(data: Members): string {
  const { text } = data
  if (text === undefined) throw new Refused("Invalid Post", "`data.text` is missing.")
  if (typeof text !== "string")
    throw new Refused("Invalid Post", `\`data.text\` is ${nameOf(text)}, and must be a string.`)
  if (!text.isWellFormed()) throw new Refused("Invalid Post", "`data.text` holds half of a surrogate pair.")
  // Code units are at least as many as characters, so most texts need no counting.
  const characters = text.length > postCharactersMax ? Array.from(text).length : 0
  if (characters > postCharactersMax) {
    throw new Refused(
      "Invalid Post",
      `\`data.text\` has ${characters} characters, and may have at most ${postCharactersMax}.`,
    )
  }
  return text
}

function createdAt(data: Members): number | undefined {
  if (data.created_at === undefined) return undefined
  if (typeof data.created_at === "string" && isDateTime(data.created_at)) return Date.parse(data.created_at)
  throw new Refused(
    "Invalid Post",
    "`data.created_at` must be an RFC 3339 time such as 2026-03-14T09:26:53.000Z, on a day that exists.",
  )
}

function referenceTypes(data: Members): readonly string[] {
  const references = data.referenced_tweets ?? []
  if (!Array.isArray(references))
    throw new Refused("Invalid Post", "`data.referenced_tweets` must be an array.")
  return references.map((reference: unknown) => {
    if (isObject(reference) && typeof reference.type === "string" && typeof reference.id === "string") {
      return reference.type
    }
    throw new Refused("Invalid Post", "`data.referenced_tweets` must hold objects with a `type` and an `id`.")
  })
}

/** Ids of a post's versions; absent or empty where the source has none. */
function editHistory(data: Members): readonly string[] {
  const history = data.edit_history_tweet_ids ?? []
  if (Array.isArray(history) && history.every((id) => typeof id === "string" && isId(id)))
    return history as string[]
  throw new Refused("Invalid Post", "`data.edit_history_tweet_ids` must be an array of ids.")
}

/** The author first, then every user that is included, each once. */
function knownUsers(authorId: UserId | undefined, included: unknown): readonly UserId[] {
  const users = Array.isArray(included) ? included : []
  const ids = users.flatMap((user: unknown) =>
    isObject(user) && typeof user.id === "string" && isId(user.id) ? [asId<UserId>(user.id)] : [],
  )
  return [...new Set(authorId === undefined ? ids : [authorId, ...ids])]
}
