/** Long lists: `useApiPages` reads an operation page by page as the viewer scrolls. */
import type { PagedName, ResponseOf } from "@sluice/client"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useCallback } from "react"
import { useSession } from "./session.ts"

/** Beyond so many pages a list is refreshed `slowFactor` times less often: each refresh costs a request per page. */
const pagesMax = 2
const slowFactor = 5

interface Page<Row> {
  readonly data: readonly Row[]
  readonly meta: { readonly next_token?: string }
}

type RowOf<Name extends PagedName> = ResponseOf<Name, "GET"> extends Page<infer Row> ? Row : never

/** A list as far as it has been read. */
export interface ApiPages<Row> {
  /** Newest first; `undefined` until the first page is read. */
  readonly rows: readonly Row[] | undefined
  /** Why the first page could not be read; a failed refresh keeps the rows and sets nothing. */
  readonly error: unknown
  readonly refetch: () => unknown
  readonly hasMore: boolean
  readonly isReadingMore: boolean
  /** Reads the next page; does nothing while one is being read, and after the last. */
  readonly readMore: () => void
}

/**
 * The rows that `GET` of an operation lists for a query, refreshed every `refetchMs` unless `isPaused`. While another
 * query is read, the rows of the previous one remain. `parameters` are those of the path.
 */
export function useApiPages<Name extends PagedName>(
  name: Name,
  query: Readonly<Record<string, string | number | undefined>>,
  {
    refetchMs,
    isPaused = false,
    parameters,
  }: {
    readonly refetchMs: number
    readonly isPaused?: boolean
    readonly parameters?: Readonly<Record<string, string>>
  },
): ApiPages<RowOf<Name>> {
  const { client, appId } = useSession()
  const read = (token: string | undefined, signal: AbortSignal) =>
    client.request(
      "GET" as never,
      name,
      ...([{ signal, parameters, query: { ...query, pagination_token: token } }] as never),
    ) as Promise<unknown> as Promise<Page<RowOf<Name>>>
  const { data, error, refetch, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } =
    useInfiniteQuery({
      queryKey: [name, appId, "pages", query, parameters],
      queryFn: ({ pageParam, signal }) => read(pageParam, signal),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ meta }) => meta.next_token,
      refetchInterval: ({ state }) =>
        !isPaused && ((state.data?.pages.length ?? 0) > pagesMax ? slowFactor * refetchMs : refetchMs),
      placeholderData: (previous) => previous,
    })
  const readMore = useCallback(() => {
    // After a failure the next refresh reads on: without a pause, each failure would be followed by the next request.
    if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])
  return {
    rows: data?.pages.flatMap((page) => page.data),
    error: data === undefined ? error : null,
    refetch,
    hasMore: hasNextPage,
    isReadingMore: isFetchingNextPage,
    readMore,
  }
}
