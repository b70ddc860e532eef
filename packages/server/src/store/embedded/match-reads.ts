/**
 * Entries of match logs, proved before they are shown.
 *
 * A damaged entry is answered without its post, so that whoever reads the log passes it with open eyes. So is one
 * that is not where the numbers of its log say it should be: damage must not look like silence.
 */
import type { DatabaseSync } from "node:sqlite"
import type { AppId, MatchSeq, PostId } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { PostShape } from "../../model/post.ts"
import type { MatchRange } from "../store.ts"
import { matchChecksum, textChecksum } from "./checksums.ts"
import { prepare } from "./statements.ts"

/** An entry and its post; without the post when there is none, and without the entry too. */
export interface MatchRow {
  readonly seq: MatchSeq
  readonly post_id: PostId | null
  readonly at_ms: number | null
  readonly rules: string | null
  readonly checksum: number | null
  readonly post: string | null
  readonly post_checksum: number | null
}

interface LogRow extends Omit<MatchRow, "seq"> {
  readonly seq: MatchSeq | null
  readonly head: MatchSeq
  readonly trimmed_to: MatchSeq
}

/** Columns of a `MatchRow` but its `seq`, of `matches` and `posts`. */
export function matchColumns(shape: PostShape): string {
  return `CAST (post_id AS TEXT) AS post_id, at_ms, rules, checksum, ${shape} AS post,
    ${shape}_checksum AS post_checksum`
}

/** The post of an entry that cannot be read. */
const noPost = "0" as PostId

/** A row as an entry. Nothing of what is damaged is shown. */
export function entryOf(appId: AppId, row: MatchRow): MatchEntry {
  const { seq, post_id: postId, at_ms: atMs, rules } = row
  if (postId === null || atMs === null || rules === null) return lostEntry(seq, 0)
  if (matchChecksum(appId, { seq, post_id: postId, at_ms: atMs, rules }) !== row.checksum) {
    return { seq, postId, atMs, rulesJson: "[]" }
  }
  const isWhole = textChecksum(postId, row.post) === row.post_checksum
  return { seq, postId, atMs, rulesJson: rules, ...(isWhole && row.post !== null && { postJson: row.post }) }
}

function lostEntry(seq: number, atMs: number): MatchEntry {
  return { seq: seq as MatchSeq, postId: noPost, atMs, rulesJson: "[]" }
}

/** Reads logs: entries after a place and after what retention took, oldest first, without a hole. */
export type ReadMatches = (range: MatchRange) => readonly MatchEntry[]

/** Prepares the reading of logs. */
export function prepareMatches(db: DatabaseSync): ReadMatches {
  // The log's own row stands in the same statement, so that head and entries are of one moment.
  const statement = (shape: PostShape) =>
    prepare<LogRow>(
      db,
      `SELECT head, trimmed_to, seq, ${matchColumns(shape)}
       FROM match_logs
         LEFT JOIN matches ON matches.app_id = match_logs.app_id AND seq > max(?2, trimmed_to)
         LEFT JOIN posts ON posts.id = post_id
       WHERE match_logs.app_id = ?1 ORDER BY seq LIMIT ?3`,
    )
  const statements = { core: statement("core"), envelope: statement("envelope") }
  return ({ appId, after, limit, bytesMax, shape }) => {
    const { rows, isCut } = upToBytes(statements[shape].iterate(BigInt(appId), after, limit), bytesMax)
    const log = rows[0]
    if (log === undefined) return []
    const first = Math.max(after, log.trimmed_to) + 1
    // Without entries there is one row all the same, that of the log.
    const entries =
      log.seq === null ? [] : (rows as readonly (LogRow & MatchRow)[]).map((row) => entryOf(appId, row))
    const isComplete =
      entries.every(({ seq }, index) => seq === first + index) &&
      (isCut || entries.length === limit || first + entries.length > log.head)
    if (isComplete) return entries
    const last = Math.min(log.head, first + limit - 1)
    return withLostEntries(entries, first, isCut ? Math.min(last, entries.at(-1)?.seq ?? last) : last)
  }
}

/** The rows until their posts come to `bytesMax`, and whether they came to it. */
function upToBytes(
  all: Iterable<LogRow>,
  bytesMax = Number.POSITIVE_INFINITY,
): { readonly rows: readonly LogRow[]; readonly isCut: boolean } {
  const rows: LogRow[] = []
  let bytes = 0
  for (const row of all) {
    rows.push(row)
    // What is damaged may be no text.
    bytes += typeof row.post === "string" ? Buffer.byteLength(row.post) : 0
    if (bytes >= bytesMax) return { rows, isCut: true }
  }
  return { rows, isCut: false }
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
