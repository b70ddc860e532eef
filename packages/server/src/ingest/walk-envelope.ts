/**
 * Reads a line as `readEnvelope` does, without parsing it, by the positions that the walk found.
 *
 * Lines that need an edit or a message (nulls, a post without its time, a number as an id …) are left to
 * `readEnvelope`, which alone decides what is accepted and why not.
 */
import { postCharactersMax } from "@sluice/api"
import { jsonKind, names, type WalkedPost } from "@sluice/rules/walk"
import { chainOf } from "../model/edit-chain.ts"
import { asId, type PostId, type UserId } from "../model/ids.ts"
import type { AcceptedPost } from "../model/post.ts"
import { foldedUsername, userBytesMax, type IncludedUser } from "../model/user.ts"

/**
 * The post of the line that `walked` has scanned; undefined when the line is one for `readEnvelope`. Its `envelope` is a
 * part of `line`.
 */
export function walkEnvelope(walked: WalkedPost, line: Buffer): AcceptedPost | undefined {
  const { tape, view } = walked
  const { data } = view
  if (tape.hasNulls || tape.hasLineBreaks || data === 0) return undefined
  if (!hasOnlyEnvelope(walked) || !includesObjectLists(walked)) return undefined
  const idNode = tape.member(data, names.id)
  const authorNode = tape.member(data, names.author_id)
  const inReplyToNode = tape.member(data, names.in_reply_to_user_id)
  const createdAtMs = timeAt(tape, tape.member(data, names.created_at))
  const types = referenceTypes(walked)
  if (createdAtMs === undefined || types === undefined || !isIdAt(tape, idNode)) return undefined
  if (authorNode !== 0 && !isIdAt(tape, authorNode)) return undefined
  if (inReplyToNode !== 0 && !isIdAt(tape, inReplyToNode)) return undefined
  const core = coreBytes(walked, line, idNode)
  const known = knownUsers(walked, line, authorNode)
  const includedIds = includedPosts(walked, line)
  if (core === undefined || known === undefined || includedIds === undefined) return undefined
  const [authorId] = known.userIds
  const id = idAt<PostId>(tape, line, idNode)
  const chain = chainAt(walked, line, idNode)
  return {
    id,
    ...(authorNode !== 0 && authorId !== undefined && { authorId }),
    createdAtMs,
    ...(chain !== undefined && { chain }),
    isReply: !types.isRepost && (inReplyToNode !== 0 || types.isReply),
    isRepost: types.isRepost,
    core,
    envelope: line.subarray(tape.begin(0), tape.end(0)),
    ...known,
    includedIds,
    ...(types.repostedNode !== 0 && { repostedId: idAt<PostId>(tape, line, types.repostedNode) }),
  }
}

/** True when the envelope has no members except `data` and `includes`, which are objects. */
function hasOnlyEnvelope({ tape }: WalkedPost): boolean {
  for (let member = 1; member < tape.next(0); member = tape.next(member)) {
    const name = tape.name(member)
    if ((name !== names.data && name !== names.includes) || tape.kind(member) !== jsonKind.object) return false
  }
  return true
}

/** True when every member of `includes` is a list of objects. */
function includesObjectLists({ tape, view }: WalkedPost): boolean {
  const { includes } = view
  for (let list = includes + 1; list < tape.itemsEnd(includes); list = tape.next(list)) {
    if (tape.kind(list) !== jsonKind.array) return false
    for (let item = list + 1; item < tape.next(list); item = tape.next(item)) {
      if (tape.kind(item) !== jsonKind.object) return false
    }
  }
  return true
}

type Tape = WalkedPost["tape"]

/** Most digits of an id. Any 19 digits are an id, unless the first is a 9. */
const idDigitsMax = 19
const nine = 0x39

/** True when the value is written as an id and is certainly within an id's range. */
function isIdAt(tape: Tape, node: number): boolean {
  if (node === 0 || tape.kind(node) !== jsonKind.plain) return false
  const { bytes } = tape
  const begin = tape.begin(node)
  const end = tape.end(node)
  const first = bytes[begin] ?? 0
  const count = end - begin
  if (count === 0 || count > idDigitsMax || (count > 1 && first === 0x30)) return false
  if (count === idDigitsMax && first === nine) return false
  for (let at = begin; at < end; at++) if (!isDigit(bytes[at] ?? 0)) return false
  return true
}

/** The id at the node, of which `isIdAt` is true. */
function idAt<Id extends PostId | UserId>(tape: Tape, line: Buffer, node: number): Id {
  return asId<Id>(line.toString("latin1", tape.begin(node), tape.end(node)))
}

