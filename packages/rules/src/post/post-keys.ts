/** The users of a post and their affiliations, and X's annotations of what the post is about, as keys. */

import { fold } from "../text/fold.ts"
import { keyOfWords } from "../text/words.ts"
import { keysOf, type FieldSource, type Key } from "./field-values.ts"
import type { PostObjects } from "./post-objects.ts"
import { arrayOf, idOf, objectOf, textOf, type Members } from "./untyped-json.ts"

const none: readonly never[] = []

/** Id and username of the user replied to. */
export function repliedToKeys(post: PostObjects): readonly Key[] {
  if (!post.isReply) return none
  const id = idOf(post.data.in_reply_to_user_id)
  return userKeys(post, id, "reply", textOf(repliedToUser(post).username))
}

/** Id and username of the reposted user. Without the original, the repost's own text begins with the name: `RT @name:`. */
export function repostedKeys(post: PostObjects): readonly Key[] {
  if (post.references.retweeted === undefined) return none
  const name = /^RT @(\w+):/.exec(textOf(post.data.text) ?? "")?.[1]
  return userKeys(post, idOf(post.original?.author_id), "original", name)
}

/** Ids and usernames of the accounts that the user replied to is affiliated with. */
export function repliedToAffiliationKeys(post: PostObjects): readonly Key[] {
  return post.isReply ? affiliationKeys(post, repliedToUser(post), "reply") : none
}

/** If the user is not included, a mention may carry the id and the name. */
function repliedToUser(post: PostObjects): Members {
  const id = idOf(post.data.in_reply_to_user_id)
  const known = post.user(id)
  if (known) return known
  const mentions = arrayOf(objectOf(post.data.entities).mentions).map(objectOf)
  return objectOf(mentions.find((mention) => idOf(mention.id) === id))
}

/** Id and username of the user. `fallbackName` is used if the user is not included. */
export function userKeys(
  post: PostObjects,
  id: string | undefined,
  where: FieldSource,
  fallbackName?: string,
): readonly Key[] {
  const username = textOf(post.user(id)?.username) ?? fallbackName
  return keysOf(where, id, username === undefined ? undefined : fold(username))
}

/** Ids and usernames of the accounts that the user is affiliated with. Source: `affiliation` in X's OpenAPI document. */
export function affiliationKeys(post: PostObjects, user: Members, where: FieldSource): readonly Key[] {
  const affiliation = objectOf(user.affiliation)
  const inLink = /^https?:\/\/(?:www\.)?(?:twitter|x)\.com\/(\w+)\/?$/i.exec(textOf(affiliation.url) ?? "")?.[1]
  const ids = new Set(arrayOf(affiliation.user_id).flatMap((id) => idOf(id) ?? none))
  const users = ids.size === 0 ? none : post.users()
  const names = users.flatMap((one) => (ids.has(idOf(one.id) ?? "") ? textOf(one.username) : none))
  return [...ids, ...names, inLink].flatMap((key) => keysOf(where, key))
}

/** For each annotation the pair of domain and entity, and either half with `*` for the other. */
export function contextKeys(post: PostObjects): readonly Key[] {
  const keys: Key[] = []
  for (const annotation of annotationsOf(post)) {
    const { domain, entity } = objectOf(annotation)
    const [domainId, entityId] = [idOf(objectOf(domain).id), idOf(objectOf(entity).id)]
    if (domainId === undefined || entityId === undefined) continue
    for (const key of [`${domainId}.${entityId}`, `${domainId}.*`, `*.${entityId}`])
      keys.push({ key, where: "context" })
  }
  return keys
}

/** The names of annotated entities. */
export function entityKeys(post: PostObjects): readonly Key[] {
  const names = new Set<string>()
  for (const annotation of annotationsOf(post)) {
    const name = idOf(objectOf(objectOf(annotation).entity).name)
    if (name !== undefined) names.add(name)
  }
  for (const one of [post.data, post.original]) {
    for (const annotation of arrayOf(objectOf(one?.entities).annotations)) {
      const name = idOf(objectOf(annotation).normalized_text)
      if (name !== undefined) names.add(name)
    }
  }
  return Array.from(names, (name): Key => ({ key: keyOfWords(name, post.mode), where: "context" }))
}

/** The annotations of a reposted post count as the post's own. */
function annotationsOf(post: PostObjects): readonly unknown[] {
  const own = arrayOf(post.data.context_annotations)
  const originals = arrayOf(post.original?.context_annotations)
  return originals.length === 0 ? own : [...own, ...originals]
}
