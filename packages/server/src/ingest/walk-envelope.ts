/**
 * Reads a line as `readEnvelope` does, without parsing it: what is checked and stored stands where the walk found it.
 *
 * What needs an edit or a message (nulls, a post without its time, a number as an id …) is left to `readEnvelope`, which
 * alone says what is accepted and why not.
 */
import { postCharactersMax } from "@sluice/api"
import { jsonKind, names, type WalkedPost } from "@sluice/rules/walk"
import { asId, isId, type PostId, type UserId } from "../model/ids.ts"
import type { AcceptedPost } from "../model/post.ts"

/**
 * The post of the line that `walked` has taken; undefined when the line is one for `readEnvelope`. Its `envelope` is a
 * part of `line`.
 */
export function walkEnvelope(walked: WalkedPost, line: Buffer): AcceptedPost | undefined {
  const { tape, nodes } = walked
  const { data } = nodes
  if (tape.hasNulls || tape.hasLineBreaks || data === 0 || !isComplete(walked)) return undefined
  const id = idAt<PostId>(walked, line, tape.member(data, names.id))
  const authorNode = tape.member(data, names.author_id)
  const authorId = idAt<UserId>(walked, line, authorNode)
  const inReplyToNode = tape.member(data, names.in_reply_to_user_id)
  const createdAtMs = timeAt(walked, line, tape.member(data, names.created_at))
  const types = referenceTypes(walked)
  if (id === undefined || createdAtMs === undefined || types === undefined) return undefined
  if (authorNode !== 0 && authorId === undefined) return undefined
  if (inReplyToNode !== 0 && idAt(walked, line, inReplyToNode) === undefined) return undefined
  const core = coreBytes(walked, line)
  const userIds = knownUsers(walked, line, authorId)
  if (core === undefined || userIds === undefined) return undefined
  return {
    id,
    ...(authorId !== undefined && { authorId }),
    createdAtMs,
    isReply: !types.isRepost && (inReplyToNode !== 0 || types.isReply),
    isRepost: types.isRepost,
    core,
    envelope: line.subarray(tape.begin(0), tape.end(0)),
    userIds,
  }
}

/** Whether the envelope has nothing beside `data` and `includes`, which are objects, and a name for every user. */
function isComplete({ tape, nodes }: WalkedPost): boolean {
  for (let member = 1; member < tape.next(0); member = tape.next(member)) {
    const name = tape.name(member)
    if ((name !== names.data && name !== names.includes) || tape.kind(member) !== jsonKind.object) return false
  }
  const users = nodes.array(nodes.includes, names.users)
  for (let user = users + 1; user < tape.itemsEnd(users); user = tape.next(user))
    if (tape.member(user, names.name) === 0 && nodes.string(user, names.username) !== 0) return false
  return true
}

/** Digits that are an id whatever they are. */
const safeDigits = 18

/** The id at the node; undefined when there is none or it is not written like one. */
function idAt<Id extends PostId | UserId>({ tape }: WalkedPost, line: Buffer, node: number): Id | undefined {
  if (node === 0 || tape.kind(node) !== jsonKind.plain) return undefined
  const [begin, end] = [tape.begin(node), tape.end(node)]
  if (end === begin || (end > begin + 1 && line[begin] === 0x30)) return undefined
  for (let at = begin; at < end; at++) if (!isDigit(line[at] ?? 0)) return undefined
  const text = line.toString("latin1", begin, end)
  return end - begin <= safeDigits || isId(text) ? asId<Id>(text) : undefined
}

/** `2026-03-14T09:26:53.000Z`, as X writes times: the digits by their places, and what stands between them. */
const timeForm = "0000-00-00T00:00:00.000Z"
const epochYear = 1970

