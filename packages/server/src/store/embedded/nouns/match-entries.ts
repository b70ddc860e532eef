/**
 * Entries of match logs as rows, verified before they are returned.
 *
 * A damaged entry is returned without its post, so that a reader passes it knowingly. So is one that is not where the
 * numbers of its log say it should be: damage must not look like silence.
 */
import type { DatabaseSync } from "node:sqlite"
import type { AppId, MatchSeq, PostId } from "../../../model/ids.ts"
import type { MatchEntry, MatchOfPost } from "../../../model/match.ts"
import type { PostShape } from "../../../model/post.ts"
import { matchesOfPostMax } from "../../bounds.ts"
import type { MatchRange } from "../../store.ts"
import { readStoredRules } from "../../stored-rules.ts"
import { matchChecksum, textChecksum } from "../connection/checksums.ts"
import { textBytes, upToBytes } from "../connection/row-chunks.ts"
import { columnsAs, prepare } from "../connection/statements.ts"

/** An entry and its post; without the post when there is none, and without the entry too. */
export interface MatchRow {
  readonly seq: MatchSeq
  readonly postId: PostId | null
  readonly atMs: number | null
  readonly rules: string | null
  readonly checksum: number | null
  readonly post: string | null
  readonly postChecksum: number | null
}

interface LogRow extends Omit<MatchRow, "seq"> {
  readonly seq: MatchSeq | null
  readonly head: MatchSeq
  readonly trimmedTo: MatchSeq
}

/** Columns of a `MatchRow` but its `seq`, of `matches` and `posts`. */
export function matchColumns(shape: PostShape): string {
  return `${columnsAs("matches", "post_id, at_ms, rules, checksum")}, ${shape} AS post,
    ${shape}_checksum AS postChecksum`
}

/** Bytes of an entry's two texts. */
export function rowBytes({ post, rules }: Pick<MatchRow, "post" | "rules">): number {
  return textBytes(post) + textBytes(rules)
}

/** The post of an entry that cannot be read. */
const noPost = "0" as PostId

/** A row as an entry. Nothing of what is damaged is shown. */
export function entryOf(appId: AppId, row: MatchRow): MatchEntry {
  const { seq, postId, atMs, rules } = row
  if (postId === null || atMs === null || rules === null) return lostEntry(seq, 0)
  if (matchChecksum(appId, { seq, postId, atMs, rules }) !== row.checksum) {
    return { seq, postId, atMs, rulesJson: "[]" }
  }
  const isWhole = textChecksum(postId, row.post) === row.postChecksum
  const read = { seq, postId, atMs, ...readStoredRules(rules) }
  return isWhole && row.post !== null ? { ...read, postJson: row.post } : read
}

function lostEntry(seq: number, atMs: number): MatchEntry {
  return { seq: seq as MatchSeq, postId: noPost, atMs, rulesJson: "[]" }
}

/** A stretch of a log, oldest first, without a hole. */
interface LogStretch {
  readonly entries: readonly MatchEntry[]
  /** Whether it ends at the bytes. Then there may be more of it. */
  readonly isCut: boolean
}

/** Reads logs: entries after a position and after what retention has deleted. */
export type ReadLog = (range: MatchRange) => LogStretch

/** Prepares the read of logs. */
export function prepareReadLog(db: DatabaseSync): ReadLog {
  // The log's own row stands in the same statement, so that head and entries are of one moment.
  const statement = (shape: PostShape) =>
    prepare<LogRow>(
      db,
      `SELECT head, trimmed_to AS trimmedTo, seq, ${matchColumns(shape)}
       FROM match_logs
         LEFT JOIN matches ON matches.app_id = match_logs.app_id AND seq > max(?2, trimmed_to)
         LEFT JOIN posts ON posts.id = post_id
       WHERE match_logs.app_id = ?1 ORDER BY seq LIMIT ?3`,
    )
  const statements = { core: statement("core"), envelope: statement("envelope") }
  return ({ appId, after, limit, bytesMax, shape }) => {
    const { rows, isCut } = upToBytes(statements[shape].iterate(BigInt(appId), after, limit), rowBytes, bytesMax)
    const log = rows[0]
    if (log === undefined) return { entries: [], isCut }
    const first = Math.max(after, log.trimmedTo) + 1
    // Without entries there is one row all the same, that of the log.
    const entries = log.seq === null ? [] : (rows as readonly (LogRow & MatchRow)[]).map((row) => entryOf(appId, row))
    const isComplete =
      entries.every(({ seq }, index) => seq === first + index) &&
      (isCut || entries.length === limit || first + entries.length > log.head)
    if (isComplete) return { entries, isCut }
    const last = Math.min(log.head, first + limit - 1)
    const to = isCut ? Math.min(last, entries.at(-1)?.seq ?? last) : last
    return { entries: withLostEntries(entries, first, to), isCut }
  }
}

/** Prepares the read of one entry, whether retention has passed it and spared it or not. */
export function prepareReadMatch(
  db: DatabaseSync,
): (appId: AppId, seq: MatchSeq, shape: PostShape) => MatchEntry | undefined {
  const statement = (shape: PostShape) =>
    prepare<MatchRow>(
      db,
      `SELECT seq, ${matchColumns(shape)} FROM matches LEFT JOIN posts ON posts.id = post_id
       WHERE matches.app_id = ? AND seq = ?`,
    )
  const statements = { core: statement("core"), envelope: statement("envelope") }
  return (appId, seq, shape) => {
    const row = statements[shape].get(BigInt(appId), seq)
    return row && entryOf(appId, row)
  }
}

/** Prepares the read of a post's entries in the logs of all apps, or of one. */
export function prepareMatchesOfPost(db: DatabaseSync): (id: PostId, appId?: AppId) => readonly MatchOfPost[] {
  const entries = prepare<MatchRow & { readonly appId: AppId; readonly rules: string; readonly atMs: number }>(
    db,
    `SELECT ${columnsAs("matches", "app_id, seq, post_id, at_ms, rules, checksum")} FROM matches
     WHERE post_id = ?1 AND (?2 IS NULL OR app_id = ?2) ORDER BY app_id, seq LIMIT ?3`,
  )
  return (id, appId) =>
    entries
      .all(BigInt(id), appId === undefined ? null : BigInt(appId), matchesOfPostMax)
      .filter((row) => matchChecksum(row.appId, { ...row, postId: id }) === row.checksum)
      .map((row) => ({ appId: row.appId, seq: row.seq, atMs: row.atMs, ...readStoredRules(row.rules) }))
}

/** The entries from `first` to `last`, with stand-ins for those that are missing or stand in the wrong place. */
function withLostEntries(entries: readonly MatchEntry[], first: number, last: number): readonly MatchEntry[] {
  const found = new Map<number, MatchEntry>()
  for (const entry of entries) {
    if (!found.has(entry.seq) || entry.postJson !== undefined) found.set(entry.seq, entry)
  }
  const all: MatchEntry[] = []
  for (let seq = first; seq <= last; seq += 1) {
    all.push(found.get(seq) ?? lostEntry(seq, all.at(-1)?.atMs ?? entries[0]?.atMs ?? 0))
  }
  return all
}
