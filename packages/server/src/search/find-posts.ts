/**
 * Finds the posts of a search, by id, from one place on.
 *
 *     index position ──► posts that arrived after it, evaluated ──────────┐
 *     index ──► ids, some hundreds at a time ──► evaluated, unless exact ─┴─► merged by id, within a budget
 *
 * The position is read first, so a post that is indexed meanwhile is found in both and counted once. While more posts
 * wait for the index than a search reads, as when it is built anew, all posts of the range are evaluated instead: the
 * posts found are the same, and a page that meets its budget ends early.
 *
 * A search finds the newest stored version of an edited post alone, and no older one that matches.
 */
import { compareIds, type PostId } from "../model/ids.ts"
import type { StoredPost } from "../model/post.ts"
import type { Clock } from "../runtime/clock.ts"
import { keepErrorClasses } from "../runtime/error-codec.ts"
import type { ArrivalReads } from "../store/port/arrival-store.ts"
import type { EditReads } from "../store/port/edit-store.ts"
import type { PostStore } from "../store/port/post-store.ts"
import { lastScanned } from "../store/posts-scan.ts"
import type { SearchIndex } from "../store/search-index.ts"
import type { PostSearch } from "./post-search.ts"

/** The ids among which posts are found, and the end from which on. */
export interface FoundRange {
  /** `older`: newest first, down from `upTo`; `newer`: oldest first, up from `above`. */
  readonly direction: "older" | "newer"
  /** Exclusive. */
  readonly above: bigint
  /** Inclusive. */
  readonly upTo: bigint
  /** Most posts. */
  readonly limit: number
}

/** Posts found. */
export interface FoundPosts {
  /** Newest first. One that was deleted a moment ago may be among them. */
  readonly ids: readonly PostId[]
  /** The last post that was looked at, when the search ended before the range: by its limit or its budget. */
  readonly stoppedAt?: PostId
  /** Damaged posts that could not be evaluated. */
  readonly damaged: readonly PostId[]
}

/** Bounds of one search. */
export interface SearchBudget {
  /** Most posts to evaluate. */
  readonly postsMax: number
  /** Longest time. A step that has begun is finished. */
  readonly msMax: number
}

/** Budgets that a part of a search may take which is of use as a whole alone. Ours. */
export const partBudgetsMax = 4

/** Such a part takes too long. */
export class SearchTooCostly extends Error {
  override readonly name = "SearchTooCostly"
}

keepErrorClasses(SearchTooCostly)

/** Dependencies of a search. */
export interface SearchDeps {
  readonly store: Pick<PostStore, "postsById" | "posts"> &
    Pick<ArrivalReads, "arrivedPosts"> &
    Pick<EditReads, "supersededOf" | "supersededWithin">
  readonly index: Pick<SearchIndex, "position" | "find" | "count" | "hasCutPosts">
  readonly clock: Pick<Clock, "monotonicMs">
  /** Called before each evaluation, and each read of the tail. When it rejects, the search rejects with its error. */
  readonly pause: () => Promise<void> | undefined
}

/** Dependencies of a search that finds posts. */
interface FindDeps extends SearchDeps {
  /** Called with each post found, which then is read even where the index alone decides. */
  readonly rank?: (post: StoredPost) => void
}

/**
 * Most posts that are read because the index does not have them yet. Ours: it is 0.6 s behind 5,000 posts/s (bench
 * `indexing`).
 */
export const tailPostsMax = 3_000

/** Most characters of such posts, which a search keeps while it runs; the last read may go over it. Ours. */
const tailLengthMax = 8_388_608

/** Most bytes of posts that are read at a time; the last one may go over it. Ours. */
const chunkBytesMax = 1_048_576

/** Most ids that the index is asked for at a time. Ours. */
const chunkIdsMax = 500

/** Most posts that are read at a time. Ours. */
const readPostsMax = 100

