/**
 * A test of a rule on the stored posts since a time, in as many requests as it takes, the newest posts first.
 *
 *     test ──► look up the matches that are shown ──► are there older posts? ── no ──► the end
 *      ▲                                                  └── yes, and not stopped ──┐
 *      └─────────────────────────────────────────────────────────────────────────────┘
 */
import { snowflakeAtMs, type Envelope, type RuleTestedBody } from "@sluice/api"
import { ApiError, sumOfRuleTests, type RuleTestSum } from "@sluice/client"
import type { Span } from "@sluice/rules"
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useMemo } from "react"
import { useSession } from "../../../api/session.ts"
import { envelopeOf, wholePost } from "../../../components/posts/whole-post.ts"
import { useStatePer } from "../../../components/use-state-per.ts"

/** Matches that a test shows, the newest. As many as one look-up returns. */
const shownMax = 100

/** Another test of the app may be running: the request is sent again, so often and after so many ms. */
const [retriesMax, retryDelayMs] = [5, 700]

/** A test that a viewer has started. */
export interface PastTestRun {
  readonly value: string
  /** An instant as the API takes it. */
  readonly since: string
  /** When it was started, Unix ms: tells a test from the same one, repeated. */
  readonly atMs: number
}

/** A match that is shown. */
export interface ShownMatch {
  readonly envelope: Envelope
  readonly spans: readonly Span[]
}

/** A test as far as it has come. */
export interface PastTest {
  /** `undefined` until the first response. */
  readonly summary: RuleTestSum | undefined
  /** The newest matches. */
  readonly matches: readonly ShownMatch[]
  /** The part of the time that has been tested, 0 to 1. */
  readonly progress: number
  readonly error: unknown
  readonly isRunning: boolean
  /** There are older posts to test. */
  readonly hasMore: boolean
  /** Ends the request that is running, and sends no further one. */
  readonly stop: () => void
  /** Goes on after a stop or an error. */
  readonly goOn: () => void
}

interface Part {
  readonly body: RuleTestedBody
  readonly matches: readonly ShownMatch[]
}

/** The place at which a request begins: before a post, with so many matches shown. */
interface Place {
  readonly untilId?: string
  readonly shown: number
}

const firstPlace: Place = { shown: 0 }

/** Runs a test; nothing without one. */
export function usePastTest(run: PastTestRun | undefined): PastTest {
  const { client, appId } = useSession()
  const queryClient = useQueryClient()
  const queryKey = ["ruleTest", appId, "past", run]
  const [isStopped, setIsStopped] = useStatePer(run, () => false)

  const testPart = async ({ untilId, shown }: Place, signal: AbortSignal): Promise<Part> => {
    const { value = "", since = "" } = run ?? {}
    const posts = { since, ...(untilId !== undefined && { until_id: untilId }) }
    const body = await client.request("POST", "ruleTest", { body: { value, ...posts }, signal })
    const found = body.data.slice(0, shownMax - shown)
    if (found.length === 0) return { body, matches: [] }
    const ids = found.map(({ id }) => id)
    const { data = [], includes } = await client.posts.getByIds({ ids, ...wholePost, signal })
    const spans = new Map(found.map((one) => [one.id, one.spans as readonly Span[]]))
    const matches = data.map((post) => ({
      envelope: envelopeOf(post, includes),
      spans: spans.get(post.id) ?? [],
    }))
    return { body, matches }
  }

  const { data, error, isError, isFetching, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => testPart(pageParam, signal),
    initialPageParam: firstPlace,
    getNextPageParam: ({ body }: Part, parts): Place | undefined => {
      const { stopped_at: untilId } = body.meta
      if (untilId === undefined) return undefined
      return { untilId, shown: parts.reduce((sum, { matches }) => sum + matches.length, 0) }
    },
    enabled: run !== undefined,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: (failures, failure) => failures < retriesMax && isTransient(failure),
    retryDelay: retryDelayMs,
  })
  const goesOn = data !== undefined && hasNextPage && !isFetching && !isError && !isStopped
  useEffect(() => {
    if (goesOn) void fetchNextPage()
  }, [goesOn, fetchNextPage])

  const summary = useMemo(() => {
    const [first, ...rest] = data?.pages.map(({ body }) => body) ?? []
    return first && sumOfRuleTests([first, ...rest])
  }, [data])
  const matches = useMemo(() => data?.pages.flatMap((part) => part.matches) ?? [], [data])
  return {
    summary,
    matches,
    progress: progressOf(run, data?.pages.at(-1)?.body),
    error,
    isRunning: isFetching || goesOn,
    hasMore: hasNextPage,
    stop() {
      setIsStopped(true)
      void queryClient.cancelQueries({ queryKey })
    },
    goOn() {
      setIsStopped(false)
      void (data === undefined ? refetch() : fetchNextPage())
    },
  }
}

function isTransient(error: Error): boolean {
  return error instanceof ApiError && error.isTransient
}

/** How far a test has come on its way from its start back to `since`, by the id of the last post that was tested. */
function progressOf(run: PastTestRun | undefined, last: RuleTestedBody | undefined): number {
  if (run === undefined || last === undefined) return 0
  if (last.meta.stopped_at === undefined) return 1
  const sinceMs = Date.parse(run.since)
  const testedToMs = snowflakeAtMs(last.meta.stopped_at) ?? sinceMs
  return Math.min(1, Math.max(0, (run.atMs - testedToMs) / (run.atMs - sinceMs)))
}
