/**
 * Entries of match logs as rows.
 *
 * An entry whose row or whose post is missing is returned without a post, so that a reader passes it knowingly: what is
 * lost must not look like silence.
 */
import type { MatchSeq, PostId } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { MatchRange } from "../port/match-log.ts"
import { readStoredRules } from "../stored-rules.ts"

/** An entry and its post; without the post when there is none, and without the entry too. */
export interface MatchRow {
  readonly seq: MatchSeq
  readonly postId: PostId | null
  readonly atMs: number | null
  readonly rules: string | null
  readonly post: string | null
}

/** A row of a log with the log's own state. Without `seq` it is the only one, of a log that has no more entries. */
export type LogRow<Row extends MatchRow> = Omit<Row, "seq"> & {
  readonly seq: MatchSeq | null
  readonly head: MatchSeq
  readonly trimmedTo: MatchSeq
}

/** The rules of a match whose post was deleted, as they are stored: no list. */
export const deletedRules = ""

/** The post of an entry that is lost. */
const noPost = "0" as PostId

/** A row as an entry. */
export function entryOf({ seq, postId, atMs, rules, post }: MatchRow): MatchEntry {
  if (postId === null || atMs === null || rules === null) return lostEntry(seq, 0)
  if (rules === deletedRules) return { seq, postId, atMs, rulesJson: "[]", isDeleted: true }
  const read = { seq, postId, atMs, ...readStoredRules(rules) }
  return post === null ? read : { ...read, postJson: post }
}

/**
 * A stretch of a log without a hole, of rows in the order of the log: with stand-ins for entries that are missing or stand
 * in the wrong place. `isCut`: it ends at the bytes of the range.
 */
export function stretchOf<Row extends MatchRow>(
  rows: readonly LogRow<Row>[],
  { after, limit }: Pick<MatchRange, "after" | "limit">,
  { isCut, toEntry }: { readonly isCut: boolean; readonly toEntry: (row: Row) => MatchEntry },
): readonly MatchEntry[] {
  const log = rows[0]
  if (log === undefined) return []
  const first = Math.max(after, log.trimmedTo) + 1
  const entries = log.seq === null ? [] : (rows as readonly unknown[] as readonly Row[]).map(toEntry)
  const isComplete =
    entries.every(({ seq }, index) => seq === first + index) &&
    (isCut || entries.length === limit || first + entries.length > log.head)
  if (isComplete) return entries
  const last = Math.min(log.head, first + limit - 1)
  return withLostEntries(entries, first, isCut ? Math.min(last, entries.at(-1)?.seq ?? last) : last)
}

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

/** `atMs` is about when it was appended. */
function lostEntry(seq: number, atMs: number): MatchEntry {
  return { seq: seq as MatchSeq, postId: noPost, atMs, rulesJson: "[]" }
}
