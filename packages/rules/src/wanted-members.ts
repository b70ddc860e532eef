/**
 * Which members of an envelope somebody reads who asks this of a post. The members that `post-facts.ts` reads
 * stand here a second time; a test holds the two together.
 */

import type { Ask } from "./asks.ts"
import type { Wanted } from "./pick-json.ts"

type Tree = { [member: string]: Tree | true }

const named = { id: true, username: true } as const
const urls = {
  url: true,
  expanded_url: true,
  unwound_url: true,
  display_url: true,
  media_key: true,
} as const
const texts = { id: true, text: true, referenced_tweets: { type: true, id: true } } as const

const marks = (entities: Tree): Tree => ({
  data: { ...texts, entities },
  includes: { tweets: { ...texts, entities } },
})
const ofAuthor = (user: Tree): Tree => ({
  data: { author_id: true },
  includes: { users: { id: true, ...user } },
})
const ofBoth = (post: Tree): Tree => ({
  data: { ...post, referenced_tweets: { type: true, id: true } },
  includes: { tweets: { id: true, ...post } },
})
const ofReply: Tree = {
  data: {
    in_reply_to_user_id: true,
    referenced_tweets: { type: true, id: true },
    entities: { mentions: { id: true, username: true } },
  },
}
const affiliation = { affiliation: { user_id: true, url: true }, username: true } as const
const place = (members: Tree): Tree => ({
  ...ofBoth({ geo: { place_id: true } }),
  includes: { tweets: { id: true, geo: { place_id: true } }, places: { id: true, ...members } },
})
const references: Tree = { data: { referenced_tweets: { type: true, id: true } } }
const metrics = (member: string): Tree => ofBoth({ public_metrics: { [member]: true } })
const authorMetrics = (member: string): Tree => ofAuthor({ public_metrics: { [member]: true } })

/** A member that is wanted stands in the lists of every ask that reads it. */
const membersOf: Readonly<Record<Ask, readonly Tree[]>> = {
  id: [],
  similarity: [ofBoth({ text: true })],
  text: [marks({ urls })],
  link: [marks({ urls })],
  "link texts": [marks({ urls })],
  title: [marks({ urls: { ...urls, title: true } })],
  description: [marks({ urls: { ...urls, description: true } })],
  bio: [ofAuthor({ description: true })],
  name: [ofAuthor({ name: true })],
  location: [ofAuthor({ location: true })],
  hashtag: [marks({ hashtags: { tag: true } })],
  mention: [marks({ mentions: { username: true } })],
  cashtag: [marks({ cashtags: { tag: true } })],
  from: [ofAuthor(named)],
  to: [ofReply, { includes: { users: named } }],
  retweets_of: [ofBoth({ author_id: true }), { data: { text: true }, includes: { users: named } }],
  from_affiliate_of: [ofAuthor(affiliation)],
  to_affiliate_of: [ofReply, { includes: { users: { id: true, ...affiliation } } }],
  context: [ofBoth({ context_annotations: { domain: { id: true }, entity: { id: true } } })],
  entity: [
    ofBoth({
      context_annotations: { entity: { name: true } },
      entities: { annotations: { normalized_text: true } },
    }),
  ],
  conversation_id: [{ data: { conversation_id: true } }],
  in_reply_to_tweet_id: [references],
  retweets_of_tweet_id: [references],
  quotes_of_tweet_id: [references],
  place: [place({ name: true, full_name: true })],
  place_country: [place({ country_code: true })],
  source: [{ data: { source: true } }],
  lang: [{ data: { lang: true } }],
  is: [
    ofBoth({ in_reply_to_user_id: true, referenced_tweets: { type: true, id: true } }),
    ofAuthor({ verified: true }),
    { data: { source: true } },
  ],
  has: [
    marks({ urls, hashtags: { tag: true }, mentions: { username: true }, cashtags: { tag: true } }),
    ofBoth({ attachments: { media_keys: true } }),
    {
      data: { geo: { place_id: true, coordinates: true } },
      includes: { media: { media_key: true, type: true } },
    },
  ],
  ground: [
    { data: { geo: { place_id: true, coordinates: { coordinates: true } } } },
    { includes: { places: { id: true, geo: { bbox: true } } } },
  ],
  followers_count: [authorMetrics("followers_count")],
  following_count: [authorMetrics("following_count")],
  tweets_count: [authorMetrics("tweet_count")],
  listed_count: [authorMetrics("listed_count")],
  min_likes: [metrics("like_count")],
  min_replies: [metrics("reply_count")],
  min_reposts: [metrics("retweet_count")],
  min_quotes: [metrics("quote_count")],
}

/** The members that answer the asks. */
export function wantedMembers(asks: ReadonlySet<Ask>): Wanted {
  const wanted: Tree = { data: { id: true } }
  for (const ask of asks) for (const tree of membersOf[ask]) add(wanted, tree)
  return wanted
}

function add(wanted: Tree, more: Tree): void {
  for (const [member, within] of Object.entries(more)) {
    const there = wanted[member]
    if (there === true) continue
    if (within === true || there === undefined) wanted[member] = within === true ? true : copyOf(within)
    else add(there, within)
  }
}

function copyOf(tree: Tree): Tree {
  const copy: Tree = {}
  add(copy, tree)
  return copy
}
