/**
 * The content of deleted posts, and the objects of deleted users, in the envelopes of others, as text: all else stays letter for letter.
 *
 * An included post takes its media and polls with it, unless another post of the envelope names them, too.
 */
import { elementsOf, membersOf, textOf, withMembers } from "./json-text.ts"

/** The lists of `includes` whose objects belong to posts, with the member that has an object's id. */
const attached = { media: "media_key", polls: "id" } as const

/** The names of a post's attachments that lead to them. */
const attachmentNames = { media: "media_keys", polls: "poll_ids" } as const

/** The objects that are to be taken out. */
export interface DeletedContent {
  readonly isPostDeleted: (id: string) => boolean
  readonly isUserDeleted: (id: string) => boolean
}

/** The ids of the users that an envelope includes. */
export function includedUserIds(envelope: string): readonly string[] {
  return elementsOf(membersOf(membersOf(envelope).get("includes") ?? "").get("users") ?? "").map(idOf)
}

/** The ids of the posts that an envelope includes. */
export function includedPostIds(envelope: string): readonly string[] {
  return elementsOf(membersOf(membersOf(envelope).get("includes") ?? "").get("tweets") ?? "").map(idOf)
}

/**
 * The envelope without the included posts and users that are deleted, a user's posts among them. The same text when there is
 * none.
 */
export function withoutDeletedContent(envelope: string, { isPostDeleted, isUserDeleted }: DeletedContent): string {
  const members = membersOf(envelope)
  const included = elementsOf(membersOf(members.get("includes") ?? "").get("tweets") ?? "")
  const isDeleted = (post: string): boolean => {
    const { id, author } = { id: idOf(post), author: textOf(membersOf(post).get("author_id")) }
    return isPostDeleted(id) || (author !== undefined && isUserDeleted(author))
  }
  const [gone, kept] = [
    included.filter(isDeleted),
    [members.get("data") ?? "", ...included.filter((post) => !isDeleted(post))],
  ]
  if (gone.length === 0 && !includedUserIds(envelope).some(isUserDeleted)) return envelope
  const isGone = (list: keyof typeof attached): ((object: string) => boolean) => {
    const named = new Set(kept.flatMap((post) => attachmentsOf(post, list)))
    const lost = new Set(gone.flatMap((post) => attachmentsOf(post, list)).filter((key) => !named.has(key)))
    return (object) => lost.has(textOf(membersOf(object).get(attached[list])) ?? "")
  }
  return withMembers(envelope, (name, value) => {
    if (name !== "includes") return value
    const includes = withMembers(value, (list, objects) => {
      if (list === "tweets") return withoutElements(objects, isDeleted)
      if (list === "users") return withoutElements(objects, (user) => isUserDeleted(idOf(user)))
      return list === "media" || list === "polls" ? withoutElements(objects, isGone(list)) : objects
    })
    return includes === "{}" ? undefined : includes
  })
}

/** The list without these elements; undefined when none is left. */
function withoutElements(list: string, isGone: (element: string) => boolean): string | undefined {
  const elements = elementsOf(list)
  const kept = elements.filter((element) => !isGone(element))
  if (kept.length === elements.length) return list
  return kept.length === 0 ? undefined : `[${kept.join(",")}]`
}

function attachmentsOf(post: string, list: keyof typeof attached): readonly string[] {
  const keys = membersOf(membersOf(post).get("attachments") ?? "").get(attachmentNames[list]) ?? ""
  return elementsOf(keys).flatMap((key) => textOf(key) ?? [])
}

function idOf(object: string): string {
  return textOf(membersOf(object).get("id")) ?? ""
}
