/**
 * A status of Mastodon, or of a program that speaks its API, as a post with the objects that it refers to.
 *
 *     status ─► version, text, account, references ─► names of posts, ids of users ─► known ones ─► data and includes
 */
import { isDateTime } from "../../model/date-time.ts"
import type { PostId, UserId } from "../../model/ids.ts"
import type { KnownNames } from "../converter.ts"
import type { UserObject } from "../foreign-envelope.ts"
import { arrivalOfStatus, mastodonPostId } from "../foreign-ids.ts"
import { postLanguage } from "../post-language.ts"
import { distinct, filledOf, invalidMember, memberOf, objectOf, wholeOf, type Members } from "../records.ts"
import { userOf } from "./accounts.ts"
import { mediaOf, pollOf } from "./attachments.ts"
import { mentionsOf, statusText, type StatusMention, type StatusText } from "./status-text.ts"

/** The instance that a source reads. */
export interface Instance {
  /** The host that the names of its posts begin with, in lower case. */
  readonly host: string
  /** The host in the names of its own accounts, when that is another one. */
  readonly accountHost?: string | undefined
  /** 0 to 63: a number that no other instance of this store has. */
  readonly number: number
}

/** A status that was read. */
export interface Status {
  /** The name of this version, and the id that follows from it. */
  readonly name: string
  readonly id: PostId | undefined
  /** The name and id of the first version, which are the same when this is the first. */
  readonly firstName: string
  readonly firstId: PostId | undefined
  /** When this version was written, RFC 3339. */
  readonly writtenAt: string
  readonly createdMs: number
  /** When the instance got the status, Unix ms, if its id tells. */
  readonly arrivedMs: number | undefined
  readonly editedMs: number | undefined
  readonly visibility: unknown
  readonly language: string
  readonly user: UserObject
  readonly content: StatusText
  readonly mentions: readonly StatusMention[]
  readonly media: readonly Members[]
  readonly poll: (Members & { readonly id: string }) | undefined
  /** The name of the post that this one replies to, and the id of its author, if the status tells. */
  readonly repliedTo: string | undefined
  readonly repliedToUser: UserId | undefined
  /** The name of the quoted post, and the status itself, if it came. */
  readonly quotedName: string | undefined
  readonly quoted: Members | undefined
  readonly source: string | undefined
  readonly isSensitive: boolean
  readonly metrics: Members
}

/** The name of a status of the instance; undefined for a value that is no id. */
export function statusName({ host }: Instance, id: unknown): string | undefined {
  return typeof id === "string" && /^[\w-]{1,64}$/.test(id) ? `https://${host}/statuses/${id}` : undefined
}

/** The id that follows from a status's own id, which is decimal on Mastodon alone. */
export function statusId({ number }: Instance, id: unknown, editedMs?: number): PostId | undefined {
  return typeof id === "string" ? mastodonPostId(id, number, editedMs) : undefined
}

/** Reads a status. `path` leads to it, for messages. Throws `RejectedRecord`. */
export function statusOf(status: Members, instance: Instance, path: string): Status {
  const { host, accountHost = host } = instance
  const firstName = statusName(instance, status.id)
  if (firstName === undefined) throw invalidMember(`${path}.id`, status.id, "a string of letters and digits")
  const createdAt = timeOf(status.created_at)
  if (createdAt === undefined) throw invalidMember(`${path}.created_at`, status.created_at, "an RFC 3339 time")
  const editedAt = status.edited_at === null || status.edited_at === undefined ? undefined : timeOf(status.edited_at)
  if (editedAt === undefined && typeof status.edited_at === "string") {
    throw invalidMember(`${path}.edited_at`, status.edited_at, "an RFC 3339 time")
  }
  if (typeof status.content !== "string") throw invalidMember(`${path}.content`, status.content, "a string of HTML")
  const editedMs = editedAt === undefined ? undefined : Date.parse(editedAt)
  const firstId = statusId(instance, status.id)
  const mentions = mentionsOf(status.mentions, accountHost)
  const quote = quoteOf(status, instance)
  const user = userOf(status.account, accountHost, `${path}.account`)
  return {
    name: editedMs === undefined ? firstName : `${firstName}#${editedMs}`,
    id: editedMs === undefined ? firstId : statusId(instance, status.id, editedMs),
    firstName,
    firstId,
    writtenAt: editedAt ?? createdAt,
    createdMs: Date.parse(createdAt),
    arrivedMs: arrivalOfStatus(status.id as string),
    editedMs,
    visibility: status.visibility,
    language: postLanguage(status.language),
    user,
    content: statusText(status, mentions, quote.quotedName !== undefined),
    mentions,
    media: mediaOf(status.media_attachments, host),
    poll: pollOf(status.poll),
    ...repliedToOf(status, instance, { mentions, user }),
    ...quote,
    source: filledOf(memberOf(status.application, "name")),
    isSensitive: status.sensitive === true,
    metrics: metricsOf(status),
  }
}

/** The time if it is one, at or after 1970. */
function timeOf(value: unknown): string | undefined {
  return typeof value === "string" && isDateTime(value) && Date.parse(value) >= 0 ? value : undefined
}

