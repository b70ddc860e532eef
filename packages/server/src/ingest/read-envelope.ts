/**
 * Reads one line of NDJSON as a post that can be stored, or says why it cannot be.
 *
 *     line ─► parse ─► inspect: depth, numbers, repeated names, nulls ─► check what the server relies on ─► post
 *                                                                 └─► edit the text, where necessary
 *
 * Only what the server relies on is checked, and a text that two parsers would read differently is rejected. Every
 * other member of a post is kept as it is, byte for byte, so a recorded stream of X goes in and comes out unchanged.
 * Removals (nulls; `matching_rules` and other members next to `data` and `includes`, which belong to another server)
 * and additions (the time, users' names) are edits of the text: parsing and serializing it again would lose digits.
 */
import { postCharactersMax, snowflakeAtMs, type Envelope, type Post } from "@sluice/api"
import { isDateTime, instant } from "../model/date-time.ts"
import { chainOf } from "../model/edit-chain.ts"
import { asId, isId, type PostId, type UserId } from "../model/ids.ts"
import {
  countMembers,
  elementPlaces,
  elementsOf,
  membersOf,
  repeatedMember,
  withMember,
  withMemberIn,
  withMembers,
  withoutLineBreaks,
  withoutNullMembers,
} from "../model/json-text.ts"
import { coreJson, type AcceptedPost } from "../model/post.ts"
import { truncate } from "../model/truncate.ts"
import { foldedUsername, userBytesMax, type IncludedUser } from "../model/user.ts"

/** A post that may be stored, with the envelope that rules are matched against; or why the line is rejected. */
export type ReadEnvelope =
  | { readonly ok: true; readonly post: AcceptedPost; readonly envelope: Envelope }
  | { readonly ok: false; readonly title: string; readonly detail: string }

/** Deepest nesting, the envelope included. X's posts reach ten, and some JSON parsers stop at some hundreds. Ours. */
const depthMax = 64

/** Why a line is rejected. Thrown and caught in this file. */
class RejectedLine extends Error {
  readonly title: string

  constructor(title: string, detail: string) {
    super(detail)
    this.title = title
  }
}

function invalidEnvelope(detail: string): RejectedLine {
  return new RejectedLine("Invalid Envelope", detail)
}

function invalidPost(detail: string): RejectedLine {
  return new RejectedLine("Invalid Post", detail)
}

type Members = Readonly<Record<string, unknown>>

/** The member `includes`: lists of objects by their kind. */
type IncludedLists = Readonly<Record<string, readonly Members[]>>

/** Reads a line. `nowMs` is the time of arrival, for a post without a time of its own. */
export function readEnvelope(line: string, nowMs: number): ReadEnvelope {
  try {
    return { ok: true, ...acceptEnvelope(line, nowMs) }
  } catch (error) {
    if (error instanceof RejectedLine) return { ok: false, title: error.title, detail: error.message }
    throw error
  }
}

function acceptEnvelope(line: string, nowMs: number): { post: AcceptedPost; envelope: Envelope } {
  const { text, parsed } = inspected(line)
  const data = objectAt(parsed, "data", 'An envelope is {"data": {post}, "includes": {…}}.')
  const includes = includedLists(parsed)
  const id = requiredId(data)
  const postText = requiredText(data)
  const authorId = optionalId(data, "author_id")
  const inReplyTo = optionalId(data, "in_reply_to_user_id")
  const references = referencesOf(data)
  const history = editHistory(data)
  const createdAtMs = createdAt(data) ?? snowflakeAtMs(id) ?? nowMs
  const isRepost = references.some(({ type }) => type === "retweeted")
  const repostedId = references.find(({ type, id: of }) => type === "retweeted" && isPlainId(of))?.id
  const chain = chainOf(id, history)
  const users = includes?.users ?? []
  const nameless = users.filter(isNameless)
  for (const user of nameless) user.name = user.username
  let kept = withoutLineBreaks(text)
  if (nameless.length > 0 || Object.keys(parsed).some((name) => name !== "data" && name !== "includes")) {
    kept = normalized(kept)
  }
  const envelope: { data: Post; includes?: IncludedLists } = {
    data: data as Post,
    ...(includes !== undefined && { includes }),
  }
  if (data.created_at === undefined) {
    const time = instant(createdAtMs)
    envelope.data = { ...envelope.data, created_at: time }
    kept = withMemberIn(kept, "data", "created_at", JSON.stringify(time))
  }
  return {
    envelope,
    post: {
      id,
      ...(authorId !== undefined && { authorId }),
      createdAtMs,
      ...(chain !== undefined && { chain }),
      isReply: !isRepost && (inReplyTo !== undefined || references.some(({ type }) => type === "replied_to")),
      isRepost,
      core: Buffer.from(
        coreJson({
          id,
          text: postText,
          edit_history_tweet_ids: history.length > 0 ? history : [id],
        }),
      ),
      envelope: Buffer.from(kept),
      userIds: knownUsers(authorId, users),
      users: includedUsers(users, kept),
      includedIds: includedPosts(includes?.tweets ?? []),
      ...(repostedId !== undefined && { repostedId: asId<PostId>(repostedId) }),
    },
  }
}

