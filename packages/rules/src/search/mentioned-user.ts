/** Tells posts that mention a user from those that mention another user by the same name. */
import type { RuleEnvelope } from "../post/post-objects.ts"
import { arrayOf, idOf, objectOf, textOf, type Members } from "../post/untyped-json.ts"
import { fold } from "../text/fold.ts"

/** A user, by the id and, where a post may name them by it, the username. */
export interface MentionedUser {
  readonly id: string
  readonly username?: string
}

/**
 * Whether the entities of the post mention other users alone by the user's name, or by the digits of their id or of that
 * name: an entity with an id means the user of that id. A post without entities means the user whom its text names.
 */
export function mentionsAnother({ data }: RuleEnvelope, { id, username = id }: MentionedUser): boolean {
  const post = objectOf(data)
  const names = new Set([id, fold(username)])
  const named = [...mentionsIn(post), ...mentionsIn(objectOf(post.note_tweet))].filter(
    (mention) => names.has(fold(textOf(mention.username) ?? "")) || names.has(idOf(mention.id) ?? ""),
  )
  return named.length > 0 && named.every((mention) => (idOf(mention.id) ?? id) !== id)
}

function mentionsIn(of: Members): readonly Members[] {
  return arrayOf(objectOf(of.entities).mentions).map(objectOf)
}
