import type { defaultFields } from "@sluice/api"
import type { PostId, UserId } from "./ids.ts"
import type { IncludedUser } from "./user.ts"

/**
 * A post for the store, checked and normalised.
 *
 * It is kept twice: `core` is the post object with the default fields, which goes into responses byte for byte;
 * `envelope` is everything that came, for responses that show more. Both are JSON text of a single line, in UTF-8: as
 * bytes they go to another thread and to the store without being decoded and encoded again.
 */
export interface AcceptedPost {
  readonly id: PostId
  /** Absent when the source named none; such a post is on no user's timeline. */
  readonly authorId?: UserId
  readonly createdAtMs: number
  /** The ids of the versions that its history names (`chainOf`), ascending. Absent for a post of one version. */
  readonly chain?: readonly PostId[]
  readonly isReply: boolean
  readonly isRepost: boolean
  readonly core: Uint8Array
  readonly envelope: Uint8Array
  /** Users that the envelope makes known, the author first. */
  readonly userIds: readonly UserId[]
  /**
   * Objects of users in the envelope that have an id and a username and are not too large, in order; one user may have
   * several.
   */
  readonly users: readonly IncludedUser[]
  /** Other posts whose texts the envelope holds, each once. */
  readonly includedIds: readonly PostId[]
  /** The post that this one reposts: when that is deleted, this one is too. */
  readonly repostedId?: PostId
}

/** The `core` of a post: exactly its default fields, in the order of `defaultFields`. */
export function coreJson(post: { readonly [Name in (typeof defaultFields.post)[number]]: unknown }): string {
  return JSON.stringify(post)
}

/** The text of a post to read: the default fields, or all. */
export type PostShape = "core" | "envelope"

/** A post read back. `json` is the text of the requested shape. */
export interface StoredPost {
  readonly id: PostId
  readonly json: string
}
