/** Users as they came last with posts: a part of the store (`store.ts`). They stay when retention deletes their posts. */
import type { PostId, UserId } from "../../model/ids.ts"
import type { AcceptedPost } from "../../model/post.ts"

/** A user of whom an object is stored. */
export interface FoundUser {
  readonly id: UserId
  /** Folded. */
  readonly username: string
  /** The newest object that came, as JSON text. Absent when what is stored is damaged: then the username may be, too. */
  readonly json?: string
}

/** A part of the users whose usernames begin with a text. */
export interface UsernamesRange {
  /** Folded; not empty. */
  readonly prefix: string
  /** Exclusive: the part begins after this folded username, which begins with `prefix`; no user needs to have it. */
  readonly after?: string | undefined
  readonly limit: number
  readonly reader?: string | undefined
}

/** A part of the users in whose names words stand. */
export interface UserWordsRange {
  /** At least one, as `searchWords` returns them. The first is the one that is looked up. */
  readonly words: readonly string[]
  /** Exclusive: the part begins below it. */
  readonly below?: UserId | undefined
  readonly limit: number
  /** Most users with the first word that are looked at. */
  readonly scanMax: number
  readonly reader?: string | undefined
}

/** Users with words in their names. */
export interface UserWordsScan {
  /** The greatest id first. One of them may lack a word: the index only proposes. */
  readonly users: readonly FoundUser[]
  /** The last user that was looked at, when the scan stopped at its bounds; else absent. */
  readonly stoppedAt?: UserId
}

/** Reads of users. */
export interface UserReads {
  /** Those of the users of whom an object is stored, in any order. */
  usersById(ids: readonly UserId[], reader?: string): Promise<readonly FoundUser[]>
  /** The owners of folded usernames, in any order: of several users with a name, the one who was seen with it last. */
  usersByName(usernames: readonly string[], reader?: string): Promise<readonly FoundUser[]>
  /** Owners of usernames that begin with a text, by username. */
  usersByPrefix(range: UsernamesRange): Promise<readonly FoundUser[]>
  /** Users in whose names words stand, by id. */
  usersByWords(range: UserWordsRange): Promise<UserWordsScan>
  /** The greatest id of the posts from which users are still to be taken (`takeUsers`); undefined when that is done. */
  userFill(): Promise<PostId | undefined>
}

/** Writes of users. `append` writes those of new posts. */
export interface UserWrites {
  /**
   * Takes the users of posts that were stored before users were kept, and notes that the posts above `upTo` are done; all
   * are when it is absent.
   */
  takeUsers(posts: readonly AcceptedPost[], upTo: PostId | undefined): Promise<void>
}
