/**
 * Foreign records become posts, deletions, users, or nothing, each for a reason that has a name.
 *
 *     line ─► begin ─► names that it mentions ─► looked up in the store, for many lines at once ─► finish ─► converted
 *
 * A converter is pure: the same line and the same known names give the same result in every process and at every time.
 * It reads neither clock nor store. It runs in the intake thread.
 */
import type { Envelope } from "@sluice/api"
import type { PostId, UserId } from "../model/ids.ts"

/** Reads the records of one source. */
export interface Converter {
  /** Begins to convert a record, the text of one line. Throws for no line. */
  begin(line: string): Conversion
  /** The id that follows from the name of a post; undefined when none does. */
  idOf(name: string): PostId | undefined
  /**
   * True for a position that a reading which began at `begun` comes past again, though everything up to `begun` is stored:
   * then the position of the source stays. Absent where no reading begins before its position.
   */
  isReadAgain?(position: string, begun: string): boolean
}

/** A record that is read, and not converted yet. */
export interface Conversion {
  /** The source's position after this record. Absent when the record has none: then it stays where it was. */
  readonly position?: string | undefined
  /** When the source had the record, Unix ms, to tell how late it is. */
  readonly atMs?: number | undefined
  /** Names of posts that the record mentions, its own included. */
  readonly posts: readonly string[]
  /** Ids of users that the record mentions. */
  readonly users: readonly UserId[]
  /** Names of those of `posts` whose whole posts the record needs: a repost includes its original. */
  readonly originals?: readonly string[] | undefined
  /** The record as the source had it, where the line is another form of it: a dead letter keeps it. */
  readonly record?: string | undefined
  finish(known: KnownNames): Converted
}

/** The names that the store knows, of those that records mention. */
export interface KnownNames {
  /** The id of a post whose id cannot be derived from its name, or is another one, since that was taken. */
  postId(name: string): PostId | undefined
  /** The object of a user that came last. */
  user(id: UserId): KnownUser | undefined
  /** The envelope of a stored post that `originals` names. Without this method none is known. */
  envelope?(name: string): Envelope | undefined
}

/** A user object as it is stored; `username` is always there. */
export type KnownUser = Readonly<Record<string, unknown>> & { readonly username: string }

/** The result of a record. */
export type Converted =
  | ConvertedPost
  /** The versions of a post, by the name of any of them. */
  | { readonly kind: "post deleted"; readonly name: string; readonly id?: PostId | undefined }
  | { readonly kind: "user deleted"; readonly id: UserId }
  /** A user object that came without a post, with `id`, `username` and `name`. */
  | { readonly kind: "user"; readonly user: KnownUser & { readonly id: UserId } }
  /** The record is fine, and nothing is to be done. `reason` is one of few texts, which are counted. */
  | { readonly kind: "ignored"; readonly reason: string }
  /**
   * The record cannot be read: it becomes a dead letter. `title` is one of few texts; `detail` says where and what. `record`
   * is the record as the source had it, where the line is another form of it.
   */
  | {
      readonly kind: "rejected"
      readonly title: string
      readonly detail: string
      readonly record?: string | undefined
    }

/** A post of a foreign source. */
export interface ConvertedPost {
  readonly kind: "post"
  /**
   * The name of this version: `source_uri` of its envelope. No other version of this or another post has it. Absent for a post
   * that has its id from elsewhere, as X's posts do: that is never changed.
   */
  readonly name?: string | undefined
  /** The name of the first version, when this is a later one: a deletion names that one. */
  readonly firstName?: string | undefined
  /** The id that follows from the name; absent when none does, and one is assigned at arrival. */
  readonly id?: PostId | undefined
  /** True when the post is so old that it is stored and matched, and not delivered. */
  readonly isOld: boolean
  /** The latest time that the record names, Unix ms, where nothing in it tells when its source had it. It may not be ahead. */
  readonly claimedMs?: number | undefined
  /** The envelope as the text of one line, when the post has this id. */
  envelopeWith(id: PostId): string
}