/** The line without nulls, as text and as a value. */
function inspected(line: string): { text: string; parsed: Members } {
  const original = parseJson(line)
  const found: Inspection = { members: 0, hasNulls: false }
  inspect(original, 1, found)
  // Only the last one of several members with the same name was parsed.
  if (countMembers(line) !== found.members) {
    throw invalidEnvelope(`\`${truncate(repeatedMember(line) ?? "")}\` stands twice.`)
  }
  if (!found.hasNulls) return { text: line, parsed: original }
  const text = withoutNullMembers(line)
  return { text, parsed: parseJson(text) }
}

/** Findings in a line. */
interface Inspection {
  members: number
  hasNulls: boolean
}

/** Inspects a value and everything within it. Calls itself, at most `depthMax` levels deep. */
function inspect(value: object, depth: number, found: Inspection): void {
  if (depth > depthMax) {
    throw invalidEnvelope(`The line is nested deeper than ${depthMax} levels.`)
  }
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) {
      if (typeof item === "number") rejectInfinite(item)
      else if (typeof item === "object" && item !== null) inspect(item, depth + 1, found)
    }
    return
  }
  // Twice as fast as `Object.entries`. A parsed object inherits no enumerable name.
  for (const name in value) {
    found.members += 1
    const member = (value as Members)[name]
    if (typeof member === "number") rejectInfinite(member)
    else if (member === null) found.hasNulls = true
    else if (typeof member === "object") inspect(member, depth + 1, found)
  }
}

/** Parsers disagree on such a number: infinity, or an error; and JavaScript serializes it as null. */
function rejectInfinite(number: number): void {
  if (Number.isFinite(number)) return
  throw invalidEnvelope("The line holds a number beyond 1.7976931348623157e308.")
}

/** The text without members other than `data` and `includes`, and with a name for every user. */
function normalized(text: string): string {
  return withMembers(text, (name, value) => {
    if (name !== "includes") return name === "data" ? value : undefined
    return withMembers(value, (kind, list) => (kind === "users" ? withNames(list) : list))
  })
}

/** A user without a name. X always sends it, and clients of X fail without it. */
function isNameless(user: Members): user is Members & { name?: unknown; username: string } {
  return user.name === undefined && typeof user.username === "string"
}

function withNames(users: string): string {
  const named = elementsOf(users).map((user) => {
    const members = membersOf(user)
    const username = members.get("username")
    return username?.startsWith('"') === true && !members.has("name") ? withMember(user, "name", username) : user
  })
  return `[${named.join(",")}]`
}

function parseJson(line: string): Members {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch (error) {
    throw new RejectedLine("Invalid JSON", `The line is not JSON: ${truncate((error as Error).message)}`)
  }
  if (!isObject(parsed)) throw invalidEnvelope(`The line is ${typeName(parsed)}, and must be an object.`)
  return parsed
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The type of a value, for a message. */
function typeName(value: unknown): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return "an array"
  return typeof value === "object" ? "an object" : `a ${typeof value}`
}

function objectAt(parent: Members, name: string, hint: string): Members {
  const value = parent[name]
  if (isObject(value)) return value
  const found = value === undefined ? "is missing" : `is ${typeName(value)}, and must be an object`
  throw invalidEnvelope(`\`${name}\` ${found}. ${hint}`)
}

/** Clients of X read every member of `includes` as a list of objects, and fail at another value. */
function includedLists(parsed: Members): IncludedLists | undefined {
  if (parsed.includes === undefined) return undefined
  const includes = objectAt(parsed, "includes", "Leave it out when there is nothing to include.")
  for (const name in includes) {
    const list = includes[name]
    if (!Array.isArray(list)) {
      throw invalidEnvelope(`\`${memberPath(name)}\` is ${typeName(list)}, and must be an array of objects.`)
    }
    const other = list.findIndex((item) => !isObject(item))
    if (other >= 0) {
      throw invalidEnvelope(`\`${memberPath(name)}\` must hold objects only, and holds ${typeName(list[other])}.`)
    }
  }
  return includes as IncludedLists
}

