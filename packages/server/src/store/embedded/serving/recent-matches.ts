/**
 * Entries of match logs that were read or appended a moment ago, for the many readers of one log.
 *
 * A thousand stream connections of an app read the same entries within the same second. Logged entries change only when
 * their posts are deleted, which drops all that is remembered; so
 * they share the entries that the first of them has read, and those that the writer hands over to readers at the end
 * (`appended-entries.ts`), in blocks of the log:
 *
 *     … │ 129 … 192 │ 193 … 256 │ 257 … 270 ◄─ grows as the log does
 *
 * The end of a log and its start after retention do change, and every change is announced. They are known from one
 * announcement to the next, and read anew after one that does not say what was appended. An announcement may be lost:
 * then those who poll the heads find the log longer than is known here.
 */
import { LRUCache } from "lru-cache"
import type { AppId, MatchSeq } from "../../../model/ids.ts"
import type { MatchEntry } from "../../../model/match.ts"
import type { MatchRange } from "../../port/match-log.ts"
import { logKey, type AnnouncedChange, type AppendedEntries, type LogKey } from "./appended-entries.ts"
import { rowBytes, type ReadLog } from "../nouns/match-entries.ts"

/** Entries of a block. Ours: about what a socket takes in at once. */
const blockEntries = 64

/** Most bytes of texts that are read at once for a block; the last one may go over it. Ours. */
const readBytesMax = 262_144

/** Approximate memory of a block without its entries' texts. */
const blockBytes = 512

/** Entries handed over without a read, after which a log is no longer followed. Ours. */
const unreadMax = 4_096

/** A position in a log from which to read on, within a block. */
type BlockRange = Omit<MatchRange, "bytesMax">

/**
 * Approximate memory of an entry without its texts: five objects, and as many with the record that streams make of it.
 */
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
}

/** The source and the bounds of recent matches. */
export interface RecentSettings {
  readonly readLog: ReadLog
  /** Position up to which retention has deleted a log. */
  readonly readTrimmedTo: (appId: AppId) => MatchSeq
  /** Most bytes over all logs; beyond it the least recently used blocks are dropped. */
  readonly keptBytesMax: number
  /**
   * Called when the entries that are appended to a log are wanted, and when they are no longer. Present where `onAnnounced` is
   * called with every change; without it the ends of logs are asked with every read.
   */
  readonly setFollowed?: ((log: LogKey, isFollowed: boolean) => void) | undefined
}

/** Reads entries of logs, from memory where they are known. */
export class RecentMatches {
  readonly #settings: RecentSettings
  readonly #blocks: LRUCache<string, Block>
  readonly #trimmed = new Map<AppId, MatchSeq>()
  /** Last entries of logs. */
  readonly #ends = new Map<AppId, number>()
  /** How many entries were handed over since the last read, by log. */
  readonly #followed = new Map<LogKey, number>()

  constructor(settings: RecentSettings) {
    this.#settings = settings
    this.#blocks = new LRUCache({ maxSize: settings.keptBytesMax, sizeCalculation: ({ bytes }) => bytes })
  }

