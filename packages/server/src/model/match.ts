import type { MatchingRule } from "@sluice/api"
import type { AppId, MatchSeq, PostId } from "./ids.ts"

/** The rules of one app that a post matched. */
export interface PostMatch {
  readonly appId: AppId
  /** Never empty. */
  readonly rules: readonly MatchingRule[]
}

/** An entry of an app's match log, with the post's text in the shape that was asked for. */
export interface MatchEntry {
  readonly seq: MatchSeq
  readonly postId: PostId
  /** When it was appended. */
  readonly atMs: number
  /** JSON text of the matched rules: `[{"id":"…","tag":"…"}]`. */
  readonly rulesJson: string
  /** Absent when the stored post is damaged: then nothing of it may be shown. */
  readonly postJson?: string
}