function memberPath(name: string): string {
  return truncate(`includes.${name}`)
}

function requiredId(data: Members): PostId {
  if (data.id === undefined) throw invalidPost("`data.id` is missing.")
  return checkedId("data.id", data.id)
}

function optionalId(data: Members, name: string): UserId | undefined {
  return data[name] === undefined ? undefined : checkedId(`data.${name}`, data[name])
}

function checkedId<Id extends PostId | UserId>(name: string, value: unknown): Id {
  if (typeof value === "number") {
    throw invalidPost(`\`${name}\` is a number, and must be a string: a JSON number loses digits.`)
  }
  if (typeof value !== "string" || !isPlainId(value)) {
    throw invalidPost(`\`${name}\` must be a string of 1 to 19 decimal digits, up to 9223372036854775807.`)
  }
  return asId<Id>(value)
}

function requiredText(data: Members): string {
  const { text } = data
  if (text === undefined) throw invalidPost("`data.text` is missing.")
  if (typeof text !== "string") throw invalidPost(`\`data.text\` is ${typeName(text)}, and must be a string.`)
  if (!text.isWellFormed()) throw invalidPost("`data.text` holds half of a surrogate pair.")
  // A text has at least as many code units as characters, so most texts need no counting.
  const characters = text.length > postCharactersMax ? Array.from(text).length : 0
  if (characters > postCharactersMax) {
    throw invalidPost(`\`data.text\` has ${characters} characters, and may have at most ${postCharactersMax}.`)
  }
  return text
}

function createdAt(data: Members): number | undefined {
  if (data.created_at === undefined) return undefined
  if (typeof data.created_at === "string" && isDateTime(data.created_at)) return Date.parse(data.created_at)
  throw invalidPost(
    "`data.created_at` must be an RFC 3339 time such as 2026-03-14T09:26:53.000Z, on a day that exists.",
  )
}

function referencesOf(data: Members): readonly { readonly type: string; readonly id: string }[] {
  const references = data.referenced_tweets ?? []
  if (!Array.isArray(references)) throw invalidPost("`data.referenced_tweets` must be an array.")
  return references.map((reference: unknown) => {
    if (isObject(reference) && typeof reference.type === "string" && typeof reference.id === "string") {
      return { type: reference.type, id: reference.id }
    }
    throw invalidPost("`data.referenced_tweets` must hold objects with a `type` and an `id`.")
  })
}

/** Ids of a post's versions; empty where the source has none. */
function editHistory(data: Members): readonly string[] {
  const history = data.edit_history_tweet_ids ?? []
  if (Array.isArray(history) && history.every((id) => typeof id === "string" && isId(id))) return history as string[]
  throw invalidPost("`data.edit_history_tweet_ids` must be an array of ids.")
}

/** The posts in `includes` that have an id, each once. */
function includedPosts(included: readonly Members[]): readonly PostId[] {
  const ids = included.flatMap(({ id }) => (typeof id === "string" && isPlainId(id) ? [asId<PostId>(id)] : []))
  return [...new Set(ids)]
}

/** True for an id without leading zeros: with them it names nothing. */
function isPlainId(id: string): boolean {
  return isId(id) && (id.length === 1 || !id.startsWith("0"))
}

/** The author first, then every included user, each once. */
function knownUsers(authorId: UserId | undefined, included: readonly Members[]): readonly UserId[] {
  const ids = included.flatMap(({ id }) => (typeof id === "string" && isId(id) ? [asId<UserId>(id)] : []))
  return [...new Set(authorId === undefined ? ids : [authorId, ...ids])]
}

/** The objects of included users that have an id and a username, by their places in the text that is kept. */
function includedUsers(included: readonly Members[], kept: string): readonly IncludedUser[] {
  const places = elementPlaces(kept, ["includes", "users"])
  const users: IncludedUser[] = []
  let [characters, bytes] = [0, 0]
  for (const [index, { id, username }] of included.entries()) {
    const place = places[index]
    const folded = typeof username === "string" ? foldedUsername(username) : undefined
    if (place === undefined || folded === undefined || typeof id !== "string" || !isId(id)) continue
    const begin = bytes + Buffer.byteLength(kept.slice(characters, place.start))
    const end = begin + Buffer.byteLength(kept.slice(place.start, place.end))
    if (end - begin <= userBytesMax) users.push({ id: asId<UserId>(id), username: folded, begin, end })
    ;[characters, bytes] = [place.end, end]
  }
  return users
}