  /** The entries of a range, as in `StoreReads.matches`. */
  read({ appId, after: from, limit, bytesMax, shape }: MatchRange): readonly MatchEntry[] {
    const log = logKey(appId, shape)
    if (this.#followed.has(log)) this.#followed.set(log, 0)
    const found: MatchEntry[] = []
    let after = Math.max(from, this.#trimmedTo(appId)) as MatchSeq
    let bytes = 0
    while (found.length < limit) {
      const some = this.#someAfter({ appId, after, limit, shape })
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

  /** Takes note of a change after its commit: of what was appended, and of which logs nothing more is known. */
  onAnnounced({ appended = [], isRewritten, ...change }: AnnouncedChange): void {
    if (change.kind !== "matches") return
    if (isRewritten === true) this.#blocks.clear()
    for (const log of appended) this.#take(log)
    const known = new Set(appended.map(({ appId }) => appId))
    for (const appId of change.appIds ?? [...this.#ends.keys(), ...this.#trimmed.keys()]) {
      if (!known.has(appId)) this.#forgetEnds(appId)
    }
  }

  /** Takes note of where a log ended at a read: further on than was announced, if an announcement was lost or is late. */
  noteHead(appId: AppId, head: MatchSeq): void {
    if (head > (this.#ends.get(appId) ?? head)) this.#forgetEnds(appId)
  }

  #forgetEnds(appId: AppId): void {
    this.#ends.delete(appId)
    this.#trimmed.delete(appId)
  }

  #trimmedTo(appId: AppId): MatchSeq {
    const known = this.#trimmed.get(appId) ?? this.#settings.readTrimmedTo(appId)
    if (this.#settings.setFollowed !== undefined) this.#trimmed.set(appId, known)
    return known
  }

  /** Some entries after `after` in its block, not always all; none only when there are none. */
  #someAfter(range: BlockRange): readonly SizedEntry[] {
    const { appId, shape, after } = range
    if (this.#ends.get(appId) === after) {
      this.#follow(logKey(appId, shape))
      return []
    }
    const block = this.#blocks.get(blockKey(range, after))
    // Before the entries that another reader, which began in the middle of the block, has read of it.
    if (block !== undefined && after < block.before) {
      const limit = block.before - after
      return this.#settings.readLog({ ...range, limit, bytesMax: readBytesMax }).entries.map(sized)
    }
    if (block !== undefined && after < endOf(block)) return block.entries.slice(after - block.before)
    return this.#readOn(range)
  }

  /** Reads what comes after `after` in its block. */
  #readOn(range: BlockRange): readonly SizedEntry[] {
    const { appId, after, shape } = range
    const limit = blockEntries - (after % blockEntries)
    const stretch = this.#settings.readLog({ ...range, limit, bytesMax: readBytesMax })
    const entries = stretch.entries.map(sized)
    const [first] = entries
    if (first !== undefined && first.entry.seq !== after + 1) {
      // Retention has passed `after` a moment ago, and the announcement is on its way.
      this.#forgetEnds(appId)
      return entries
    }
    this.#keep(range, after, entries)
    if (entries.length < limit && !stretch.isCut && this.#settings.setFollowed !== undefined) {
      this.#ends.set(appId, after + entries.length)
      this.#follow(logKey(appId, shape))
    }
    return entries
  }

  /** Keeps the entries after `before`, which lie in one block: with those before them, or instead of what has a hole. */
  #keep(log: Pick<MatchRange, "appId" | "shape">, before: number, entries: readonly SizedEntry[]): void {
    if (entries.length === 0) return
    const key = blockKey(log, before)
    const known = this.#blocks.get(key)
    const block = known !== undefined && endOf(known) === before ? known : { before, entries: [], bytes: blockBytes }
    block.entries.push(...entries)
    // Twice its texts: what streams or links make of an entry is kept as long as the entry is.
    block.bytes += entries.reduce((sum, each) => sum + 2 * each.bytes + entryBytes, 0)
    // Deleted first: the cache takes the new size of a value only when it is set anew.
    this.#blocks.delete(key)
    this.#blocks.set(key, block)
  }

  #take(log: AppendedEntries): void {
    const last = log.entries.at(-1)
    if (last === undefined) return
    const { appId, shape, entries } = log
    for (let at = 0; at < entries.length;) {
      const before = (entries[at]?.seq ?? 0) - 1
      const count = blockEntries - (before % blockEntries)
      const block = this.#blocks.peek(blockKey(log, before))
      // A reader may have read some of the appended entries from the file before they were announced.
      const read = block === undefined ? 0 : Math.min(count, Math.max(0, endOf(block) - before))
      this.#keep(log, before + read, entries.slice(at + read, at + count).map(sized))
      at += count
    }
    this.#ends.set(appId, Math.max(last.seq, this.#ends.get(appId) ?? 0))
    this.#countUnread(logKey(appId, shape), entries.length)
  }

  #countUnread(log: LogKey, count: number): void {
    const before = this.#followed.get(log)
    if (before === undefined) return
    if (before + count <= unreadMax) {
      this.#followed.set(log, before + count)
    } else {
      this.#followed.delete(log)
      this.#settings.setFollowed?.(log, false)
    }
  }

  #follow(log: LogKey): void {
    if (this.#followed.has(log)) return
    this.#followed.set(log, 0)
    this.#settings.setFollowed?.(log, true)
  }
}

function blockKey({ appId, shape }: Pick<MatchRange, "appId" | "shape">, before: number): string {
  return `${appId} ${shape} ${Math.floor(before / blockEntries)}`
}

function endOf({ before, entries }: Block): number {
  return before + entries.length
}

function sized(entry: MatchEntry): SizedEntry {
  return { entry, bytes: rowBytes({ post: entry.postJson ?? null, rules: entry.rulesJson }) }
}
