/**
 * Pages of the stored posts that a rule matches: search, and what is a search by another name (mentions, quotes,
 * reposts).
 *
 *     by id        a token names the last post of the page, as in timelines
 *     by relevancy a token names the ids that the first page ranked, and the last post of the page with its place in the
 *                  order, so posts that come or go meanwhile move no others to another page; after the last of them a token
 *                  names the id from which on the next page ranks older ones
 */
import type { PageMeta } from "@sluice/api"
import type { FieldSelection } from "../model/field-selection.ts"
import { asId, compareIds, firstIdAt, type AppId, type PostId } from "../model/ids.ts"
import type { PostShape, StoredPost } from "../model/post.ts"
import { renderPosts, shapeFor, type RenderedPosts } from "../model/render-post.ts"
import { scannedPage } from "../paging/keyset-page.ts"
import type { PageScope, PageTokens } from "../paging/page-token.ts"
import type { HeldBytes } from "../runtime/byte-budget.ts"
import type { Clock } from "../runtime/clock.ts"
import type { SearchedRule } from "../search/post-search.ts"
import { byRelevancy, type RankedPost, type RankedSpan } from "../search/rank-posts.ts"
import type { Searches } from "../search/searches.ts"
import { idEdgeOf } from "../store/id-bounds.ts"
import type { KeysetRange } from "../store/keyset-range.ts"
import type { EditReads } from "../store/port/edit-store.ts"
import type { PostStore } from "../store/port/post-store.ts"
import { pageBytesMax, type HeldPages } from "./held-pages.ts"
import type { IdSpan } from "./search-window.ts"
import { withWholeChains } from "./whole-chains.ts"

/** A request for one page, its parameters checked. */
export interface PostSearchRequest {
  /** The path, with the ids that are in it. */
  readonly endpoint: string
  readonly rule: SearchedRule
  readonly span: IdSpan
  /** The order of relevancy (`search/rank-posts.ts`), instead of the newest first. */
  readonly isRanked: boolean
  /** Pages lead back, too: those of X's searches do not. */
  readonly leadsBack: boolean
  /** Most posts on the page. */
  readonly limit: number
  /** Absent for the first page. */
  readonly token: string | undefined
  /** As in a token's scope. */
  readonly tokenParameter?: PageScope["tokenParameter"]
  readonly selection: FieldSelection
  /** Canonical text of all parameters that a token is bound to. */
  readonly parameters: string
}

/** A page of posts. */
export interface PostSearchPage<Posts = RenderedPosts> {
  readonly posts: Posts
  readonly meta: PageMeta
  /** Posts that are not on the page, since what is stored of them is damaged. */
  readonly damaged: readonly PostId[]
  /** To be called when the response has been sent, or will not be. */
  readonly release: () => void
}

/** Searches over stored posts, page by page. */
export interface PostSearches {
  /**
   * One page. A search that meets its budget makes it short or empty: only the absence of `next_token` means the end. Waits
   * as a page of a timeline does. Throws 400 for an invalid token, 429 when too many searches of the app wait, and 503 when
   * too many pages do.
   */
  page(appId: AppId, request: PostSearchRequest, signal: AbortSignal): Promise<PostSearchPage>
  /** The same page, its posts as envelopes. */
  envelopes(
    appId: AppId,
    request: Omit<PostSearchRequest, "selection">,
    signal: AbortSignal,
  ): Promise<PostSearchPage<readonly StoredPost[]>>
}

interface PostSearchDeps {
  readonly store: Pick<PostStore, "postsById"> & Pick<EditReads, "chainsOf">
  readonly searches: Pick<Searches, "find" | "rank">
  readonly tokens: PageTokens
  readonly heldPages: HeldPages
  readonly clock: Pick<Clock, "nowMs">
}

/** Searches over the posts of a store. */
export function createPostSearches(deps: PostSearchDeps): PostSearches {
  /** A page of posts of a shape, made of them by `finish`, which may give back a part of the room that it takes. */
  async function read<Posts>(
    { appId, request, shape, signal }: Reading,
    finish: (posts: readonly StoredPost[], room: HeldBytes) => Promise<Posts>,
  ): Promise<PostSearchPage<Posts>> {
    const room = await deps.heldPages.hold(appId, signal)
    try {
      const reading = new PageReading(deps, { appId, request, shape, signal })
      const { items, meta } = request.isRanked ? await reading.byRelevancy() : await reading.byId()
      const posts = await finish(items, room)
      return { posts, meta, damaged: [...reading.damaged], release: () => room.release() }
    } catch (error) {
      room.release()
      throw error
    }
  }

  return {
    page: (appId, request, signal) =>
      read({ appId, request, shape: shapeFor(request.selection), signal }, async (items, room) => {
        const { selection } = request
        const posts = await renderPosts(
          await withWholeChains(items, { selection, reader: appId }, deps.store),
          selection,
        )
        room.resize(posts.dataJson.length + (posts.includesJson?.length ?? 0))
        return posts
      }),
    envelopes: (appId, request, signal) => read({ appId, request, shape: "envelope", signal }, async (items) => items),
  }
}

/** A page to read. */
interface Reading {
  readonly appId: AppId
  readonly request: Omit<PostSearchRequest, "selection">
  readonly shape: PostShape
  readonly signal: AbortSignal
}

interface Page {
  readonly items: readonly StoredPost[]
  readonly meta: PageMeta
}

/** Reads one page. */
class PageReading {
  readonly damaged = new Set<PostId>()
  readonly #deps: PostSearchDeps
  readonly #appId: AppId
  readonly #request: Reading["request"]
  readonly #shape: PostShape
  readonly #signal: AbortSignal

