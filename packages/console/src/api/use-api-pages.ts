/** Long lists: `useApiPages` reads an operation page by page as the viewer scrolls. */
import type { PagedName, ResponseOf } from "@sluice/client"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useCallback } from "react"
import { useSession } from "./session.ts"
import { appKey, isOfApp } from "./use-api.ts"

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
  /** As `readMore`, for a list that reads on by itself: after a failure it waits for the next refresh. */
  readonly readOn: () => void
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
  const { data, error, refetch, hasNextPage, isFetchingNextPage, isError, fetchNextPage } = useInfiniteQuery({
    queryKey: [name, appKey(appId), "pages", query, parameters],
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.next_token,
    refetchInterval: ({ state }) =>
      !isPaused && ((state.data?.pages.length ?? 0) > pagesMax ? slowFactor * refetchMs : refetchMs),
    placeholderData: (previous, before) => (isOfApp(before, appId) ? previous : undefined),
  })
  const readMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  const readOn = useCallback(() => {
    if (!isError) readMore()
  }, [isError, readMore])
  return {
    rows: data?.pages.flatMap((page) => page.data),
    error: data === undefined ? error : null,
    refetch,
    hasMore: hasNextPage,
    isReadingMore: isFetchingNextPage,
    readMore,
    readOn,
  }
}
