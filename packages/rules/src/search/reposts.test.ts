import { expect, test } from "vitest"
import { evaluate } from "../meaning/evaluate.ts"
import { readPost } from "../post/post-facts.ts"
import { clauseOf, postWith, ruleOf } from "../testing/matches.testing.ts"
import { withoutReposts } from "./reposts.ts"

const original = postWith("a cat")
const repost = postWith(
  "RT @wren: a …",
  { id: "2", referenced_tweets: [{ type: "retweeted", id: "1" }] },
  {
    tweets: [{ id: "1", text: "a cat", author_id: "5" }],
    users: [{ id: "5", username: "wren" }],
  },
)

/** True if a search for the rule without reposts finds the repost. */
const findsRepost = (text: string): boolean =>
  evaluate(withoutReposts(ruleOf(text, { mode: "search" })), readPost(repost, { mode: "search" }))

test.each([
  "cat",
  "cat OR dog",
  "cat -is:retweet",
  "cat -retweets_of:finch",
  "cat -(is:retweet lang:en)",
  "cat -(dog OR retweets_of:finch)",
])("%s finds no repost", (text) => {
  expect(evaluate(ruleOf("cat"), readPost(repost))).toBe(true)
  expect(findsRepost(text)).toBe(false)
})

test.each([
  "cat is:retweet",
  "retweets_of:wren",
  "retweets_of:5",
  "retweets_of_user:wren",
  "retweets_of_tweet_id:1",
  "cat OR retweets_of_tweet_id:7",
  "cat -(-is:retweet)",
  "(dog is:retweet) OR cat",
])("%s asks for reposts, and finds them", (text) => {
  expect(findsRepost(text)).toBe(true)
})

test("originals are found either way", () => {
  for (const text of ["cat", "cat -is:retweet", "cat OR retweets_of:wren"]) {
    const rule = withoutReposts(ruleOf(text, { mode: "search" }))
    expect(evaluate(rule, readPost(original, { mode: "search" })), text).toBe(true)
  }
})

test("a rule that asks for reposts is returned as it is", () => {
  const rule = clauseOf("(cat is:retweet)")
  expect(withoutReposts(rule)).toBe(rule)
})