  constructor(deps: PostSearchDeps, { appId, request, shape, signal }: Reading) {
    this.#deps = deps
    this.#appId = appId
    this.#request = request
    this.#shape = shape
    this.#signal = signal
  }

  /** The newest first. */
  async byId(): Promise<Page> {
    const { rule, span, limit, token, leadsBack } = this.#request
    const { items, meta } = await scannedPage<StoredPost>({
      tokens: this.#deps.tokens,
      scope: this.#scope(),
      token,
      limit,
      scan: async (range) => {
        const wanted = { ...within(span, range), limit: range.limit }
        const found = await this.#deps.searches.find(this.#appId, rule, wanted, this.#signal)
        for (const id of found.damaged) this.damaged.add(id)
        // In the order of the search, so that what a page has no room for is what the next one begins with.
        const isOlder = range.direction === "older"
        const read = await this.#read(isOlder ? found.ids : found.ids.toReversed())
        const { posts, stoppedAt = found.stoppedAt } = read
        return { items: isOlder ? posts : posts.toReversed(), ...(stoppedAt !== undefined && { stoppedAt }) }
      },
    })
    const { result_count, next_token, previous_token } = meta
    return {
      items,
      meta: {
        ...endsOf(items, result_count),
        ...(next_token !== undefined && { next_token }),
        ...(leadsBack && previous_token !== undefined && { previous_token }),
      },
    }
  }

  /** The most relevant first; later pages have no posts that came after the first one. */
  async byRelevancy(): Promise<Page> {
    const { rule, span, limit, token } = this.#request
    const { tokens, searches, clock } = this.#deps
    const scope = { ...this.#scope(), positions: "text" } as const
    const { upTo, ranked }: RankedPlace =
      token === undefined ? { upTo: span.upTo } : placeIn(tokens.read(scope, token).from)
    const asked = { upTo, above: ranked?.above ?? span.above, isWhole: ranked !== undefined }
    const ranking = await searches.rank(this.#appId, rule, asked, this.#signal)
    const rest =
      ranked === undefined ? ranking.posts : ranking.posts.filter((post) => byRelevancy(post, ranked.last) > 0)
    const ids = rest.slice(0, limit).map(({ id }) => id)
    const { posts, stoppedAt } = await this.#read(ids)
    const next = stoppedAt === undefined ? ids.length : ids.indexOf(stoppedAt) + 1
    const last = next < rest.length ? rest[next - 1] : undefined
    const isOver = last === undefined && ranking.above <= span.above
    const place =
      last === undefined
        ? { upTo: ranking.above }
        : {
            upTo: ranked === undefined ? lastRanked(ranking.posts, upTo, clock.nowMs()) : upTo,
            ranked: { above: ranking.above, last },
          }
    const from = isOver ? undefined : placeText(place)
    return {
      items: posts,
      meta: {
        ...endsOf(
          posts.toSorted((a, b) => compareIds(b.id, a.id)),
          posts.length,
        ),
        ...(from !== undefined && { next_token: tokens.issue(scope, { direction: "older", from }) }),
      },
    }
  }

  async #read(ids: readonly PostId[]): Promise<{ posts: readonly StoredPost[]; stoppedAt?: PostId }> {
    const range = { ids, shape: this.#shape, bytesMax: pageBytesMax, reader: this.#appId }
    const { posts, damaged, stoppedAt } = await this.#deps.store.postsById(range)
    for (const id of damaged) this.damaged.add(id)
    return { posts, ...(stoppedAt !== undefined && { stoppedAt }) }
  }

  #scope(): PageScope {
    const { endpoint, parameters, tokenParameter } = this.#request
    return { endpoint, appId: this.#appId, parameters, tokenParameter }
  }
}

/** A place in an order of relevancy: the ids that were ranked, and the post after which to go on. */
interface RankedPlace extends Pick<RankedSpan, "upTo"> {
  /** Absent where none of them were ranked yet. */
  readonly ranked?: { readonly above: bigint; readonly last: RankedPost }
}

function placeText({ upTo, ranked }: RankedPlace): string {
  if (ranked === undefined) return String(upTo)
  const { above, last } = ranked
  return [upTo, above, last.clauses, last.reactions, last.id].join(" ")
}

/** The later of the greatest id that a first page has ranked and the present moment, at most `upTo`. */
function lastRanked(posts: readonly RankedPost[], upTo: bigint, nowMs: number): bigint {
  const now = firstIdAt(nowMs + 1) - 1n
  const last = posts.reduce((greatest, { id }) => (BigInt(id) > greatest ? BigInt(id) : greatest), now)
  return last < upTo ? last : upTo
}

/** A post that is gone keeps its place. */
function placeIn(text: string): RankedPlace {
  const [upTo = "", above, clauses, reactions, id] = text.split(" ")
  if (above === undefined || id === undefined) return { upTo: BigInt(upTo) }
  const last = { id: asId<PostId>(id), clauses: Number(clauses), reactions: Number(reactions) }
  return { upTo: BigInt(upTo), ranked: { above: BigInt(above), last } }
}

/** The part of the span on the range's side of its place. */
function within({ above, upTo }: IdSpan, { direction, from }: KeysetRange<PostId>) {
  const edge = idEdgeOf(direction, from)
  if (direction === "older") return { direction, above, upTo: edge < upTo ? edge : upTo }
  return { direction, above: edge > above ? edge : above, upTo }
}

/** The number of posts on a page, and the newest and the oldest of them. */
function endsOf(newestToOldest: readonly StoredPost[], resultCount: number): PageMeta {
  const [newest, oldest] = [newestToOldest.at(0), newestToOldest.at(-1)]
  return {
    result_count: resultCount,
    ...(newest && { newest_id: newest.id }),
    ...(oldest && { oldest_id: oldest.id }),
  }
}
