import { requiredMembers } from "@sluice/api"
import { describe, expect, test } from "vitest"
import { parseSelection } from "./field-selection.ts"
import type { PostId } from "./ids.ts"
import { renderPosts } from "./render-post.ts"

/** A post of an envelope under the new names, with all that the tests need shown. */
async function shown(data: string, includes = "{}"): Promise<{ readonly data: string; readonly includes?: string }> {
  const selection = parseSelection(
    {
      "post.fields": "public_metrics,note_post,referenced_posts,entities,withheld,attachments",
      "user.fields": "public_metrics,pinned_tweet_id,most_recent_tweet_id",
      "media.fields": "public_metrics",
      expansions: "author_id,referenced_posts,attachments.media_keys",
    },
    "new",
  )
  const posts = [{ id: "1" as PostId, json: `{"data":${data},"includes":${includes}}` }]
  const { dataJson, includesJson } = await renderPosts(posts, selection)
  return { data: dataJson, ...(includesJson !== undefined && { includes: includesJson }) }
}

const zeros = '"reply_count":0,"like_count":0,"quote_count":0,"bookmark_count":0,"impression_count":0'

describe("under the new names", () => {
  test("members have their new names, in the order in which they came, and numbers keep their digits", async () => {
    const { data } = await shown(
      '{"note_tweet":{"text":"n"},"id":"1","public_metrics":{"x":1e400,"retweet_count":12345678901234567890},"text":"t","referenced_tweets":[]}',
    )
    expect(data).toBe(
      `[{"note_post":{"text":"n"},"id":"1","public_metrics":{"x":1e400,"repost_count":12345678901234567890,${zeros}},` +
        '"text":"t","referenced_posts":[],"edit_history_post_ids":["1"]}]',
    )
  })

  test("nothing within other members is renamed", async () => {
    const within = '{"retweet_count":1,"note_tweet":2,"referenced_tweets":[{"pinned_tweet_id":"3"}]}'
    const { data } = await shown(`{"id":"1","text":"t","entities":${within},"note_tweet":${within}}`)
    expect(data).toBe(
      `[{"id":"1","text":"t","entities":${within},"note_post":${within},"edit_history_post_ids":["1"]}]`,
    )
  })

  test("a member that came under its new name too stands once", async () => {
    const { data } = await shown('{"id":"1","text":"t","public_metrics":{"repost_count":2,"retweet_count":3}}')
    expect(data).toContain(`"public_metrics":{"repost_count":3,${zeros}}`)
  })

  test("what is no object stays as it came", async () => {
    const { data } = await shown('{"id":"1","text":"t","public_metrics":[],"withheld":"all"}')
    expect(data).toContain('"public_metrics":[],"withheld":"all"')
  })

  test("included objects have their new names and required members", async () => {
    const { includes } = await shown(
      '{"id":"1","text":"t","author_id":"7","referenced_tweets":[{"id":"2"}],"attachments":{"media_keys":["3_1"]}}',
      '{"users":[{"id":"7","pinned_tweet_id":"5","most_recent_tweet_id":"6","public_metrics":{"tweet_count":9}}],' +
        '"tweets":[{"id":"2","text":"u","edit_history_tweet_ids":["2"],"withheld":{}}],' +
        '"media":[{"media_key":"3_1","public_metrics":{"view_count":4}}]}',
    )
    expect(includes).toBe(
      '{"users":[{"id":"7","pinned_post_id":"5","most_recent_post_id":"6",' +
        '"public_metrics":{"post_count":9,"followers_count":0,"following_count":0,"listed_count":0}}],' +
        '"posts":[{"id":"2","text":"u","edit_history_post_ids":["2"],"withheld":{"copyright":false,"country_codes":[]}}],' +
        '"media":[{"media_key":"3_1","public_metrics":{"view_count":4}}]}',
    )
    expect(Object.keys(requiredMembers.post.public_metrics)).toHaveLength(6)
  })
})
