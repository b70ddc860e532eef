/**
 * Pages of a search, which may be short or empty before the last one: only a page without a `next_token` is the last.
 *
 *     page ──► is it enough? ── no, and there is a next one ──► read that
 *       ▲            └─────── yes, or the last ──► stand still, until `readMore`
 *       └──────────────────────────────────────────────────────────┘
 */
import type { CountsBody, PostsBody } from "@sluice/api"
import type { Query } from "@sluice/client"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useEffect } from "react"
import { useSession } from "../../api/session.ts"

/** The body of a page, by the name of its operation. */
interface PageBodies {
  readonly searchAll: PostsBody
  readonly countsAll: CountsBody
}

/** The pages as far as they have been read. */
interface SearchPages<Page> {
  /** `undefined` until the first page is read. */
  readonly pages: readonly Page[] | undefined
  /** Why the last read failed; what was read before stays. */
  readonly error: unknown
  readonly hasMore: boolean
  readonly isReading: boolean
  /** Reads the next page, or again the one that failed. */
  readonly readMore: () => void
}

/**
 * Reads pages until `isEnough` of them, and once only: a search stands still while it is looked at. `atMs` tells a search
 * from the same one, repeated.
 */
export function useSearchPages<Name extends keyof PageBodies>(
  name: Name,
  {
    query,
    atMs,
    isEnabled,
    isEnough,
  }: {
    readonly query: Exclude<Query, string>
    readonly atMs: number
    readonly isEnabled: boolean
    readonly isEnough: (pages: readonly PageBodies[Name][]) => boolean
  },
): SearchPages<PageBodies[Name]> {
  const { client, appId } = useSession()
  const { data, error, isError, isFetching, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: [name, appId, "search", query, atMs],
    queryFn: ({ pageParam, signal }) =>
      client.request(
        "GET" as never,
        name,
        ...([{ signal, query: { ...query, next_token: pageParam } }] as never),
      ) as Promise<unknown> as Promise<PageBodies[Name]>,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta?.next_token,
    enabled: isEnabled,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  })
  const pages = data?.pages
  const goesOn = pages !== undefined && hasNextPage && !isFetching && !isError && !isEnough(pages)
  useEffect(() => {
    if (goesOn) void fetchNextPage()
  }, [goesOn, fetchNextPage])
  return {
    pages,
    error,
    hasMore: hasNextPage,
    isReading: isFetching || goesOn,
    readMore() {
      void (pages === undefined ? refetch() : fetchNextPage())
    },
  }
}
