import type { MatchingRule } from "@sluice/api"
import type { AppId, MatchSeq, PostId } from "./ids.ts"

/**
 * Most bytes of the JSON text of the rules that a match names. Ours: more than 1,700 rules without tags, and
 * more than sixty with the longest.
 */
export const matchingRulesBytesMax = 65_536

/** The rules of one app that a post matched. */
export interface PostMatch {
  readonly appId: AppId
  /**
   * The change of rules up to which they were known: the version of all rulesets by which the post was matched. Absent in
   * a match that was not made by a rule index.
   */
  readonly rulesSeq?: number
  /** Oldest first, as many as fit into `matchingRulesBytesMax`. Never empty. */
  readonly rules: readonly MatchingRule[]
  /** Number of further rules that it matched; absent when there are none. */
  readonly omitted?: number
}

/** An entry of a match log, of an app that the reader of a post may see. */
export interface MatchOfPost extends Omit<MatchEntry, "postId" | "postJson"> {
  readonly appId: AppId
}

/** An entry of an app's match log, with the post's text in the requested shape. */
export interface MatchEntry {
  readonly seq: MatchSeq
  readonly postId: PostId
  /** When it was appended. */
  readonly atMs: number
  /** JSON text of the matched rules: `[{"id":"…","tag":"…"}]`. */
  readonly rulesJson: string
  /** Number of rules that matched in addition to the named ones; absent when there are none. */
  readonly rulesOmitted?: number
  /** Absent when the stored post is damaged: then nothing of it may be shown; and when it is deleted. */
  readonly postJson?: string
  /** True when the post was deleted after it had matched. The entry keeps its place in the log. */
  readonly isDeleted?: true
}
