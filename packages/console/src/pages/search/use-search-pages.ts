/**
 * Pages of a search, which may be short or empty before the last one: only a page without a `next_token` is the last.
 *
 *     page ──► is it enough? ── no, and there is a next one ──► read that
 *       ▲            └─────── yes, or the last ──► stand still, until `readMore`
 *       └──────────────────────────────────────────────────────────┘
 */
import { useInfiniteQuery } from "@tanstack/react-query"
import { useEffect } from "react"
import { useSession } from "../../api/session.ts"

/** A page as far as this file reads it. */
interface AnyPage {
  readonly meta?: { readonly next_token?: string | undefined } | undefined
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

/** The query parameter and the signal of a page's request. */
interface PageRequest {
  readonly next_token?: string
  readonly signal: AbortSignal
}

/**
 * Reads pages until `isEnough` of them, and once only: a search stands still while it is looked at. `key` tells one search
 * from another, and from the same one, repeated.
 */
export function useSearchPages<Page extends AnyPage>({
  key,
  read,
  isEnabled,
  isEnough,
}: {
  readonly key: readonly unknown[]
  readonly read: (request: PageRequest) => Promise<Page>
  readonly isEnabled: boolean
  readonly isEnough: (pages: readonly Page[]) => boolean
}): SearchPages<Page> {
  const { appId } = useSession()
  const { data, error, isError, isFetching, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: ["search", appId, ...key],
    queryFn: ({ pageParam, signal }) => read({ signal, ...(pageParam !== undefined && { next_token: pageParam }) }),
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