/** `2026-03-14T09:26:53.000Z`, as X writes times: the digits by their places, and what stands between them. */
const timeForm = "0000-00-00T00:00:00.000Z"
const epochYear = 1970

/** The time at the node in Unix milliseconds; undefined when there is none, or it is written in another form. */
function timeAt(tape: Tape, node: number): number | undefined {
  const { bytes } = tape
  const begin = tape.begin(node)
  if (node === 0 || tape.kind(node) !== jsonKind.plain || tape.end(node) - begin !== timeForm.length) return undefined
  for (let at = 0; at < timeForm.length; at++) {
    const expected = timeForm.charCodeAt(at)
    const byte = bytes[begin + at] ?? 0
    if (expected === 0x30 ? !isDigit(byte) : byte !== expected) return undefined
  }
  const year = numberAt(bytes, begin, 4)
  const month = numberAt(bytes, begin + 5, 2)
  const day = numberAt(bytes, begin + 8, 2)
  const hours = numberAt(bytes, begin + 11, 2)
  const minutes = numberAt(bytes, begin + 14, 2)
  const seconds = numberAt(bytes, begin + 17, 2)
  if (year < epochYear || month < 1 || month > 12 || day < 1 || hours > 23 || minutes > 59 || seconds > 59)
    return undefined
  // Day 0 of a month is the last of the month before.
  if (day > 28 && day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return undefined
  return Date.UTC(year, month - 1, day, hours, minutes, seconds, numberAt(bytes, begin + 20, 3))
}

/** The number that so many digits mean. */
function numberAt(bytes: Uint8Array, begin: number, digits: number): number {
  let value = 0
  for (let at = begin; at < begin + digits; at++) value = value * 10 + (bytes[at] ?? 0) - 0x30
  return value
}

/** Kinds of the posts that a post refers to. */
interface ReferenceTypes {
  readonly isRepost: boolean
  readonly isReply: boolean
  /** The id of the first post that it reposts, where that is an id; else 0. */
  readonly repostedNode: number
}

/** Kinds of the posts that the post refers to; undefined when a reference is not X's. */
function referenceTypes({ tape, view }: WalkedPost): ReferenceTypes | undefined {
  const types = { isRepost: false, isReply: false, repostedNode: 0 }
  const list = tape.member(view.data, names.referenced_tweets)
  if (list !== 0 && tape.kind(list) !== jsonKind.array) return undefined
  for (let item = list + 1; item < tape.itemsEnd(list); item = tape.next(item)) {
    const type = view.string(item, names.type)
    const id = view.string(item, names.id)
    if (type === 0 || id === 0 || tape.kind(type) !== jsonKind.plain) return undefined
    if (tape.isText(type, "retweeted")) {
      types.isRepost = true
      if (types.repostedNode === 0 && isIdAt(tape, id)) types.repostedNode = id
    }
    if (tape.isText(type, "replied_to")) types.isReply = true
  }
  return types
}

/** Text around the values of a core. */
const coreParts = ['{"id":"', '","text":"', '","edit_history_tweet_ids":[', "]}"].map((part) => Buffer.from(part)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
]
const corePartsBytes = coreParts.reduce((sum, { length }) => sum + length, 0)

/** The post's core as `coreJson` makes it; undefined when its text or its history cannot be copied. */
function coreBytes({ tape, view }: WalkedPost, line: Buffer, id: number): Buffer | undefined {
  const text = view.string(view.data, names.text)
  // Bytes are at least as many as characters. Unusual escapes would be written in another way.
  if (text === 0 || tape.kind(text) === jsonKind.unusual) return undefined
  const textBegin = tape.begin(text)
  const textEnd = tape.end(text)
  if (textEnd - textBegin > postCharactersMax) return undefined
  const history = tape.member(view.data, names.edit_history_tweet_ids)
  if (history !== 0 && tape.kind(history) !== jsonKind.array) return undefined
  let historyBytes = 0
  for (let item = history + 1; item < tape.itemsEnd(history); item = tape.next(item)) {
    if (!isIdAt(tape, item)) return undefined
    historyBytes += quotedBytes(tape, item) + 1
  }
  // Without a history the post is its only version. The last has no comma.
  historyBytes = historyBytes === 0 ? quotedBytes(tape, id) : historyBytes - 1
  const [before, beforeText, beforeHistory, after] = coreParts
  const idBytes = tape.end(id) - tape.begin(id)
  const core = Buffer.allocUnsafe(corePartsBytes + idBytes + textEnd - textBegin + historyBytes)
  core.set(before)
  let at = copyBytes(tape, tape.begin(id), tape.end(id), core, before.length)
  core.set(beforeText, at)
  at += beforeText.length
  line.copy(core, at, textBegin, textEnd)
  at += textEnd - textBegin
  core.set(beforeHistory, at)
  at += beforeHistory.length
  const first = at
  for (let item = history + 1; item < tape.itemsEnd(history); item = tape.next(item)) {
    if (at > first) core[at++] = comma
    at = copyQuoted(tape, item, core, at)
  }
  core.set(after, at === first ? copyQuoted(tape, id, core, at) : at)
  return core
}

/** The chain of the post, whose history `coreBytes` has found to be one of ids. Nearly all histories have the post alone. */
function chainAt({ tape, view }: WalkedPost, line: Buffer, idNode: number): readonly PostId[] | undefined {
  const list = tape.member(view.data, names.edit_history_tweet_ids)
  const first = list + 1
  const end = tape.itemsEnd(list)
  if (first >= end || (tape.next(first) >= end && tape.areSame(first, idNode))) return undefined
  const history: PostId[] = []
  for (let item = first; item < end; item = tape.next(item)) history.push(idAt<PostId>(tape, line, item))
  return chainOf(idAt<PostId>(tape, line, idNode), history)
}

const comma = 0x2c

/** Bytes of the string with its quotes. */
function quotedBytes(tape: Tape, node: number): number {
  return tape.end(node) - tape.begin(node) + 2
}

/** Copies the string with its quotes. Returns its end. */
function copyQuoted(tape: Tape, node: number, to: Buffer, at: number): number {
  return copyBytes(tape, tape.begin(node) - 1, tape.end(node) + 1, to, at)
}

/** Copies a few bytes, for which a call of a buffer's own would take longer. Returns their end. */
function copyBytes({ bytes }: Tape, begin: number, end: number, to: Buffer, at: number): number {
  for (let from = begin; from < end; from++) to[at + from - begin] = bytes[from] ?? 0
  return at + end - begin
}

/**
 * The author first, then every included user, each once, and the objects of included users; undefined when an id or a
 * username is written in another way, or a user has no name.
 */
function knownUsers(
  { tape, view }: WalkedPost,
  line: Buffer,
  author: number,
): Pick<AcceptedPost, "userIds" | "users"> | undefined {
  const ids: UserId[] = author === 0 ? [] : [idAt<UserId>(tape, line, author)]
  const users: IncludedUser[] = []
  const envelope = tape.begin(0)
  const list = view.array(view.includes, names.users)
  for (let user = list + 1; user < tape.itemsEnd(list); user = tape.next(user)) {
    const usernameNode = view.string(user, names.username)
    if (usernameNode !== 0 && tape.member(user, names.name) === 0) return undefined
    const node = view.string(user, names.id)
    if (node === 0) continue
    // The author mostly is the first of them.
    const isAuthor = author !== 0 && tape.areSame(node, author)
    if (!isAuthor && !isIdAt(tape, node)) return undefined
    const id = (isAuthor ? ids[0] : undefined) ?? idAt<UserId>(tape, line, node)
    if (!isAuthor) ids.push(id)
    if (usernameNode === 0) continue
    if (tape.kind(usernameNode) > jsonKind.utf8) return undefined
    const username = foldedUsername(line.toString("utf8", tape.begin(usernameNode), tape.end(usernameNode)))
    const [begin, end] = [tape.begin(user) - envelope, tape.end(user) - envelope]
    if (username !== undefined && end - begin <= userBytesMax) users.push({ id, username, begin, end })
  }
  return { userIds: ids.length <= 2 && ids[0] !== ids[1] ? ids : [...new Set(ids)], users }
}

/** The posts in `includes`, each once; undefined when an id is written in another way. */
function includedPosts({ tape, view }: WalkedPost, line: Buffer): readonly PostId[] | undefined {
  const ids: PostId[] = []
  const list = view.array(view.includes, names.tweets)
  for (let post = list + 1; post < tape.itemsEnd(list); post = tape.next(post)) {
    const node = view.string(post, names.id)
    if (node === 0) continue
    if (!isIdAt(tape, node)) return undefined
    ids.push(idAt<PostId>(tape, line, node))
  }
  return ids.length <= 1 ? ids : [...new Set(ids)]
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}
