/** The observations of a cluster's clients, in order. Times are of one monotonic clock, in milliseconds. */

/** A change of rules: a pair of rules, `NUMBER:a` and `NUMBER:b`, is added or deleted by one request. */
export interface RuleChange {
  readonly kind: "rules"
  readonly change: "add" | "delete"
  readonly pair: number
  /** Time of the first attempt. */
  readonly sentMs: number
  /** Time at which a client knew that it was done. */
  readonly doneMs: number
  /** True if an attempt got no response, so that the change may take effect later. */
  readonly isDoubtful: boolean
}

/** One observation of a client. */
export type Seen =
  | {
      readonly kind: "accepted"
      readonly postIds: readonly string[]
      readonly authorId: string
      /** Time of the first attempt. */
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
      readonly atMs: number
    }
  /** Posts were deleted. */
  | {
      readonly kind: "deleted"
      readonly postIds: readonly string[]
      /** Time at which a client knew that it was done. */
      readonly doneMs: number
    }
  /** A list of an author's posts that was read page by page to its end. */
  | {
      readonly kind: "listed"
      readonly authorId: string
      readonly postIds: readonly string[]
      readonly beganMs: number
    }
  | RuleChange
  /** A response that must never come. */
  | { readonly kind: "wrong"; readonly what: string }
  /** A fault of the cluster. */
  | { readonly kind: "fault"; readonly what: string; readonly atMs: number }
  /** The server's final state of a link. */
  | {
      readonly kind: "final"
      readonly link: number
      readonly position: number
      readonly head: number
      readonly total: Readonly<Record<string, number>>
    }
