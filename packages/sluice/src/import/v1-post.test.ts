import { readPost } from "@sluice/rules"
import { expect, test } from "vitest"
import { hasSharedData, sharedLines } from "../../../../test/support/shared-data.testing.ts"
import { envelopeOfV1Post } from "./v1-post.ts"
import type { Members } from "./untyped-json.ts"

function envelopeOf(post: Members): Members {
  const outcome = envelopeOfV1Post(post)
  if (!outcome.ok) throw new Error(outcome.detail)
  return outcome.envelope
}

const author = {
  id: 1186275104,
  id_str: "1186275104",
  name: "Wren",
  screen_name: "wren",
  location: "",
  description: "Counts herons https://t.co/a",
  url: null,
  entities: {
    description: { urls: [{ url: "https://t.co/a", expanded_url: "https://a.example", indices: [14, 28] }] },
  },
  protected: false,
  verified: false,
  followers_count: 262,
  friends_count: 252,
  listed_count: 0,
  favourites_count: 235,
  statuses_count: 1769,
  created_at: "Sat Feb 16 13:40:25 +0000 2013",
  profile_image_url_https: "https://pbs.example/wren.jpeg",
  default_profile: true,
}

const shownAuthor = {
  id: "1186275104",
  username: "wren",
  name: "Wren",
  created_at: "2013-02-16T13:40:25.000Z",
  description: "Counts herons https://t.co/a",
  entities: {
    description: { urls: [{ start: 14, end: 28, url: "https://t.co/a", expanded_url: "https://a.example" }] },
  },
  protected: false,
  verified: false,
  profile_image_url: "https://pbs.example/wren.jpeg",
  public_metrics: { followers_count: 262, following_count: 252, tweet_count: 1769, listed_count: 0 },
}

