/**
 * Posts by their ids, rendered for one response: those that are stored, and those that came only in the `includes` of
 * stored ones.
 *
 * A response has no page token that could go on, so it has a bound of its own: the posts are read and rendered in parts, in
 * the order of the request, until what is rendered comes to the most that a page may have. Posts after that are named as
 * those for which there was no room, and a client asks for them again. A request for one post always shows it.
 */
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, PostId } from "../model/ids.ts"
import { includedPostJson } from "../model/included-post.ts"
import type { PostShape, StoredPost } from "../model/post.ts"
import { PostsRendering, shapeFor, type RenderedPosts } from "../model/render-post.ts"
import type { Events } from "../runtime/events/events.ts"
import type { Searches } from "../search/searches.ts"
import type { DeletionReads } from "../store/port/deletion-store.ts"
import type { EditReads } from "../store/port/edit-store.ts"
import type { PostStore } from "../store/port/post-store.ts"
import { pageBytesMax, type HeldPages } from "./held-pages.ts"
import { withWholeChains } from "./whole-chains.ts"

/** Why a post is not shown. `no-room`: it may be stored or not. */
type AbsentPost = { readonly id: PostId; readonly why: "unknown" | "damaged" | "no-room" }

/** The posts of one response. */
export interface FoundPosts {
  /** In the order of the request. */
  readonly posts: RenderedPosts
  /** In the order of the request: the ids that have no post in it. */
  readonly absent: readonly AbsentPost[]
  /** To be called when the response has been sent, or will not be. */
  readonly release: () => void
}

/** A look-up of posts by their ids. */
export interface PostsById {
  /**
   * The posts with these ids, each once. Waits while other pages hold as much memory as they may, until `signal` aborts.
   * Throws 503 when too many pages of the app wait.
   */
  find(
    appId: AppId,
    request: { readonly ids: readonly PostId[]; readonly selection: FieldSelection },
    signal: AbortSignal,
  ): Promise<FoundPosts>
  /** Whether the post is stored or came in the `includes` of a stored one, damaged or not. */
  isKnown(appId: AppId, id: PostId, signal: AbortSignal): Promise<boolean>
  /**
   * An envelope of a post that came in the `includes` of a stored one, with what came along; `undefined` when it came in none
   * that can be read.
   */
  includedEnvelope(appId: AppId, id: PostId, signal: AbortSignal): Promise<string | undefined>
}

interface PostsByIdDeps {
  readonly store: Pick<PostStore, "postsById"> & Pick<EditReads, "chainsOf"> & Pick<DeletionReads, "deletedPosts">
  readonly searches: Pick<Searches, "including">
  readonly heldPages: HeldPages
  readonly events: Pick<Events, "failed">
}

/** Most bytes that one read returns, but for the last post's. Ours: about a millisecond of the store's turn. */
const readBytesMax = 1_048_576

/** Look-ups in a store. */
export function createPostsById(deps: PostsByIdDeps): PostsById {
  return {
    async find(appId, request, signal) {
      const bytes = await deps.heldPages.hold(appId, signal)
      try {
        const found = await new LookUp(deps, appId, request, signal).run()
        const { dataJson, includesJson = "" } = found.posts
        bytes.resize(dataJson.length + includesJson.length)
        return { ...found, release: () => bytes.release() }
      } catch (error) {
        bytes.release()
        throw error
      }
    },
    async isKnown(appId, id, signal) {
      const read = await deps.store.postsById({ ids: [id], shape: "core", bytesMax: 1, reader: appId })
      if (read.posts.length + read.damaged.length > 0) return true
      return (await carriersOf([id], deps, signal)).size > 0
    },
    async includedEnvelope(appId, id, signal) {
      const carriers = [...(await carriersOf([id], deps, signal)).values()]
      const read = { ids: carriers, shape: "envelope", bytesMax: readBytesMax, reader: appId } as const
      const [carrier] = carriers.length === 0 ? [] : (await deps.store.postsById(read)).posts
      return carrier && includedPostJson(carrier.json, id, "envelope")
    },
  }
}

/** Posts that one read has returned. */
interface ReadPart {
  readonly posts: ReadonlyMap<PostId, StoredPost>
  readonly damaged: ReadonlySet<PostId>
  /** The ids that were read, the first of those that were asked for. */
  readonly ids: ReadonlySet<PostId>
}

const nothing: ReadPart = { posts: new Map(), damaged: new Set(), ids: new Set() }

