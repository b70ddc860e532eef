/** The columns of match logs' entries. */
import type { PostShape } from "../../../model/post.ts"
import { columnsAs } from "../connection/database.ts"

/** Columns of a `MatchRow` but its `seq`, of `matches` and `posts`. */
export function matchColumns(shape: PostShape): string {
  return `${columnsAs("matches", "post_id, at_ms, rules")}, posts.${shape} AS "post"`
}
