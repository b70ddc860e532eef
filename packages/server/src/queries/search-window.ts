/**
 * The span of ids that a search or a count asks for: its times and ids, the bounds of recent search, and X's sentences for
 * those that are wrong.
 *
 * A post counts at the time that is in its id, as on X. Source of the sentences: recorded responses of X.
 */
import { firstPostMs, snowflakeAtMs } from "@sluice/api"
import { instant } from "../model/date-time.ts"
import { firstIdAt } from "../model/ids.ts"
import { invalidRequests, type RequestFault } from "../model/problem.ts"
import { idEnds } from "../store/id-bounds.ts"

/** Times and ids of a request, as they were given. */
export interface WindowParameters {
  readonly start_time?: string | undefined
  readonly end_time?: string | undefined
  readonly since_id?: string | undefined
  readonly until_id?: string | undefined
}

/** Ids: those over `above`, up to `upTo`, inclusive. */
export interface IdSpan {
  readonly above: bigint
  readonly upTo: bigint
}

/** How far recent search and recent counts reach back. Source: docs.x.com, "Recent search". */
export const recentMs = 7 * 86_400_000

/** How far a search reaches. */
export interface SearchReach {
  /** How far back; absent: to the first post. */
  readonly reachMs?: number | undefined
  /** As on X, without the last ten seconds, and without times for 30 days. */
  readonly isAsX?: boolean
  /** The request has a page token: its beginning was within reach when the first page was read, and time has gone on. */
  readonly isContinued?: boolean
}

/**
 * Checks the span of a request at `nowMs`. Throws an invalid-request `Problem` that names each parameter that is wrong.
 */
export function checkWindow(parameters: WindowParameters, nowMs: number, reach: SearchReach = {}): void {
  const reachMs = reach.isContinued === true ? undefined : reach.reachMs
  const faults = [
    ...mixedFaults(parameters),
    ...timeFaults(parameters, {
      latestMs: latestMsOf(nowMs, reach),
      floorMs: reachMs === undefined ? firstPostMs : nowMs - reachMs,
    }),
    ...idFaults(parameters, nowMs, reachMs),
  ]
  if (faults.length > 0) throw invalidRequests(faults)
}

/** The span of a search at `nowMs`. Throws as `checkWindow`. */
export function searchSpan(parameters: WindowParameters, nowMs: number, reach: SearchReach = {}): IdSpan {
  checkWindow(parameters, nowMs, reach)
  const { above, upTo } = spanOf(parameters)
  const floorMs = reach.reachMs === undefined ? openFloorMs(parameters, nowMs, reach) : nowMs - reach.reachMs
  const floor = floorMs === undefined ? above : firstIdAt(floorMs) - 1n
  const end = reach.isAsX === true ? firstIdAt(latestMsOf(nowMs, reach)) - 1n : upTo
  return { above: floor > above ? floor : above, upTo: end < upTo ? end : upTo }
}

/** The beginning of a search, unless a parameter names one; absent: the first post. */
function openFloorMs(parameters: WindowParameters, nowMs: number, reach: SearchReach): number | undefined {
  const { start_time, since_id } = parameters
  if (reach.isAsX !== true || start_time !== undefined || since_id !== undefined) return undefined
  return (namedEndMs(parameters, latestMsOf(nowMs, reach)) ?? nowMs) - searchedMs
}

/** The latest time that a request may ask for, Unix ms. */
function latestMsOf(nowMs: number, { isAsX = false }: SearchReach): number {
  return isAsX ? nowMs - lagMs : nowMs
}

/** The end that a parameter names, Unix ms, at most `latestMs`; absent: none names a time. */
function namedEndMs({ end_time, until_id }: WindowParameters, latestMs: number): number | undefined {
  const untilMs = until_id === undefined ? undefined : snowflakeAtMs(until_id)
  const endMs = end_time === undefined ? untilMs : Date.parse(end_time)
  return endMs === undefined ? undefined : Math.min(endMs, latestMs)
}

/** The beginning that a parameter names, Unix ms; absent: none names a time. */
function namedStartMs({ start_time, since_id }: WindowParameters): number | undefined {
  if (start_time !== undefined) return Date.parse(start_time)
  // Posts with ids that hold no time count at the first.
  return since_id === undefined ? undefined : (snowflakeAtMs(since_id) ?? firstPostMs)
}

