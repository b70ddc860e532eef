import { expect, test } from "vitest"
import { addressOf, readSearch, requestOf, type Search } from "./search.ts"

const nowMs = Date.UTC(2026, 2, 14, 9, 26, 53, 589)
const hourMs = 3_600_000

test("an address repeats its search, whatever the query holds", () => {
  const searches: readonly Search[] = [
    { query: "heron", span: { kind: "7d" }, order: "recency" },
    { query: 'a&b=c #100% %41 "鷺 🍕" +x', span: { kind: "24h" }, order: "relevancy" },
    { query: "heron", span: { kind: "all" }, order: "recency" },
    { query: "heron", span: { kind: "custom", from: "2026-03-14T09:00:00.000Z", until: "" }, order: "recency" },
    { query: "heron", span: { kind: "custom", from: "", until: "2026-03-14T09:00:00.000Z" }, order: "relevancy" },
  ]
  for (const search of searches) expect(readSearch(new URLSearchParams(addressOf(search)))).toEqual(search)
})

test("a custom span that is open at both ends covers everything, and unknown words are left out", () => {
  const open: Search = { query: "x", span: { kind: "custom", from: "", until: "" }, order: "recency" }
  expect(readSearch(new URLSearchParams(addressOf(open))).span).toEqual({ kind: "all" })
  const odd = readSearch(new URLSearchParams("query=x&span=century&sort_order=best"))
  expect(odd).toEqual({ query: "x", span: { kind: "7d" }, order: "recency" })
})

test("a span becomes times at the moment of the search, and intervals that fit it", () => {
  const at = (span: Search["span"]) => requestOf({ query: "x", span, order: "recency" }, nowMs)
  expect(at({ kind: "24h" })).toMatchObject({ times: { start_time: "2026-03-13T09:26:53.589Z" }, granularity: "hour" })
  expect(at({ kind: "7d" })).toMatchObject({ times: { start_time: "2026-03-07T09:26:53.589Z" }, granularity: "hour" })
  expect(at({ kind: "all" })).toMatchObject({ times: {}, granularity: "day" })
  const from = new Date(nowMs - 3 * hourMs).toISOString()
  expect(at({ kind: "custom", from, until: "" })).toMatchObject({ times: { start_time: from }, granularity: "minute" })
  const until = new Date(nowMs + hourMs).toISOString()
  const both = { start_time: from, end_time: until }
  expect(at({ kind: "custom", from, until })).toMatchObject({ times: both, granularity: "hour" })
  expect(at({ kind: "custom", from: "soon", until: "" })).toMatchObject({ times: { start_time: "soon" } })
})
