/** What clients saw of a cluster, in the order in which they saw it. Times are of one monotonic clock, in milliseconds. */

/** A change of rules: a pair of rules, `NUMBER:a` and `NUMBER:b`, is added or deleted by one request. */
export interface RuleChange {
  readonly kind: "rules"
  readonly change: "add" | "delete"
  readonly pair: number
  /** When it was first sent. */
  readonly sentMs: number
  /** When it was known to be done. */
  readonly doneMs: number
  /** Whether some request for it had no answer, so that it may have its effect later. */
  readonly isDoubtful: boolean
}

/** One thing that a client saw. */
export type Seen =
  | {
      readonly kind: "accepted"
      readonly postIds: readonly string[]
      readonly authorId: string
      /** When they were first sent. */
      readonly sentMs: number
      readonly doneMs: number
    }
  | {
      readonly kind: "delivered"
      /** Number of the link, from 0. */
      readonly link: number
      readonly eventId: string
      readonly postId: string
      /** SHA-256 of the body. */
      readonly hash: string
      readonly tags: readonly string[]
      readonly isTaken: boolean
    }
  /** A list of an author's posts that was read page by page to its end. */
  | {
      readonly kind: "listed"
      readonly authorId: string
      readonly postIds: readonly string[]
      readonly beganMs: number
    }
  | RuleChange
  /** An answer that must never come. */
  | { readonly kind: "wrong"; readonly what: string }
  /** What was done to the cluster. */
  | { readonly kind: "fault"; readonly what: string; readonly atMs: number }
  /** What the server says of a link at the end. */
  | {
      readonly kind: "final"
      readonly link: number
      readonly position: number
      readonly head: number
      readonly total: Readonly<Record<string, number>>
    }
