import type { RuleDetail } from "@sluice/api"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useSession } from "../../api/session.ts"

/** Rules of a page: one request for as many as a viewer scrolls past at once. */
const pageMax = 200

/** How often the numbers that show are read again, in ms. */
const refetchMs = 10_000

/** The pages of rules that contain a text, newest first, as far as they were scrolled. */
export function useRules(text: string) {
  const { client, appId } = useSession()
  const result = useInfiniteQuery({
    queryKey: ["ruleDetails", appId, "pages", text],
    queryFn: ({ pageParam, signal }) =>
      client.request("GET", "ruleDetails", {
        query: { max_results: pageMax, query: text === "" ? undefined : text, pagination_token: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.next_token,
    // Only the first pages: reading fifty anew for their numbers would be fifty requests.
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) <= 2 ? refetchMs : false),
    placeholderData: (previous) => previous,
  })
  const rules: readonly RuleDetail[] = result.data?.pages.flatMap(({ data }) => data) ?? []
  return { ...result, rules }
}