/** The span of these parameters, unchecked: in timelines ids may stand next to times. */
export function spanOf({ start_time, end_time, since_id, until_id }: WindowParameters): IdSpan {
  const lower = [idEnds.below]
  const upper = [idEnds.above]
  if (start_time !== undefined) lower.push(firstIdAt(Date.parse(start_time)) - 1n)
  if (end_time !== undefined) upper.push(firstIdAt(Date.parse(end_time)) - 1n)
  if (since_id !== undefined) lower.push(BigInt(since_id))
  if (until_id !== undefined) upper.push(BigInt(until_id) - 1n)
  return {
    above: lower.reduce((a, b) => (a > b ? a : b)),
    upTo: upper.reduce((a, b) => (a < b ? a : b)),
  }
}

/** Times between which counts are made, Unix ms. */
export interface CountedTimes {
  readonly startMs: number
  readonly endMs: number
}

/**
 * How far before the request the counts of a request without an end reach, and on X each search. Source: recorded responses
 * of X.
 */
const lagMs = 10_000

/** How far a search or a count without a beginning reaches back on X. Source: docs.x.com, "Full-archive search", "… counts". */
const searchedMs = 30 * 86_400_000

const dayMs = 86_400_000

/**
 * The times of a count; the end may be the start, or lie before it. Without an end, it ends ten seconds ago, or at
 * the latest time that may be asked for when it begins after that. Without a beginning, recent counts begin seven days and
 * ten seconds ago, and all others at the midnight before the thirtieth day before their end. Source: recorded responses of
 * X; ours for ends in the last ten seconds.
 */
export function countedTimes(parameters: WindowParameters, nowMs: number, reach: SearchReach = {}): CountedTimes {
  const latestMs = latestMsOf(nowMs, reach)
  const usualEndMs = nowMs - lagMs
  const namedMs = namedStartMs(parameters)
  const openEndMs = namedMs !== undefined && namedMs >= usualEndMs ? latestMs : usualEndMs
  const endMs = namedEndMs(parameters, latestMs) ?? openEndMs
  const openStartMs =
    reach.reachMs === undefined ? Math.floor((endMs - searchedMs) / dayMs) * dayMs : usualEndMs - reach.reachMs
  return { startMs: namedMs ?? openStartMs, endMs }
}

/** X refuses ids next to times in searches, other than in timelines. */
function mixedFaults({ start_time, end_time, since_id, until_id }: WindowParameters): readonly RequestFault[] {
  const ids = { since_id, until_id }
  const times = { start_time: start_time && minutes(start_time), end_time: end_time && minutes(end_time) }
  const given = Object.entries({ ...ids, ...times }).filter(([, value]) => value !== undefined) as [string, string][]
  const hasBoth = given.some(([name]) => name in ids) && given.some(([name]) => name in times)
  if (!hasBoth) return []
  const message = "Invalid use of 'since_id' or 'until_id' in conjunction with 'start_time' or 'end_time'."
  return [{ message, parameters: Object.fromEntries(given.map(([name, value]) => [name, [value]])) }]
}

function timeFaults(
  { start_time, end_time }: WindowParameters,
  { latestMs, floorMs }: { readonly latestMs: number; readonly floorMs: number },
): readonly RequestFault[] {
  const faultOf = (name: string, text: string | undefined): RequestFault | undefined => {
    if (text === undefined) return undefined
    const atMs = Date.parse(text)
    const shown = minutes(text)
    const refused = (rest: string): RequestFault => ({
      message: `Invalid '${name}':'${shown}'. '${name}' must be ${rest}`,
      parameters: { [name]: [shown] },
    })
    if (atMs < floorMs) return refused(`on or after ${minutes(instant(floorMs))}`)
    return atMs > latestMs ? refused("a minimum of 10 seconds prior to the request time.") : undefined
  }
  return [faultOf("start_time", start_time), faultOf("end_time", end_time)].filter((fault) => fault !== undefined)
}

function idFaults(
  { since_id: sinceId }: WindowParameters,
  nowMs: number,
  reachMs: number | undefined,
): readonly RequestFault[] {
  if (sinceId === undefined || reachMs === undefined) return []
  const floor = firstIdAt(nowMs - reachMs)
  if (BigInt(sinceId) >= floor) return []
  const message =
    `'since_id' must be a tweet id created after ${minutes(instant(nowMs - reachMs))}. ` +
    `Please use a 'since_id' that is larger than ${floor}`
  return [{ message, parameters: { since_id: [sinceId] } }]
}

/** A time as X repeats it: in UTC, to the minute. */
function minutes(text: string): string {
  return instant(Date.parse(text)).replace(/:\d\d\.\d{3}Z$/, "Z")
}
