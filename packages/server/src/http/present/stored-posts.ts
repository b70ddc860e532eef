/** Stored posts as response bodies: text, into which what is stored goes byte for byte. */
import type { MatchingRule, MatchOfPost as MatchShown } from "@sluice/api"
import { instant } from "../../model/date-time.ts"
import type { MatchOfPost } from "../../model/match.ts"
import type { StoredPost } from "../../model/post.ts"
import { damagedPost } from "../../model/problem.ts"
import type { StoredPostsPage } from "../../queries/stored-posts.ts"
import { presentErrors } from "../problems.ts"

/** JSON text: `{"data":[envelope…],"meta":{…},"errors":[…]}`. */
export function presentStoredPosts({ posts, meta, damaged }: StoredPostsPage): string {
  const { errors } = presentErrors(damaged.map(damagedPost))
  const errorsText = errors === undefined ? "" : `,"errors":${JSON.stringify(errors)}`
  return `{"data":[${posts.map(({ json }) => json).join(",")}],"meta":${JSON.stringify(meta)}${errorsText}}`
}

/** JSON text of a page with one post, to which there is no other page. */
export function presentOnlyPost({ id, json }: StoredPost): string {
  return `{"data":[${json}],"meta":${JSON.stringify({ result_count: 1, newest_id: id, oldest_id: id })}}`
}

/** JSON text: `{"data":envelope,"matches":[…]}`. */
export function presentStoredPost(post: StoredPost, matches: readonly MatchOfPost[]): string {
  return `{"data":${post.json},"matches":${JSON.stringify(matches.map(presentMatch))}}`
}

function presentMatch({ appId, seq, atMs, rulesJson, rulesOmitted }: MatchOfPost): MatchShown {
  return {
    application_id: appId,
    position: seq,
    matched_at: instant(atMs),
    matching_rules: JSON.parse(rulesJson) as MatchingRule[],
    ...(rulesOmitted !== undefined && { matching_rules_omitted: rulesOmitted }),
  }
}