/** The time at the node in Unix milliseconds; undefined when there is none, or it is written in another form. */
function timeAt({ tape }: WalkedPost, line: Buffer, node: number): number | undefined {
  const begin = tape.begin(node)
  if (node === 0 || tape.kind(node) !== jsonKind.plain || tape.end(node) - begin !== timeForm.length) return undefined
  for (let at = 0; at < timeForm.length; at++) {
    const expected = timeForm.charCodeAt(at)
    const byte = line[begin + at] ?? 0
    if (expected === 0x30 ? !isDigit(byte) : byte !== expected) return undefined
  }
  const part = (from: number, count: number): number => {
    let value = 0
    for (let at = begin + from; at < begin + from + count; at++) value = value * 10 + (line[at] ?? 0) - 0x30
    return value
  }
  const [year, month, day, hours] = [part(0, 4), part(5, 2), part(8, 2), part(11, 2)]
  const [minutes, seconds] = [part(14, 2), part(17, 2)]
  if (year < epochYear || month < 1 || month > 12 || day < 1 || hours > 23 || minutes > 59 || seconds > 59)
    return undefined
  // Day 0 of a month is the last of the month before.
  if (day > 28 && day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return undefined
  return Date.UTC(year, month - 1, day, hours, minutes, seconds, part(20, 3))
}

/** What kinds of posts the post refers to; undefined when a reference is not X's. */
function referenceTypes({
  tape,
  nodes,
}: WalkedPost): { readonly isRepost: boolean; readonly isReply: boolean } | undefined {
  const types = { isRepost: false, isReply: false }
  const list = tape.member(nodes.data, names.referenced_tweets)
  if (list !== 0 && tape.kind(list) !== jsonKind.array) return undefined
  for (let item = list + 1; item < tape.itemsEnd(list); item = tape.next(item)) {
    const type = nodes.string(item, names.type)
    if (type === 0 || nodes.string(item, names.id) === 0 || tape.kind(type) !== jsonKind.plain) return undefined
    if (tape.isText(type, "retweeted")) types.isRepost = true
    if (tape.isText(type, "replied_to")) types.isReply = true
  }
  return types
}

/** What stands around the values of a core. */
const coreParts = ['{"id":"', '","text":"', '","edit_history_tweet_ids":[', "]}"].map((part) => Buffer.from(part)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
]
const corePartsBytes = coreParts.reduce((sum, { length }) => sum + length, 0)

/** What `coreJson` makes of the post; undefined when its text or its history is not one to be copied. */
function coreBytes(walked: WalkedPost, line: Buffer): Buffer | undefined {
  const { tape, nodes } = walked
  const id = tape.member(nodes.data, names.id)
  const text = nodes.string(nodes.data, names.text)
  // Bytes are at least as many as characters. Unusual escapes would be written in another way.
  if (text === 0 || tape.kind(text) === jsonKind.unusual) return undefined
  if (tape.end(text) - tape.begin(text) > postCharactersMax) return undefined
  const history = historyOf(walked, line)
  if (history === undefined) return undefined
  const [idBegin, idEnd, textBegin, textEnd] = [tape.begin(id), tape.end(id), tape.begin(text), tape.end(text)]
  // Without a history the post is its only version: the id with its quotes.
  const historyBytes = history === "" ? idEnd - idBegin + 2 : history.length
  const core = Buffer.allocUnsafe(corePartsBytes + idEnd - idBegin + textEnd - textBegin + historyBytes)
  const [before, beforeText, beforeHistory, after] = coreParts
  let at = before.copy(core, 0)
  at += line.copy(core, at, idBegin, idEnd)
  at += beforeText.copy(core, at)
  at += line.copy(core, at, textBegin, textEnd)
  at += beforeHistory.copy(core, at)
  at += history === "" ? line.copy(core, at, idBegin - 1, idEnd + 1) : core.write(history, at, "latin1")
  after.copy(core, at)
  return core
}

/** The ids of a post's versions as JSON, with commas; "" when the source has none; undefined when one is no id. */
function historyOf(walked: WalkedPost, line: Buffer): string | undefined {
  const { tape, nodes } = walked
  const list = tape.member(nodes.data, names.edit_history_tweet_ids)
  if (list !== 0 && tape.kind(list) !== jsonKind.array) return undefined
  let history = ""
  for (let item = list + 1; item < tape.itemsEnd(list); item = tape.next(item)) {
    const id = idAt(walked, line, item)
    if (id === undefined) return undefined
    history += history === "" ? `"${id}"` : `,"${id}"`
  }
  return history
}

/** The author first, then every included user, each once; undefined when an id is written in another way. */
function knownUsers(walked: WalkedPost, line: Buffer, authorId: UserId | undefined): readonly UserId[] | undefined {
  const { tape, nodes } = walked
  const author = tape.member(nodes.data, names.author_id)
  const ids: UserId[] = authorId === undefined ? [] : [authorId]
  const users = nodes.array(nodes.includes, names.users)
  for (let user = users + 1; user < tape.itemsEnd(users); user = tape.next(user)) {
    const node = nodes.string(user, names.id)
    // The author mostly is the first of them.
    if (node === 0 || (authorId !== undefined && tape.areSame(node, author))) continue
    const id = idAt<UserId>(walked, line, node)
    if (id === undefined) return undefined
    ids.push(id)
  }
  return ids.length <= 1 ? ids : [...new Set(ids)]
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}
