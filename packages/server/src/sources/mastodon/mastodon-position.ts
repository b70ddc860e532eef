/**
 * The position of a source of Mastodon. An instance has no cursor and replays nothing, so the position holds what is needed
 * to read the timelines afterwards:
 *
 *     {"at":MS,"streams":{"public":"ID"}}   read until then; the newest status of each stream that is stored
 *     {"from":MS}                           rewound: statuses from then on
 *
 * Ids of Mastodon begin with the time; those of other programs are texts of one length whose order is that of time, too.
 */
import { arrivalOfStatus } from "../../conversion/foreign-ids.ts"
import { objectOf, parsedRecord, RejectedRecord, wholeOf, type Members } from "../../conversion/records.ts"

/** A position, parsed. */
export interface MastodonPosition {
  /** When the instance was last read, Unix ms; absent for one that was rewound. */
  readonly atMs?: number
  /** Statuses from this time on are wanted, Unix ms, where no newest one is known. */
  readonly fromMs?: number
  /** The id of the newest stored status, by the name of the stream. */
  readonly newest: ReadonlyMap<string, string>
}

/** Reads a position. A text that is none says nothing, as before the first record. */
export function readPosition(text: string | undefined): MastodonPosition {
  const members = text === undefined ? {} : parsed(text)
  const atMs = wholeOf(members.at)
  const fromMs = wholeOf(members.from)
  const streams = Object.entries(objectOf(members.streams) ?? {})
  return {
    ...(atMs !== undefined && { atMs }),
    ...(fromMs !== undefined && { fromMs }),
    newest: new Map(streams.filter((one): one is [string, string] => isStatusId(one[1]))),
  }
}

/** Writes a position. */
export function writePosition({ atMs, fromMs, newest }: MastodonPosition): string {
  return JSON.stringify({ at: atMs, from: fromMs, streams: Object.fromEntries(newest) })
}

/** The position of a time, Unix ms. */
export function mastodonPositionAt(atMs: number): string {
  return JSON.stringify({ from: Math.max(0, atMs) })
}

function parsed(text: string): Members {
  try {
    return parsedRecord(text)
  } catch (error) {
    if (error instanceof RejectedRecord) return {}
    throw error
  }
}

/** True for an id of a status that a position can hold. */
export function isStatusId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-]{1,26}$/.test(id)
}

/** Orders ids of one instance by age: negative when `a` is older. */
export function compareStatusIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * How far the time in the id of a new status may lie from the moment at which it comes. Ours: clocks differ by less. An instance
 * also streams statuses that it gets hours late, with ids of the time at which they were written.
 */
export const newStatusMs = 30_000

/** Whether the id is that of a status that is new at this moment, Unix ms; ids that hold no time do not tell. */
export function isOfNewStatus(id: string, nowMs: number): boolean {
  const arrivedMs = arrivalOfStatus(id)
  return arrivedMs === undefined || Math.abs(nowMs - arrivedMs) <= newStatusMs
}

/** Least id that a status had at this time; undefined for an instance whose ids are no numbers with a time. */
export function idAtTime(atMs: number, exampleId: string): string | undefined {
  return arrivalOfStatus(exampleId) === undefined ? undefined : String(BigInt(Math.max(0, atMs)) << 16n)
}

/** An id that is older by so many ms; the same id for an instance whose ids are no numbers with a time. */
export function idBefore(id: string, ms: number): string {
  const arrivedMs = arrivalOfStatus(id)
  return arrivedMs === undefined ? id : String(BigInt(arrivedMs - ms) << 16n)
}
