/**
 * The batches of one body: posts that are matched, and lines that were rejected, on their way into the store.
 *
 * A batch is one transaction: its posts and their matches become durable together, and are reported after that. One is
 * appended at a time, in order, while the next is filled. Lines that come in meanwhile share one batch, unless it is
 * full: a line waits for the append in progress, and not for one of each chunk before it. Matches of posts that are not
 * to be delivered are counted and not appended: readers deliver everything in the log.
 */
import type { AppId } from "../model/ids.ts"
import type { PostMatch } from "../model/match.ts"
import type { AcceptedPost } from "../model/post.ts"
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
  readonly store: MatchLogWrites & Pick<DeletionWrites, "delete">
  readonly ruleMatchCounts: Pick<RuleMatchCounts, "note">
  readonly clock: Pick<Clock, "nowMs">
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

interface MatchedPost {
  readonly post: AcceptedPost
  readonly matches: readonly PostMatch[]
}

interface Batch {
  readonly posts: readonly MatchedPost[]
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
  #posts: MatchedPost[] = []
  /** Bytes of the lines since the last batch, which its posts are parts of, and of the matches. */
  #bytes = 0
  /** Posts and users that lines of the batch tell to delete, by kind and id, and the number of these lines. */
  #deletions = new Map<string, DeletionRequest>()
  #deletionLines = 0
  #rejected: { line: number; title: string; detail: string }[] = []
  /** The append in progress, or the one that failed. */
  #appending: Promise<void> | undefined
  /** The batch is to be appended as soon as no other append is in progress. */
  #isDue = false

  constructor(deps: BatchDeps, listener: BatchListener) {
    this.#deps = deps
    this.#listener = listener
  }

  /** True when the batch is full, with so many more posts that wait for their matches. */
  isFull(unmatched: number): boolean {
    const count = this.#posts.length + this.#deletionLines + unmatched
    return count >= batchPostsMax || this.#bytes >= batchBytesMax || this.#rejected.length >= rejectedMax
  }

  /** Counts the bytes of a line of which a post will be added, or none. */
  countLine(bytes: number): void {
    this.#bytes += bytes
  }

  add(post: AcceptedPost, matches: readonly PostMatch[]): void {
    this.#posts.push({ post, matches })
    for (const match of matches) this.#bytes += rulesCharacters(match)
  }

  /** Deletions of a batch come before its posts: a post that is deleted by a line after it is not stored at all. */
  delete(request: DeletionRequest): void {
    this.#deletions.set(`${request.kind} ${request.id}`, request)
    this.#deletionLines += 1
  }

  reject(line: number, title: string, detail: string): void {
    this.#rejected.push({ line, title, detail })
  }

  /**
   * Has what is there appended: now, or together with what is added until the append in progress has ended. Returns false
   * when there is nothing to append.
   */
  flush(): boolean {
    if (this.#appending === undefined) return this.#begin()
    this.#isDue = this.#posts.length + this.#rejected.length + this.#deletionLines > 0
    return this.#isDue
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

  #begin(): boolean {
    const batch: Batch = {
      posts: this.#posts,
      rejected: this.#rejected,
      deletions: [...this.#deletions.values()],
      deletionLines: this.#deletionLines,
    }
    this.#isDue = false
    this.#bytes = 0
    if (batch.posts.length + batch.rejected.length + batch.deletionLines === 0) return false
    this.#posts = []
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
    if (this.#isDue) this.#begin()
  }

  async #append({ posts: batch, rejected, deletions, deletionLines }: Batch): Promise<void> {
    const { store, clock, ruleMatchCounts, matchUse = { kind: "append" } } = this.#deps
    const atMs = clock.nowMs()
    const isAppended = matchUse.kind === "append"
    const appended = isAppended ? batch : batch.map(({ post }) => ({ post, matches: [] }))
    for (let at = 0; at < deletions.length; at += deletedAtOnceMax) {
      await store.delete(deletions.slice(at, at + deletedAtOnceMax), atMs)
    }
    const isNew = batch.length === 0 ? [] : await store.append(appended, atMs)
    const accepted = batch.filter((_, index) => isNew[index])
    for (const { matches } of accepted) ruleMatchCounts.note(matches, atMs)
    const all = accepted.flatMap(({ matches }) => matches)
    this.#listener.appended({
      rejected,
      rejectedCount: rejected.length,
      accepted: accepted.length,
      duplicates: batch.length - accepted.length,
      lines: batch.length + rejected.length + deletionLines,
      matches: isAppended ? all.length : 0,
      ...(deletionLines > 0 && { deleted: deletionLines }),
      ...(matchUse.kind === "count" && {
        undelivered: all.filter(({ appId }) => appId === (matchUse.appId ?? appId)).length,
      }),
    })
  }
}

/** Approximate length of the rules of a match as JSON text. */
function rulesCharacters({ rules }: PostMatch): number {
  return rules.reduce((sum, { id, tag }) => sum + id.length + tag.length + ruleCharacters, 0)
}

/** Length of the JSON text of a rule without its id and its tag. */
const ruleCharacters = 18
