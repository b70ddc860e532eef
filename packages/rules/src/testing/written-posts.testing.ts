import type { RuleEnvelope } from "../post/post-objects.ts"

/** Posts that together have every field that operators read, in the words of the written rules. */
export const writtenPosts: readonly RuleEnvelope[] = [
  {
    data: { id: "1", text: "" },
  },
  {
    data: {
      id: "1146654567674912769",
      text: "The cat's hot dog, don't stop! #Cat #happy_day $BTC @nasa R&amp;D 👍🏽 https://t.co/x",
      author_id: "12",
      conversation_id: "1234567890",
      in_reply_to_user_id: "44",
      created_at: "2026-01-02T03:04:05.000Z",
      lang: "en",
      source: "Twitter for iPhone",
      public_metrics: {
        like_count: 7,
        reply_count: 2,
        retweet_count: 3,
        quote_count: 2,
        impression_count: 9,
      },
      context_annotations: [{ domain: { id: "10", name: "Person" }, entity: { id: "799", name: "Cat" } }],
      entities: {
        hashtags: [
          { start: 29, end: 33, tag: "Cat" },
          { start: 34, end: 44, tag: "happy_day" },
        ],
        cashtags: [{ start: 45, end: 49, tag: "BTC" }],
        mentions: [{ start: 50, end: 55, username: "nasa", id: "3" }],
        urls: [
          {
            start: 66,
            end: 80,
            url: "https://t.co/x",
            expanded_url: "https://example.com/cat?b=dog",
            unwound_url: "https://h.com/~bob",
            display_url: "example.com/cat…",
            title: "A cat",
            description: "A hot dog and a cat",
          },
        ],
        annotations: [{ start: 4, end: 6, probability: 0.9, type: "Person", normalized_text: "Cat" }],
      },
      attachments: { media_keys: ["3_1", "7_1"] },
      geo: { place_id: "fd70c22040963ac7", coordinates: { type: "Point", coordinates: [2.3551, 48.8611] } },
      referenced_tweets: [{ type: "replied_to", id: "12" }],
    },
    includes: {
      users: [
        {
          id: "12",
          username: "nasa",
          name: "Hot dog",
          description: "a cat",
          location: "Paris",
          verified: true,
          affiliation: { user_id: ["3"] },
          public_metrics: { followers_count: 150, following_count: 50, tweet_count: 1000, listed_count: 10 },
        },
        { id: "44", username: "bob_1", name: "Bob" },
      ],
      media: [
        { media_key: "3_1", type: "photo" },
        { media_key: "7_1", type: "video" },
      ],
      places: [
        {
          id: "fd70c22040963ac7",
          full_name: "Boulder, CO",
          name: "Boulder",
          country: "United States",
          country_code: "US",
          place_type: "city",
          geo: { type: "Feature", bbox: [-105.301758, 39.964069, -105.178505, 40.09455], properties: {} },
        },
      ],
    },
  },
  {
    data: {
      id: "44",
      text: "RT @bob_1: 東京タワーの猫カフェ 👩‍💻…",
      author_id: "12",
      lang: "ja",
      entities: { mentions: [{ start: 3, end: 9, username: "bob_1", id: "44" }] },
      referenced_tweets: [{ type: "retweeted", id: "45" }],
    },
    includes: {
      users: [
        { id: "12", username: "nasa", verified: false },
        { id: "44", username: "bob_1" },
      ],
      tweets: [
        {
          id: "45",
          text: "東京タワーの猫カフェ 👩‍💻 #猫 iPhoneケース 1️⃣ fox",
          author_id: "44",
          lang: "ja",
          entities: { hashtags: [{ start: 14, end: 16, tag: "猫" }] },
          attachments: { media_keys: ["16_1"] },
        },
      ],
    },
  },
  {
    data: {
      id: "7",
      text: 'say "hi" or and a straße in ΟΔΌΣ, Été: 🇫🇷 covid19 gpt-3 the fox',
      author_id: "3",
      lang: "und",
      referenced_tweets: [{ type: "quoted", id: "8" }],
    },
    includes: {
      users: [{ id: "3", username: "alice.example.com" }],
      tweets: [{ id: "8", text: "dog cat cow $BRK.B @alice https://example.com/a", author_id: "44" }],
    },
  },
  {
    data: {
      id: "10",
      text: "@bob-b@social.example a cat for @nasa and @alice.example.com #cat",
      author_id: "3",
      in_reply_to_user_id: "45",
      lang: "en",
      source_uri: "at://did:plc:a/app.bsky.feed.post/3mptbyoeyc22k",
      entities: {
        mentions: [
          { start: 0, end: 21, username: "bob-b@social.example", id: "45" },
          { start: 42, end: 60, username: "alice.example.com", id: "3" },
        ],
      },
    },
    includes: {
      users: [
        { id: "3", username: "alice.example.com", name: "Alice" },
        { id: "45", username: "bob-b@social.example", name: "Bob" },
      ],
    },
  },
  {
    data: {
      id: "11",
      text: "RT @bob-b@social.example: a fox, says @alice",
      author_id: "3",
      source_uri: "https://social.example/users/bob-b/statuses/11",
      referenced_tweets: [{ type: "retweeted", id: "13" }],
    },
    includes: { tweets: [{ id: "13", text: "a fox, says @alice", author_id: "45" }] },
  },
  {
    data: {
      id: "9",
      text: "שלום مرحبا สวัสดี dog dog fox hen สวัสดีcat #ÉTÉ paris",
      lang: "iw",
      author_id: "44",
    },
  },
]
