/** Requests of pages: `useApi` reads, `useApiChange` changes. Both are typed by the operations of `@sluice/client`. */
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
  /** Reads again after so many ms while the page is visible; absent: only when something changes. */
  readonly refetchMs?: number | false
  /** False: not yet. */
  readonly enabled?: boolean
  /** Shows what the last query returned until the next one does, so that nothing jumps. */
  readonly keepPrevious?: boolean
}

/**
 * What `GET` of an operation returns, kept and shared by all components that ask for the same. `options` are the
 * client's: `parameters` and `query`.
 */
export function useApi<Name extends ReadableName>(
  name: Name,
  options: OptionsOf<Name, "GET" & keyof Operations[Name]>[0] | Record<string, never> = {},
  { refetchMs = false, enabled = true, keepPrevious = false }: ReadOptions = {},
): UseQueryResult<ResponseOf<Name, "GET" & keyof Operations[Name]>> {
  const { client, appId } = useSession()
  const read = (more: object): Promise<ResponseOf<Name, "GET" & keyof Operations[Name]>> =>
    client.request("GET" as never, name, ...([{ ...options, ...more }] as never))
  return useQuery<ResponseOf<Name, "GET" & keyof Operations[Name]>>({
    queryKey: [name, appId ?? "all", options],
    queryFn: ({ signal }) => read({ signal }),
    refetchInterval: refetchMs,
    enabled,
    ...(keepPrevious && { placeholderData: (previous: unknown) => previous as never }),
  })
}

/** A change: `mutate(options)` sends it, and afterwards what `invalidates` names is read again. */
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
