/**
 * The paths of X that Sluice does not offer, and why: a request to one of them gets a 404 that says so. The table of
 * docs/compatibility.md is this one, which a test compares.
 */

/** Paths of X about one matter. */
export interface NotOffered {
  /** The matter of the paths, as the object of a sentence. */
  readonly matter: string
  /** A sentence. */
  readonly reason: string
  /** A part with a colon stands for any; `/*` at the end for the path itself and everything below it. */
  readonly paths: readonly string[]
}

/** By what they are about. */
export const notOffered: readonly NotOffered[] = [
  {
    matter: "likes",
    reason: "A like is not a post, and no source of posts brings it.",
    paths: ["/2/tweets/:id/liking_users", "/2/users/:id/liked_tweets", "/2/users/:id/likes/*", "/2/likes/*"],
  },
  {
    matter: "lists",
    reason: "They are made on X, and no source of posts brings them.",
    paths: [
      "/2/lists/*",
      "/2/users/:id/followed_lists/*",
      "/2/users/:id/list_memberships",
      "/2/users/:id/owned_lists",
      "/2/users/:id/pinned_lists/*",
    ],
  },
  {
    matter: "follows, blocks and mutes",
    reason: "They are relations between accounts of X, and no source of posts brings them.",
    paths: [
      "/2/users/:id/followers",
      "/2/users/:id/following/*",
      "/2/users/:id/blocking/*",
      "/2/users/:id/muting/*",
      "/2/users/:id/affiliates",
      "/2/users/:id/timelines/reverse_chronological",
    ],
  },
  {
    matter: "bookmarks",
    reason: "They are private to an account of X.",
    paths: ["/2/users/:id/bookmarks/*"],
  },
  {
    matter: "spaces and broadcasts",
    reason: "They are audio and video on X, and not posts.",
    paths: ["/2/spaces/*", "/2/broadcasts/*"],
  },
  {
    matter: "communities, news, notes and articles",
    reason: "They are made on X, and no source of posts brings them but for the posts in them.",
    paths: ["/2/communities/*", "/2/news/*", "/2/notes/*", "/2/evaluate_note", "/2/articles/*"],
  },
  {
    matter: "trends",
    reason: "X makes them of all its posts, and Sluice has the posts that it received.",
    paths: ["/2/trends/*", "/2/users/personalized_trends"],
  },
  {
    matter: "direct messages and chats",
    reason: "They are private to accounts of X.",
    paths: [
      "/2/dm_conversations/*",
      "/2/dm_events/*",
      "/2/chat/*",
      "/2/users/:id/dm/*",
      "/2/users/public_keys",
      "/2/users/:id/public_keys/*",
    ],
  },
  {
    matter: "media upload",
    reason: "Sluice keeps what posts say of their media, and no media.",
    paths: ["/2/media/upload/*", "/2/media/metadata", "/2/media/subtitles"],
  },
  {
    matter: "analytics",
    reason: "X counts them for the authors of posts alone.",
    paths: ["/2/tweets/analytics", "/2/media/analytics", "/2/insights/*"],
  },
  {
    matter: "compliance jobs",
    reason: "They tell which posts and users X has deleted, and Sluice asks nothing of X.",
    paths: ["/2/compliance/*"],
  },
  {
    matter: "account activity",
    reason: "It needs accounts of X that an app acts for.",
    paths: ["/2/account_activity/*"],
  },
  {
    matter: "the firehose and labels",
    reason: "A program that reads every post should read the source of them.",
    paths: ["/2/tweets/firehose/*", "/2/tweets/label/*"],
  },
]