/** Reads and renders the posts of one look-up in parts. The carrier of a post is the one in whose `includes` it came. */
class LookUp {
  readonly #deps: PostsByIdDeps
  readonly #appId: AppId
  readonly #ids: readonly PostId[]
  readonly #selection: FieldSelection
  readonly #shape: PostShape
  readonly #signal: AbortSignal
  readonly #rendering: PostsRendering
  readonly #absent: AbsentPost[] = []
  /** Versions of edited posts that posts of earlier parts have brought. */
  readonly #brought = new Set<PostId>()
  /** The carriers of posts that are not stored, as far as the look-up has come; `undefined` for posts without one. */
  readonly #carriers = new Map<PostId, PostId | undefined>()

  constructor(
    deps: PostsByIdDeps,
    appId: AppId,
    { ids, selection }: Parameters<PostsById["find"]>[1],
    signal: AbortSignal,
  ) {
    this.#deps = deps
    this.#appId = appId
    this.#ids = ids
    this.#selection = selection
    this.#shape = shapeFor(selection)
    this.#signal = signal
    this.#rendering = new PostsRendering(selection)
  }

  async run(): Promise<Omit<FoundPosts, "release">> {
    for (let rest = this.#ids; rest.length > 0;) {
      if (this.#rendering.characters >= pageBytesMax) {
        this.#absent.push(...rest.map((id) => ({ id, why: "no-room" }) as const))
        break
      }
      rest = rest.slice(await this.#takeSome(rest))
    }
    return { posts: this.#rendering.rendered(), absent: this.#absent }
  }

  /** Renders the first of the posts, or notes why they are absent. Returns how many: at least one. */
  async #takeSome(ids: readonly PostId[]): Promise<number> {
    const stored = await this.#read(ids, this.#shape)
    const carriers = await this.#readCarriers(
      [...stored.ids].filter((id) => !stored.posts.has(id) && !stored.damaged.has(id)),
    )
    let taken = 0
    const found: StoredPost[] = []
    for (const id of stored.ids) {
      // A post that had a carrier a moment ago may have come by itself since.
      const isStored = stored.posts.has(id) || stored.damaged.has(id)
      const carrier = isStored ? undefined : this.#carriers.get(id)
      // One read has the first carriers only: the posts after those are for the next part.
      if (carrier !== undefined && !carriers.ids.has(carrier)) break
      taken += 1
      const post = stored.posts.get(id) ?? this.#includedPost(id, carriers)
      if (post !== undefined) found.push(post)
      else this.#absent.push({ id, why: isDamaged(id, stored) || isDamaged(carrier, carriers) ? "damaged" : "unknown" })
    }
    const request = { selection: this.#selection, reader: this.#appId, brought: this.#brought }
    const whole = await withWholeChains(found, request, this.#deps.store)
    await this.#rendering.add(whole)
    return taken
  }

  /** Finds the carriers of posts that are not stored, and reads as many as one read has, in the order of the posts. */
  async #readCarriers(ids: readonly PostId[]): Promise<ReadPart> {
    const asked = ids.filter((id) => !this.#carriers.has(id))
    const found = await carriersOf(asked, this.#deps, this.#signal)
    for (const id of asked) this.#carriers.set(id, found.get(id))
    const carriers = new Set(ids.map((id) => this.#carriers.get(id)).filter((id) => id !== undefined))
    return carriers.size === 0 ? nothing : this.#read([...carriers], "envelope")
  }

  #includedPost(id: PostId, carriers: ReadPart): StoredPost | undefined {
    const carrier = this.#carriers.get(id)
    const { json = "" } = (carrier === undefined ? undefined : carriers.posts.get(carrier)) ?? {}
    const own = includedPostJson(json, id, this.#shape)
    return own === undefined ? undefined : { id, json: own }
  }

  async #read(ids: readonly PostId[], shape: PostShape): Promise<ReadPart> {
    const { store, events } = this.#deps
    const read = await store.postsById({ ids, shape, bytesMax: readBytesMax, reader: this.#appId })
    if (read.fault !== undefined) events.failed({ where: "posts by id", error: read.fault })
    return {
      posts: new Map(read.posts.map((post) => [post.id, post])),
      damaged: new Set(read.damaged),
      ids: new Set(read.stoppedAt === undefined ? ids : ids.slice(0, ids.indexOf(read.stoppedAt) + 1)),
    }
  }
}

/** The posts in whose `includes` these stand. Those that still show a deleted one, until they are rewritten, do not count. */
async function carriersOf(
  ids: readonly PostId[],
  { store, searches }: Pick<PostsByIdDeps, "store" | "searches">,
  signal: AbortSignal,
): Promise<ReadonlyMap<PostId, PostId>> {
  const deleted = ids.length === 0 ? undefined : await store.deletedPosts(ids)
  const others = ids.filter((id) => deleted?.has(id) !== true)
  return others.length === 0 ? new Map() : searches.including(others, signal)
}

function isDamaged(id: PostId | undefined, { damaged }: ReadPart): boolean {
  return id !== undefined && damaged.has(id)
}
