/** `node --test`: the bot in the process of the test, against a server of its own. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startSluice } from "sluice/testing"
import { startBot } from "./reply-bot.ts"

test("the bot thanks for each mention once, also after its stream was cut", async () => {
  await using sluice = await startSluice()
  await sluice.addRules("@herald -is:reply")
  await using _ = await startBot({ ...sluice, userToken: await sluice.userToken("herald") })

  // Another app sees what the bot writes.
  const observer = await sluice.newApp()
  const replies = await observer.receive({
    rules: ["from:herald is:reply"],
    fields: { "tweet.fields": ["in_reply_to_user_id"] },
  })

  const first = await sluice.post("Good morning, @herald")
  assert.equal((await replies.next()).post.in_reply_to_user_id, first.authorId)

  await sluice.disconnectStreams()
  const second = await sluice.post({ text: "Good evening, @herald", author: "rook" })
  assert.equal((await replies.next()).post.in_reply_to_user_id, second.authorId)
  assert.equal(replies.all().length, 2)
})
