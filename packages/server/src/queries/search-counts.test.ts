import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { firstIdAt, type AppId } from "../model/ids.ts"
import { createPageTokens } from "../paging/page-token.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { createSearchCounts, type CountsPage, type Granularity } from "./search-counts.ts"
import { countedTimes, recentMs, spanOf, type WindowParameters } from "./search-window.ts"

const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../../../shared", import.meta.url))
const file = join(shared, "data/x/counts-exchanges.ndjson")
const isSkipped = !existsSync(file) && process.env["CI"] === undefined
if (isSkipped)
  console.warn(`skipped: no recorded counts in ${shared}; set SLUICE_SHARED to the folder that holds data/`)

const app = "1" as AppId
const never = new AbortController().signal
const clock = createManualClock()
const tokens = createPageTokens({ key: new Uint8Array(32), lifetimeMs: 0, clock })
/** Counts one post in each interval. */
const counts = createSearchCounts({
  tokens,
  searches: {
    count: async (_app, _rule, edges) => ({ counts: edges.slice(1).map(() => 1), firstCounted: 0 }),
  },
})

interface Asked extends WindowParameters {
  readonly granularity?: Granularity
  readonly nowMs: number
  readonly reachMs?: number
}

/** All pages of a request. */
async function pagesOf({ granularity = "hour", nowMs, reachMs, ...parameters }: Asked): Promise<readonly CountsPage[]> {
  const request = {
    endpoint: "/counts",
    rule: { value: "cat", withReposts: false },
    granularity,
    ...countedTimes(parameters, nowMs, { reachMs }),
    span: spanOf(parameters),
    parameters: "",
  }
  const pages: CountsPage[] = []
  for (let token: string | undefined; pages.length === 0 || token !== undefined; token = pages.at(-1)?.nextToken) {
    pages.push(await counts.page(app, { ...request, token }, never))
  }
  return pages
}

const edges = (page: CountsPage | undefined) => page?.intervals.map(({ startMs, endMs }) => [startMs, endMs])
const nowMs = Date.parse("2026-03-14T09:26:53.589Z")

test("counts of seven days end ten seconds ago, and have two partial hours", async () => {
  const [page, ...others] = await pagesOf({ nowMs, reachMs: recentMs })
  expect(others).toEqual([])
  expect(page?.intervals).toHaveLength(169)
  expect(page?.intervals.at(0)).toEqual({
    startMs: nowMs - 10_000 - recentMs,
    endMs: Date.parse("2026-03-07T10:00:00Z"),
    count: 1,
  })
  expect(page?.intervals.at(-1)).toEqual({
    startMs: Date.parse("2026-03-14T09:00:00Z"),
    endMs: nowMs - 10_000,
    count: 1,
  })
  expect(page?.total).toBe(169)
})

test("pages of 31 days, the newest first, cover a span without a gap, in whole intervals", async () => {
  for (const granularity of ["minute", "hour", "day"] as const) {
    const span = { start_time: "2025-12-24T13:37:42Z", end_time: "2026-03-14T09:26:53Z" }
    const pages = await pagesOf({ ...span, granularity, nowMs })
    const all = pages.toReversed().flatMap(({ intervals }) => intervals)
    expect(pages).toHaveLength(3)
    expect(all.at(0)?.startMs).toBe(Date.parse(span.start_time))
    expect(all.at(-1)?.endMs).toBe(Date.parse(span.end_time))
    for (const [index, { startMs }] of all.entries()) if (index > 0) expect(startMs).toBe(all[index - 1]?.endMs)
    const lengthMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }[granularity]
    expect(all.slice(1).every(({ startMs }) => startMs % lengthMs === 0)).toBe(true)
  }
})

test("a span of less than one interval is one interval", async () => {
  const [page] = await pagesOf({ start_time: "2026-03-14T09:26:51Z", end_time: "2026-03-14T09:26:52Z", nowMs })
  expect(edges(page)).toEqual([[Date.parse("2026-03-14T09:26:51Z"), Date.parse("2026-03-14T09:26:52Z")]])
})

