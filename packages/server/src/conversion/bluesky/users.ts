/** Users of Bluesky in X's shape, from what is known and from records of identities and profiles. */
import type { UserId } from "../../model/ids.ts"
import type { Converted, KnownNames } from "../converter.ts"
import type { UserObject } from "../foreign-envelope.ts"
import { atNameOf, atPostId } from "../foreign-ids.ts"
import { filledOf, ignored, memberOf, objectOf, wholeOf, type Members } from "../records.ts"
import { cidOf, imageUrl } from "./embeds.ts"
import { uriOf } from "./frame.ts"
import { reasons } from "./reasons.ts"

/** The author of a post as far as they are known: without a handle, the DID stands for it. */
export function authorOf(did: string, id: UserId, known: KnownNames): UserObject {
  const user = known.user(id)
  return user === undefined ? { id, username: did, name: did } : { ...user, id }
}

/** The user whom an identity names, or why there is none. Bluesky writes `handle.invalid` for a handle that fails its check. */
export function userOfIdentity(did: string, id: UserId, handle: string | undefined, known: KnownNames): Converted {
  if (handle === undefined || !/^[A-Za-z0-9.-]{1,253}$/.test(handle)) return ignored(reasons.noHandle)
  const user = known.user(id)
  // Another account may have the handle now.
  const username = handle.toLowerCase() === "handle.invalid" ? did : handle.toLowerCase()
  if (username === did && user === undefined) return ignored(reasons.noHandle)
  const name = user === undefined || user.name === user.username ? username : user.name
  return { kind: "user", user: { ...user, id, username, name } }
}

/** The user whom a profile describes; a deleted profile, which has no record, describes nothing. */
export function userOfProfile(
  did: string,
  id: UserId,
  {
    record,
    known,
    givesMediaUrls,
  }: { readonly record: unknown; readonly known: KnownNames; readonly givesMediaUrls: boolean },
): Converted {
  const user = known.user(id)
  const username = user?.username ?? did
  const profile = objectOf(record)
  const avatar = givesMediaUrls ? cidOf(profile?.avatar) : undefined
  const banner = givesMediaUrls ? cidOf(profile?.banner) : undefined
  const pinned = pinnedPost(record)
  const pinnedAt = pinned === undefined ? undefined : atNameOf(pinned)
  return {
    kind: "user",
    user: {
      ...user,
      id,
      username,
      name: filledOf(profile?.displayName) ?? username,
      description: filledOf(profile?.description),
      url: filledOf(profile?.website),
      profile_image_url: avatar === undefined ? undefined : imageUrl("avatar", did, avatar),
      profile_banner_url: banner === undefined ? undefined : imageUrl("banner", did, banner),
      pinned_tweet_id: pinnedAt === undefined ? undefined : (known.postId(pinned ?? "") ?? atPostId(pinnedAt)),
    },
  }
}

/** The user in an answer of `app.bsky.actor.getProfiles`, or why there is none. */
export function userOfView(did: string, id: UserId, view: Members, known: KnownNames): Converted {
  const named = userOfIdentity(did, id, filledOf(view.handle), known)
  if (named.kind !== "user") return named
  const user = {
    ...named.user,
    name: filledOf(view.displayName) ?? named.user.name,
    description: filledOf(view.description),
    profile_image_url: filledOf(view.avatar),
    profile_banner_url: filledOf(view.banner),
    public_metrics: {
      followers_count: wholeOf(view.followersCount) ?? 0,
      following_count: wholeOf(view.followsCount) ?? 0,
      tweet_count: wholeOf(view.postsCount) ?? 0,
      listed_count: 0,
    },
  }
  return { kind: "user", user }
}

/** The name of the post that a profile pins. */
export function pinnedPost(profile: unknown): string | undefined {
  const name = uriOf(memberOf(profile, "pinnedPost"))
  return name === undefined || atNameOf(name) === undefined ? undefined : name
}
