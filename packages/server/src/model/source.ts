/** Sources of posts whose position the store keeps, and what it keeps of their records. */
import type { PostId } from "./ids.ts"
import type { IncludedUser } from "./user.ts"

/** The place of a source in what it reads. */
export interface StoredSource {
  /** By the settings. */
  readonly name: string
  /** Number of its driver: it grows whenever a process begins to drive the source, and when the source is steered. */
  readonly driver: number
  /** The source's own text: everything up to it is stored. Absent before the first record. */
  readonly position?: string
  /** When the position was saved, Unix ms. */
  readonly savedAtMs?: number
  readonly isPaused: boolean
}

/** A stretch of time of which a source could not give everything, and never will. */
export interface StoredSourceGap {
  /** A UUID of version 7. */
  readonly id: string
  readonly source: string
  /** Unix ms; absent where it is not known. */
  readonly fromMs?: number
  readonly toMs?: number
  /** A sentence. */
  readonly reason: string
  readonly notedAtMs: number
}

/** A record of a source that cannot become a post. */
export interface SourceDeadLetter {
  /** A UUID of version 7. */
  readonly id: string
  readonly source: string
  readonly atMs: number
  readonly title: string
  readonly detail: string
  /** As it came. */
  readonly record: Uint8Array
}

/** A name whose post has an id that does not follow from it. */
export interface AssignedName {
  readonly name: string
  readonly id: PostId
}

/** A user object that came without a post. */
export interface UserNotice {
  readonly users: readonly [IncludedUser]
  readonly createdAtMs: number
  /** The object alone, as JSON text in UTF-8. */
  readonly envelope: Uint8Array
}

/** The progress of a source, which goes into one transaction with its posts. */
export interface SourceProgress {
  readonly source: string
  /** The number with which this process drives the source. */
  readonly driver: number
  /** The position behind the posts; absent when it stays. */
  readonly position?: string | undefined
  /** The name of each post of the batch, in order; absent for a post whose id nothing else can have. */
  readonly names: readonly (string | undefined)[]
  /** A name that has an id already keeps it. */
  readonly assigned: readonly AssignedName[]
  readonly deadLetters: readonly SourceDeadLetter[]
  readonly users: readonly UserNotice[]
}

/** The outcome of an append from a source. Nothing is stored unless it is `appended`. */
export type SourceAppend =
  /** Which posts were new, in order. */
  | { readonly kind: "appended"; readonly isNew: readonly boolean[] }
  /** Another process drives the source, or it was steered meanwhile. */
  | { readonly kind: "superseded" }
  /** The ids of these posts, by their indexes, belong to others; or their names have other ids, in the store or the batch. */
  | { readonly kind: "taken"; readonly at: readonly number[] }
