/**
 * The one reader of posts: everything that operators compare, from any view.
 *
 *     PostObjects ─► parts, links ─► keys, by the name of the operator
 *                └─► places, numbers
 *
 * A repost is read through its original, because its own text and entities are cut off. Its own text contributes only
 * the prefix `RT @name:` and its mentions: X's search for `happy has:mentions` finds reposts of @happy_… whose
 * original contains neither. On a stream, a quote post is read together with the post that it quotes. Source: results
 * of X's own search; for quotes and replies on a stream, docs.x.com, "Operators".
 */

import type { Point } from "../language/area.ts"
import { languageKey } from "../language/languages.ts"
import type { CountName, KeyName } from "../language/rule.ts"
import { countMembers } from "./count-members.ts"
import { addHasKeys, addIsKeys } from "./flag-keys.ts"
import type { KeySink } from "./key-sink.ts"
import type { LinkSink } from "./links.ts"
import { names } from "./member-names.ts"
import {
  addAuthorAffiliationKeys,
  addAuthorKeys,
  addContextKeys,
  addEntityKeys,
  addRepliedToAffiliationKeys,
  addRepliedToKeys,
  addRepostedKeys,
} from "./post-keys.ts"
import type { PostObjects } from "./post-objects.ts"
import { PostParts } from "./post-parts.ts"
import { addCountryKeys, addPlaceKeys, locationOf } from "./post-place.ts"
import type { PostView } from "./post-view.ts"

/** Reads one post, or one after the other. Each part of it is read on first use. */
export class PostReader<Node, Links extends LinkSink<Node> = LinkSink<Node>> {
  readonly #view: PostView<Node>
  readonly #post: PostObjects<Node>
  readonly #parts: PostParts<Node>
  readonly #links: Links
  #hasParts = false
  #hasLinks = false

  constructor(post: PostObjects<Node>, links: Links) {
    this.#view = post.view
    this.#post = post
    this.#parts = new PostParts(post)
    this.#links = links
  }

  /** Forgets the post before. */
  clear(): void {
    this.#hasParts = this.#hasLinks = false
  }

  /** "" if the post has none. */
  get id(): string {
    return this.#view.text(this.#view.string(this.#post.data, names.id))
  }

  get parts(): PostParts<Node> {
    if (!this.#hasParts) this.#parts.read()
    this.#hasParts = true
    return this.#parts
  }

  get links(): Links {
    const links = this.#links
    if (this.#hasLinks) return links
    this.#hasLinks = true
    links.clear()
    this.parts.addLinks(links)
    return links
  }

  /** The author's description, name or location. */
  authorText(zone: "bio" | "name" | "location"): Node {
    const { author } = this.#post
    switch (zone) {
      case "bio":
        return this.#view.string(author, names.description)
      case "name":
        return this.#view.string(author, names.name)
      case "location":
        return this.#view.string(author, names.location)
    }
  }

  /** Adds the values that an operator compares with its own. */
  addKeys(name: KeyName, sink: KeySink<Node>): void {
    const view = this.#view
    const post = this.#post
    switch (name) {
      case "is":
        return addIsKeys(post, sink)
      case "has":
        return addHasKeys(post, this.parts, this.links, sink)
      case "hashtag":
        return this.parts.addMarks("hashtags", sink)
      case "mention":
        return this.parts.addMarks("mentions", sink)
      case "cashtag":
        return this.parts.addMarks("cashtags", sink)
      case "from":
        return addAuthorKeys(post, sink)
      case "to":
        return addRepliedToKeys(post, sink)
      case "retweets_of":
        return addRepostedKeys(post, sink)
      case "from_affiliate_of":
        return addAuthorAffiliationKeys(post, sink)
      case "to_affiliate_of":
        return addRepliedToAffiliationKeys(post, sink)
      case "context":
        return addContextKeys(post, sink)
      case "entity":
        return addEntityKeys(post, sink)
      case "conversation_id":
        return sink.addString(view.string(post.data, names.conversation_id), "post")
      case "in_reply_to_tweet_id":
        return sink.addString(post.references.repliedTo, "reply")
      case "retweets_of_tweet_id":
        return sink.addString(post.references.retweeted, "original")
      case "quotes_of_tweet_id":
        return sink.addString(post.references.quoted, "quoted")
      case "place":
        return addPlaceKeys(post, sink)
      case "place_country":
        return addCountryKeys(post, sink)
      case "source":
        return sink.addWords(view.string(post.data, names.source), "post")
      case "lang":
        return sink.addText(languageKey(view.text(view.string(post.data, names.lang))), "post")
      default:
        return name satisfies never
    }
  }

  /**
   * A number of the author or of the post, a repost's original if it is included; undefined if the envelope does not
   * say.
   */
  count(name: CountName): number | undefined {
    const view = this.#view
    const { of, member } = countMembers[name]
    const metrics = view.object(of === "author" ? this.#post.author : this.#post.shown, names.public_metrics)
    return view.number(view.member(metrics, names[member]))
  }

  /** The point that the post was sent from; undefined if it is unknown. */
  location(): Point | undefined {
    return locationOf(this.#post)
  }
}
