/**
 * Bluesky live: from a frame to a webhook. A Jetstream sends 50 posts and 950 other events a second, each when it is due;
 * every post matches, and is delivered to one endpoint. Feeder and endpoint are one process, so that one clock times both.
 *
 *     due ──► frame ──► converted, matched, stored ──► handled: its delivery has come, whole
 *
 * The limit is the same number of posts a second through one body of HTTP ingest, to the same server, in turn with the
 * frames: the envelopes of further posts of the same kind.
 *
 * Source of the goal: ours.
 */
import { addRules, linkWebhooks, openFeed } from "./app-client.ts"
import { BlueskyFrames, envelopeOfFrame } from "./bluesky-frames.ts"
import { atConstantRate } from "./constant-rate.ts"
import { startEndpoints } from "./endpoints.ts"
import { figure, median, quantile, type Figure } from "./figure.ts"
import { HandledPosts } from "./handled-posts.ts"
import { madeWord } from "./made-posts.ts"
import { startJetstream } from "../packages/server/src/sources/bluesky/jetstream-server.testing.ts"
import { sourceConnected, startSourced } from "./sourced-server.ts"

const eventsPerSecond = 1_000
/** One in so many events is a post. */
const eventsPerPost = 20
const postsPerSecond = eventsPerSecond / eventsPerPost

/** Prints the latencies of live posts. */
export async function sourceLive(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  await using jetstream = await startJetstream()
  await using sluice = await startSourced({ type: "bluesky", urls: [jetstream.url] })
  let handled = new HandledPosts(1)
  await using endpoints = await startEndpoints(1, sluice.consumerSecret, (_, body) => handled.noteHandled(body))
  await addRules(sluice, [madeWord])
  await linkWebhooks(sluice, endpoints.urls)
  const recorded = new BlueskyFrames()
  // One event a millisecond, about as time goes on.
  let atMs = Date.now()
  const post = (): string => recorded.post(atMs++, ` ${madeWord}`)

  const live = async (seconds: number): Promise<readonly number[]> => {
    handled = new HandledPosts(1)
    let events = 0
    await sourceConnected(sluice)
    await atConstantRate(eventsPerSecond, seconds, (count, dueMs) => {
      for (let at = 0; at < count; at += 1, events += 1) {
        const isPost = events % eventsPerPost === 0
        const frame = isPost ? post() : recorded.other(atMs++)
        if (isPost) handled.noteDue(envelopeOfFrame(frame), dueMs + (at * 1_000) / eventsPerSecond)
        jetstream.sendRaw(frame)
      }
    })
    await handled.all
    return handled.sinceDueMs()
  }
  const overHttp = async (seconds: number): Promise<readonly number[]> => {
    handled = new HandledPosts(1)
    const feed = openFeed(sluice, () => undefined)
    await atConstantRate(postsPerSecond, seconds, (count, dueMs) => {
      for (let at = 0; at < count; at += 1) {
        const line = envelopeOfFrame(post())
        handled.noteDue(line, dueMs + (at * 1_000) / postsPerSecond)
        feed.write(line)
      }
    })
    await handled.all
    await feed.end()
    return handled.sinceDueMs()
  }

  for (const way of [live, overHttp]) await way(5)
  const seen = { live: [] as (readonly number[])[], http: [] as (readonly number[])[] }
  for (let round = 0; round < (isQuick ? 3 : 7); round += 1) {
    seen.live.push(await live(10))
    seen.http.push(await overHttp(10))
  }
  for (const [name, share, goal] of [
    ["p50", 0.5, undefined],
    ["p99", 0.99, { atMost: 1.5 }],
  ] as const) {
    const of = (rounds: readonly (readonly number[])[]): number =>
      median(rounds.map((latenciesMs) => quantile(latenciesMs, share)))
    const content = { name: `source-live-${name}`, value: of(seen.live), unit: "ms", limit: of(seen.http) }
    print(figure({ ...content, limitIs: "end to end over HTTP ingest at the same rate" }, goal))
  }
}
