/**
 * The cost of what look-ups and searches need, to ingest of real posts against 10,000 rules: users are kept, and a
 * thread fills the search index.
 *
 *     kept        users and index                    SLUICE_SEARCH=on
 *     searchless  users                              SLUICE_SEARCH=off
 *     none        neither                            SLUICE_SEARCH=off, posts whose users have no username
 *
 * The three take turns, and the index has all posts before the next one begins. Another server then takes posts at a
 * constant rate, while the bench watches how far its index is: the lag of a post is the time from its acknowledgement
 * until the index has it.
 *
 * Source of the goals, ours: 0.8 of ingest that keeps neither; a lag below 1 s at 5,000 posts a second.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { addRules, metrics, openFeed } from "./app-client.ts"
import { atConstantRate } from "./constant-rate.ts"
import { Envelopes } from "./envelopes.ts"
import { figure, median, quantile, type Figure } from "./figure.ts"
import { indexed, indexOf, type IndexProgress } from "./index-progress.ts"
import { bodiesOf, sentPerSecond, someRules } from "./real-ingest.ts"
import { SearchedPosts } from "./searched-posts.ts"
import { startSluice, type MeasuredSluice } from "./servers.ts"

const perBody = 4_000
const warmUpRounds = 3
const lagRate = 5_000
const lagAllowedMs = 1_000
/** How often the bench reads how far the index is. */
const watchMs = 5

type Print = (figure: Figure) => void

/** Prints the figures of ingest with and without users and index, and of the index's lag. */
export async function indexing(print: Print, { isQuick }: { readonly isQuick: boolean }): Promise<void> {
  await measureIngest(print, isQuick ? 3 : 9)
  await measureLag(print, isQuick ? 8 : 20)
}

/** Processor time, memory and bytes that a server has used so far. */
interface Used {
  readonly processorUs: number
  readonly residentMb: number
}

async function measureIngest(print: Print, rounds: number): Promise<void> {
  const envelopes = Envelopes.read()
  const rules = someRules(envelopes)
  await using kept = await startSluice({ settings: { SLUICE_SEARCH: "on" } })
  await using searchless = await startSluice()
  await using none = await startSluice()
  using index = indexOf(kept)
  for (const server of [kept, searchless, none]) await addRules(server, rules)

  const seen = { kept: [] as number[], searchless: [] as number[], none: [] as number[] }
  let before: readonly Used[] = []
  for (let round = -warmUpRounds; round < rounds; round++) {
    const { bodies, count } = bodiesOf(envelopes, { round: round + warmUpRounds, perBody })
    const nameless = bodies.map(withoutUsernames)
    if (round === 0) before = await Promise.all([kept, searchless, none].map(usedBy))
    const ofKept = await sentPerSecond([kept], bodies)
    await indexed(index, (round + warmUpRounds + 1) * count)
    const ofSearchless = await sentPerSecond([searchless], bodies)
    const ofNone = await sentPerSecond([none], nameless)
    if (round < 0) continue
    seen.kept.push(ofKept)
    seen.searchless.push(ofSearchless)
    seen.none.push(ofNone)
  }
  const after = await Promise.all([kept, searchless, none].map(usedBy))
  const eachUs = after.map(({ processorUs }, at) => {
    const usedUs = processorUs - (before[at]?.processorUs ?? Number.NaN)
    return usedUs / (rounds * envelopes.count)
  })

  const unit = "posts/s"
  const [value, searchlessRate, noneRate] = [median(seen.kept), median(seen.searchless), median(seen.none)]
  const neither = "neither users nor an index"
  print(figure({ name: "indexing", value, unit, limit: noneRate, limitIs: neither }, { atLeast: 0.8 }))
  print(figure({ name: "indexing-users", value: searchlessRate, unit, limit: noneRate, limitIs: "no users" }))
  print(figure({ name: "indexing-search", value, unit, limit: searchlessRate, limitIs: "no index" }))
  const [keptUs = Number.NaN, searchlessUs = Number.NaN, noneUs = Number.NaN] = eachUs
  print(figure({ name: "indexing-processor", value: keptUs, unit: "µs/post", limit: noneUs, limitIs: neither }))
  print(
    figure({
      name: "indexing-processor-users",
      value: searchlessUs,
      unit: "µs/post",
      limit: noneUs,
      limitIs: "no users",
    }),
  )
  print(
    figure({
      name: "indexing-memory",
      value: after[0]?.residentMb ?? Number.NaN,
      unit: "MB",
      limit: after[1]?.residentMb ?? Number.NaN,
      limitIs: "no index",
    }),
  )
}

