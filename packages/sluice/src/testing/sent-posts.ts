/**
 * Posts that a test sends, made of the few things that it cares about: ids, users, times, media and the posts that one refers
 * to are filled in as X would send them.
 */

import { snowflakeEpochMs } from "@sluice/api"

/** A user. Without an id, a username has the same one in all posts of a server. */
export interface UserToSend {
  readonly id?: string
  readonly username: string
  /** By default the username. */
  readonly name?: string
  /** Any further member of X's user object. */
  readonly [member: string]: unknown
}

/** Media of a post, or its kind alone. */
export type MediaToSend =
  | "photo"
  | "video"
  | "animated_gif"
  | { readonly type: "photo" | "video" | "animated_gif"; readonly [member: string]: unknown }

/** A post to send. */
export interface PostToSend {
  /** Needed, except for a repost, which has that of its original. */
  readonly text?: string
  /** A user, or a username; `wren` by default, and the author of the original for an edit. */
  readonly author?: string | UserToSend
  /** By default the time of the server. */
  readonly at?: Date | string
  readonly lang?: string
  readonly media?: readonly MediaToSend[]
  /** The post that this one replies to. */
  readonly replyTo?: SentPost
  /** The post that this one quotes. */
  readonly quotes?: SentPost
  /** The post that this one reposts. */
  readonly reposts?: SentPost
  /** The post of which this one is a newer version. */
  readonly edits?: SentPost
  /** Further members of the post, such as `entities` or `geo`; they win over what is filled in. */
  readonly data?: Readonly<Record<string, unknown>>
  /** Further members of `includes`, such as `places`. */
  readonly includes?: Readonly<Record<string, readonly object[]>>
}

/** A user with an id. */
type KnownUser = UserToSend & { readonly id: string }

type Members = Readonly<Record<string, unknown>>

/** The envelope of a post, as X streams it. */
interface SentEnvelope {
  readonly data: Members & { readonly id: string; readonly text: string; readonly author_id: string }
  readonly includes: { readonly users: readonly Members[] } & Readonly<Record<string, readonly Members[]>>
}

/** A post that was sent. */
export interface SentPost {
  readonly id: string
  readonly text: string
  readonly authorId: string
  /** The username of its author. */
  readonly author: string
  /** As it was sent. */
  readonly envelope: SentEnvelope
}

/** Bits of a snowflake below its time. Source: X's announcement of snowflake ids. */
const snowflakeBits = 22n

/** The last bits of the first id of a millisecond: the server's own ids of it begin below. Ours. */
const firstOfMs = 1n << 21n

/** Ids of users begin here. Ours. */
const firstUserId = 1_001

/** First parts of media keys, by type. Source: media keys that X sends. */
const mediaKinds = { photo: 3, animated_gif: 16, video: 7 } as const

const defaultAuthor = "wren"

const mention = /@(\w{1,20})/g

/** Makes the posts of a server. */
export class PostMaker {
  readonly #nowMs: () => number
  /** By their usernames in lower case, as they were last sent. */
  readonly #users = new Map<string, KnownUser>()
  readonly #lastOfMs = new Map<number, bigint>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** The id of a user of this name. */
  userId(username: string): string {
    return this.#user(username).id
  }

