/**
 * Ids of foreign posts and users: pure functions of their names, so every process at every time finds the same ones.
 *
 *     at://DID/COLLECTION/RKEY, RKEY a TID       ms of the TID, then a hash of the author with the TID's µs
 *     at://DID/COLLECTION/RKEY#REV               the same by the TID of the commit: a later version
 *     https://HOST/statuses/ID                   ms in the id, then its low 16 bits and the instance's number
 *     https://HOST/statuses/ID#EDITED_MS         ms of the edit, then the same bits: a later version
 *     any other name                             none: an id is assigned at arrival
 *
 * A post's id is a snowflake, since every client reads the time from it. The TID itself would name another time, and is
 * unique within one author's repository only; its low bits are few, so the bits below the time come from the author.
 * Source: AT Protocol, "TID"; the layout is ours, and docs/envelope.md describes it for others.
 */
import { firstSnowflake, snowflakeEpochMs } from "@sluice/api"
import { hash } from "node:crypto"
import type { PostId, UserId } from "../model/ids.ts"

/** The numbers of Mastodon instances, 0 to 63, by the host. */
export type InstanceNumbers = ReadonlyMap<string, number>

/** The parts of a name of AT Protocol. */
export interface AtName {
  readonly did: string
  readonly collection: string
  readonly rkey: string
  /** The revision of a later version. */
  readonly rev?: string | undefined
}

