/**
 * The batches of one body: posts that are matched, and lines that were rejected, on their way into the store.
 *
 * A batch is one transaction: its posts and their matches become durable together, and are reported after that. One is
 * appended at a time, in order, while the next is filled. Lines that come in meanwhile share one batch, unless it is
 * full: a line waits for the append in progress, and not for one of each chunk before it. Matches of posts that are not
 * to be delivered are counted and not appended: readers deliver everything in the log.
 */
import type { AppId, PostId } from "../model/ids.ts"
import type { PostMatch } from "../model/match.ts"
import type { AcceptedPost } from "../model/post.ts"
import type { AssignedName, SourceDeadLetter, UserNotice } from "../model/source.ts"
import type { Clock } from "../runtime/clock.ts"
import type { DeletionRequest } from "../model/deletion.ts"
import type { DeletionWrites } from "../store/port/deletion-store.ts"
import type { MatchLogWrites } from "../store/port/match-log.ts"
import { rejectedMax, type IngestReport } from "./ingest-report.ts"
import type { RuleMatchCounts } from "./rule-match-counts.ts"

/**
 * Use of the matches of a body: appended to the logs of their apps; only counted, for one app or for all; or ignored.
 */
export type MatchUse =
  | { readonly kind: "append" | "discard" }
  | { readonly kind: "count"; readonly appId?: AppId | undefined }

/** A batch of this size is appended. Measured: batches of 100 to 2,000 posts cost the same per post. */
const batchPostsMax = 500
const batchBytesMax = 2_000_000

/** Dependencies of batches. */
export interface BatchDeps {
  readonly store: Pick<DeletionWrites, "delete"> & MatchLogWrites
  /** Appends the batches of a source, in place of the store. */
  readonly sourceAppend?: SourceAppender | undefined
  readonly ruleMatchCounts: Pick<RuleMatchCounts, "note">
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">
  /** By default the matches are appended. */
  readonly matchUse?: MatchUse | undefined
}

/** Receives what becomes of batches. */
export interface BatchListener {
  /** The append of a batch begins: of all that was read and matched until now. */
  appending(): void
  /** Called when that batch is durable. */
  appended(report: IngestReport): void
  /** It could not be appended. No later one will be. */
  failed(error: unknown): void
}

/** Facts of a post that its source knows and its envelope does not hold. */
export interface PostPlace {
  /** Absent for a post whose id nothing else can have. */
  readonly name: string | undefined
  /** Whether the id is one that does not follow from the name. */
  readonly isAssigned: boolean
  /** Whether the post is stored and matched, and not delivered. */
  readonly isOld: boolean
  /** The envelope, when the post has this id. */
  envelopeWith(id: PostId): string
}

/** A post with its matches. */
export interface MatchedPost {
  readonly post: AcceptedPost
  readonly matches: readonly PostMatch[]
  /** Absent for a post that came as an envelope. */
  readonly place?: PostPlace | undefined
}

/** The rest of a source's records: neither posts nor deletions. */
export interface SourceNotes {
  /** Position behind the last record, and when the source had it, Unix ms; absent when it says neither. */
  position?: string | undefined
  recordAtMs?: number | undefined
  /** Records that were fine, and asked for nothing. */
  ignored: number
  users: UserNotice[]
  deadLetters: SourceDeadLetter[]
  /** Ids of names whose posts are not part of the batch. */
  assigned: AssignedName[]
}

/** Appends batches of a source. Returns which posts were new, in order. */
export type SourceAppender = (
  posts: readonly MatchedPost[],
  notes: SourceNotes,
  atMs: number,
) => Promise<readonly boolean[]>

/** How long a position may wait to be saved while no post comes. Ours: a source repeats as much after a crash. */
const positionMsMax = 1_000

interface Batch {
  readonly posts: readonly MatchedPost[]
  readonly notes: SourceNotes
  readonly rejected: IngestReport["rejected"]
  /** Each of another post or user. */
  readonly deletions: readonly DeletionRequest[]
  readonly deletionLines: number
}

/** Most deletions of one transaction. Ours: some milliseconds. */
const deletedAtOnceMax = 100

