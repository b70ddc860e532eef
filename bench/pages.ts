/**
 * A user's posts, 100 per page, from 1,000,000 stored posts: page 1 and page 5,000.
 *
 * Depth must not matter, so the goal is the ratio of the two. The bench also measures the same bytes from a bare
 * `node:http` server, and the cost of a response whose posts are parsed and stringified instead of spliced.
 */
import { pathOf, paths } from "../packages/api/src/paths.ts"
import { createClient } from "../packages/client/src/index.ts"
import { defaultSelection } from "../packages/server/src/model/field-selection.ts"
import type { PostId } from "../packages/server/src/model/ids.ts"
import { renderPosts } from "../packages/server/src/model/render-post.ts"
import { sendPosts } from "./app-client.ts"
import { figure, median, quantile, type Bench, type Figure } from "./figure.ts"
import { load } from "./load.ts"
import { madeAuthor, madeEnvelope } from "./made-posts.ts"
import { startBare, startSluice, type MeasuredSluice } from "./servers.ts"

const postCount = 1_000_000
const pageDepth = 5_000
const basePath = `${pathOf(paths.userPosts, { id: madeAuthor })}?max_results=100`
const rounds = 7
const warmUpSeconds = 5
const seconds = 3
const connections = 1

/** Prints the figures of user posts. */
export const pages: Bench = async (print) => {
  await using sluice = await startSluice()
  const headers = { Authorization: `Bearer ${sluice.token}` }
  const perSecond = await sendAll(sluice)
  const deepPath = await pathOfPage(sluice, pageDepth)
  const body = await (await fetch(sluice.url + basePath, { headers })).text()
  await using bare = await startBare("node-bytes", body)

  const targets = {
    first: { port: sluice.port, path: basePath, headers, connections },
    deep: { port: sluice.port, path: deepPath, headers, connections },
    bare: { port: bare.port, path: "/", connections },
  }
  const names = Object.keys(targets) as (keyof typeof targets)[]
  const p50s: Record<keyof typeof targets, number[]> = { first: [], deep: [], bare: [] }
  const p99s: Record<keyof typeof targets, number[]> = { first: [], deep: [], bare: [] }
  for (const name of names) await load({ ...targets[name], seconds: warmUpSeconds })
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const { latenciesMs } = await load({ ...targets[name], seconds })
      p50s[name].push(quantile(latenciesMs, 0.5))
      p99s[name].push(quantile(latenciesMs, 0.99))
    }
  }

  const unit = "ms"
  const ofBare = "the same bytes from bare node:http"
  print(
    figure(
      {
        name: "pages-depth-p50",
        value: median(p50s.deep),
        unit,
        limit: median(p50s.first),
        limitIs: "page 1",
      },
      { atMost: 1.2 },
    ),
  )
  print(
    figure({
      name: "pages-depth-p99",
      value: median(p99s.deep),
      unit,
      limit: median(p99s.first),
      limitIs: "page 1",
    }),
  )
  print(
    figure({
      name: "pages-first-p50",
      value: median(p50s.first),
      unit,
      limit: median(p50s.bare),
      limitIs: ofBare,
    }),
  )
  print(
    figure({
      name: "pages-first-p99",
      value: median(p99s.first),
      unit,
      limit: median(p99s.bare),
      limitIs: ofBare,
    }),
  )
  print(
    figure({
      name: "pages-deep-p50",
      value: median(p50s.deep),
      unit,
      limit: median(p50s.bare),
      limitIs: ofBare,
    }),
  )
  print(
    figure({
      name: "pages-deep-p99",
      value: median(p99s.deep),
      unit,
      limit: median(p99s.bare),
      limitIs: ofBare,
    }),
  )
  print(await splice())
  process.stderr.write(`(sent ${postCount} posts at ${perSecond.toFixed(0)} posts/s over HTTP)\n`)
}

/**
 * Pages per second rendered from stored texts, and from envelopes that are parsed, picked from and stringified: the
 * cost in this thread if the store kept posts in one form only. Rounds alternate.
 */
async function splice(): Promise<Figure> {
  const posts = Array.from({ length: 100 }, (_, index) => {
    const { data } = JSON.parse(madeEnvelope(index)) as { data: Record<string, unknown> }
    const { id, text, edit_history_tweet_ids: history } = data
    return {
      id: id as PostId,
      core: JSON.stringify({ id, text, edit_history_tweet_ids: history }),
      whole: madeEnvelope(index),
    }
  })
  const spliced = async (): Promise<number> => {
    const stored = posts.map(({ id, core }) => ({ id, json: core }))
    return (await renderPosts(stored, defaultSelection)).dataJson.length
  }
  const parsed = async (): Promise<number> =>
    JSON.stringify(
      posts.map(({ whole }) => {
        const {
          id,
          text,
          edit_history_tweet_ids: history,
        } = (JSON.parse(whole) as { data: Record<string, unknown> }).data
        return { id, text, edit_history_tweet_ids: history }
      }),
    ).length
  if ((await spliced()) !== (await parsed())) throw new Error("the two ways do not show the same")
  const perSecond = { spliced: [] as number[], parsed: [] as number[] }
  for (let round = 0; round < rounds + 2; round++) {
    for (const [name, render] of [
      ["spliced", spliced],
      ["parsed", parsed],
    ] as const) {
      const startMs = performance.now()
      let count = 0
      while (performance.now() - startMs < 500) {
        await render()
        count += 1
      }
      // The first two rounds warm up.
      if (round >= 2) perSecond[name].push(count / ((performance.now() - startMs) / 1000))
    }
  }
  return figure(
    {
      name: "pages-splice",
      value: median(perSecond.spliced),
      unit: "pages/s",
      limit: median(perSecond.parsed),
      limitIs: "parsed and stringified",
    },
    { atLeast: 4 },
  )
}

/** Sends the posts over HTTP, in bodies of 20,000. Returns posts per second. */
async function sendAll(sluice: MeasuredSluice): Promise<number> {
  const perBody = 20_000
  const startMs = performance.now()
  for (let first = 0; first < postCount; first += perBody) {
    const body = Array.from({ length: perBody }, (_, index) => madeEnvelope(first + index)).join("")
    await sendPosts(sluice, body, perBody)
  }
  return (postCount / (performance.now() - startMs)) * 1000
}

/** Follows `next_token` to the given page, and checks that no page repeats or skips a post. */
async function pathOfPage(sluice: MeasuredSluice, page: number): Promise<string> {
  const options = { parameters: { id: madeAuthor }, query: { max_results: 100 } }
  let number = 0
  let oldest: bigint | undefined
  for await (const { meta } of createClient(sluice).pages("userPosts", options)) {
    number += 1
    const { result_count: count, newest_id: newest = "0", oldest_id: last = "0", next_token: token } = meta ?? {}
    if (count !== 100 || (oldest !== undefined && BigInt(newest) !== oldest - 4_194_304n))
      throw new Error(`page ${number} is not the next`)
    if (number === page - 1) return `${basePath}&pagination_token=${token}`
    oldest = BigInt(last)
  }
  throw new Error(`there are only ${number} pages`)
}
