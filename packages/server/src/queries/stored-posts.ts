/** Stored posts, for people who look at them: pages of all, one with what it matched, and one by its name at its source. */
import { paths, type PageMeta } from "@sluice/api"
import { derivedId, type InstanceNumbers } from "../conversion/foreign-ids.ts"
import type { AppId, PostId } from "../model/ids.ts"
import { membersOf, textOf } from "../model/json-text.ts"
import type { MatchOfPost } from "../model/match.ts"
import type { StoredPost } from "../model/post.ts"
import { damagedPost, tooManyPages } from "../model/problem.ts"
import { scannedPage } from "../paging/keyset-page.ts"
import type { PageTokens } from "../paging/page-token.ts"
import { ByteBudget } from "../runtime/byte-budget.ts"
import type { EditReads } from "../store/port/edit-store.ts"
import type { MatchLogReads } from "../store/port/match-log.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { SourceReads } from "../store/port/source-store.ts"
import { RecordDamaged } from "../store/store-faults.ts"

/** A page of stored posts. */
export interface StoredPostsPage {
  /** Newest first, as envelopes. */
  readonly posts: readonly StoredPost[]
  readonly meta: PageMeta
  /** Posts that were read for the page and are not in it, since what is stored of them is damaged. */
  readonly damaged: readonly PostId[]
  /** To be called when the response has been sent, or will not be. */
  readonly release: () => void
}

/** Stored posts. */
export interface StoredPosts {
  /**
   * A page of all posts, by id. Posts that are large make it short: only the absence of `next_token` means the end. Waits
   * while other pages hold as much memory as they may. Throws 400 for an invalid token, and 503 when too many pages wait.
   */
  page(
    owner: AppId,
    request: { readonly limit: number; readonly token: string | undefined },
    signal: AbortSignal,
  ): Promise<StoredPostsPage>
  /** A post and its matches, of one app or of all. Absent when it is not stored. Throws a `Problem` for a damaged one. */
  one(
    id: PostId,
    appId: AppId | undefined,
  ): Promise<{ readonly post: StoredPost; readonly matches: readonly MatchOfPost[] } | undefined>
  /**
   * The newest stored version of the post that has this name, `source_uri` of its envelope, or of which a version has it.
   * Absent when none is stored. Throws a `Problem` for a damaged one.
   */
  named(name: string, owner: AppId): Promise<StoredPost | undefined>
}

/** Most bytes of posts on a page, but for the last one's. Ours. */
const pageBytesMax = 1_048_576

/** Bounds of pages for all apps and for one app, and the number of pages of one app that may wait. Ours. */
const heldBytesMax = { bytesMax: 16_777_216, shareMax: 4_194_304, waitingMax: 100 }

/** The posts of a store. */
export function createStoredPosts({
  store,
  tokens,
  instances,
}: {
  store: PostStore & MatchLogReads & Pick<SourceReads, "assignedNames"> & Pick<EditReads, "chainsOf">
  tokens: PageTokens
  /** Instances of Mastodon that the sources read. */
  instances: InstanceNumbers
}): StoredPosts {
  const held = new ByteBudget(heldBytesMax)
  return {
    async page(owner, { limit, token }, signal) {
      const bytes = await held.take(owner, pageBytesMax, signal)
      if (bytes === undefined) throw tooManyPages()
      try {
        const damaged: PostId[] = []
        const page = await scannedPage<StoredPost>({
          tokens,
          scope: { endpoint: paths.posts, appId: owner, parameters: "" },
          token,
          limit,
          scan: async (range) => {
            const found = await store.posts({ ...range, bytesMax: pageBytesMax, reader: owner })
            damaged.push(...found.damaged)
            const { posts: items, stoppedAt } = found
            return { items, ...(stoppedAt !== undefined && { stoppedAt }) }
          },
        })
        const [newest, oldest] = [page.items.at(0), page.items.at(-1)]
        const { result_count, ...tokensOfPage } = page.meta
        const meta = {
          result_count,
          ...(newest && { newest_id: newest.id }),
          ...(oldest && { oldest_id: oldest.id }),
          ...tokensOfPage,
        }
        return { posts: page.items, meta, damaged: [...new Set(damaged)], release: () => bytes.release() }
      } catch (error) {
        bytes.release()
        throw error
      }
    },

    async one(id, appId) {
      const post = await store.post(id, appId).catch((error: unknown) => {
        throw error instanceof RecordDamaged ? damagedPost(id) : error
      })
      return post && { post, matches: await store.matchesOfPost(id, appId) }
    },

    async named(name, owner) {
      const [assigned] = await store.assignedNames([name])
      const id = assigned?.id ?? derivedId(name, instances)
      if (id === undefined) return undefined
      const versions = (await store.chainsOf([id], owner)).get(id) ?? [id]
      const range = { ids: versions.toReversed(), shape: "envelope", bytesMax: 1, reader: owner } as const
      const { posts, damaged } = await store.postsById(range)
      const [newest] = posts
      if (newest === undefined && damaged[0] !== undefined) throw damagedPost(damaged[0])
      // A post of another source may have the id.
      return newest !== undefined && withoutVersion(nameOf(newest)) === withoutVersion(name) ? newest : undefined
    },
  }
}

function nameOf({ json }: StoredPost): string | undefined {
  return textOf(membersOf(membersOf(json).get("data") ?? "{}").get("source_uri"))
}

/** The name of a post, of the name of one of its versions. */
function withoutVersion(name: string | undefined): string | undefined {
  return name?.replace(/#.*$/s, "")
}
