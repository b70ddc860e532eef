/**
 * Deliveries that wait until all of them are in the log, so that only sending is measured: log, cursor, rendering, both
 * signatures, saved progress, attempts.
 */
import { addRules, linkWebhooks, revalidate, sendPosts } from "./app-client.ts"
import { startChild, type Child } from "./child.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import type { MeasuredSluice } from "./servers.ts"
import type { SinkMessage } from "./sink.ts"

/** A delivery of this many words has about 1.2 KB. */
export const wordCount = 110

/** Posts of a body that fills the log. */
const perBody = 5_000

/** Linked webhooks, and the endpoints that count. */
export interface TimedDeliveries extends AsyncDisposable {
  /** URLs of the endpoints. */
  readonly urls: readonly string[]
  /**
   * Fills the log while the webhooks are invalid, makes them valid, and returns how fast deliveries come. Waits for
   * `held` in between.
   */
  perSecond(held?: () => Promise<void>): Promise<number>
  /** Returns how fast as many deliveries of another sender come. */
  counted(send: () => Promise<unknown>): Promise<number>
  /** The first deliveries that came. */
  bodies(): Promise<readonly string[]>
}

/** Links endpoints of a separate process to the app of these servers, which share a store. */
export async function timeDeliveries(
  servers: readonly [MeasuredSluice, ...MeasuredSluice[]],
  set: { readonly endpoints: number; readonly posts: number },
): Promise<TimedDeliveries> {
  const [sluice] = servers
  const args = [String(set.endpoints), sluice.consumerSecret]
  await using starting = new AsyncDisposableStack()
  const sink: Child<SinkMessage> = starting.use(startChild<SinkMessage>("sink.ts", args))
  const { urls } = (await sink.request({ kind: "urls" })) as { urls: readonly string[] }
  await addRules(sluice, [madeWord])
  const webhooks = await linkWebhooks(sluice, urls)
  const posts = new MadePosts({ wordCount })
  const count = (): Promise<unknown> => sink.request({ kind: "count", deliveries: set.endpoints * set.posts })
  const rate = async (): Promise<number> => ((await sink.request({ kind: "rate" })) as { perSecond: number }).perSecond
  const owned = starting.move()
  return {
    urls,
    async perSecond(held) {
      // A few may leave before a link learns that its webhook is invalid: counting starts first to include them.
      await count()
      await sink.request({ kind: "validity", areValid: false })
      await revalidate(sluice, webhooks, false)
      for (let sent = 0; sent < set.posts; sent += perBody) {
        const inBody = Math.min(perBody, set.posts - sent)
        await sendPosts(sluice, posts.take(inBody), inBody)
      }
      await held?.()
      await sink.request({ kind: "validity", areValid: true })
      await revalidate(sluice, webhooks, true)
      await sink.request({ kind: "begun" })
      return rate()
    },
    async counted(send) {
      await count()
      await send()
      return rate()
    },
    async bodies() {
      return ((await sink.request({ kind: "bodies" })) as { bodies: readonly string[] }).bodies
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