test("a post of v1.1 is converted with its author, entities, media and place", () => {
  const photo = {
    id_str: "505864942575034369",
    indices: [24, 46],
    media_url_https: "https://pbs.example/b.jpg",
    url: "http://t.co/b",
    display_url: "pic.example/b",
    expanded_url: "http://example.com/photo/1",
    type: "photo",
    ext_alt_text: "a heron",
    sizes: { large: { w: 765, h: 432, resize: "fit" } },
  }
  const post = {
    created_at: "Sun Aug 31 00:29:15 +0000 2014",
    // As languages without large integers write it.
    id: 505874924095815700,
    id_str: "505874924095815681",
    full_text: "@bee heron #tag $EGR &amp; http://t.co/b",
    display_text_range: [5, 23],
    source: '<a href="http://example.com/app" rel="nofollow">An App</a>',
    in_reply_to_status_id_str: "505874728897085440",
    in_reply_to_user_id: 866260188,
    in_reply_to_user_id_str: "866260188",
    in_reply_to_screen_name: "bee",
    user: author,
    geo: { type: "Point", coordinates: [52.5, 13.4] },
    coordinates: { type: "Point", coordinates: [13.4, 52.5] },
    place: {
      id: "3078869807f9dd36",
      name: "Berlin",
      full_name: "Berlin, Germany",
      country: "Germany",
      country_code: "DE",
      place_type: "city",
      bounding_box: {
        type: "Polygon",
        coordinates: [
          [
            [13.1, 52.3],
            [13.8, 52.3],
            [13.8, 52.7],
            [13.1, 52.7],
          ],
        ],
      },
    },
    retweet_count: 82,
    favorite_count: 42,
    entities: {
      hashtags: [{ text: "tag", indices: [11, 15] }],
      symbols: [{ text: "EGR", indices: [16, 20] }],
      urls: [
        {
          url: "http://t.co/c",
          expanded_url: "http://c.example",
          display_url: "c.example",
          indices: [50, 60],
          unwound: { url: "http://c.example/end", status: 200, title: "C" },
        },
      ],
      user_mentions: [{ screen_name: "bee", name: "Bee", id: 866260188, id_str: "866260188", indices: [0, 4] }],
      media: [photo],
    },
    extended_entities: {
      media: [
        photo,
        {
          ...photo,
          id_str: "9",
          type: "video",
          video_info: {
            duration_millis: 8000,
            variants: [{ bitrate: 832000, content_type: "video/mp4", url: "https://v" }],
          },
        },
      ],
    },
    favorited: false,
    possibly_sensitive: false,
    lang: "en",
  }
  const link = { start: 24, end: 46, url: "http://t.co/b", expanded_url: "http://example.com/photo/1" }
  expect(envelopeOf(post)).toEqual({
    data: {
      id: "505874924095815681",
      text: "@bee heron #tag $EGR &amp; http://t.co/b",
      author_id: "1186275104",
      created_at: "2014-08-31T00:29:15.000Z",
      lang: "en",
      in_reply_to_user_id: "866260188",
      referenced_tweets: [{ type: "replied_to", id: "505874728897085440" }],
      entities: {
        hashtags: [{ start: 11, end: 15, tag: "tag" }],
        cashtags: [{ start: 16, end: 20, tag: "EGR" }],
        mentions: [{ start: 0, end: 4, username: "bee", id: "866260188" }],
        urls: [
          {
            start: 50,
            end: 60,
            url: "http://t.co/c",
            expanded_url: "http://c.example",
            display_url: "c.example",
            unwound_url: "http://c.example/end",
            status: 200,
            title: "C",
          },
          { ...link, display_url: "pic.example/b", media_key: "3_505864942575034369" },
          { ...link, display_url: "pic.example/b", media_key: "7_9" },
        ],
      },
      attachments: { media_keys: ["3_505864942575034369", "7_9"] },
      geo: { place_id: "3078869807f9dd36", coordinates: { type: "Point", coordinates: [13.4, 52.5] } },
      public_metrics: { retweet_count: 82, like_count: 42 },
      possibly_sensitive: false,
      source: "An App",
      display_text_range: [5, 23],
    },
    includes: {
      media: [
        {
          media_key: "3_505864942575034369",
          type: "photo",
          url: "https://pbs.example/b.jpg",
          alt_text: "a heron",
          width: 765,
          height: 432,
        },
        {
          media_key: "7_9",
          type: "video",
          preview_image_url: "https://pbs.example/b.jpg",
          alt_text: "a heron",
          duration_ms: 8000,
          width: 765,
          height: 432,
          variants: [{ bit_rate: 832000, content_type: "video/mp4", url: "https://v" }],
        },
      ],
      places: [
        {
          id: "3078869807f9dd36",
          full_name: "Berlin, Germany",
          name: "Berlin",
          country: "Germany",
          country_code: "DE",
          place_type: "city",
          geo: { type: "Feature", bbox: [13.1, 52.3, 13.8, 52.7], properties: {} },
        },
      ],
      users: [shownAuthor, { id: "866260188", username: "bee", name: "Bee" }],
    },
  })
})

test("a long post of a stream has its whole text, with all its entities", () => {
  const post = {
    id_str: "2",
    text: "The first hundred and forty cha…",
    truncated: true,
    user: author,
    entities: { hashtags: [], urls: [{ url: "http://t.co/more", indices: [20, 30] }] },
    extended_tweet: {
      full_text: "The first hundred and forty characters and the rest #tag",
      display_text_range: [0, 56],
      entities: { hashtags: [{ text: "tag", indices: [52, 56] }] },
    },
  }
  expect(envelopeOf(post)).toEqual({
    data: {
      id: "2",
      text: "The first hundred and forty characters and the rest #tag",
      author_id: "1186275104",
      entities: { hashtags: [{ start: 52, end: 56, tag: "tag" }] },
      display_text_range: [0, 56],
    },
    includes: { users: [shownAuthor] },
  })
})

