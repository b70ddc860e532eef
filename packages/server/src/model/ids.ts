/**
 * Ids and positions: what they are, and how a moment and an id say the same.
 *
 * An id is a snowflake: 41 bits of milliseconds since X's epoch, 10 bits of node, 12 bits of sequence. Ids of
 * different things must not be mixed up, so each kind has its brand; a brand is made by `asId` where the text comes in.
 */
import { firstPostMs, firstSnowflake, snowflakeEpochMs } from "@sluice/api"

declare const kind: unique symbol
type Id<Kind extends string> = string & { readonly [kind]: Kind }

/** A post's id, digits as X writes them. Orders as a number, not as text. */
export type PostId = Id<"post">
export type UserId = Id<"user">
export type AppId = Id<"app">
export type RuleId = Id<"rule">
export type WebhookId = Id<"webhook">
export type LinkId = Id<"link">
export type DeadLetterId = Id<"dead letter">
export type ReplayId = Id<"replay">
export type AttemptId = Id<"attempt">
export type TroubleId = Id<"trouble">
export type ConnectionId = Id<"connection">
type AnyId =
  | PostId
  | UserId
  | AppId
  | RuleId
  | WebhookId
  | LinkId
  | DeadLetterId
  | ReplayId
  | AttemptId
  | TroubleId
  | ConnectionId

/** Position in an app's match log. 1 is the app's first match; 0 is before it. Free of gaps. */
export type MatchSeq = number & { readonly [kind]: "match" }

/** Before the first match of a log. */
export const beforeFirstMatch = 0 as MatchSeq

const idMax = "9223372036854775807"

/** True for 1 to 19 digits whose number fits the 63 bits that X's ids have. "0" is an id, as for X. */
export function isId(text: string): boolean {
  // For equal numbers of digits, numbers order as text.
  return /^[0-9]{1,19}$/.test(text) && (text.length < idMax.length || text <= idMax)
}

/** The order of two ids by number, for sorting: the lesser one first. */
export function compareIds(a: string, b: string): -1 | 0 | 1 {
  const [left, right] = [BigInt(a), BigInt(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** Brands text that `isId` has found to be one; leading zeros go, so that equal ids are equal text. */
export function asId<Kind extends AnyId>(text: string): Kind {
  return (text.length > 1 && text.startsWith("0") ? BigInt(text).toString() : text) as Kind
}

/** The first id of a moment; below it are those of before. Ids from before snowflakes hold no time. */
export function firstIdAt(atMs: number): bigint {
  if (atMs <= firstPostMs) return 0n
  const id = BigInt(Math.max(0, atMs - snowflakeEpochMs)) << 22n
  return id > firstSnowflake ? id : firstSnowflake
}
