/**
 * X's rules of edits: the author may edit a post five times within half an hour. Reposts and replies to others are not
 * editable.
 */
import { snowflakeAtMs } from "@sluice/api"
import { isDateTime } from "../model/date-time.ts"
import { editsMax } from "../model/edit-chain.ts"
import type { PostId, UserId } from "../model/ids.ts"
import { membersOf, textOf } from "../model/json-text.ts"
import type { StoredPost } from "../model/post.ts"

/** How long a post may be edited. Source: X, "Edit Posts", and the times of recorded posts. */
export const editableMs = 1_800_000

/** Until when the post may be edited; or why it may not. */
export type EditVerdict =
  | { readonly untilMs: number }
  | { readonly refused: "not the author's" | "not editable" | "not the newest" | "too late" | "too often" }

/** Whether a user may edit a post, which is a version of `chain`. */
export function editVerdict(
  { id, json }: StoredPost,
  { chain, userId, nowMs }: { readonly chain: readonly PostId[]; readonly userId: UserId; readonly nowMs: number },
): EditVerdict {
  const data = membersOf(membersOf(json).get("data") ?? "")
  const controls = membersOf(data.get("edit_controls") ?? "")
  if (textOf(data.get("author_id")) !== userId) return { refused: "not the author's" }
  if (controls.get("is_edit_eligible") === "false" || !isEditable(data, userId)) return { refused: "not editable" }
  if (chain.at(-1) !== id) return { refused: "not the newest" }
  const until = textOf(controls.get("editable_until"))
  const untilMs =
    until !== undefined && isDateTime(until) ? Date.parse(until) : (snowflakeAtMs(chain[0] ?? id) ?? 0) + editableMs
  if (nowMs > untilMs) return { refused: "too late" }
  return chain.length > editsMax ? { refused: "too often" } : { untilMs }
}

function isEditable(data: ReadonlyMap<string, string>, userId: UserId): boolean {
  const references = JSON.parse(data.get("referenced_tweets") ?? "[]") as readonly { readonly type: string }[]
  if (references.some(({ type }) => type === "retweeted")) return false
  const isReply = references.some(({ type }) => type === "replied_to")
  return !isReply || textOf(data.get("in_reply_to_user_id")) === userId
}
