/**
 * A post object by itself as an envelope.
 *
 * Programs that flatten pages put what a page includes into the post that refers to it, where no post of X has it:
 * `author`, `in_reply_to_user`, `attachments.media`, `attachments.poll`, whole posts in `referenced_tweets`, a place in
 * `geo`, users in `entities.mentions`. From there it goes back into `includes`.
 *
 * Source: twarc's `flatten`, the format of the archives that `twarc2 flatten` writes.
 */
import { IncludedObjects } from "./included-objects.ts"
import { itemsOf, membersOf, objectOf, objectsOf, type Members } from "./untyped-json.ts"

/** The post's envelope: embedded objects move to `includes`, and the post keeps X's members. */
export function envelopeOfPost(post: Members): Members {
  const included = new IncludedObjects()
  const data = unflattened(post, included, true)
  for (const kind of ["users", "tweets", "media", "polls", "places"] as const) {
    for (const object of objectsOf(objectOf(post["includes"])?.[kind])) included.add(kind, object)
  }
  return included.envelopeOf(data)
}

/** `isDirect`: what the post refers to is included; X includes nothing that an included post refers to. */
function unflattened(post: Members, included: IncludedObjects, isDirect: boolean): Members {
  const {
    author,
    in_reply_to_user: repliedTo,
    includes: _includes,
    matching_rules: _rules,
    __twarc: _twarc,
    ...data
  } = post
  for (const user of objectsOf([author, repliedTo])) addUser(user, included)
  const { attachments, geo, entities, referenced_tweets: references } = data
  return {
    ...data,
    ...(objectOf(attachments) && { attachments: withoutMedia(objectOf(attachments) ?? {}, included) }),
    ...(objectOf(geo) && { geo: withoutPlace(objectOf(geo) ?? {}, included) }),
    ...(objectOf(entities) && { entities: withoutUsers(objectOf(entities) ?? {}, included) }),
    ...(Array.isArray(references) && {
      referenced_tweets: references.map((one: unknown) => withoutPost(one, included, isDirect)),
    }),
  }
}

function addUser({ pinned_tweet: _pinned, ...user }: Members, included: IncludedObjects): void {
  included.add("users", user)
}

function withoutMedia({ media, poll, ...attachments }: Members, included: IncludedObjects): Members {
  for (const one of objectsOf(media)) included.add("media", one)
  const onePoll = objectOf(poll)
  if (onePoll !== undefined) included.add("polls", onePoll)
  return attachments
}

/** A place has a name; a post's `geo` has none, so it was joined with its place. */
function withoutPlace(geo: Members, included: IncludedObjects): Members {
  if (!("full_name" in geo)) return geo
  const { place_id: placeId, coordinates, ...place } = geo
  included.add("places", { id: placeId, ...place })
  return membersOf({ place_id: placeId, coordinates }) ?? {}
}

function withoutUsers(entities: Members, included: IncludedObjects): Members {
  const mentions = objectsOf(entities["mentions"]).map((mention) => {
    const { start, end, username, id, tag, ...user } = mention
    // A mention of X has no name; one with a name was joined with its user.
    if (!("name" in user)) return mention
    addUser({ id, username, ...user }, included)
    return { start, end, username, ...(id !== undefined && { id }), ...(tag !== undefined && { tag }) }
  })
  return { ...entities, ...(itemsOf(mentions) && { mentions }) }
}

function withoutPost(reference: unknown, included: IncludedObjects, isDirect: boolean): unknown {
  const { type, ...post } = objectOf(reference) ?? {}
  if (!("text" in post)) return reference
  if (isDirect) included.add("tweets", unflattened(post, included, false))
  return { type, id: post["id"] }
}
