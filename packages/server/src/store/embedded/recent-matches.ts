/**
 * Entries of match logs that were read a moment ago, for the many readers of one log.
 *
 * A thousand stream connections of an app read the same entries within the same second. What is logged never changes,
 * so they share what the first of them has read, in blocks of the log:
 *
 *     … │ 129 … 192 │ 193 … 256 │ 257 … 270 ◄─ grows as the log does
 *
 * Where a log ends, and what retention has taken of it, does change. Both are read anew whenever the file has changed.
 */
import type { DatabaseSync } from "node:sqlite"
import { LRUCache } from "lru-cache"
import { beforeFirstMatch, type AppId, type MatchSeq } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { MatchRange } from "../store.ts"
import { rowBytes, type ReadLog } from "./match-entries.ts"
import { prepare, type Statement } from "./statements.ts"

/** Entries of a block. Ours: about what a socket takes in at once. */
const blockEntries = 64

/** Most bytes of texts that are read at once for a block; the last one may go over it. Ours. */
const readBytesMax = 262_144

/** Memory that a block takes beside its entries' texts, about. */
const blockBytes = 512

/** Where in which log to read on, within a block. */
type BlockRange = Omit<MatchRange, "bytesMax">

/** Memory that an entry takes beside its texts, about: five objects, and as many with the record that streams make of it. */
const entryBytes = 512

/** An entry, and the bytes of its texts. */
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

/** Reads entries of logs, from memory where they are known. */
export class RecentMatches {
  readonly #read: ReadLog
  readonly #dataVersion: Statement<{ data_version: number }>
  readonly #selectTrimmed: Statement<{ trimmed_to: MatchSeq }>
  readonly #trimmed = new Map<AppId, MatchSeq>()
  #trimmedVersion: number | undefined
  readonly #blocks: LRUCache<string, Block>

  /** Memory holds `keptBytesMax` over all logs; beyond it the least recently used blocks are dropped. */
  constructor(db: DatabaseSync, read: ReadLog, { keptBytesMax }: { readonly keptBytesMax: number }) {
    this.#read = read
    this.#blocks = new LRUCache({ maxSize: keptBytesMax, sizeCalculation: ({ bytes }) => bytes })
    this.#dataVersion = prepare(db, "PRAGMA data_version")
    this.#selectTrimmed = prepare(db, "SELECT trimmed_to FROM match_logs WHERE app_id = ?")
  }

  /** The entries of a range, as in `StoreReads.matches`. */
  read({ appId, after: from, limit, bytesMax, shape }: MatchRange): readonly MatchEntry[] {
    const version = this.#dataVersion.get()?.data_version ?? 0
    const found: MatchEntry[] = []
    let after = Math.max(from, this.#trimmedTo(appId, version)) as MatchSeq
    let bytes = 0
    while (found.length < limit) {
      const some = this.#someAfter({ appId, after, limit, shape }, version)
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

  #trimmedTo(appId: AppId, version: number): MatchSeq {
    if (version !== this.#trimmedVersion) this.#trimmed.clear()
    this.#trimmedVersion = version
    const known = this.#trimmed.get(appId) ?? this.#selectTrimmed.get(BigInt(appId))?.trimmed_to ?? beforeFirstMatch
    this.#trimmed.set(appId, known)
    return known
  }

  /** What comes after `after` in its block: not all of it, but some unless there is none. */
  #someAfter(range: BlockRange, version: number): readonly SizedEntry[] {
    const { appId, shape, after } = range
    const key = `${appId} ${shape} ${Math.floor(after / blockEntries)}`
    let block = this.#blocks.get(key)
    // Before the entries that another reader, which began in the middle of the block, has read of it.
    if (block !== undefined && after < block.before) {
      return this.#read({ ...range, limit: block.before - after, bytesMax: readBytesMax }).entries.map(sized)
    }
    const isKnown =
      block !== undefined &&
      (after < block.before + block.entries.length ||
        (after === block.before + block.entries.length && block.endVersion === version))
    if (block === undefined || !isKnown) block = this.#readOn(range, key, block, version)
    return block.entries.slice(after - block.before)
  }

  /** Reads what comes after `after` in its block. */
  #readOn(range: BlockRange, key: string, known: Block | undefined, version: number): Block {
    const { after } = range
    const limit = blockEntries - (after % blockEntries)
    const stretch = this.#read({ ...range, limit, bytesMax: readBytesMax })
    const entries = stretch.entries.map(sized)
    // Twice its texts: what streams make of an entry is kept as long as the entry is.
    const bytes = entries.reduce((sum, each) => sum + 2 * each.bytes + entryBytes, 0)
    const isEnd = entries.length < limit && !stretch.isCut
    const isNext = known !== undefined && known.before + known.entries.length === after
    const block = isNext ? known : { before: after, entries: [], bytes: blockBytes, endVersion: undefined }
    block.entries.push(...entries)
    block.endVersion = isEnd ? version : undefined
    block.bytes += bytes
    // Deleted first: the cache takes the new size of a value only when it is set anew.
    this.#blocks.delete(key)
    this.#blocks.set(key, block)
    return block
  }
}

function sized(entry: MatchEntry): SizedEntry {
  return { entry, bytes: rowBytes({ post: entry.postJson ?? null, rules: entry.rulesJson }) }
}
