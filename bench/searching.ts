/**
 * Ten apps that search without a pause, next to an app with a stream connection and another one that pages.
 *
 *     alone    posts at a constant rate ─► stream: the time since each was due; pages of a user's posts likewise
 *     next to  the same, while the ten search 200,000 posts (50,000 with `--quick`)
 *
 * Source of the goals, ours: the p99 of posts within 1.5 times that of the two alone; that of pages within 250 ms.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { pathOf, paths } from "../packages/api/src/paths.ts"
import { createClient } from "../packages/client/src/index.ts"
import { addRules, type MeasuredApp } from "./app-client.ts"
import { send } from "./attacks/traffic.ts"
import { startChild } from "./child.ts"
import { feedAtRate } from "./constant-feed.ts"
import { atConstantRate } from "./constant-rate.ts"
import { figure, median, quantile, type Figure } from "./figure.ts"
import { HandledPosts } from "./handled-posts.ts"
import { indexed, indexOf } from "./index-progress.ts"
import { madeAuthor, MadePosts, madeWord } from "./made-posts.ts"
import { SearchedPosts, sendAll } from "./searched-posts.ts"
import type { SearchersMessage } from "./searchers.ts"
import { addApp, startSluice } from "./servers.ts"

const searcherCount = 10
const [postsPerSecond, pagesPerSecond] = [100, 20]
const pagesAllowedMs = 250
const pagePath = `${pathOf(paths.userPosts, { id: madeAuthor })}?max_results=100`

/** Times that the two apps measured, in milliseconds. */
interface Experience {
  readonly postsMs: readonly number[]
  readonly pagesMs: readonly number[]
}

/** Prints the figures of the two apps. */
export async function searching(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  await using sluice = await startSluice({ settings: { SLUICE_SEARCH: "on" } })
  using index = indexOf(sluice)
  const stored = new SearchedPosts({ count: isQuick ? 50_000 : 200_000, endMs: Date.now() })
  await sendAll(sluice, stored)
  await indexed(index, stored.count)
  const pager = addApp(sluice, "pager")
  const tokens = Array.from({ length: searcherCount }, (_, at) => addApp(sluice, `searcher ${at}`).token)
  await using searchers = startChild<SearchersMessage>("searchers.ts", [sluice.url, ...tokens])
  await addRules(sluice, [madeWord])

  let handled = new HandledPosts(1)
  await using stream = openStream(sluice, (id) => handled.noteHandledId(id))
  const posts = new MadePosts()
  const live = async (seconds: number): Promise<Experience> => {
    handled = new HandledPosts(1)
    const feed = feedAtRate(sluice, { posts, handled, perSecond: postsPerSecond, seconds })
    const [pagesMs] = await Promise.all([readPages(pager, seconds), Promise.race([feed, stream.failed])])
    return { postsMs: handled.sinceDueMs(), pagesMs }
  }

  const seconds = isQuick ? 5 : 15
  await live(seconds)
  const seen = { alone: [] as Experience[], nextTo: [] as Experience[] }
  let searches = 0
  for (let round = 0; round < 3; round++) {
    seen.alone.push(await live(seconds))
    await searchers.request({ kind: "start" })
    // Caches of the searches fill.
    await sleep(1_000)
    seen.nextTo.push(await live(seconds))
    searches += ((await searchers.request({ kind: "stop" })) as { searches: number }).searches
  }
  process.stderr.write(`(${(searches / (3 * (seconds + 1))).toFixed(1)} searches a second)\n`)

  const p99 = (experiences: readonly Experience[], of: keyof Experience): number =>
    median(experiences.map((one) => quantile(one[of], 0.99)))
  const unit = "ms"
  const alone = "the two alone"
  const value = p99(seen.nextTo, "postsMs")
  print(
    figure(
      { name: "searching-posts-p99", value, unit, limit: p99(seen.alone, "postsMs"), limitIs: alone },
      { atMost: 1.5 },
    ),
  )
  const pages = { value: p99(seen.nextTo, "pagesMs"), unit }
  const allowed = { limit: pagesAllowedMs, limitIs: "allowed" }
  print(figure({ name: "searching-pages-p99-allowed", ...pages, ...allowed }, { atMost: 1 }))
  print(figure({ name: "searching-pages-p99", ...pages, limit: p99(seen.alone, "pagesMs"), limitIs: alone }))
}

/** Reads a page whenever one is due. */
async function readPages(app: MeasuredApp, seconds: number): Promise<readonly number[]> {
  const timesMs: number[] = []
  const underWay: Promise<void>[] = []
  const read = async (dueMs: number): Promise<void> => {
    const status = await send(app, "GET", pagePath)
    if (status !== 200) throw new Error(`a page: ${status}`)
    timesMs.push(performance.now() - dueMs)
  }
  await atConstantRate(pagesPerSecond, seconds, (count, dueMs) => {
    for (let at = 0; at < count; at++) underWay.push(read(dueMs))
  })
  await Promise.all(underWay)
  return timesMs
}

/** A stream connection, until it is disposed of. */
interface OpenStream extends AsyncDisposable {
  /** Rejects when the connection fails; otherwise it stays pending. */
  readonly failed: Promise<never>
}

/** Opens the app's stream, with the matches of the last minute. */
function openStream(app: MeasuredApp, came: (id: string) => void): OpenStream {
  const left = new AbortController()
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => undefined)
  const query = { backfill_minutes: 1 }
  const reading = (async () => {
    for await (const { body } of createClient(app).stream({ query, signal: left.signal })) {
      if (body?.data?.id !== undefined) came(body.data.id)
    }
  })().catch(reject)
  return {
    failed,
    async [Symbol.asyncDispose]() {
      left.abort()
      await reading
    },
  }
}
