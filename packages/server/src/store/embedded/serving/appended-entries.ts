/**
 * Entries of match logs on their way from the writer to readers at the end of a log, who need not read them from the file.
 *
 *     reader at the end of a log ──► follows it ──► the writer notes what it appends there
 *     recent matches ◄── the entries, with the announcement ◄── after the commit
 *
 * They are handed over only while a reader follows the log (`recent-matches.ts`), and are only a help: without them,
 * the announcement is still a hint to read.
 */
import type { AppId, MatchSeq } from "../../../model/ids.ts"
import type { MatchEntry } from "../../../model/match.ts"
import type { AcceptedPost, PostShape } from "../../../model/post.ts"
import type { StoreChange } from "../../store.ts"
import { readStoredRules } from "../../stored-rules.ts"

/** The entries that a batch appended to one log, in order and without a hole, with the posts in this shape. */
export interface AppendedEntries {
  readonly appId: AppId
  readonly shape: PostShape
  readonly entries: readonly MatchEntry[]
}

/** A change as the embedded store announces it. A log that `appended` does not name has changed in an unknown way. */
export type AnnouncedChange = StoreChange & {
  readonly appended?: readonly AppendedEntries[]
  /** Whether entries that were there have changed: what is remembered of these logs is out of date. */
  readonly isRewritten?: true
}

/** A log in one of its two shapes. */
export type LogKey = `${AppId} ${PostShape}`

/** The arrivals of all posts, as something to follow: announcements of posts that no rule matched are for followers only. */
export const arrivals = "arrivals"

/** A log, or the arrivals. */
export type FollowedKey = LogKey | typeof arrivals

/** The key of an app's log in this shape. */
export function logKey(appId: AppId, shape: PostShape): LogKey {
  return `${appId} ${shape}`
}

/** The logs whose new entries are handed over: those that some thread follows, and some may do so at once. */
export class FollowedLogs {
  readonly #followers = new Map<FollowedKey, number>()

  /** Whether any reader follows the log. */
  has(log: LogKey): boolean {
    return this.#followers.has(log)
  }

  /** One more follows the log. */
  add(log: FollowedKey): void {
    this.#followers.set(log, (this.#followers.get(log) ?? 0) + 1)
  }

  /** One of them no longer does. */
  delete(log: FollowedKey): void {
    const others = (this.#followers.get(log) ?? 0) - 1
    if (others > 0) this.#followers.set(log, others)
    else this.#followers.delete(log)
  }
}

/** A change as it is announced to one who follows these; `undefined` when it is not. */
export function announcedTo(
  followed: ReadonlySet<FollowedKey>,
  { appended, ...change }: AnnouncedChange,
): AnnouncedChange | undefined {
  if (change.kind === "matches" && change.appIds?.length === 0 && !followed.has(arrivals)) return undefined
  const own = appended?.filter(({ appId, shape }) => followed.has(logKey(appId, shape))) ?? []
  return own.length === 0 ? change : { ...change, appended: own }
}

/** Most bytes of texts of one log that a write hands over; a log that got more is read from the file. Ours. */
const bytesMax = 1_048_576

/** Notes what one write appends to the logs that are followed. */
export class AppendedNotes {
  readonly #followed: FollowedLogs
  readonly #logs = new Map<LogKey, { appId: AppId; shape: PostShape; entries: MatchEntry[]; bytes: number }>()

  constructor(followed: FollowedLogs) {
    this.#followed = followed
  }

  /** Notes an entry of a log, with its rules as they are stored, in each shape that is followed. */
  add(
    { appId, seq, atMs, rules }: { appId: AppId; seq: MatchSeq; atMs: number; rules: string },
    post: Pick<AcceptedPost, "id" | PostShape>,
  ): void {
    for (const shape of ["core", "envelope"] as const) {
      const key = logKey(appId, shape)
      if (!this.#followed.has(key)) continue
      const log = this.#logs.get(key) ?? { appId, shape, entries: [], bytes: 0 }
      this.#logs.set(key, log)
      log.bytes += post[shape].length + rules.length
      if (log.bytes > bytesMax) continue
      log.entries.push({ seq, postId: post.id, atMs, ...readStoredRules(rules), postJson: textOf(post[shape]) })
    }
  }

  /** The entries to hand over, of all logs; absent when there are none. */
  get appended(): { readonly appended?: readonly AppendedEntries[] } {
    if (this.#logs.size === 0) return {}
    const whole = [...this.#logs.values()].filter(({ bytes }) => bytes <= bytesMax)
    return { appended: whole.map(({ appId, shape, entries }) => ({ appId, shape, entries })) }
  }
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}
