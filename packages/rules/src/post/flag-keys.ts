/** The flags that `is:` and `has:` compare. */

import type { hasValues, isValues } from "../language/rule.ts"
import type { FieldSource } from "./field-values.ts"
import type { KeySink } from "./key-sink.ts"
import type { LinkSink } from "./links.ts"
import { mediaOf } from "./media-kinds.ts"
import { names } from "./member-names.ts"
import type { PostObjects } from "./post-objects.ts"
import type { PostParts } from "./post-parts.ts"
import { hasGeo } from "./post-place.ts"
import type { PostView } from "./post-view.ts"

type IsValue = (typeof isValues)[number]
type HasValue = (typeof hasValues)[number]

/** Adds the flags of `is:`. On a stream, replies and quotes among the reposted and quoted posts count too. */
export function addIsKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  const add = (key: IsValue, where: FieldSource): void => sink.addText(key, where)
  const { view, references } = post
  const countsOriginal = post.mode === "stream" && post.isOriginalIncluded
  if (view.isPresent(references.retweeted)) add("retweet", "post")
  if (post.isReply) add("reply", "reply")
  else if (countsOriginal && post.isReplyItself(post.original)) add("reply", "original")
  else if (post.isReplyItself(post.quoted)) add("reply", "quoted")
  if (view.isPresent(references.quoted)) add("quote", "post")
  else if (countsOriginal && view.isPresent(post.shownQuotedId)) add("quote", "original")
  if (view.isTrue(view.member(post.author, names.verified))) add("verified", "author")
  if (isNullcast(view, view.string(view.data, names.source))) add("nullcast", "post")
}

function isNullcast<Node>(view: PostView<Node>, source: Node): boolean {
  return view.isText(source, "Twitter for Advertisers") || view.isText(source, "Twitter for Advertisers (legacy)")
}

/** Adds the flags of `has:`, of a post with its parts and links. */
export function addHasKeys<Node>(
  post: PostObjects<Node>,
  parts: PostParts<Node>,
  links: LinkSink<Node>,
  sink: KeySink<Node>,
): void {
  const add = (key: HasValue, where: FieldSource | undefined): boolean => {
    if (where !== undefined) sink.addText(key, where)
    return where !== undefined
  }
  add("hashtags", parts.firstMark("hashtags"))
  const hasMentions = add("mentions", parts.firstMark("mentions"))
  if (!hasMentions && post.mode === "search" && !post.isForeign) addMentionInTexts(parts, sink)
  add("cashtags", parts.firstMark("cashtags"))
  const media = mediaOf(post.view, parts)
  // Media are links too: X's documentation says that a post with media contains a short link to it.
  if (links.hasOthers) add("links", "url")
  else if (media.has) add("links", "media")
  if (media.has) add("media", "media")
  if (media.hasImage) add("images", "media")
  if (media.hasVideo) add("video_link", "media")
  if (hasGeo(post)) add("geo", "place")
}

/**
 * X's search, unlike its stream, also counts a mention that only the text shows, such as one of a user who no longer
 * exists. Source: results of X's own search for `has:mentions`.
 */
function addMentionInTexts<Node>(parts: PostParts<Node>, sink: KeySink<Node>): void {
  for (let index = 0; index < parts.count; index++) {
    const part = parts.at(index)
    if (!parts.mayMention(part)) continue
    const [found] = parts.foundIn(part).mentions
    if (found === undefined) continue
    sink.addFoundMark({ ...found, value: "mentions" satisfies HasValue }, part.where)
    return
  }
}