function metricsOf(status: Members): Members {
  return {
    retweet_count: wholeOf(status.reblogs_count) ?? 0,
    reply_count: wholeOf(status.replies_count) ?? 0,
    like_count: wholeOf(status.favourites_count) ?? 0,
    quote_count: wholeOf(status.quotes_count) ?? 0,
  }
}

/** The author of the parent is one of the mentions, or the author of the reply. */
function repliedToOf(
  status: Members,
  instance: Instance,
  { mentions, user }: Pick<Status, "mentions" | "user">,
): Pick<Status, "repliedTo" | "repliedToUser"> {
  const repliedTo = statusName(instance, status.in_reply_to_id)
  const accountId = filledOf(status.in_reply_to_account_id)
  if (repliedTo === undefined || accountId === undefined) return { repliedTo, repliedToUser: undefined }
  const mention = mentions.find((one) => one.accountId === accountId)
  if (mention !== undefined) return { repliedTo, repliedToUser: mention.id }
  const isOwn = memberOf(status.account, "id") === accountId
  return { repliedTo, repliedToUser: isOwn ? user.id : undefined }
}

/**
 * The quoted post. Mastodon tells whether its author accepted; other programs give the status itself, or its id alone.
 * Source: mastodon/documentation, "Quote"; recorded statuses of Akkoma.
 */
function quoteOf(status: Members, instance: Instance): Pick<Status, "quotedName" | "quoted"> {
  const quote = objectOf(status.quote)
  const isOther = quote === undefined || !("state" in quote)
  if (!isOther && quote.state !== "accepted") return { quotedName: undefined, quoted: undefined }
  const quoted = isOther ? quote : objectOf(quote.quoted_status)
  const id = quoted?.id ?? (isOther ? status.quote_id : quote.quoted_status_id)
  return { quotedName: statusName(instance, id), quoted }
}

/** The names of posts that the status mentions. */
export function namesIn({ name, firstName, repliedTo, quotedName }: Status): readonly string[] {
  return distinct([name, firstName, repliedTo, quotedName])
}

/** The ids of users that the status mentions and does not bring. */
export function usersIn({ mentions, repliedToUser, user }: Status): readonly UserId[] {
  return distinct([...mentions.map(({ id }) => id), repliedToUser]).filter((id) => id !== user.id)
}

/** How a version of a status becomes the `data` of an envelope. */
export interface DataContext {
  readonly id: PostId
  readonly instance: Instance
  readonly known: KnownNames
}

/** The post of this id. */
export function postOf(status: Status, { id, instance, known }: DataContext): Members {
  const { content, media, poll, repliedTo } = status
  const references = referencesOf(status, instance, known)
  const history = historyOf(id, status, known)
  // Members that are undefined are not written, and one shape of the object is written faster than many.
  return {
    id,
    text: content.text,
    author_id: status.user.id,
    created_at: status.writtenAt,
    edit_history_tweet_ids: history,
    conversation_id: conversationOf(id, repliedTo, { instance, known }) ?? history[0],
    in_reply_to_user_id: status.repliedToUser,
    referenced_tweets: references.length > 0 ? references : undefined,
    lang: status.language,
    source: status.source,
    possibly_sensitive: status.isSensitive,
    entities: content.entities,
    attachments: media.length > 0 || poll !== undefined ? attachmentsOf(status) : undefined,
    public_metrics: status.metrics,
    source_uri: status.name,
  }
}

function attachmentsOf({ media, poll }: Status): Members {
  return {
    ...(media.length > 0 && { media_keys: media.map((one) => one.media_key) }),
    ...(poll !== undefined && { poll_ids: [poll.id] }),
  }
}

/** The id of a post by its name, as it is stored or as it follows from the name. */
export function idOfName(name: string, { instance, known }: Omit<DataContext, "id">): PostId | undefined {
  return known.postId(name) ?? statusId(instance, name.slice(name.lastIndexOf("/") + 1))
}

function referencesOf({ repliedTo, quotedName }: Status, instance: Instance, known: KnownNames): readonly Members[] {
  const references: Members[] = []
  const parent = repliedTo === undefined ? undefined : idOfName(repliedTo, { instance, known })
  const quoted = quotedName === undefined ? undefined : idOfName(quotedName, { instance, known })
  if (parent !== undefined) references.push({ type: "replied_to", id: parent })
  if (quoted !== undefined) references.push({ type: "quoted", id: quoted })
  return references
}

/** The conversation of the parent, which is the parent itself when it is not stored. */
function conversationOf(id: PostId, repliedTo: string | undefined, context: Omit<DataContext, "id">): unknown {
  if (repliedTo === undefined) return undefined
  const stored = context.known.envelope?.(repliedTo)?.data.conversation_id
  return filledOf(stored) ?? idOfName(repliedTo, context) ?? id
}

/** The versions that this one names: the first one, when that is known or derived, and itself. */
function historyOf(id: PostId, { name, firstName, firstId }: Status, known: KnownNames): readonly PostId[] {
  if (name === firstName) return [id]
  const first = known.postId(firstName) ?? firstId
  return first === undefined || first === id ? [id] : [first, id]
}
