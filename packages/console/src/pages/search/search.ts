/**
 * A search as the address says it, so that a link repeats it, and as a request to the server.
 *
 *     address ── readSearch ──► Search ── requestOf, at a moment ──► SearchRequest
 *        ▲                        │
 *        └───── addressOf ────────┘
 *
 * "The last seven days" stays that in the address. The request has the times, and all its pages have the same ones.
 */
import { firstPostMs } from "@sluice/api"

/** The time that a search covers. Texts are instants as the API takes them, or empty where the end is open. */
export type Span =
  | { readonly kind: "24h" | "7d" | "all" }
  | { readonly kind: "custom"; readonly from: string; readonly until: string }

/** Newest first, or the most relevant first. */
type Order = "recency" | "relevancy"

/** A search of a viewer. An empty query is a page that has not searched yet. */
export interface Search {
  readonly query: string
  readonly span: Span
  readonly order: Order
}

/** The search of an address; what it does not say, or says wrongly, is as on a new page. */
export function readSearch(parameters: URLSearchParams): Search {
  const [from, until] = [parameters.get("start_time") ?? "", parameters.get("end_time") ?? ""]
  const named = parameters.get("span")
  return {
    query: parameters.get("query") ?? "",
    span:
      from === "" && until === ""
        ? { kind: named === "24h" || named === "all" ? named : "7d" }
        : { kind: "custom", from, until },
    order: parameters.get("sort_order") === "relevancy" ? "relevancy" : "recency",
  }
}

/** The query string of the address of a search, without `?`. */
export function addressOf({ query, span, order }: Search): string {
  const parameters = new URLSearchParams({ query })
  if (span.kind !== "custom") {
    if (span.kind !== "7d") parameters.set("span", span.kind)
  } else if (span.from === "" && span.until === "") {
    parameters.set("span", "all")
  } else {
    if (span.from !== "") parameters.set("start_time", span.from)
    if (span.until !== "") parameters.set("end_time", span.until)
  }
  if (order !== "recency") parameters.set("sort_order", order)
  return parameters.toString()
}

/** Length of the intervals of counts. */
export type Granularity = "minute" | "hour" | "day"

/** A search at the moment at which it was asked for. */
export interface SearchRequest {
  readonly query: string
  readonly order: Order
  /** Parameters of the request. */
  readonly times: { readonly start_time?: string; readonly end_time?: string }
  readonly granularity: Granularity
  /** Tells a search from the same one, repeated. Unix ms. */
  readonly atMs: number
}

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]

/** Lengths of the intervals, ms. */
export const granularityMs: Readonly<Record<Granularity, number>> = { minute: minuteMs, hour: hourMs, day: dayMs }

/** The request of a search at a moment, Unix ms. */
export function requestOf({ query, span, order }: Search, atMs: number): SearchRequest {
  const times = timesOf(span, atMs)
  const fromMs = times.start_time === undefined ? firstPostMs : Date.parse(times.start_time)
  const untilMs = times.end_time === undefined ? atMs : Date.parse(times.end_time)
  return { query, order, times, granularity: granularityFor(untilMs - fromMs), atMs }
}

function timesOf(span: Span, atMs: number): SearchRequest["times"] {
  switch (span.kind) {
    case "24h":
      return { start_time: new Date(atMs - dayMs).toISOString() }
    case "7d":
      return { start_time: new Date(atMs - 7 * dayMs).toISOString() }
    case "all":
      return {}
    case "custom":
      return {
        ...(span.from !== "" && { start_time: span.from }),
        ...(span.until !== "" && { end_time: span.until }),
      }
  }
}

/** The intervals of a span: some hundred, which a chart can merge. A span that is no time has days: the server refuses it. */
function granularityFor(spanMs: number): Granularity {
  if (spanMs <= 3 * hourMs) return "minute"
  return spanMs <= 8 * dayMs ? "hour" : "day"
}
