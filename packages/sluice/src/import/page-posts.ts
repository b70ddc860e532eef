/**
 * The posts of a page of X's API, each with its part of the page's `includes`.
 *
 * A page names an object once, however many posts refer to it. Each envelope includes the objects that X includes in its
 * stream: the posts that it reposts, quotes or replies to, the posts to which these refer (the quote in a repost), and the
 * users, media, polls and places of all of them.
 * Envelopes are made one by one, because a page of a few megabytes may make many more of them.
 */
import { includedKinds, IncludedObjects, type IncludedKind } from "./included-objects.ts"
import { objectOf, objectsOf, textOf, textsOf, type Members } from "./untyped-json.ts"

/** An envelope for each item of `data`, in order; `undefined` for an item that is not an object. */
export function* envelopesOfPage(data: readonly unknown[], includes: unknown): Generator<Members | undefined> {
  const page = new PageObjects(objectOf(includes) ?? {})
  for (const item of data) {
    const post = objectOf(item)
    yield post && page.envelopeOf(post)
  }
}

class PageObjects {
  readonly #objects: Readonly<Record<IncludedKind, ReadonlyMap<string, Members>>>
  readonly #usersByName: ReadonlyMap<string, Members>

  constructor(includes: Members) {
    const byKey = (kind: IncludedKind): ReadonlyMap<string, Members> => keyed(includes[kind], includedKinds[kind])
    this.#objects = {
      users: byKey("users"),
      tweets: byKey("tweets"),
      media: byKey("media"),
      polls: byKey("polls"),
      places: byKey("places"),
    }
    this.#usersByName = keyed(includes["users"], "username")
  }

  envelopeOf(post: Members): Members {
    const included = new IncludedObjects()
    this.#addWhatItNames(post, included)
    for (const referenced of this.#addReferenced(post, included)) this.#addReferenced(referenced, included)
    return included.envelopeOf(post)
  }

  /** Adds the posts that a post refers to, as far as they are new, and returns them. */
  #addReferenced(post: Members, included: IncludedObjects): readonly Members[] {
    const found = objectsOf(post["referenced_tweets"]).map(({ id }) => this.#objects.tweets.get(textOf(id) ?? ""))
    const added = found.filter((one) => one !== undefined).filter((one) => included.add("tweets", one))
    for (const one of added) this.#addWhatItNames(one, included)
    return added
  }

  #addWhatItNames(post: Members, included: IncludedObjects): void {
    const add = (kind: IncludedKind, key: unknown): void => {
      const object = this.#objects[kind].get(textOf(key) ?? "")
      if (object !== undefined) included.add(kind, object)
    }
    add("users", post["author_id"])
    add("users", post["in_reply_to_user_id"])
    for (const { id, username } of objectsOf(objectOf(post["entities"])?.["mentions"])) {
      add("users", id)
      const named = this.#usersByName.get(textOf(username) ?? "")
      if (named !== undefined) included.add("users", named)
    }
    const attachments = objectOf(post["attachments"])
    for (const key of textsOf(attachments?.["media_keys"])) add("media", key)
    for (const id of textsOf(attachments?.["poll_ids"])) add("polls", id)
    add("places", objectOf(post["geo"])?.["place_id"])
  }
}

function keyed(objects: unknown, key: string): ReadonlyMap<string, Members> {
  return new Map(objectsOf(objects).map((object) => [textOf(object[key]) ?? "", object]))
}
