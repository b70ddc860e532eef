import type { SharedState } from "./shared-state.ts"

const users = [
  {
    id: "7001",
    username: "wren_at_work",
    name: "Wren",
    description: "Birds of the lower river.",
    location: "Weirside",
  },
  { id: "7002", username: "nightmarket", name: "The Night Market", verified: true },
  { id: "7003", username: "sagi_no_kawa", name: "川の鷺" },
]

const [wren, market, sagi] = users.map((user) => ({ users: [user] }))

/** Posts that show how texts, links, media, languages, reposts and replies match. */
const envelopes: readonly object[] = [
  {
    data: {
      id: "9001",
      text: "A heron stood at the sluice this morning, as if it had been asked to wait.",
      author_id: "7001",
      lang: "en",
    },
    includes: wren,
  },
  {
    data: {
      id: "9002",
      text: "The night market opens at eight: soup, lanterns, and a brass band. #nightmarket",
      author_id: "7002",
      lang: "en",
      entities: { hashtags: [{ start: 67, end: 79, tag: "nightmarket" }] },
    },
    includes: market,
  },
  { data: { id: "9003", text: "水門に鷺がいる。", author_id: "7003", lang: "ja" }, includes: sagi },
  {
    data: {
      id: "9004",
      text: "RT @wren_at_work: A heron stood at the sluice this morning, as if it had been asked to wait.",
      author_id: "7002",
      lang: "en",
      referenced_tweets: [{ type: "retweeted", id: "9001" }],
    },
    includes: market,
  },
  {
    data: {
      id: "9005",
      text: "@wren_at_work Was it the grey one? Ours only comes for the carp.",
      author_id: "7003",
      lang: "en",
      in_reply_to_user_id: "7001",
      referenced_tweets: [{ type: "replied_to", id: "9001" }],
    },
    includes: sagi,
  },
  {
    data: {
      id: "9006",
      text: "A heron on a market day.",
      author_id: "7001",
      lang: "en",
      attachments: { media_keys: ["3_1"] },
    },
    includes: { ...wren, media: [{ media_key: "3_1", type: "photo" }] },
  },
]

/** The posts with which the playground begins, as NDJSON. */
export const samplePosts = envelopes.map((envelope) => JSON.stringify(envelope)).join("\n")

/** The state of the playground without a link. */
export const sampleState: SharedState = { rule: '(heron OR "night market") -is:retweet', posts: samplePosts }
