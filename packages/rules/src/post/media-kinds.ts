/** The kinds of a post's media. */

import { names } from "./member-names.ts"
import type { PostParts } from "./post-parts.ts"
import type { PostView } from "./post-view.ts"

/** Comparisons of a key with an included one, after which the included ones are put in a map. X's posts need a few. */
const comparisonsMax = 64

/** The media of one post by kind. */
export type MediaFlags = {
  readonly has: boolean
  readonly hasImage: boolean
  readonly hasVideo: boolean
}

const noMedia: MediaFlags = { has: false, hasImage: false, hasVideo: false }

/** The media that the parts name. */
export function mediaOf<Node>(view: PostView<Node>, parts: PostParts<Node>): MediaFlags {
  let media: MediaKinds<Node> | undefined
  for (let index = 0; index < parts.count; index++) {
    const { post, isRepostPrefix } = parts.at(index)
    const keys = isRepostPrefix ? view.absent : view.array(view.object(post, names.attachments), names.media_keys)
    if (!view.isPresent(keys)) continue
    media ??= new MediaKinds(view)
    media.read(keys)
  }
  return media ?? noMedia
}

class MediaKinds<Node> implements MediaFlags {
  has = false
  hasImage = false
  hasVideo = false
  readonly #view: PostView<Node>
  readonly #included: Node
  #comparisons = 0
  #types: ReadonlyMap<string, Node> | undefined

  constructor(view: PostView<Node>) {
    this.#view = view
    this.#included = view.array(view.includes, names.media)
  }

  /** Reads the media with these keys. */
  read(keys: Node): void {
    const view = this.#view
    for (let at = view.itemsBegin(keys); at < view.itemsEnd(keys); at = view.itemAfter(at)) {
      const key = view.itemAt(keys, at)
      if (!view.isString(key)) continue
      this.has = true
      const type = this.#typeOf(key)
      if (view.isPresent(type)) this.#add(view.text(type))
      else this.#addKey(view.text(key))
    }
  }

  /** A media key begins with the number of its kind, which counts if the media object is not included. */
  #addKey(key: string): void {
    this.#add(key.slice(0, key.indexOf("_")))
  }

  /** By X's name of the type, or by the number at the beginning of a media key. Source: results of X's own search. */
  #add(type: string): void {
    if (type === "photo" || type === "animated_gif" || type === "3" || type === "16") this.hasImage = true
    else if (type === "video" || type === "7" || type === "13") this.hasVideo = true
  }

  /** X's name of the type; absent if the envelope does not say. The last of two with one key counts. */
  #typeOf(key: Node): Node {
    const view = this.#view
    let type = view.absent
    if (this.#comparisons > comparisonsMax) return this.#typesByKey().get(view.text(key)) ?? type
    const list = this.#included
    for (let at = view.itemsBegin(list); at < view.itemsEnd(list); at = view.itemAfter(at)) {
      const one = view.itemAt(list, at)
      const its = view.string(one, names.media_key)
      this.#comparisons++
      if (view.isPresent(its) && view.areSame(its, key)) type = view.string(one, names.type)
    }
    return type
  }

  #typesByKey(): ReadonlyMap<string, Node> {
    if (this.#types !== undefined) return this.#types
    const view = this.#view
    const types = new Map<string, Node>()
    const list = this.#included
    for (let at = view.itemsBegin(list); at < view.itemsEnd(list); at = view.itemAfter(at)) {
      const one = view.itemAt(list, at)
      const key = view.string(one, names.media_key)
      if (view.isPresent(key)) types.set(view.text(key), view.string(one, names.type))
    }
    this.#types = types
    return types
  }
}
