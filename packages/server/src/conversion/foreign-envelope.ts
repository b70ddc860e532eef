/** Envelopes of foreign posts: the members that all of them have, and reposts. */
import { snowflakeAtMs, type Envelope } from "@sluice/api"
import { instant } from "../model/date-time.ts"
import type { PostId, UserId } from "../model/ids.ts"
import type { KnownNames, KnownUser } from "./converter.ts"
import type { Entities } from "./entities.ts"
import { itemsOf, memberOf, objectOf, stringOf, type Members } from "./records.ts"
import { pointsOf } from "./text-offsets.ts"

/** Longest time that a record may be ahead of the moment at which its source had it, ms. Ours: clocks differ by less. */
export const aheadMsMax = 5 * 60_000

/** Age from which a post is stored and matched and not delivered, ms. Ours: an import of old posts is no news. */
export const oldMs = 24 * 60 * 60_000

/** A user object with its id. */
export type UserObject = KnownUser & { readonly id: UserId }

/** The time in the id as a post shows it. */
export function timeOf(id: PostId): string {
  return instant(snowflakeAtMs(id) ?? 0)
}

/** The objects that a post refers to; each user and medium once, lists without objects left out. */
export function includesOf(lists: {
  readonly users: readonly (UserObject | undefined)[]
  readonly media?: readonly Members[]
  readonly tweets?: readonly Members[]
  readonly polls?: readonly Members[]
}): Members {
  return {
    users: eachOnce(lists.users),
    tweets: filled(lists.tweets),
    media: filled(lists.media),
    polls: filled(lists.polls),
  }
}

function eachOnce(users: readonly (UserObject | undefined)[]): readonly UserObject[] {
  const [only] = users
  if (users.length === 1 && only !== undefined) return [only]
  const found = new Map<string, UserObject>()
  for (const user of users) if (user !== undefined && !found.has(user.id)) found.set(user.id, user)
  return [...found.values()]
}

function filled(list: readonly Members[] | undefined): readonly Members[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list
}

/** The user of this id as far as it is known. */
export function knownUser(id: UserId, known: KnownNames): UserObject | undefined {
  const user = known.user(id)
  return user === undefined ? undefined : { ...user, id }
}

/** Most characters of a repost's own text. Source: recorded reposts of X, which cut theirs. */
const repostCharactersMax = 140

/** The text of a repost, as X writes it, and its mention of the author of the original. */
export function repostText(
  { id, username }: Pick<UserObject, "id" | "username">,
  original: string | undefined,
): { readonly text: string; readonly entities: Entities } {
  const prefix = `RT @${username}:`
  const whole = original === undefined ? prefix : `${prefix} ${original}`
  const points = Array.from(whole.slice(0, 2 * (prefix.length + repostCharactersMax)))
  const text = points.length <= repostCharactersMax ? whole : `${points.slice(0, repostCharactersMax - 1).join("")}…`
  const start = "RT ".length
  const end = start + 1 + pointsOf(username)
  const isWhole = end <= Math.min(points.length, repostCharactersMax - 1)
  return { text, entities: isWhole ? { mentions: [{ start, end, username, id }] } : {} }
}

/** The parts of a stored post that its repost includes. */
export interface Original {
  readonly post: Members
  readonly text: string
  readonly language: string
  readonly media: readonly Members[]
  /** The author, when the stored post came with them. */
  readonly author: KnownUser | undefined
}

/** The parts of a stored envelope that its repost includes. */
export function originalOf(envelope: Envelope): Original {
  const { data, includes } = envelope
  const author = itemsOf(includes?.users).find((user) => memberOf(user, "id") === data.author_id)
  const username = memberOf(author, "username")
  return {
    post: data,
    text: data.text,
    language: stringOf(data.lang) ?? "und",
    media: itemsOf(includes?.media)
      .map(objectOf)
      .filter((one) => one !== undefined),
    author: typeof username === "string" ? { ...objectOf(author), username } : undefined,
  }
}