/** Finds posts of a range. */
export async function findPosts(
  search: PostSearch,
  range: FoundRange,
  budget: SearchBudget,
  deps: FindDeps,
): Promise<FoundPosts> {
  const finding = new Finding(search, range, budget, deps)
  const tail = await readTail(deps)
  const stoppedAt =
    tail === undefined
      ? await finding.scan()
      : await finding.ask(tail, deps.rank === undefined && (await isExactWithin(search, range, deps)))
  const { ids, damaged } = finding
  return {
    ids: range.direction === "older" ? ids : ids.toReversed(),
    damaged,
    ...(stoppedAt !== undefined && { stoppedAt }),
  }
}

/** Whether the index alone decides: not for a post of too many terms, which it proposes for every query. */
export async function isExactWithin(
  search: PostSearch,
  range: Pick<FoundRange, "above" | "upTo">,
  { index }: Pick<SearchDeps, "index">,
): Promise<boolean> {
  return search.isExact && !(await index.hasCutPosts(range))
}

/** Posts that the index does not have yet; undefined when they are too many. */
export async function readTail({
  store,
  index,
  pause,
}: Pick<SearchDeps, "store" | "index" | "pause">): Promise<ReadonlyMap<PostId, StoredPost> | undefined> {
  let after = await index.position()
  let length = 0
  const tail = new Map<PostId, StoredPost>()
  for (;;) {
    await pause()
    const from = after === undefined ? {} : { after }
    const { posts, position } = await store.arrivedPosts({
      ...from,
      limit: tailPostsMax,
      bytesMax: chunkBytesMax,
      includeUnsettled: true,
    })
    if (position === undefined) return tail
    for (const post of posts) {
      tail.set(post.id, post)
      length += post.json.length
    }
    if (tail.size >= tailPostsMax || length >= tailLengthMax) return undefined
    after = position
  }
}

/** Reads posts by their ids, in this order, without those that are gone. Adds to `damaged` those that cannot be read. */
export async function* readById(
  store: Pick<PostStore, "postsById">,
  ids: readonly PostId[],
  damaged: PostId[] = [],
): AsyncGenerator<StoredPost, void, void> {
  for (let rest = ids; rest.length > 0;) {
    const part = rest.slice(0, readPostsMax)
    const read = await store.postsById({ ids: part, shape: "envelope", bytesMax: chunkBytesMax })
    damaged.push(...read.damaged)
    yield* read.posts
    rest = rest.slice(read.stoppedAt === undefined ? part.length : rest.indexOf(read.stoppedAt) + 1)
  }
}

/** One search on its way through a range. */
class Finding {
  readonly ids: PostId[] = []
  readonly damaged: PostId[] = []
  readonly #search: PostSearch
  readonly #postsMax: number
  readonly #deps: FindDeps
  readonly #isOlder: boolean
  readonly #limit: number
  readonly #endsAtMs: number
  #above: bigint
  #upTo: bigint
  #evaluated = 0

  constructor(search: PostSearch, range: FoundRange, { postsMax, msMax }: SearchBudget, deps: FindDeps) {
    this.#search = search
    this.#postsMax = postsMax
    this.#deps = deps
    this.#isOlder = range.direction === "older"
    this.#limit = range.limit
    this.#above = range.above
    this.#upTo = range.upTo
    this.#endsAtMs = deps.clock.monotonicMs() + msMax
  }

