/**
 * The objects of an envelope: the post, the posts, users and places that it refers to.
 *
 * Each is looked up on first use. Lists of included objects may be long, and many rules may read the same one.
 */

import type { Mode } from "../text/mode.ts"
import type { EarlierPosts } from "./earlier-posts.ts"
import { arrayOf, idOf, objectOf, type Members } from "./untyped-json.ts"

/** A post as X streams it and as Sluice ingests it. Members of the wrong type are ignored. */
export type RuleEnvelope = {
  readonly data: { readonly id: string; readonly text: string; readonly [member: string]: unknown }
  /** `users`, `tweets`, `media` and `places` are read. */
  readonly includes?: unknown
}

/** The ids of the posts that a post refers to, the first of each type. */
type References = {
  retweeted?: string | undefined
  quoted?: string | undefined
  replied_to?: string | undefined
}

/** The objects of one envelope. */
export class PostObjects {
  readonly mode: Mode
  /** The post itself. */
  readonly data: Members
  readonly earlier: EarlierPosts | undefined
  readonly #includes: Members
  #references: References | undefined
  /** Null until it is looked up. */
  #original: Members | undefined | null = null
  #author: Members | undefined

  constructor(envelope: RuleEnvelope, mode: Mode, earlier: EarlierPosts | undefined) {
    const { data, includes } = objectOf(envelope)
    this.data = objectOf(data)
    this.#includes = objectOf(includes)
    this.mode = mode
    this.earlier = earlier
  }

  get references(): References {
    return (this.#references ??= referencesOf(this.data))
  }

  /** The post that this one reposts, if it is included. */
  get original(): Members | undefined {
    if (this.#original === null) this.#original = this.#post(this.references.retweeted)
    return this.#original
  }

  /** The post that this one, or the post that it reposts, quotes. Only on a stream: a search reads the post alone. */
  get quoted(): Members | undefined {
    if (this.mode === "search") return undefined
    return this.#post(referencesOf(this.original ?? this.data).quoted)
  }

  /** Empty if the author is not included. */
  get author(): Members {
    return (this.#author ??= objectOf(this.user(idOf(this.data.author_id))))
  }

  /** A repost of a reply is not itself a reply. */
  get isReply(): boolean {
    return idOf(this.data.in_reply_to_user_id) !== undefined && this.references.retweeted === undefined
  }

  user(id: string | undefined): Members | undefined {
    return id === undefined ? undefined : included(this.#includes.users, id)
  }

  users(): readonly Members[] {
    return arrayOf(this.#includes.users).map(objectOf)
  }

  media(): readonly Members[] {
    return arrayOf(this.#includes.media).map(objectOf)
  }

  /** The place, from this envelope or from an earlier one. */
  place(id: string | undefined): Members | undefined {
    return id === undefined ? undefined : (included(this.#includes.places, id) ?? this.earlier?.placeOf(id))
  }

  #post(id: string | undefined): Members | undefined {
    return id === undefined ? undefined : included(this.#includes.tweets, id)
  }
}

const noReferences: References = {}

/** What the post refers to. */
export function referencesOf(post: Members): References {
  const list = arrayOf(post.referenced_tweets)
  if (list.length === 0) return noReferences
  const found: References = {}
  for (const reference of list) {
    const { type, id } = objectOf(reference)
    if (type === "retweeted" || type === "quoted" || type === "replied_to") {
      if (!Object.hasOwn(found, type)) found[type] = idOf(id)
    }
  }
  return found
}

function included(list: unknown, id: string): Members | undefined {
  for (const one of arrayOf(list)) if (objectOf(one).id === id) return objectOf(one)
  return undefined
}
