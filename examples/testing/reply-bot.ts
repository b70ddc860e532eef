/**
 * A bot that thanks the author of each post that matches the rules of its app, as its user.
 *
 *     npm install @sluice/client
 *
 * `reply-bot.test.ts` tests it with `sluice/testing`.
 */
import { createClient } from "@sluice/client"

interface BotOptions {
  readonly url: string
  readonly token: string
  /** The token of the bot's user, who writes the replies. */
  readonly userToken: string
}

/** Starts the bot, and resolves when its stream is open. Disposing of it stops it. */
export async function startBot({ url, token, userToken }: BotOptions): Promise<AsyncDisposable> {
  const app = createClient({ url, token })
  const user = createClient({ url, token: userToken })
  const stop = new AbortController()
  const connected = Promise.withResolvers<void>()
  const running = (async () => {
    for await (const { body } of app.stream({ signal: stop.signal, onConnect: connected.resolve })) {
      const post = body?.data
      if (post === undefined) continue
      await user.posts.create({ text: "Thank you!", reply: { in_reply_to_tweet_id: post.id } })
    }
  })()
  await Promise.race([connected.promise, running])
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}