test("a repost includes its original, a quote its quoted post, and a repost of a quote the original alone", () => {
  const quoted = { id_str: "3", full_text: "heron", user: { ...author, id_str: "33", screen_name: "cee" } }
  const quote = { id_str: "2", full_text: "look", user: author, quoted_status_id_str: "3", quoted_status: quoted }
  const repost = {
    id_str: "1",
    full_text: "RT @wren: look",
    user: { id_str: "11", screen_name: "ay" },
    retweeted_status: quote,
    quoted_status_id_str: "3",
    quoted_status: quoted,
  }
  const text = (id: string, words: string, authorId: string) => ({ id, text: words, author_id: authorId })
  const cee = { ...shownAuthor, id: "33", username: "cee" }
  const references = (type: string, id: string) => ({ referenced_tweets: [{ type, id }] })
  const shownQuote = { ...text("2", "look", "1186275104"), ...references("quoted", "3") }
  expect(envelopeOf(quote)).toEqual({
    data: shownQuote,
    includes: { users: [shownAuthor, cee], tweets: [text("3", "heron", "33")] },
  })
  expect(envelopeOf(repost)).toEqual({
    data: { ...text("1", "RT @wren: look", "11"), ...references("retweeted", "2") },
    includes: { users: [{ id: "11", username: "ay" }, shownAuthor], tweets: [shownQuote] },
  })
  // The quoted post may be deleted: only its id is left.
  const deleted = { id_str: "4", full_text: "gone", quoted_status_id_str: "5" }
  expect(envelopeOf(deleted)).toEqual({ data: { id: "4", text: "gone", ...references("quoted", "5") } })
})

/** A recorded post that was converted from v1.1 by others, turned back. */
function asV1({ data, includes }: Recorded): Members {
  const find = (kind: string, key: string, id: unknown) => includes?.[kind]?.find((one) => one[key] === id)
  const indexed = (one: Members) => ({ ...one, indices: [one["start"], one["end"]] })
  const entities = data["entities"] as Readonly<Record<string, readonly Members[]>> | undefined
  const user = find("users", "id", data["author_id"])
  const retweeted = (data["referenced_tweets"] as readonly Members[] | undefined)?.find(
    ({ type }) => type === "retweeted",
  )
  const original = find("tweets", "id", retweeted?.["id"])
  return {
    ...data,
    id_str: data["id"],
    full_text: data["text"],
    created_at: undefined,
    user: user && { ...user, id_str: user["id"], screen_name: user["username"], created_at: undefined },
    entities: {
      hashtags: entities?.["hashtags"]?.map((one) => ({ ...indexed(one), text: one["tag"] })),
      symbols: entities?.["cashtags"]?.map((one) => ({ ...indexed(one), text: one["tag"] })),
      user_mentions: entities?.["mentions"]?.map((one) => ({
        ...indexed(one),
        id_str: one["id"],
        screen_name: one["username"],
      })),
      urls: entities?.["urls"]?.filter((one) => one["media_key"] === undefined).map(indexed),
    },
    in_reply_to_user_id_str: data["in_reply_to_user_id"],
    ...(original && { retweeted_status: asV1({ data: original, ...(includes && { includes }) }) }),
  }
}

interface Recorded {
  readonly data: Members
  readonly includes?: Readonly<Record<string, readonly Members[]>>
}

test.skipIf(!hasSharedData)(
  "recorded posts match in v1.1 by the words, marks and users by which they match in v2",
  () => {
    let reposts = 0
    for (const line of sharedLines("data/x/posts-from-v1.1.ndjson")) {
      const recorded = JSON.parse(line) as Recorded
      const converted = envelopeOf(asV1(recorded)) as unknown as Recorded
      for (const member of ["id", "text", "author_id", "lang", "in_reply_to_user_id"]) {
        expect(converted.data[member]).toEqual(recorded.data[member])
      }
      for (const kind of ["hashtags", "cashtags", "mentions"]) {
        const of = ({ data }: Recorded) => (data["entities"] as Members | undefined)?.[kind]
        expect(of(converted)).toEqual(of(recorded))
      }
      const original = (of: Recorded) => of.includes?.["tweets"]?.[0]?.["text"]
      if (converted.includes?.["tweets"] !== undefined) {
        reposts += 1
        expect(recorded.includes?.["tweets"]?.map(({ text }) => text)).toContain(original(converted))
      }
      expect(() => readPost(converted as never, { mode: "stream" })).not.toThrow()
    }
    expect(reposts).toBeGreaterThan(50)
  },
)