  /** Asks the index, and adds the posts that it does not have yet in their places. Returns where the search stopped. */
  async ask(tail: ReadonlyMap<PostId, StoredPost>, isExact: boolean): Promise<PostId | undefined> {
    const { index } = this.#deps
    const wasFilled = (await index.position()) !== undefined
    const query = isExact ? this.#search.queryWithoutCut : this.#search.query
    const waiting = [...tail.keys()].filter((id) => this.#isWithin(id)).toSorted(this.#compare)
    for (;;) {
      const { above, upTo } = { above: this.#above, upTo: this.#upTo }
      const direction = this.#isOlder ? "older" : "newer"
      const limit = isExact ? Math.min(this.#limit - this.ids.length, chunkIdsMax) : chunkIdsMax
      const found = await index.find(query, { direction, above, upTo, limit })
      // Emptied meanwhile, as when it was damaged: what it does not find is no longer in the tail alone.
      if (wasFilled && (await index.position()) === undefined) return this.scan()
      const last = found.length < limit ? undefined : found.at(-1)
      const ids = found.filter((id) => !tail.has(id))
      const beyond = last === undefined ? -1 : waiting.findIndex((id) => this.#compare(id, last) > 0)
      ids.push(...waiting.splice(0, beyond < 0 ? waiting.length : beyond))
      const stoppedAt = await this.#takeAll(ids.toSorted(this.#compare), { tail, isExact })
      if (stoppedAt !== undefined || last === undefined) return stoppedAt
      this.#goOnAfter(last)
    }
  }

  /** Evaluates every post of the range. Returns where the search stopped. */
  async scan(): Promise<PostId | undefined> {
    const direction = this.#isOlder ? "older" : "newer"
    const chunk = { limit: readPostsMax, bytesMax: chunkBytesMax }
    for (;;) {
      const from = (this.#isOlder ? this.#upTo + 1n : this.#above).toString() as PostId
      const scan = await this.#deps.store.posts({ direction, from, ...chunk })
      const { posts, damaged } = scan
      const ordered = this.#isOlder ? posts : posts.toReversed()
      const superseded = await this.#deps.store.supersededOf(posts.map(({ id }) => id))
      this.damaged.push(...damaged.filter((id) => this.#isWithin(id)))
      for (const post of ordered) {
        if (!this.#isWithin(post.id)) return undefined
        if (superseded.has(post.id) ? this.#isSpent() : await this.#evaluate(post)) return post.id
      }
      const last = lastScanned(scan, { direction, limit: readPostsMax })
      if (last === undefined) return undefined
      this.#goOnAfter(last)
    }
  }

  /** Takes the posts that match, in order. Returns where the search stopped. */
  async #takeAll(
    ids: readonly PostId[],
    { tail, isExact }: { readonly tail: ReadonlyMap<PostId, StoredPost>; readonly isExact: boolean },
  ): Promise<PostId | undefined> {
    const { store } = this.#deps
    const superseded = ids.length === 0 ? new Set<PostId>() : await store.supersededOf(ids)
    for (let at = 0; at < ids.length; at += readPostsMax) {
      const part = ids.slice(at, at + readPostsMax)
      const indexed = part.filter((id) => !tail.has(id) && !superseded.has(id))
      const stored = new Map<PostId, StoredPost>()
      // Posts that the index alone decides about are not read.
      for await (const post of readById(store, isExact ? [] : indexed, this.damaged)) stored.set(post.id, post)
      for (const id of part) {
        const post = superseded.has(id) ? undefined : (tail.get(id) ?? stored.get(id))
        const isTakenAsIs = isExact && !tail.has(id) && !superseded.has(id)
        if (isTakenAsIs ? this.#add(id) : post === undefined ? this.#isSpent() : await this.#evaluate(post)) return id
      }
    }
    return undefined
  }

  /** Adds the post if it matches. True when the search is over. */
  async #evaluate(post: StoredPost): Promise<boolean> {
    await this.#deps.pause()
    this.#evaluated += 1
    if (!this.#search.holds(post)) return this.#isSpent()
    this.#deps.rank?.(post)
    return this.#add(post.id)
  }

  #add(id: PostId): boolean {
    this.ids.push(id)
    return this.ids.length === this.#limit || this.#isSpent()
  }

  #isSpent(): boolean {
    return this.#evaluated >= this.#postsMax || this.#deps.clock.monotonicMs() >= this.#endsAtMs
  }

  #goOnAfter(id: PostId): void {
    if (this.#isOlder) this.#upTo = BigInt(id) - 1n
    else this.#above = BigInt(id)
  }

  #isWithin(id: PostId): boolean {
    const number = BigInt(id)
    return number > this.#above && number <= this.#upTo
  }

  /** By id, in the direction of the search. */
  readonly #compare = (a: PostId, b: PostId): number => (this.#isOlder ? compareIds(b, a) : compareIds(a, b))
}
