/**
 * From a post to its handler: at constant rates, whether or not the server keeps up. Posts come in through one body
 * without an end, each when it is due; every post matches, and is delivered to one endpoint.
 *
 *     due ──► sent ──► accepted: its acknowledgement has come ──► handled: its delivery has come, whole
 *
 * Feeder and endpoint are one process, so that one clock times both. A delivery that is handled before the
 * acknowledgement arrives counts as 0. The second pair of figures begins when a post was due, and includes reading,
 * matching and storing; its limit is a relay that posts each line on when it arrives, and does nothing else.
 *
 * Source of the goals, ours: at 2,000 posts a second p50 of 1 ms and p99 of 5 ms from acceptance, and 1.5 and 2 times
 * the relay's from when a post was due; at 5,000 a second p99 of 8 ms from when it was due.
 */
import { addRules, linkWebhooks, type MeasuredApp } from "./app-client.ts"
import { startEndpoints } from "./endpoints.ts"
import { figure, median, quantile, type Figure } from "./figure.ts"
import { HandledPosts } from "./handled-posts.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import { startRelay, startSluice } from "./servers.ts"
import { feedAtRate } from "./constant-feed.ts"

const rates = [100, 1_000, 2_000, 5_000] as const
/** The rate that has most goals. */
const goalRate = 2_000
const allowedMs = { p50: 1, p99: 5 } as const
const allowedTimesBare = { p50: 1.5, p99: 2 } as const
/** A rate near the server's maximum, and the p99 that is allowed there. */
const highRate = 5_000
const highAllowedMs = 8
const shares = { p50: 0.5, p99: 0.99 } as const
const warmUpSeconds = 5
const seconds = 4

/** Prints the figures of the whole way. */
export async function endToEnd(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  await using sluice = await startSluice()
  let handled = new HandledPosts(1)
  await using endpoints = await startEndpoints(1, sluice.consumerSecret, (_, body) => handled.noteHandled(body))
  const url = endpoints.urls[0] as string
  await addRules(sluice, [madeWord])
  await linkWebhooks(sluice, [url])
  await using relay = await startRelay(url)
  const posts = new MadePosts()

  const run = async (app: MeasuredApp, perSecond: number, forSeconds: number): Promise<HandledPosts> => {
    handled = new HandledPosts(1)
    await feedAtRate(app, { posts, handled, perSecond, seconds: forSeconds })
    return handled
  }

  const bare = { url: `http://127.0.0.1:${relay.port}`, token: "none" }
  for (const app of [sluice, bare]) await run(app, goalRate, warmUpSeconds)
  for (const rate of rates) {
    const seen: Record<keyof typeof shares, Record<"accepted" | "due" | "bare", number[]>> = {
      p50: { accepted: [], due: [], bare: [] },
      p99: { accepted: [], due: [], bare: [] },
    }
    for (let round = 0; round < (isQuick ? 3 : 5); round++) {
      const ofSluice = await run(sluice, rate, seconds)
      const ofBare = await run(bare, rate, seconds)
      for (const name of ["p50", "p99"] as const) {
        seen[name].accepted.push(quantile(ofSluice.sinceAcceptedMs(), shares[name]))
        seen[name].due.push(quantile(ofSluice.sinceDueMs(), shares[name]))
        seen[name].bare.push(quantile(ofBare.sinceDueMs(), shares[name]))
      }
    }
    for (const name of ["p50", "p99"] as const) {
      print(
        figure(
          {
            name: `end-to-end-${rate}-${name}`,
            value: median(seen[name].accepted),
            unit: "ms",
            limit: allowedMs[name],
            limitIs: `from acceptance, allowed at ${goalRate}/s`,
          },
          rate === goalRate ? { atMost: 1 } : undefined,
        ),
      )
      print(
        figure(
          {
            name: `end-to-end-${rate}-from-due-${name}`,
            value: median(seen[name].due),
            unit: "ms",
            limit: median(seen[name].bare),
            limitIs: "a bare relay of node:http and undici",
          },
          rate === goalRate ? { atMost: allowedTimesBare[name] } : undefined,
        ),
      )
    }
    if (rate === highRate) {
      const allowed = { limit: highAllowedMs, limitIs: "from when it was due, allowed" }
      const value = median(seen.p99.due)
      print(figure({ name: `end-to-end-${rate}-from-due-p99-allowed`, value, unit: "ms", ...allowed }, { atMost: 1 }))
    }
  }
}
