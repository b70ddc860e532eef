/**
 * The streams of an instance: how each is subscribed to, and the timeline that holds its statuses afterwards.
 *
 *     public   public:local   public:remote   hashtag:TAG   hashtag:local:TAG   list:ID   user
 *
 * Source: mastodon/documentation, "streaming" and "timelines".
 */

/** A stream. */
export interface MastodonStream {
  /** As the settings write it, by which the position knows it. */
  readonly name: string
  /** Members of the message that subscribes to it. */
  readonly subscription: Readonly<Record<string, string>>
  /** Its name in messages, with colons between the parts, in lower case. */
  readonly key: string
  /** Path and query of its timeline. */
  readonly timeline: string
  readonly timelineQuery: Readonly<Record<string, string>>
  /** The feed whose access the instance states; absent for streams of the account. */
  readonly feed?: "live_feeds" | "hashtag_feeds"
  /** Whose statuses of that feed it has. */
  readonly scopes: readonly FeedScope[]
}

/** Statuses of a feed by their origin. */
type FeedScope = "local" | "remote"

/** Shape of a stream in the settings: a tag is letters, digits and underscores of any script. Source: Mastodon, "hashtags". */
const pattern = /^(?:public(?::local|:remote)?|user|list:[\w-]{1,64}|hashtag:(?:local:)?[\p{L}\p{M}\p{N}_·]{1,200})$/u

/** True for the name of a stream. */
export function isStreamName(text: string): boolean {
  return pattern.test(text)
}

/** The stream of a name. */
export function streamOf(name: string): MastodonStream {
  const [kind = "", ...rest] = name.split(":")
  const key = name.toLowerCase()
  if (kind === "list") return listStream(name, rest.join(""))
  if (kind === "hashtag") return hashtagStream(name, rest)
  if (kind === "user") {
    return { name, subscription: { stream: "user" }, key, timeline: "home", timelineQuery: {}, scopes: [] }
  }
  const [scope] = rest as readonly (FeedScope | undefined)[]
  return {
    name,
    subscription: { stream: name },
    key,
    timeline: "public",
    timelineQuery: scope === undefined ? {} : { [scope]: "true" },
    feed: "live_feeds",
    scopes: scope === undefined ? ["local", "remote"] : [scope],
  }
}

function listStream(name: string, list: string): MastodonStream {
  const timeline = `list/${encodeURIComponent(list)}`
  const subscription = { stream: "list", list }
  return { name, subscription, key: name.toLowerCase(), timeline, timelineQuery: {}, scopes: [] }
}

/** `hashtag:local` alone is the tag "local". */
function hashtagStream(name: string, rest: readonly string[]): MastodonStream {
  const isLocal = rest.length > 1
  const tag = rest.at(-1) ?? ""
  return {
    name,
    subscription: { stream: isLocal ? "hashtag:local" : "hashtag", tag },
    key: name.toLowerCase(),
    timeline: `tag/${encodeURIComponent(tag)}`,
    timelineQuery: isLocal ? { local: "true" } : {},
    feed: "hashtag_feeds",
    scopes: isLocal ? ["local"] : ["local", "remote"],
  }
}