/** The same posts, of as many bytes, whose users cannot be kept. Rules for usernames match fewer of them. */
function withoutUsernames(body: Buffer): Buffer {
  const lines = body.toString("utf8").trimEnd().split("\n")
  const nameless = lines.map((line) => {
    const begin = line.indexOf('"users":[')
    return begin < 0 ? line : line.slice(0, begin) + line.slice(begin).replaceAll('"username":', '"nameless":')
  })
  return Buffer.from(`${nameless.join("\n")}\n`)
}

async function usedBy(sluice: MeasuredSluice): Promise<Used> {
  const values = await metrics(sluice)
  return {
    processorUs: (values.get("process_cpu_seconds_total") ?? Number.NaN) * 1e6,
    residentMb: (values.get("process_resident_memory_bytes") ?? Number.NaN) / 1e6,
  }
}

/** How many posts had come so far at a time. */
interface Come {
  readonly posts: number
  readonly atMs: number
}

async function measureLag(print: Print, seconds: number): Promise<void> {
  await using sluice = await startSluice({ settings: { SLUICE_SEARCH: "on" } })
  using index = indexOf(sluice)
  const warmUpPosts = 4 * lagRate
  const count = warmUpPosts + lagRate * seconds
  const posts = new SearchedPosts({ count, endMs: Date.now(), spanMs: (count / lagRate) * 1_000 })
  // Made before: making them takes a tenth of a core.
  const lines = Array.from({ length: count }, (_, number) => posts.lines(number, number + 1))
  const accepted: Come[] = []
  const watching = watch(index, count)
  let sent = 0
  const feed = openFeed(sluice, (acknowledged) => accepted.push({ posts: acknowledged, atMs: performance.now() }))
  await atConstantRate(lagRate, count / lagRate, (due) => {
    feed.write(lines.slice(sent, sent + due).join(""))
    sent += due
  })
  await feed.end()
  const lagsMs = lagsOf(accepted, await watching).slice(warmUpPosts)
  const allowed = { unit: "ms", limit: lagAllowedMs, limitIs: `allowed at ${lagRate} posts/s` }
  print(figure({ name: "indexing-lag-p99", value: quantile(lagsMs, 0.99), ...allowed }, { atMost: 1 }))
  print(figure({ name: "indexing-lag-p50", value: quantile(lagsMs, 0.5), ...allowed }))
}

/** Reads how far the index is until it has so many posts. */
async function watch(index: IndexProgress, count: number): Promise<readonly Come[]> {
  const seen: Come[] = []
  for (let posts = 0; posts < count; await sleep(watchMs)) {
    posts = await index.posts()
    if (posts !== seen.at(-1)?.posts) seen.push({ posts, atMs: performance.now() })
  }
  return seen
}

/** The lag of each post, in the order in which they were acknowledged. 0 when it was seen in the index before. */
function lagsOf(accepted: readonly Come[], inIndex: readonly Come[]): readonly number[] {
  const lagsMs: number[] = []
  let at = 0
  for (const { posts, atMs } of accepted) {
    while (lagsMs.length < posts) {
      while ((inIndex[at]?.posts ?? Number.POSITIVE_INFINITY) <= lagsMs.length) at += 1
      lagsMs.push(Math.max(0, (inIndex[at]?.atMs ?? Number.NaN) - atMs))
    }
  }
  return lagsMs
}
