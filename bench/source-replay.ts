/**
 * A replay of Bluesky: posts per second that come from a Jetstream in a separate process, at full speed, are converted,
 * matched against 10,000 rules and stored, until the position behind the last of them is durable. The posts are recorded
 * ones, sent again and again under new names.
 *
 * The limit is one request with the envelopes of the same posts to another server with the same rules, which came to its
 * store in the same rounds: the same work without a WebSocket, without conversion and without looking up names.
 *
 * Source of the goal: ours.
 */
import { addRules, sendPosts } from "./app-client.ts"
import { BlueskyFrames, envelopeOfFrame } from "./bluesky-frames.ts"
import { startChild } from "./child.ts"
import { Envelopes } from "./envelopes.ts"
import { figure, median, type Figure } from "./figure.ts"
import type { JetstreamMessage } from "./jetstream-child.ts"
import { someRules } from "./real-ingest.ts"
import { startSluice } from "./servers.ts"
import { sourceConnected, startSourced, storedUpTo } from "./sourced-server.ts"

const postsPerRound = 20_000

/** Time of the first post: a day ago, so that none is in the future. */
const beginMs = Date.now() - 24 * 3_600_000

/** Prints the figure of the replay. */
export async function sourceReplay(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const rules = someRules(Envelopes.read())
  await using resources = new AsyncDisposableStack()
  const jetstream = resources.use(startChild<JetstreamMessage>("jetstream-child.ts"))
  const { url } = (await jetstream.request({ kind: "url" })) as { readonly url: string }
  const sourced = resources.use(await startSourced({ type: "bluesky", urls: [url] }))
  const imported = resources.use(await startSluice())
  for (const server of [sourced, imported]) await addRules(server, rules)
  const recorded = new BlueskyFrames()
  const seen = { replayed: [] as number[], sent: [] as number[] }
  for (let round = -1; round < (isQuick ? 3 : 7); round += 1) {
    const fromMs = beginMs + (round + 1) * postsPerRound
    await jetstream.request({ kind: "make", posts: postsPerRound, fromMs })
    const frames = Array.from({ length: postsPerRound }, (_, at) => recorded.post(fromMs + at))
    const body = frames.map(envelopeOfFrame).join("")
    await sourceConnected(sourced)
    const replayed = await perSecond(async () => {
      await jetstream.request({ kind: "send" })
      await storedUpTo(sourced, String((fromMs + postsPerRound - 1) * 1_000))
    })
    const sent = await perSecond(() => sendPosts(imported, body, postsPerRound))
    // The first round warms up.
    if (round < 0) continue
    seen.replayed.push(replayed)
    seen.sent.push(sent)
  }
  const content = { name: "source-replay", value: median(seen.replayed), unit: "posts/s", limit: median(seen.sent) }
  print(figure({ ...content, limitIs: "one request with the same posts as envelopes" }, { atLeast: 0.7 }))
}

async function perSecond(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return (postsPerRound / (performance.now() - startMs)) * 1_000
}
