/**
 * Deliveries that are held until all of them are in the log: what is measured then is the sending alone, log, cursor,
 * rendering, both signatures, saved progress, attempts.
 */
import { addRules, linkWebhooks, revalidate, sendPosts } from "./app-client.ts"
import { startChild, type Child } from "./child.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import type { MeasuredSluice } from "./servers.ts"
import type { SinkMessage } from "./sink.ts"

/** With so many words a delivery has about 1.2 KB. */
export const wordCount = 110

/** Posts of a body that fills the log. */
const perBody = 5_000

/** Webhooks that are linked, and where they count. */
export interface TimedDeliveries extends AsyncDisposable {
  /** Of the endpoints. */
  readonly urls: readonly string[]
  /**
   * Fills the log while the webhooks are invalid, makes them valid, and returns how fast deliveries come. Waits for `held`
   * in between.
   */
  perSecond(held?: () => Promise<void>): Promise<number>
  /** How fast deliveries come that others send: as many. */
  counted(send: () => Promise<unknown>): Promise<number>
  /** The first deliveries that came. */
  bodies(): Promise<readonly string[]>
}

/** Links endpoints of a process of their own to the app of these servers, which share a store. */
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
  const posts = new MadePosts(wordCount)
  const count = (): Promise<unknown> => sink.request({ kind: "count", deliveries: set.endpoints * set.posts })
  const rate = async (): Promise<number> => ((await sink.request({ kind: "rate" })) as { perSecond: number }).perSecond
  const owned = starting.move()
  return {
    urls,
    async perSecond(held) {
      // A few may go out before a link knows that its webhook is invalid, and are not missed later.
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
