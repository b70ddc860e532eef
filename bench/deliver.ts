/**
 * Deliveries to webhooks: matches per second to 1 to 1,000 endpoints, and the effect of a dead endpoint on the others.
 *
 * The log is filled while the webhooks are invalid, so that the links wait; then they are made valid, and only sending
 * is measured: log, cursor, rendering, both signatures, saved progress, attempts. The limit is a loop over undici's
 * pools in a separate process, which signs and posts the same bytes to the same endpoints. Both are counted on arrival,
 * without the first tenth, and Sluice's from the moment when all webhooks are valid.
 *
 * Source of the goals, ours: 0.75 and 0.85 of the bare loop; the p99 of healthy endpoints within 1.2 times.
 */
import { addRules, linkWebhooks } from "./app-client.ts"
import { startEndpoints, type Endpoints } from "./endpoints.ts"
import { figure, median, quantile, type Figure } from "./figure.ts"
import { HandledPosts } from "./handled-posts.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import { startChild, type Child } from "./child.ts"
import type { SenderMessage } from "./bare-sender.ts"
import { startSluice, type MeasuredSluice } from "./servers.ts"
import { feedAtRate } from "./constant-feed.ts"
import { timeDeliveries, wordCount, type TimedDeliveries } from "./timed-deliveries.ts"

/** Requests in flight in the bare loop: more make it no faster. */
const bareConcurrency = 32

const sets = [
  { name: "1", endpoints: 1, posts: 30_000, goal: { atLeast: 0.75 } },
  { name: "10", endpoints: 10, posts: 4_000, goal: undefined },
  { name: "100", endpoints: 100, posts: 600, goal: { atLeast: 0.85 } },
  // Validating a thousand webhooks takes a while: deliveries until then are not counted.
  { name: "1000", endpoints: 1_000, posts: 120, goal: undefined },
] as const

/** Prints the figures of deliveries. */
export async function deliver(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  for (const set of sets) print(await measureRate(set, isQuick ? 3 : 7))
  await measureNeighbours(print, isQuick ? 3 : 7)
}

async function measureRate(set: (typeof sets)[number], rounds: number): Promise<Figure> {
  await using sluice = await startSluice({ settings: { SLUICE_WEBHOOKS_PER_APP_MAX: String(set.endpoints) } })
  await using sender: Child<SenderMessage> = startChild<SenderMessage>("bare-sender.ts")
  await using deliveries: TimedDeliveries = await timeDeliveries([sluice], set)
  const bareRate = async (bodies: readonly string[]): Promise<number> => {
    const { urls } = deliveries
    return deliveries.counted(() =>
      sender.request({ urls, bodies, deliveries: set.endpoints * set.posts, concurrency: bareConcurrency }),
    )
  }

  const seen = { sluice: [] as number[], bare: [] as number[] }
  // The first two rounds warm up.
  for (let round = -2; round < rounds; round++) {
    const rate = await deliveries.perSecond()
    const bare = await bareRate(await deliveries.bodies())
    if (round < 0) continue
    seen.sluice.push(rate)
    seen.bare.push(bare)
  }
  return figure(
    {
      name: `deliver-${set.name}`,
      value: median(seen.sluice),
      unit: "deliveries/s",
      limit: median(seen.bare),
      limitIs: "a bare loop of undici that signs and posts the same bytes",
    },
    set.goal,
  )
}

/**
 * Sends 2,000 deliveries a second to 100 endpoints, from a server whose endpoints are all healthy, and from one that
 * has a black hole among them.
 */
async function measureNeighbours(print: (figure: Figure) => void, rounds: number): Promise<void> {
  await using healthy = await startNeighbourhood(false)
  await using wounded = await startNeighbourhood(true)
  const p99s = { healthy: [] as number[], wounded: [] as number[] }
  // The first round warms up, and lasts until the server has found the dead endpoint.
  for (let round = -1; round < rounds; round++) {
    const seconds = round < 0 ? 12 : 4
    const [well, ill] = [await healthy.p99Ms(seconds), await wounded.p99Ms(seconds)]
    if (round < 0) continue
    p99s.healthy.push(well)
    p99s.wounded.push(ill)
  }
  print(
    figure(
      {
        name: "deliver-dead-neighbour-p99",
        value: median(p99s.wounded),
        unit: "ms",
        limit: median(p99s.healthy),
        limitIs: "the same 99 endpoints next to a healthy one",
      },
      { atMost: 1.2 },
    ),
  )
}

interface Neighbourhood extends AsyncDisposable {
  /** The p99 of the time from acceptance to handling, over the deliveries of this many seconds to the 99 endpoints. */
  p99Ms(seconds: number): Promise<number>
}

async function startNeighbourhood(hasDead: boolean): Promise<Neighbourhood> {
  await using resources = new AsyncDisposableStack()
  const sluice: MeasuredSluice = resources.use(await startSluice())
  let handled = new HandledPosts(0)
  const endpoints: Endpoints = resources.use(
    await startEndpoints(100, sluice.consumerSecret, (endpoint, body) => {
      // The first one is the dead one, and is never counted.
      if (endpoint > 0) handled.noteHandled(body)
    }),
  )
  await addRules(sluice, [madeWord])
  await linkWebhooks(sluice, endpoints.urls)
  if (hasDead) endpoints.silent.add(0)
  const posts = new MadePosts({ wordCount })
  const owned = resources.move()
  return {
    async p99Ms(seconds) {
      const perSecond = 20
      handled = new HandledPosts(99)
      await feedAtRate(sluice, { posts, handled, perSecond, seconds })
      return quantile(handled.sinceAcceptedMs(), 0.99)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
