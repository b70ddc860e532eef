/**
 * Entries of match logs as rows.
 *
 * An entry whose row or whose post is missing is returned without a post, so that a reader passes it knowingly: what is
 * lost must not look like silence.
 */
import type { MatchSeq, PostId } from "../../../model/ids.ts"
import type { MatchEntry } from "../../../model/match.ts"
import type { PostShape } from "../../../model/post.ts"
import { readStoredRules } from "../../stored-rules.ts"
import { columnsAs } from "../connection/database.ts"

/** An entry and its post; without the post when there is none, and without the entry too. */
export interface MatchRow {
  readonly seq: MatchSeq
  readonly postId: PostId | null
  readonly atMs: number | null
  readonly rules: string | null
  readonly post: string | null
}

/** Columns of a `MatchRow` but its `seq`, of `matches` and `posts`. */
export function matchColumns(shape: PostShape): string {
  return `${columnsAs("matches", "post_id, at_ms, rules")}, posts.${shape} AS "post"`
}

/** The post of an entry that is lost. */
const noPost = "0" as PostId

/** A row as an entry. */
export function entryOf({ seq, postId, atMs, rules, post }: MatchRow): MatchEntry {
  if (postId === null || atMs === null || rules === null) return lostEntry(seq, 0)
  const read = { seq, postId, atMs, ...readStoredRules(rules) }
  return post === null ? read : { ...read, postJson: post }
}

/** An entry that its log should have and has not. `atMs` is about when it was appended. */
export function lostEntry(seq: number, atMs: number): MatchEntry {
  return { seq: seq as MatchSeq, postId: noPost, atMs, rulesJson: "[]" }
}