/** Fills and appends the batches of one body. */
export class PostBatches {
  readonly #deps: BatchDeps
  readonly #listener: BatchListener
  readonly #hasUnmatched: () => boolean
  #posts: MatchedPost[] = []
  #notes = noNotes()
  /** When a position was saved last, by the monotonic clock. */
  #savedAtMs = Number.NEGATIVE_INFINITY
  /** Bytes of the lines since the last batch, which its posts are parts of, and of the matches. */
  #bytes = 0
  /** Posts and users that lines of the batch tell to delete, by kind and id, and the number of these lines. */
  #deletions = new Map<string, DeletionRequest>()
  #deletionLines = 0
  #rejected: { line: number; title: string; detail: string }[] = []
  /** The append in progress, or the one that failed. */
  #appending: Promise<void> | undefined
  /** The batch is to be appended as soon as no other append is in progress, and no post waits for its matches. */
  #isDue = false

  /** `hasUnmatched` says whether posts wait for their matches, which come before what is added meanwhile. */
  constructor(deps: BatchDeps, listener: BatchListener, hasUnmatched: () => boolean) {
    this.#deps = deps
    this.#listener = listener
    this.#hasUnmatched = hasUnmatched
  }

  /** True when the batch is full, with so many more posts that wait for their matches. */
  isFull(unmatched: number): boolean {
    const count = this.#posts.length + this.#deletionLines + this.#notes.ignored + unmatched
    return count >= batchPostsMax || this.#bytes >= batchBytesMax || this.#rejected.length >= rejectedMax
  }

  /** Counts the bytes of a line of which a post will be added, or none. */
  countLine(bytes: number): void {
    this.#bytes += bytes
  }

  add(post: AcceptedPost, matches: readonly PostMatch[], place?: PostPlace): void {
    this.#posts.push({ post, matches, place })
    for (const match of matches) this.#bytes += rulesCharacters(match)
  }

  /** Deletions of a batch come before its posts: a post that is deleted by a line after it is not stored at all. */
  delete(request: DeletionRequest): void {
    this.#deletions.set(`${request.kind} ${request.id}`, request)
    this.#deletionLines += 1
  }

  /** A record of a source was fine, and asked for nothing. */
  ignore(): void {
    this.#notes.ignored += 1
  }

  noteUser(user: UserNotice): void {
    this.#notes.users.push(user)
    this.#notes.ignored += 1
  }

  /** The name of a post that has not come has this id from now on. */
  assign(assigned: AssignedName): void {
    this.#notes.assigned.push(assigned)
  }

  /** Keeps what was rejected, as it came. */
  deadLetter(letter: SourceDeadLetter): void {
    this.#notes.deadLetters.push(letter)
  }

  /** The source stands here behind the records so far. */
  moveTo(position: string | undefined, recordAtMs: number | undefined): void {
    if (position !== undefined) this.#notes.position = position
    if (recordAtMs !== undefined) this.#notes.recordAtMs = recordAtMs
  }

  reject(line: number, title: string, detail: string): void {
    this.#rejected.push({ line, title, detail })
  }

