/**
 * Entries of match logs that were read a moment ago, for the many readers of one log.
 *
 * A thousand stream connections of an app want the same entries within the same second. What is logged never changes,
 * so they share what the first of them has read, in blocks of the log:
 *
 *     … │ 129 … 192 │ 193 … 256 │ 257 … 270 ◄─ grows as the log does
 *
 * Where a log ends, and what retention has taken of it, does change. Both are asked anew whenever the file has.
 */
import type { DatabaseSync } from "node:sqlite"
import type { AppId, MatchSeq } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { MatchRange } from "../store.ts"
import type { ReadMatches } from "./match-reads.ts"
import { prepare } from "./statements.ts"

/** Entries of a block. Ours: about what a socket takes in at once. */
const blockEntries = 64

/** Most bytes of posts that are read at once for a block; the last one may go over it. Ours. */
const readBytesMax = 262_144

/** Most bytes that are kept, over all logs; then what was not asked for the longest goes. Ours. */
const keptBytesMax = 33_554_432

/** What a block takes beside its entries' texts, about. */
const blockBytes = 512

/** An entry, and the bytes of its post. */
interface SizedEntry {
  readonly entry: MatchEntry
  readonly bytes: number
}

/** A stretch of a log within one block, without a hole. */
interface Block {
  /** Number of the entry before the first. */
  readonly before: number
  readonly entries: SizedEntry[]
  bytes: number
  /** Version of the file in which the log ended here. */
  endVersion: number | undefined
}

/** Reads as `read` does, from memory where that knows. */
export function rememberingMatches(db: DatabaseSync, read: ReadMatches): ReadMatches {
  const dataVersion = prepare<{ data_version: number }>(db, "PRAGMA data_version")
  const selectTrimmed = prepare<{ trimmed_to: MatchSeq }>(
    db,
    "SELECT trimmed_to FROM match_logs WHERE app_id = ?",
  )
  const trimmed = new Map<AppId, MatchSeq>()
  let trimmedVersion: number | undefined
  const blocks = new Map<string, Block>()
  let keptBytes = 0

  function trimmedTo(appId: AppId, version: number): MatchSeq {
    if (version !== trimmedVersion) trimmed.clear()
    trimmedVersion = version
    const known = trimmed.get(appId) ?? selectTrimmed.get(BigInt(appId))?.trimmed_to ?? (0 as MatchSeq)
    trimmed.set(appId, known)
    return known
  }

  function forget(key: string, block: Block): void {
    blocks.delete(key)
    keptBytes -= block.bytes
  }

  /** Puts a block last, as the one that was asked for last, and lets the first ones go when there are too many. */
  function keep(key: string, block: Block, newBytes: number): void {
    blocks.delete(key)
    blocks.set(key, block)
    block.bytes += newBytes
    keptBytes += newBytes
    for (const [oldest, other] of blocks) {
      if (keptBytes <= keptBytesMax) break
      forget(oldest, other)
    }
  }

  /** Reads what comes after `after` in its block. */
  function readOn(range: MatchRange, key: string, known: Block | undefined, version: number): Block {
    const { after } = range
    const limit = blockEntries - (after % blockEntries)
    const entries = read({ ...range, limit, bytesMax: readBytesMax }).map(sized)
    const bytes = entries.reduce((sum, each) => sum + each.bytes, 0)
    const isEnd = entries.length < limit && bytes < readBytesMax
    const isNext = known !== undefined && known.before + known.entries.length === after
    if (known !== undefined && !isNext) forget(key, known)
    const block = isNext ? known : { before: after, entries: [], bytes: 0, endVersion: undefined }
    block.entries.push(...entries)
    block.endVersion = isEnd ? version : undefined
    keep(key, block, bytes + (isNext ? 0 : blockBytes))
    return block
  }

  /** What comes after `after` in its block: not all of it, but some unless there is none. */
  function someAfter(range: MatchRange, version: number): readonly SizedEntry[] {
    const { appId, shape, after } = range
    const key = `${appId} ${shape} ${Math.floor(after / blockEntries)}`
    let block = blocks.get(key)
    // Before what another reader, who began in the middle of the block, has read of it.
    if (block !== undefined && after < block.before) {
      return read({ ...range, limit: block.before - after, bytesMax: readBytesMax }).map(sized)
    }
    const isKnown =
      block !== undefined &&
      (after < block.before + block.entries.length ||
        (after === block.before + block.entries.length && block.endVersion === version))
    if (block === undefined || !isKnown) block = readOn(range, key, block, version)
    else keep(key, block, 0)
    return block.entries.slice(after - block.before)
  }

  return ({ appId, after: from, limit, bytesMax = Number.POSITIVE_INFINITY, shape }) => {
    const version = dataVersion.get()?.data_version ?? 0
    const found: MatchEntry[] = []
    let after = Math.max(from, trimmedTo(appId, version)) as MatchSeq
    let bytes = 0
    while (found.length < limit) {
      const some = someAfter({ appId, after, limit, shape }, version)
      for (const each of some) {
        found.push(each.entry)
        bytes += each.bytes
        if (found.length === limit || bytes >= bytesMax) return found
      }
      const last = some.at(-1)
      if (last === undefined) return found
      after = last.entry.seq
    }
    return found
  }
}

function sized(entry: MatchEntry): SizedEntry {
  return { entry, bytes: Buffer.byteLength(entry.postJson ?? "") }
}
