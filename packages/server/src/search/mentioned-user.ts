/** Tells posts that mention a user from those that mention another user by the same name. */
import type { RuleEnvelope } from "@sluice/rules"

/** A user, by the id and, where a post may name them by it, the username. */
export interface MentionedUser {
  readonly id: string
  readonly username?: string
}

/**
 * Whether the entities of the post mention other users alone by the user's name, or by the digits of their id: an entity with an
 * id means the user of that id. A post without entities means the user whom its text names.
 */
export function mentionsAnother({ data }: RuleEnvelope, { id, username }: MentionedUser): boolean {
  const mentions = [...mentionsIn(data), ...mentionsIn(objectOf(data)["note_tweet"])]
  const names = new Set([id, username?.toLowerCase() ?? id])
  const named = mentions.filter((mention) => names.has(nameOf(mention)) || mention["id"] === id)
  return named.length > 0 && named.every((mention) => idOf(mention) !== undefined && idOf(mention) !== id)
}

function mentionsIn(of: unknown): readonly Readonly<Record<string, unknown>>[] {
  const { mentions } = objectOf(objectOf(of)["entities"])
  return Array.isArray(mentions) ? mentions.map(objectOf) : []
}

/** As the language has it: a text that is not empty. */
function idOf({ id }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof id === "string" && id !== "" ? id : undefined
}

function nameOf({ username }: Readonly<Record<string, unknown>>): string {
  return typeof username === "string" ? username.toLowerCase() : ""
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
