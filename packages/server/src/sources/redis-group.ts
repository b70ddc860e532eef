/**
 * The consumer group of a source in Redis: it is made when it is missing, measured, and cleaned of consumers that have gone.
 *
 * Entries that the stream has trimmed before the group has read them leave no trace in a reply. The counters tell: the
 * stream counts the entries that were ever added, and the group those that were read up to its last id.
 *
 *     ever added ├──────── read ────────┤ lost ├──── in the stream, not read ────┤
 *
 * The difference is known while all entries of the stream are beyond the group's last id, and when the group has read the
 * last one. A script then takes the lost ones for read, so that one process reports them, once, and the lag is right again.
 */
import { isRefusal, type RedisConnection } from "./redis-connection.ts"
import { compareIds, idMs, listOf, membersOf, textOf } from "./redis-reply.ts"
import type { RedisSourceSettings } from "./redis-settings.ts"
import type { SourceGap, SourceMeasurement } from "./source.ts"

/** The names of a group. */
export type RedisNames = Pick<RedisSourceSettings, "stream" | "group">

/** A name of a consumer begins so, if it is Sluice's own. */
export const consumerPrefix = "sluice-"

/** ARGV: the group. Returns the number of lost entries, which are taken for read from then on. */
const lostScript = `
local function members(flat)
  local found = {}
  for at = 1, #flat, 2 do found[flat[at]] = flat[at + 1] end
  return found
end
local function isBefore(a, b)
  local aMs, aSeq = string.match(a, '(%d+)-(%d+)')
  local bMs, bSeq = string.match(b, '(%d+)-(%d+)')
  if tonumber(aMs) ~= tonumber(bMs) then return tonumber(aMs) < tonumber(bMs) end
  return tonumber(aSeq) < tonumber(bSeq)
end
local stream = members(redis.call('XINFO', 'STREAM', KEYS[1]))
for _, each in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = members(each)
  local read, last = group['entries-read'], group['last-delivered-id']
  if group['name'] == ARGV[1] and read then
    local unread
    if stream['length'] == 0 or not isBefore(last, stream['last-generated-id']) then unread = 0
    elseif isBefore(last, stream['first-entry'][1]) then unread = stream['length']
    else return 0 end
    local lost = stream['entries-added'] - read - unread
    if lost <= 0 then return 0 end
    redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], last, 'ENTRIESREAD', stream['entries-added'] - unread)
    return lost
  end
end
return 0`

/**
 * ARGV: the group, how long a consumer must have been idle in ms, and how its name begins. Deletes consumers without
 * pending entries: a deleted consumer takes its entries with it, so nothing may come between the look and the deletion.
 */
const tidyScript = `
for _, each in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for at = 1, #each, 2 do consumer[each[at]] = each[at + 1] end
  if consumer['pending'] == 0 and consumer['idle'] >= tonumber(ARGV[2])
    and string.sub(consumer['name'], 1, #ARGV[3]) == ARGV[3] then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer['name'])
  end
end
return 0`

/** Makes the group, and the stream with it, from the first entry. Returns whether each was missing. */
export async function prepareGroup(
  connection: RedisConnection,
  { stream, group }: RedisNames,
): Promise<{ readonly madeStream: boolean; readonly madeGroup: boolean }> {
  const madeStream = (await connection.send("EXISTS", stream)) === 0
  try {
    await connection.send("XGROUP", "CREATE", stream, group, "0", "MKSTREAM")
    return { madeStream, madeGroup: true }
  } catch (error) {
    if (!isRefusal(error, "BUSYGROUP")) throw error
    return { madeStream: false, madeGroup: false }
  }
}

/** The state of the group and its stream. */
interface GroupState {
  readonly lastDelivered: string
  readonly pending: number
  /** Counts of entries; `null` when the server cannot tell. */
  readonly lag: number | null
  readonly read: number | null
  readonly added: number
  readonly length: number
  /** The first entry; absent of an empty stream. */
  readonly first?: string
  readonly lastGenerated: string
}

/** Thrown when a server is too old to count what a group has read. */
export class RedisTooOld extends Error {
  override readonly name = "RedisTooOld"
}

