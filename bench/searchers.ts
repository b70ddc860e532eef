/** `searchers.ts URL TOKEN…`: apps that search without a pause, in a separate process. */
import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "../packages/api/src/paths.ts"
import { send } from "./attacks/traffic.ts"
import { replyToEach } from "./child.ts"
import { boundTo, frequentWord, marks } from "./searched-posts.ts"

/** A command to the apps. The reply to `stop` is the number of their searches, as `searches`. */
export type SearchersMessage = { readonly kind: "start" | "stop" }

const [url = "", ...tokens] = process.argv.slice(2)

/** Ordinary searches, and the costliest ones. */
const requests = [
  `${paths.searchAll}?max_results=100&query=${marks.selective}`,
  `${paths.searchAll}?max_results=500&query=${frequentWord(0)}`,
  `${paths.searchAll}?max_results=100&query=${phrase(5, boundTo(5))}`,
  `${paths.searchAll}?max_results=100&query=${phrase(0, 1, 0, 1, 0, 1)}`,
  `${paths.searchAll}?max_results=100&sort_order=relevancy&query=${marks.frequent}`,
  `${paths.countsAll}?granularity=hour&query=${marks.frequent}`,
  `${paths.countsAll}?granularity=day&query=${phrase(0, 1)}`,
]

function phrase(...ranks: readonly number[]): string {
  return encodeURIComponent(`"${ranks.map(frequentWord).join(" ")}"`)
}

let running: Promise<unknown> | undefined
let stopping = new AbortController()
let searches = 0

replyToEach<SearchersMessage>(async ({ kind }) => {
  if (kind === "start") {
    stopping = new AbortController()
    searches = 0
    running = Promise.all(tokens.map((token, at) => searchOn(token, at, stopping.signal)))
    return {}
  }
  stopping.abort()
  await running
  return { searches }
})

/** One search after the other. A refused one is repeated after a moment, so that the refusal costs the app as well. */
async function searchOn(token: string, first: number, signal: AbortSignal): Promise<void> {
  for (let at = first; !signal.aborted; at += 1) {
    const path = requests[at % requests.length] ?? ""
    const status = await send({ url, token }, "GET", path, undefined, signal).catch(() => 0)
    if (status === 200) searches += 1
    else await sleep(10)
  }
}
