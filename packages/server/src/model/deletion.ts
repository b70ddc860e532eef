import type { PostId, UserId } from "./ids.ts"

/** A post or a user that is to be forgotten. */
export type DeletionRequest =
  | { readonly kind: "post"; readonly id: PostId }
  | { readonly kind: "user"; readonly id: UserId }

/** The outcome of a deletion. */
export interface DeletionOutcome {
  /** Whether the post was stored, or the user known. */
  readonly wasStored: boolean
}

/** Position in the list of deletions. 1 is the first; 0 is before it. */
export type DeletionSeq = number

/** A deletion that is remembered. */
export type Deletion = DeletionRequest & {
  readonly seq: DeletionSeq
  /** Author of a post, where it was stored with one. */
  readonly authorId?: UserId
  /** Unix ms. */
  readonly atMs: number
  /** True while something of it may still be stored: posts that show it, or posts of a user. */
  readonly isPending?: true
}
