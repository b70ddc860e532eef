/**
 * The objects of an envelope: the post, its author, and the posts that it reposts and quotes.
 *
 * Each is looked up once. Lists of included objects may be long, and many rules may read the same one.
 */

import type { Mode } from "../text/mode.ts"
import type { EarlierPosts } from "./earlier-posts.ts"
import { names } from "./member-names.ts"
import type { PostView } from "./post-view.ts"

/** A post as X streams it and as Sluice ingests it. Members of the wrong type are ignored. */
export type RuleEnvelope = {
  readonly data: { readonly id: string; readonly text: string; readonly [member: string]: unknown }
  /** `users`, `tweets`, `media` and `places` are read. */
  readonly includes?: unknown
}

/** The ids of the posts that a post refers to: the first of each type, absent if that has no id. */
type References<Node> = { retweeted: Node; quoted: Node; repliedTo: Node }

/** The objects of one envelope, or of one after the other. */
export class PostObjects<Node> {
  readonly view: PostView<Node>
  readonly mode: Mode
  readonly earlier: EarlierPosts | undefined
  readonly #references: References<Node>
  readonly #ofOriginal: References<Node>
  #shownQuotedId: Node
  #original: Node
  #quoted: Node
  #author: Node
  #hasPosts = false
  #hasAuthor = false

  constructor(view: PostView<Node>, mode: Mode, earlier: EarlierPosts | undefined) {
    const { absent } = view
    this.view = view
    this.mode = mode
    this.earlier = earlier
    this.#references = { retweeted: absent, quoted: absent, repliedTo: absent }
    this.#ofOriginal = { ...this.#references }
    this.#shownQuotedId = this.#original = this.#quoted = this.#author = absent
  }

  /** Finds all objects of the envelope that the view shows now. Without this call, each is found on first use. */
  find(): void {
    this.#findPosts()
    this.#findAuthor()
  }

  /** The post itself. */
  get data(): Node {
    return this.view.data
  }

  /**
   * True if the post comes from another network, and has its name there. The posts of its envelope mention the users that
   * their `entities` list, and no others: texts are not searched, because names have other forms in other networks. Ours.
   */
  get isForeign(): boolean {
    return this.view.isPresent(this.view.filled(this.view.data, names.source_uri))
  }

  /** The ids of the posts that this one refers to. */
  get references(): References<Node> {
    if (!this.#hasPosts) this.#findPosts()
    return this.#references
  }

  /** The post that this one reposts; absent if it is not included. */
  get original(): Node {
    if (!this.#hasPosts) this.#findPosts()
    return this.#original
  }

  get isOriginalIncluded(): boolean {
    return this.view.isPresent(this.original)
  }

  /** The post whose text and numbers count: the original of a repost, if it is included. */
  get shown(): Node {
    const { original } = this
    return this.view.isPresent(original) ? original : this.view.data
  }

  /** The id of the post that the shown one quotes. */
  get shownQuotedId(): Node {
    if (!this.#hasPosts) this.#findPosts()
    return this.#shownQuotedId
  }

  /** The post that the shown one quotes. Absent in a search, which reads the post alone, and if it is not included. */
  get quoted(): Node {
    if (!this.#hasPosts) this.#findPosts()
    return this.#quoted
  }

  /** Absent if it is not included. */
  get author(): Node {
    if (!this.#hasAuthor) this.#findAuthor()
    return this.#author
  }

  /** A repost of a reply is not itself a reply. */
  get isReply(): boolean {
    return !this.view.isPresent(this.references.retweeted) && this.isReplyItself(this.view.data)
  }

  /** True if one of these posts names a user to whom it replies. */
  isReplyItself(post: Node): boolean {
    return this.view.isPresent(this.view.filled(post, names.in_reply_to_user_id))
  }

  /** The user with the id; absent if not included. */
  user(id: Node): Node {
    return this.view.included(names.users, id)
  }

  #findPosts(): void {
    const { view } = this
    this.#hasPosts = true
    readReferences(view, view.data, this.#references)
    this.#original = view.included(names.tweets, this.#references.retweeted)
    this.#shownQuotedId = this.#references.quoted
    if (view.isPresent(this.#original)) {
      readReferences(view, this.#original, this.#ofOriginal)
      this.#shownQuotedId = this.#ofOriginal.quoted
    }
    this.#quoted = this.mode === "search" ? view.absent : view.included(names.tweets, this.#shownQuotedId)
  }

  #findAuthor(): void {
    const { view } = this
    this.#hasAuthor = true
    this.#author = view.included(names.users, view.id(view.data, names.author_id))
  }
}

function readReferences<Node>(view: PostView<Node>, post: Node, found: References<Node>): void {
  found.retweeted = found.quoted = found.repliedTo = view.absent
  const list = view.array(post, names.referenced_tweets)
  let isRepost = false
  let isQuote = false
  let isReply = false
  for (let at = view.itemsBegin(list); at < view.itemsEnd(list); at = view.itemAfter(at)) {
    const item = view.itemAt(list, at)
    const type = view.id(item, names.type)
    if (!isRepost && view.isText(type, "retweeted")) {
      isRepost = true
      found.retweeted = view.id(item, names.id)
    } else if (!isQuote && view.isText(type, "quoted")) {
      isQuote = true
      found.quoted = view.id(item, names.id)
    } else if (!isReply && view.isText(type, "replied_to")) {
      isReply = true
      found.repliedTo = view.id(item, names.id)
    }
  }
}
