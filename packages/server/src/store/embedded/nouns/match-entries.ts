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
import { deletedRules, entryOf, stretchOf, type LogRow, type MatchRow } from "../../rows/match-entry.ts"
import type { MatchRange } from "../../port/match-log.ts"
import { readStoredRules } from "../../stored-rules.ts"
import { matchChecksum, textChecksum } from "../connection/checksums.ts"
import { textBytes, upToBytes } from "../connection/row-chunks.ts"
import { columnsAs, prepare } from "../connection/statements.ts"

/** An entry and its post, with the checksums of both. */
export interface CheckedMatchRow extends MatchRow {
  readonly checksum: number | null
  readonly postChecksum: number | null
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

/** A row as an entry. Nothing of what is damaged is shown. */
export function checkedEntryOf(appId: AppId, row: CheckedMatchRow): MatchEntry {
  const { seq, postId, atMs, rules } = row
  if (postId === null || atMs === null || rules === null) return entryOf(row)
  if (matchChecksum(appId, { seq, postId, atMs, rules }) !== row.checksum) {
    return { seq, postId, atMs, rulesJson: "[]" }
  }
  const isWhole = textChecksum(postId, row.post) === row.postChecksum
  return entryOf(isWhole ? row : { ...row, post: null })
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
    prepare<LogRow<CheckedMatchRow>>(
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
    const toEntry = (row: CheckedMatchRow): MatchEntry => checkedEntryOf(appId, row)
    return { entries: stretchOf(rows, { after, limit }, { isCut, toEntry }), isCut }
  }
}

/** Prepares the read of one entry, whether retention has passed it and spared it or not. */
export function prepareReadMatch(
  db: DatabaseSync,
): (appId: AppId, seq: MatchSeq, shape: PostShape) => MatchEntry | undefined {
  const statement = (shape: PostShape) =>
    prepare<CheckedMatchRow>(
      db,
      `SELECT seq, ${matchColumns(shape)} FROM matches LEFT JOIN posts ON posts.id = post_id
       WHERE matches.app_id = ? AND seq = ?`,
    )
  const statements = { core: statement("core"), envelope: statement("envelope") }
  return (appId, seq, shape) => {
    const row = statements[shape].get(BigInt(appId), seq)
    return row && checkedEntryOf(appId, row)
  }
}

/** Prepares the read of a post's entries in the logs of all apps, or of one. */
export function prepareMatchesOfPost(db: DatabaseSync): (id: PostId, appId?: AppId) => readonly MatchOfPost[] {
  const entries = prepare<CheckedMatchRow & { readonly appId: AppId; readonly rules: string; readonly atMs: number }>(
    db,
    `SELECT ${columnsAs("matches", "app_id, seq, post_id, at_ms, rules, checksum")} FROM matches
     WHERE post_id = ?1 AND (?2 IS NULL OR app_id = ?2) AND rules <> '${deletedRules}' ORDER BY app_id, seq LIMIT ?3`,
  )
  return (id, appId) =>
    entries
      .all(BigInt(id), appId === undefined ? null : BigInt(appId), matchesOfPostMax)
      .filter((row) => matchChecksum(row.appId, { ...row, postId: id }) === row.checksum)
      .map((row) => ({ appId: row.appId, seq: row.seq, atMs: row.atMs, ...readStoredRules(row.rules) }))
}