  /**
   * Has what is there appended: now, or together with what is added until the append in progress has ended and no post waits
   * for its matches. Returns false when there is nothing to append.
   */
  flush(): boolean {
    if (this.#appending === undefined) return this.#begin()
    this.#isDue = this.#lines > 0
    return this.#isDue
  }

  /** Has the batch appended that was due while posts waited for their matches. */
  flushDue(): void {
    if (this.#isDue && this.#appending === undefined) this.#begin()
  }

  /** Starts to append what is there. Waits for the append in progress first, so that there is at most one. */
  async flushWhenFree(): Promise<void> {
    // Here and not by the end of that append: then there would be another one to wait for.
    this.#isDue = false
    await this.#appending
    this.#begin()
  }

  /** Waits until no append is in progress. Throws what one failed with. */
  async free(): Promise<void> {
    while (this.#appending !== undefined) await this.#appending
  }

  /** Lines of the batch. */
  get #lines(): number {
    return this.#posts.length + this.#rejected.length + this.#deletionLines + this.#notes.ignored
  }

  #begin(): boolean {
    this.#isDue = false
    if (this.#lines === 0) return false
    const batch: Batch = {
      posts: this.#posts,
      notes: this.#notes,
      rejected: this.#rejected,
      deletions: [...this.#deletions.values()],
      deletionLines: this.#deletionLines,
    }
    this.#bytes = 0
    this.#posts = []
    this.#notes = noNotes()
    this.#rejected = []
    this.#deletions.clear()
    this.#deletionLines = 0
    this.#listener.appending()
    this.#appending = this.#appendAndContinue(batch)
    // The next call rejects as well, but there may be none.
    this.#appending.catch((error: unknown) => this.#listener.failed(error))
    return true
  }

  async #appendAndContinue(batch: Batch): Promise<void> {
    await this.#append(batch)
    this.#appending = undefined
    // A report says how many of the next lines it is about, and a position what lies before it: nothing may overtake a post.
    if (!this.#hasUnmatched()) this.flushDue()
  }

  async #append(batch: Batch): Promise<void> {
    const { store, clock } = this.#deps
    const { posts, notes, rejected, deletions, deletionLines } = batch
    const atMs = clock.nowMs()
    for (let at = 0; at < deletions.length; at += deletedAtOnceMax) {
      await store.delete(deletions.slice(at, at + deletedAtOnceMax), atMs)
    }
    const isNew = await this.#appendPosts(batch, atMs)
    const accepted = posts.filter((_, index) => isNew[index])
    this.#listener.appended({
      ...this.#countMatches(accepted, atMs),
      rejected,
      rejectedCount: rejected.length,
      accepted: accepted.length,
      duplicates: posts.length - accepted.length,
      lines: posts.length + rejected.length + deletionLines + notes.ignored,
      ...(deletionLines > 0 && { deleted: deletionLines }),
      ...(notes.ignored > 0 && { ignored: notes.ignored }),
      ...(notes.recordAtMs !== undefined && { recordAtMs: notes.recordAtMs }),
    })
  }

  async #appendPosts({ posts, notes, deletionLines }: Batch, atMs: number): Promise<readonly boolean[]> {
    const { store, clock, sourceAppend, matchUse = appended } = this.#deps
    if (sourceAppend === undefined) {
      const given = matchUse.kind === "append" ? posts : posts.map(({ post }) => ({ post, matches: [] }))
      return given.length === 0 ? [] : store.append(given, atMs)
    }
    const { users, deadLetters, assigned } = notes
    const isIdle = posts.length + deletionLines + users.length + deadLetters.length + assigned.length === 0
    // A position alone can wait: the next batch has a later one.
    const nowMs = clock.monotonicMs()
    if (isIdle && nowMs - this.#savedAtMs < positionMsMax) return []
    this.#savedAtMs = nowMs
    return sourceAppend(posts, notes, atMs)
  }

  /** Counts the matches of accepted posts; for a report. */
  #countMatches(accepted: readonly MatchedPost[], atMs: number): Pick<IngestReport, "matches" | "undelivered"> {
    const { ruleMatchCounts, matchUse = appended } = this.#deps
    for (const { matches } of accepted) ruleMatchCounts.note(matches, atMs)
    const isDelivered = ({ place }: MatchedPost): boolean => place?.isOld !== true
    const delivered = matchUse.kind === "append" ? accepted.filter(isDelivered) : []
    if (matchUse.kind !== "count") return { matches: total(delivered.map(({ matches }) => matches.length)) }
    const all = accepted.flatMap(({ matches }) => matches)
    return { matches: 0, undelivered: all.filter(({ appId }) => appId === (matchUse.appId ?? appId)).length }
  }
}

/** Use of the matches of a body that names none. */
const appended: MatchUse = { kind: "append" }

function noNotes(): SourceNotes {
  return { ignored: 0, users: [], deadLetters: [], assigned: [] }
}

function total(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0)
}

/** Approximate length of the rules of a match as JSON text. */
function rulesCharacters({ rules }: PostMatch): number {
  return rules.reduce((sum, { id, tag }) => sum + id.length + tag.length + ruleCharacters, 0)
}

/** Length of the JSON text of a rule without its id and its tag. */
const ruleCharacters = 18