test("a count that begins in the future, or ends where it begins, has no interval", async () => {
  const sinceId = String(firstIdAt(nowMs + 60_000))
  const at = "2026-03-14T09:26:51Z"
  for (const parameters of [
    { since_id: sinceId },
    { start_time: at, end_time: at },
    { until_id: "5000000000000000" },
  ]) {
    const pages = await pagesOf({ ...parameters, nowMs, reachMs: recentMs })
    expect(pages).toEqual([{ intervals: [], total: 0 }])
  }
})

test("ids within a millisecond bound what is counted, as they bound a search", async () => {
  const asked: (readonly bigint[])[] = []
  const seen = createSearchCounts({
    tokens,
    searches: {
      async count(_app, _rule, given) {
        asked.push(given)
        return { counts: given.slice(1).map(() => 1), firstCounted: 0 }
      },
    },
  })
  const first = firstIdAt(nowMs - 60_000)
  for (const [since, until] of [
    [first - 70_000_000n, first + 5n],
    [first + 2n, first + 5n],
    [first + 5n, first + 2n],
  ] as const) {
    const parameters = { since_id: String(since), until_id: String(until) }
    const times = countedTimes(parameters, nowMs, { reachMs: recentMs })
    const rest = { endpoint: "/counts", rule: { value: "cat", withReposts: false }, parameters: "", token: undefined }
    await seen.page(app, { ...rest, granularity: "day", span: spanOf(parameters), ...times }, never)
  }
  expect(asked.map((ids) => [ids.at(0), ids.at(-1)])).toEqual([
    [first - 70_000_000n + 1n, first + 5n],
    [first + 3n, first + 5n],
  ])
})

test("a count after an id that holds no time begins with the first post", () => {
  expect(countedTimes({ since_id: "20" }, nowMs).startMs).toBe(Date.parse("2006-03-21T00:00:00Z"))
})

test("a later page of a count whose beginning has moved past it is empty, and the last", async () => {
  const request = {
    endpoint: "/counts",
    rule: { value: "cat", withReposts: false },
    granularity: "hour",
    span: spanOf({}),
    parameters: "",
  } as const
  const cut = createSearchCounts({
    tokens,
    searches: { count: async (_app, _rule, given) => ({ counts: [1], firstCounted: given.length - 2 }) },
  })
  const [startMs, endMs] = [nowMs - 7_200_000, nowMs]
  const { nextToken: token } = await cut.page(app, { ...request, startMs, endMs, token: undefined }, never)
  expect(token).toBeDefined()
  const moved = { startMs: startMs + 7_200_000, endMs: endMs + 7_200_000 }
  expect(await cut.page(app, { ...request, ...moved, token }, never)).toEqual({ intervals: [], total: 0 })
})

describe.skipIf(isSkipped)("recorded counts of X", () => {
  interface Exchange {
    readonly url: string
    readonly status: number
    readonly date: string
    readonly body: { readonly data: readonly { readonly start: string; readonly end: string }[] }
  }

  test("a request at the time of a recording gets its intervals, edge for edge", async () => {
    const exchanges = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Exchange)
      .filter(({ status }) => status === 200)
    expect(exchanges).toHaveLength(5)
    for (const { url, date, body } of exchanges) {
      const { pathname, searchParams } = new URL(url)
      const given = Object.fromEntries(searchParams) as Partial<Asked>
      const pages = await pagesOf({
        ...given,
        nowMs: Date.parse(date),
        ...(pathname.endsWith("recent") && { reachMs: recentMs }),
      })
      const recorded = body.data.map(({ start, end }) => [Date.parse(start), Date.parse(end)])
      expect(pages.map(edges)).toContainEqual(recorded)
      if (!searchParams.has("next_token")) expect(edges(pages[0])).toEqual(recorded)
    }
  })
})
