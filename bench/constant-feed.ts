import { openFeed, type MeasuredApp } from "./app-client.ts"
import { atConstantRate } from "./constant-rate.ts"
import type { HandledPosts } from "./handled-posts.ts"
import type { MadePosts } from "./made-posts.ts"

/** Posts to send, their rate, and where to note them. */
interface ConstantFeed {
  readonly posts: MadePosts
  readonly handled: HandledPosts
  readonly perSecond: number
  readonly seconds: number
}

/** Sends posts through one body, each when it is due. Resolves when all of them are handled. */
export async function feedAtRate(
  app: MeasuredApp,
  { posts, handled, perSecond, seconds }: ConstantFeed,
): Promise<void> {
  const feed = openFeed(app, (count) => handled.noteAccepted(count))
  await atConstantRate(perSecond, seconds, (count, dueMs) => {
    const lines = posts.take(count)
    handled.noteDue(lines, dueMs)
    feed.write(lines)
  })
  await handled.all
  await feed.end()
}
