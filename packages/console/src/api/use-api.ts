/** Requests: `useApi` reads, `useApiChange` changes. Both are typed by the operations of `@sluice/client`. */
import type { Operations, OptionsOf, ResponseOf } from "@sluice/client"
import {
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query"
import { useSession } from "./session.ts"

/** Operations that read. */
type ReadableName = {
  [Name in keyof Operations]: Operations[Name] extends { GET: unknown } ? Name : never
}[keyof Operations]

/** How a read is kept fresh. */
interface ReadOptions {
  /** Time between two reads while the page is visible; absent: reads again only after changes. */
  readonly refetchMs?: number
  /** Suspends `refetchMs`. */
  readonly isPaused?: boolean
  /** `false` defers the read. */
  readonly enabled?: boolean
  /** Keeps the response of the previous query until the next one arrives, so that the page does not jump. */
  readonly keepPrevious?: boolean
}

/**
 * The response to `GET` of an operation, cached and shared between components with the same request. `options` are the
 * client's: `parameters` and `query`. A page shows an error in its place only for `isLoadingError`: a failed refresh
 * (`isRefetchError`) keeps the data, and what the viewer has entered with it.
 */
export function useApi<Name extends ReadableName>(
  name: Name,
  options: OptionsOf<Name, "GET" & keyof Operations[Name]>[0] | Record<string, never> = {},
  { refetchMs, isPaused = false, enabled = true, keepPrevious = false }: ReadOptions = {},
): UseQueryResult<ResponseOf<Name, "GET" & keyof Operations[Name]>> {
  const { client, appId } = useSession()
  const read = (more: object): Promise<ResponseOf<Name, "GET" & keyof Operations[Name]>> =>
    client.request("GET" as never, name, ...([{ ...options, ...more }] as never))
  return useQuery<ResponseOf<Name, "GET" & keyof Operations[Name]>>({
    queryKey: [name, appKey(appId), options],
    queryFn: ({ signal }) => read({ signal }),
    refetchInterval: !isPaused && (refetchMs ?? false),
    enabled,
    ...(keepPrevious && {
      placeholderData: (previous: unknown, before: QueryOfApp) =>
        (isOfApp(before, appId) ? previous : undefined) as never,
    }),
  })
}

/** A change: `mutate(options)` sends it; afterwards the operations in `invalidates` are read again. */
export function useApiChange<Name extends keyof Operations, Method extends keyof Operations[Name] & string>(
  method: Method,
  name: Name,
  { invalidates = [name] }: { readonly invalidates?: readonly (keyof Operations)[] } = {},
): UseMutationResult<ResponseOf<Name, Method>, Error, NonNullable<OptionsOf<Name, Method>[0]>> {
  const { client } = useSession()
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (options: NonNullable<OptionsOf<Name, Method>[0]>) =>
      client.request(method, name, ...([options] as unknown as OptionsOf<Name, Method>)),
    onSuccess: async () => {
      await Promise.all(invalidates.map((one) => queryClient.invalidateQueries({ queryKey: [one] })))
    },
  })
}

/** An app as the keys of queries have it. */
export function appKey(appId: string | undefined): string {
  return appId ?? "all"
}

/** A query whose key has the app in the second place, as all of this directory. */
type QueryOfApp = { readonly queryKey: readonly unknown[] } | undefined

/** Whether what a query has found is of the app: of another one nothing is shown, until its own is read. */
export function isOfApp(query: QueryOfApp, appId: string | undefined): boolean {
  return query?.queryKey[1] === appKey(appId)
}