/** Measures a group, and finds what it has lost. */
export class GroupGauge {
  readonly #connection: RedisConnection
  readonly #names: RedisNames
  #lastDelivered: string | undefined

  constructor(connection: RedisConnection, names: RedisNames) {
    this.#connection = connection
    this.#names = names
  }

  /** The lag and the pending entries. Throws when the group is gone. */
  async measure(): Promise<Omit<SourceMeasurement, "inFlight">> {
    const { lag, length, pending, lastDelivered, lastGenerated } = await this.#state()
    const [atMs, headMs] = [idMs(lastDelivered), idMs(lastGenerated)]
    return {
      unacknowledged: pending,
      // Lost entries count as lag until they are found.
      ...(lag !== null && { pending: Math.min(lag, length) }),
      ...(lag === 0 && { behindMs: 0 }),
      ...(lag !== 0 && atMs !== undefined && headMs !== undefined && { behindMs: Math.max(0, headMs - atMs) }),
    }
  }

  /** The entries that were lost since the last call, if any, and no process has reported. */
  async gap(): Promise<SourceGap | undefined> {
    const state = await this.#state()
    const fromMs = idMs(this.#lastDelivered ?? state.lastDelivered)
    this.#lastDelivered = state.lastDelivered
    if (!mayHaveLost(state)) return undefined
    const { stream, group } = this.#names
    const lost = Number(await this.#connection.send("EVAL", lostScript, 1, stream, group))
    if (lost === 0) return undefined
    const isBeforeFirst = state.first !== undefined && compareIds(state.lastDelivered, state.first) < 0
    const toMs = idMs(isBeforeFirst ? (state.first ?? "") : state.lastGenerated)
    return {
      ...(fromMs !== undefined && { fromMs }),
      ...(toMs !== undefined && { toMs }),
      reason: `The stream ${stream} has trimmed ${entries(lost)} that the group ${group} had not read.`,
    }
  }

  async #state(): Promise<GroupState> {
    const { stream, group: name } = this.#names
    const [groups, info] = await Promise.all([
      this.#connection.send("XINFO", "GROUPS", stream),
      this.#connection.send("XINFO", "STREAM", stream),
    ])
    const group = listOf(groups)
      .map(membersOf)
      .find((each) => textOf(each.get("name")) === name)
    if (group === undefined) throw new Error(`The group ${name} of the stream ${stream} is gone.`)
    const of = membersOf(info)
    if (!group.has("entries-read")) throw new RedisTooOld("The server is older than Redis 7.0.")
    const first = of.get("first-entry") ?? null
    return {
      lastDelivered: textOf(group.get("last-delivered-id")),
      pending: Number(group.get("pending")),
      lag: countOf(group.get("lag")),
      read: countOf(group.get("entries-read")),
      added: Number(of.get("entries-added")),
      length: Number(of.get("length")),
      ...(first !== null && { first: textOf(listOf(first)[0]) }),
      lastGenerated: textOf(of.get("last-generated-id")),
    }
  }
}

/** Whether the script may find something: it costs more than the look. */
function mayHaveLost({ read, added, length, first, lastDelivered, lastGenerated }: GroupState): boolean {
  if (read === null) return false
  if (length === 0 || compareIds(lastDelivered, lastGenerated) >= 0) return added > read
  return first !== undefined && compareIds(lastDelivered, first) < 0 && added - read > length
}

/** Deletes consumers of Sluice without pending entries that have been idle for so long, and whose names begin so. */
export async function tidyConsumers(
  connection: RedisConnection,
  { stream, group }: RedisNames,
  { idleMs, prefix = consumerPrefix }: { readonly idleMs: number; readonly prefix?: string },
): Promise<void> {
  await connection.send("EVAL", tidyScript, 1, stream, group, idleMs, prefix)
}

/** "1 entry", "5 entries". */
export function entries(count: number): string {
  return count === 1 ? "1 entry" : `${count} entries`
}

function countOf(reply: unknown): number | null {
  return typeof reply === "number" ? reply : null
}
