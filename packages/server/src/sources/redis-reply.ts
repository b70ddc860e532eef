/** Replies of Redis, read. A reply of another shape than the command has is a fault of the server, and throws. */
import assert from "node:assert/strict"
import type { RedisReply } from "./redis-connection.ts"

/** An entry of a stream; without fields when it is deleted, and only its id is left among the pending ones. */
export interface RedisEntry {
  readonly id: string
  /** Names and values by turns, in order. */
  readonly fields?: readonly Buffer[]
}

/** The text of a bulk reply. */
export function textOf(reply: RedisReply | undefined): string {
  assert(Buffer.isBuffer(reply) || typeof reply === "string", "Redis has sent something other than text.")
  return reply.toString()
}

/** The items of a list. */
export function listOf(reply: RedisReply | undefined): readonly RedisReply[] {
  assert(Array.isArray(reply), "Redis has sent something other than a list.")
  return reply as readonly RedisReply[]
}

/** The members of a flat list of names and values. */
export function membersOf(reply: RedisReply | undefined): ReadonlyMap<string, RedisReply> {
  const items = listOf(reply)
  return new Map(
    Array.from({ length: items.length / 2 }, (_, at) => [textOf(items[2 * at]), items[2 * at + 1] ?? null]),
  )
}

/** Entries, as XREADGROUP, XCLAIM and XAUTOCLAIM list them. */
export function entriesOf(reply: RedisReply | undefined): readonly RedisEntry[] {
  const entries: RedisEntry[] = []
  for (const each of listOf(reply)) {
    // Before Redis 7, claims have nothing at all in the place of a deleted entry.
    if (each === null) continue
    const [id, fields] = listOf(each)
    entries.push({ id: textOf(id), ...(fields !== null && { fields: listOf(fields) as readonly Buffer[] }) })
  }
  return entries
}

/** The entries of the one stream that XREADGROUP was asked for; none after it has waited in vain. */
export function readEntriesOf(reply: RedisReply): readonly RedisEntry[] {
  if (reply === null) return []
  const [stream] = listOf(reply)
  return stream === undefined ? [] : entriesOf(listOf(stream)[1])
}

/** Earliest and latest Unix time that an id may hold: from 2001 to 2286. Ids that are counted by hand are below. */
const [idMsMin, idMsMax] = [1e12, 1e13]

/** The time in an id, in ms, when the server has made it; `undefined` of one that holds no time. */
export function idMs(id: string): number | undefined {
  const ms = Number(id.split("-")[0])
  return ms >= idMsMin && ms < idMsMax ? ms : undefined
}

/** Negative when `a` is before `b`, 0 when both are the same. */
export function compareIds(a: string, b: string): number {
  const [[aMs, aSeq], [bMs, bSeq]] = [partsOf(a), partsOf(b)]
  const difference = aMs === bMs ? aSeq - bSeq : aMs - bMs
  return difference < 0n ? -1 : Number(difference > 0n)
}

function partsOf(id: string): readonly [bigint, bigint] {
  const [ms = "0", seq = "0"] = id.split("-")
  return [BigInt(ms), BigInt(seq)]
}