  /** The post to send. Throws `TypeError` for one that no post can be. */
  make(wanted: PostToSend): SentPost {
    const { edits, reposts } = wanted
    const text = wanted.text ?? (reposts && `RT @${reposts.author}: ${reposts.text}`)
    if (text === undefined) throw new TypeError("A post needs a text: post({ text: … }).")
    const atMs = wanted.at === undefined ? this.#nowMs() : new Date(wanted.at).getTime()
    if (Number.isNaN(atMs)) throw new TypeError(`${String(wanted.at)} is no time: at is a Date, or a text in RFC 3339.`)
    const id = this.#postId(atMs)
    const author = edits && wanted.author === undefined ? authorOf(edits) : this.#user(wanted.author ?? defaultAuthor)
    const media = (wanted.media ?? []).map((one) => this.#media(one, atMs))
    const data = {
      id,
      text,
      author_id: author.id,
      created_at: new Date(atMs).toISOString(),
      edit_history_tweet_ids: edits === undefined ? [id] : [...historyOf(edits), id],
      ...(wanted.lang !== undefined && { lang: wanted.lang }),
      ...(media.length > 0 && { attachments: { media_keys: media.map((one) => one.media_key) } }),
      ...referencesOf(wanted, id),
      ...wanted.data,
    }
    const mentioned = [...data.text.matchAll(mention)].flatMap(
      ([, name = ""]) => this.#users.get(name.toLowerCase()) ?? [],
    )
    const envelope = { data, includes: includesOf(wanted, [author, ...mentioned], media) }
    return { id: data.id, text: data.text, authorId: author.id, author: author.username, envelope }
  }

  #user(wanted: string | UserToSend): KnownUser {
    const given = typeof wanted === "string" ? { username: wanted } : wanted
    const key = given.username.toLowerCase()
    const known = this.#users.get(key) ?? { id: String(firstUserId + this.#users.size), name: given.username }
    const user = { ...known, ...given }
    this.#users.set(key, user)
    return user
  }

  #media(wanted: MediaToSend, atMs: number): Members & { readonly media_key: string } {
    const given = typeof wanted === "string" ? { type: wanted } : wanted
    const id = this.#postId(atMs)
    const name = given.type === "photo" ? "url" : "preview_image_url"
    return { media_key: `${mediaKinds[given.type]}_${id}`, [name]: `https://example.com/${id}.jpg`, ...given }
  }

  /** An id of this moment, above those that were made for it before. */
  #postId(atMs: number): string {
    const first = (BigInt(Math.max(0, atMs - snowflakeEpochMs)) << snowflakeBits) | firstOfMs
    const last = this.#lastOfMs.get(atMs)
    const id = last === undefined ? first : last + 1n
    this.#lastOfMs.set(atMs, id)
    return String(id)
  }
}

function authorOf({ envelope, authorId, author }: SentPost): KnownUser {
  const known = envelope.includes.users.find((user) => user["id"] === authorId)
  return { ...known, id: authorId, username: author }
}

function historyOf({ id, envelope }: SentPost): readonly string[] {
  return (envelope.data["edit_history_tweet_ids"] as readonly string[] | undefined) ?? [id]
}

function referencesOf({ replyTo, quotes, reposts }: PostToSend, id: string): Members {
  const references = [
    ...(reposts ? [{ type: "retweeted", id: reposts.id }] : []),
    ...(quotes ? [{ type: "quoted", id: quotes.id }] : []),
    ...(replyTo ? [{ type: "replied_to", id: replyTo.id }] : []),
  ]
  return {
    conversation_id: replyTo?.envelope.data["conversation_id"] ?? replyTo?.id ?? id,
    ...(replyTo && { in_reply_to_user_id: replyTo.authorId }),
    ...(references.length > 0 && { referenced_tweets: references }),
  }
}

/** The objects of the post and of those that it refers to, each once. */
function includesOf(
  { replyTo, quotes, reposts, includes = {} }: PostToSend,
  users: readonly Members[],
  media: readonly (Members & { readonly media_key: string })[],
): SentEnvelope["includes"] {
  const referenced = [reposts, quotes, replyTo].filter((post) => post !== undefined)
  const ofReferenced = (name: string): readonly Members[] =>
    referenced.flatMap(({ envelope }) => envelope.includes[name] ?? [])
  const all: Record<string, readonly Members[]> = {
    users: uniqueBy("id", [...users, ...ofReferenced("users"), ...membersOf(includes["users"])]),
    tweets: uniqueBy("id", [...referenced.map(({ envelope }) => envelope.data), ...membersOf(includes["tweets"])]),
    media: uniqueBy("media_key", [...media, ...ofReferenced("media"), ...membersOf(includes["media"])]),
  }
  const named = Object.entries({ ...includes, ...all }).filter(([, objects]) => objects.length > 0)
  return Object.fromEntries(named) as unknown as SentEnvelope["includes"]
}

function membersOf(objects: readonly object[] = []): readonly Members[] {
  return objects as readonly Members[]
}

function uniqueBy(key: string, objects: readonly Members[]): readonly Members[] {
  return [...new Map(objects.map((one) => [one[key], one])).values()]
}