/** The id that follows from a post's name; undefined when none does. `numbers` names the instances that are known. */
export function derivedId(name: string, numbers: InstanceNumbers): PostId | undefined {
  if (name.startsWith("at://")) {
    const at = atNameOf(name)
    return at === undefined ? undefined : atPostId(at)
  }
  const match = /^https:\/\/([^/]+)\/statuses\/(\d{1,20})(?:#(\d{1,13}))?$/.exec(name)
  if (match === null) return undefined
  const [, host = "", id = "", editedMs] = match
  const number = numbers.get(host)
  if (number === undefined) return undefined
  return mastodonPostId(id, number, editedMs === undefined ? undefined : Number(editedMs))
}

/** Characters that a DID may have. 2,048 at most. Source: AT Protocol, "DID". */
const didPattern = /^did:[a-z]+:[\w.:%-]{0,2000}[\w.-]$/

/** True for an identifier such as `did:plc:z72i7hdynmk6r22z27h6tvur`. */
export function isDid(text: string): boolean {
  return didPattern.test(text)
}

/** True for the key of a record. Source: AT Protocol, "Record Key". */
export function isRecordKey(text: string): boolean {
  return /^[\w.:~-]{1,512}$/.test(text) && text !== "." && text !== ".."
}

/** The parts of a name such as `at://did:plc:…/app.bsky.feed.post/3mptbyoeyc22k`; undefined for any other text. */
export function atNameOf(name: string): AtName | undefined {
  const match = /^at:\/\/(did:[^/#?\s]{1,2048})\/([a-zA-Z][a-zA-Z0-9.-]{0,316})\/([^/#?\s]{1,512})(?:#(\w{13}))?$/.exec(
    name,
  )
  if (match === null) return undefined
  const [, did = "", collection = "", rkey = "", rev] = match
  return isDid(did) && isRecordKey(rkey) ? { did, collection, rkey, rev } : undefined
}

/** The name of a record, or of its later version when there is a `rev`. */
export function nameOfAt({ did, collection, rkey, rev }: AtName): string {
  return rev === undefined ? `at://${did}/${collection}/${rkey}` : `at://${did}/${collection}/${rkey}#${rev}`
}

/** Values of the bits below the time that the hash does not take: the TID's µs within a millisecond are added to it. */
const microsecondsPerMs = 1_000
const hashesMax = 2 ** 22 - microsecondsPerMs

/** The id of the record, or of its later version; undefined without a TID of a time that an id can have. */
export function atPostId({ did, collection, rkey, rev }: AtName): PostId | undefined {
  const micros = microsecondsOfTid(rev ?? rkey)
  if (micros === undefined || (rev !== undefined && microsecondsOfTid(rkey) === undefined)) return undefined
  const withinMs = micros % microsecondsPerMs
  const low = hashOf(`at://${did}/${collection}`) + withinMs
  return snowflakeOf((micros - withinMs) / microsecondsPerMs, low)
}

/** The first 64 bits of the SHA-256 as a remainder that fits below the time. */
function hashOf(text: string): number {
  const [high, low] = firstBitsOf(text)
  // (high · 2³² + low) mod m without a big integer: no intermediate number has more than 53 bits.
  return ((high % hashesMax) * (2 ** 32 % hashesMax) + low) % hashesMax
}

/** The first 64 bits of the SHA-256, as two numbers of 32 bits. */
function firstBitsOf(text: string): readonly [number, number] {
  // A string of bytes is made four times as fast as a buffer.
  const bytes = hash("sha256", text, "latin1")
  return [wordAt(bytes, 0), wordAt(bytes, 4)]
}

/** 32 bits, the highest first, without a sign. */
function wordAt(bytes: string, at: number): number {
  const [a, b] = [bytes.charCodeAt(at), bytes.charCodeAt(at + 1)]
  const [c, d] = [bytes.charCodeAt(at + 2), bytes.charCodeAt(at + 3)]
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
}

const tidDigits = "234567abcdefghijklmnopqrstuvwxyz"

/** The value of a digit by its character code; 255 for other characters. */
const tidValues = new Uint8Array(128).fill(255)
for (let value = 0; value < tidDigits.length; value++) tidValues[tidDigits.charCodeAt(value)] = value

/** Digits of a TID that hold the time: 55 bits, and below them 10 of a clock's number. */
const tidTimeDigits = 11
const tidLength = 13

/**
 * The time of a TID in Unix µs; undefined for a text that is no TID. Its highest bit is 0, so the time has 53 bits.
 * Source: AT Protocol, "TID".
 */
export function microsecondsOfTid(text: string): number | undefined {
  if (text.length !== tidLength) return undefined
  let micros = 0
  for (let at = 0; at < tidLength; at++) {
    const value = tidValues[text.charCodeAt(at)] ?? 255
    if (value === 255) return undefined
    if (at < tidTimeDigits) micros = micros * tidDigits.length + value
  }
  return Number.isSafeInteger(micros) ? micros : undefined
}

/** First moment whose Mastodon ids hold a time; the numbers before it counted posts. Ours: recorded ids. */
const firstStatusMs = Date.parse("2016-10-01T00:00:00Z")

/**
 * The id of a status by its instance's id and number, or of its later version, edited at this Unix ms; undefined for an id
 * without a time in it.
 */
export function mastodonPostId(id: string, number: number, editedMs?: number): PostId | undefined {
  const arrivedMs = arrivalOfStatus(id)
  if (arrivedMs === undefined) return undefined
  const low = Number(BigInt(id) & 0xffffn) * 64 + number
  return snowflakeOf(editedMs ?? arrivedMs, low)
}

/** When the instance got the status, by its id, Unix ms; undefined for an id without a time in it. */
export function arrivalOfStatus(id: string): number | undefined {
  if (!/^[1-9]\d{0,18}$/.test(id)) return undefined
  const arrivedMs = Number(BigInt(id) >> 16n)
  return arrivedMs >= firstStatusMs ? arrivedMs : undefined
}

/** 41 bits of ms since X's epoch, which begin with a 0, and 22 below; undefined for a time that these cannot hold. */
function snowflakeOf(atMs: number, low: number): PostId | undefined {
  const sinceMs = atMs - snowflakeEpochMs
  if (!(sinceMs >= 0 && sinceMs < 2 ** 41)) return undefined
  const id = (BigInt(sinceMs) << 22n) + BigInt(low)
  return id < firstSnowflake ? undefined : (id.toString() as PostId)
}

/**
 * The id of a user by a name that is theirs alone: a DID, or `acct:user@host` in lower case. It is above 4.6 · 10^18, so
 * it is none of X's. 50,000,000 users have one id in common with a probability of 3 in 10,000.
 */
export function foreignUserId(name: string): UserId {
  return hashedNumber(name).toString() as UserId
}

/** The name by which `foreignUserId` knows an account of Mastodon, `user@host`. */
export function accountName(account: string): string {
  return `acct:${account.toLowerCase()}`
}

/** 2^62 and the first 62 bits of the SHA-256: a number of 19 digits that fits 63 bits. */
export function hashedNumber(text: string): bigint {
  const [high, low] = firstBitsOf(text)
  return (1n << 62n) | (((BigInt(high) << 32n) | BigInt(low)) >> 2n)
}
