import type { PostId, UserId } from "./ids.ts"

/**
 * A post as the store takes it in, checked and normalised.
 *
 * It is kept twice: `core` is the post object with the default fields, as bytes that go into an answer as they
 * are; `envelope` is all that came, for answers that show more. Both are JSON text of a single line.
 */
export interface AcceptedPost {
  readonly id: PostId
  /** Absent when the source named none; such a post is on no user's timeline. */
  readonly authorId?: UserId
  readonly createdAtMs: number
  readonly isReply: boolean
  readonly isRepost: boolean
  readonly core: string
  readonly envelope: string
  /** Users that the envelope makes known, the author first. */
  readonly userIds: readonly UserId[]
}

/** Which of a post's two texts to read: the default fields, or all. */
export type PostShape = "core" | "envelope"

/** A post read back. `json` is the text of the shape that was asked for. */
export interface StoredPost {
  readonly id: PostId
  readonly json: string
}
