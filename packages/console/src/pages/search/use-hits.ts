import type { Envelope } from "@sluice/api"
import { useMemo } from "react"
import { useSession } from "../../api/session.ts"
import { envelopeOf, wholePost } from "../../components/posts/whole-post.ts"
import { useStatePer } from "../../components/use-state-per.ts"
import type { SearchRequest } from "./search.ts"
import { useSearchPages } from "./use-search-pages.ts"

/** Posts of a page, and those that "Load more" adds. */
const pageSize = 20

/** Most pages that are read in a row to fill one. Ours: at the server's bound of 5,000 posts a page, 100,000 posts. */
const pagesMax = 20

/** The posts that a search found, as far as they have been read. */
export interface Hits {
  /** `undefined` until the first page is read. */
  readonly posts: readonly Envelope[] | undefined
  /** Sentences about found posts that cannot be shown. */
  readonly unshown: readonly string[]
  readonly pageCount: number
  readonly error: unknown
  readonly hasMore: boolean
  readonly isReading: boolean
  /** The last pages were short or empty, and there are more. */
  readonly isShort: boolean
  readonly readMore: () => void
  /** Reads no further page by itself. */
  readonly stop: () => void
}

/** Reads the hits of a search: one page's worth, then as many again at each `readMore`. */
export function useHits(request: SearchRequest, isEnabled: boolean): Hits {
  const [wanted, setWanted] = useStatePer(request, () => ({ posts: pageSize, pages: pagesMax }))
  const { client } = useSession()
  const { query, order, times, atMs } = request
  const read = useSearchPages({
    key: ["hits", query, order, times, atMs],
    read: (page) =>
      client.posts.searchAll({ query, sort_order: order, max_results: pageSize, ...times, ...wholePost, ...page }),
    isEnabled,
    isEnough: (pages) =>
      pages.length >= wanted.pages || pages.reduce((sum, { data = [] }) => sum + data.length, 0) >= wanted.posts,
  })
  const posts = useMemo(
    () => read.pages?.flatMap(({ data = [], includes }) => data.map((post) => envelopeOf(post, includes))),
    [read.pages],
  )
  const unshown = useMemo(
    () => read.pages?.flatMap(({ errors = [] }) => errors.filter(isOfHit).map(detailOf)),
    [read.pages],
  )
  const found = posts?.length ?? 0
  const pageCount = read.pages?.length ?? 0
  return {
    posts,
    unshown: unshown ?? [],
    pageCount,
    error: read.error,
    hasMore: read.hasMore,
    isReading: read.isReading,
    isShort: read.hasMore && found < wanted.posts,
    readMore() {
      setWanted({ posts: found + pageSize, pages: pageCount + pagesMax })
      read.readMore()
    },
    stop: () => setWanted({ posts: wanted.posts, pages: pageCount }),
  }
}

/** Other errors are about objects that a post only refers to. */
function isOfHit(error: { readonly [member: string]: unknown }): boolean {
  return error["resource_type"] === "post" && error["parameter"] === "id"
}

function detailOf({ detail }: { readonly detail: string }): string {
  return detail
}
