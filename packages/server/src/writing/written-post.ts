/**
 * A post that an app's user writes, as the line that goes into ingest: what a source would send for it.
 *
 *     text ──► hashtags, mentions, cashtags, links ──► entities ─┐
 *     the author, the users it mentions ──► includes.users ──────┼─► envelope
 *     the post it answers, quotes or edits ──► references ───────┘
 */
import { snowflakeAtMs, type Post } from "@sluice/api"
import { entitiesInText } from "@sluice/rules"
import { instant } from "../model/date-time.ts"
import { editsMax } from "../model/edit-chain.ts"
import { asId, isId, type PostId, type UserId } from "../model/ids.ts"
import { elementsOf, membersOf, objectOf, textOf, withoutLineBreaks } from "../model/json-text.ts"
import type { StoredPost } from "../model/post.ts"

/** A user as it is stored. */
interface KnownUser {
  readonly id: UserId
  /** Folded. */
  readonly username: string
  readonly json: string
}

/** A post that another one refers to. Its envelope is absent when all that is stored of it is damaged. */
export interface OlderPost {
  readonly id: PostId
  readonly envelope: string | undefined
}

/** The earlier version of a post, and all that are known. */
export interface EditedPost {
  readonly previous: StoredPost
  readonly chain: readonly PostId[]
  /** Unix ms: when the last edit may be. */
  readonly untilMs: number
}

/** All that a post is made of. */
export interface PostDraft {
  readonly id: PostId
  readonly text: string
  readonly author: KnownUser
  /** Users whom the text mentions, as far as they are stored. */
  readonly mentioned: readonly KnownUser[]
  readonly answered: OlderPost | undefined
  readonly quoted: OlderPost | undefined
  readonly edited: EditedPost | undefined
  /** How long a new post may be edited. */
  readonly editableMs: number
}

/**
 * The envelope of a post as JSON text in one line, with as many of the included objects as `bytesMax` has room for. Longer than
 * that only when the post without them is.
 */
export function writtenEnvelope(draft: PostDraft, bytesMax: number): string {
  const { id, text, author, mentioned, edited } = draft
  const createdAtMs = snowflakeAtMs(id) ?? 0
  const chain = [...(edited?.chain ?? []), id]
  const thread = edited === undefined ? threadOf(draft) : threadOfPrevious(edited.previous, id)
  const data: Post = {
    id,
    text,
    author_id: author.id,
    created_at: instant(createdAtMs),
    conversation_id: thread.conversationId,
    edit_history_tweet_ids: chain,
    edit_controls: {
      edits_remaining: Math.max(0, editsMax + 1 - chain.length),
      is_edit_eligible: thread.inReplyTo === undefined || thread.inReplyTo === author.id,
      editable_until: instant(edited?.untilMs ?? createdAtMs + draft.editableMs),
    },
    ...(thread.inReplyTo !== undefined && { in_reply_to_user_id: thread.inReplyTo }),
    ...(thread.references.length > 0 && { referenced_tweets: thread.references }),
    ...entitiesOf(text, mentioned),
    lang: "und",
    possibly_sensitive: false,
    reply_settings: "everyone",
    public_metrics: {
      retweet_count: 0,
      reply_count: 0,
      like_count: 0,
      quote_count: 0,
      bookmark_count: 0,
      impression_count: 0,
    },
  }
  const envelope = (includes: string): string => objectOf(Object.entries({ data: JSON.stringify(data), includes }))
  const emptyBytes = Buffer.byteLength(envelope(JSON.stringify({ users: [], tweets: [] })))
  const included = new Included(bytesMax - emptyBytes)
  included.addUser(author.id, author.json)
  for (const user of mentioned) included.addUser(user.id, user.json)
  if (edited !== undefined) included.addAllOf(edited.previous.json)
  for (const post of [draft.answered, draft.quoted].filter((other) => other !== undefined)) {
    if (post.envelope !== undefined) included.addPostOf(post.envelope)
  }
  return withoutLineBreaks(envelope(included.json()))
}

/** The place of a post among others. */
interface Thread {
  readonly conversationId: string
  readonly inReplyTo: string | undefined
  readonly references: NonNullable<Post["referenced_tweets"]>
}

function threadOf({ id, answered, quoted }: PostDraft): Thread {
  const data = dataOf(answered?.envelope ?? "")
  return {
    conversationId: answered === undefined ? id : (textOf(data.get("conversation_id")) ?? answered.id),
    inReplyTo: idOf(textOf(data.get("author_id"))),
    references: [
      ...(answered === undefined ? [] : [{ type: "replied_to" as const, id: answered.id }]),
      ...(quoted === undefined ? [] : [{ type: "quoted" as const, id: quoted.id }]),
    ],
  }
}

/** A version refers to what the one before it refers to. It begins a conversation of its own, unless it is a reply. Source: recorded chains. */
function threadOfPrevious({ json }: StoredPost, id: PostId): Thread {
  const data = dataOf(json)
  const references = JSON.parse(data.get("referenced_tweets") ?? "[]") as Thread["references"]
  const isReply = references.some(({ type }) => type === "replied_to")
  return {
    conversationId: (isReply ? textOf(data.get("conversation_id")) : undefined) ?? id,
    inReplyTo: textOf(data.get("in_reply_to_user_id")),
    references,
  }
}

/** The id, if the text is one: ingest does not check the members of included posts. */
function idOf(text: string | undefined): UserId | undefined {
  return text !== undefined && isId(text) ? asId<UserId>(text) : undefined
}

function dataOf(envelope: string): ReadonlyMap<string, string> {
  return membersOf(membersOf(envelope).get("data") ?? "")
}

/** The member `entities`, in X's form, unless the text has none. A link stays as it is written: nothing shortens it. */
function entitiesOf(text: string, mentioned: readonly KnownUser[]): { readonly entities?: object } {
  const { hashtags, mentions, cashtags, links } = entitiesInText(text)
  const ids = new Map(mentioned.map(({ username, id }) => [username, id]))
  const found = {
    ...(hashtags.length > 0 && { hashtags: hashtags.map(({ value: tag, ...place }) => ({ ...place, tag })) }),
    ...(cashtags.length > 0 && { cashtags: cashtags.map(({ value: tag, ...place }) => ({ ...place, tag })) }),
    ...(mentions.length > 0 && {
      mentions: mentions.map(({ value: username, ...place }) => {
        const id = ids.get(username.toLowerCase())
        return { ...place, username, ...(id !== undefined && { id }) }
      }),
    }),
    ...(links.length > 0 && {
      urls: links.map(({ value: url, ...place }) => ({
        ...place,
        url,
        expanded_url: /^https?:/i.test(url) ? url : `http://${url}`,
        display_url: url.replace(/^https?:\/\/(www\.)?/i, ""),
      })),
    }),
  }
  return Object.keys(found).length === 0 ? {} : { entities: found }
}

/** Objects to include, each once, as long as there is room. */
class Included {
  readonly #users = new Map<string, string>()
  readonly #posts = new Map<string, string>()
  #roomBytes: number

  constructor(roomBytes: number) {
    this.#roomBytes = roomBytes
  }

  addUser(id: string, json: string): void {
    this.#add(this.#users, id, json)
  }

  /** Adds the post of an envelope and its author. */
  addPostOf(envelope: string): void {
    const data = membersOf(envelope).get("data") ?? ""
    const members = membersOf(data)
    this.#add(this.#posts, textOf(members.get("id")), data)
    const author = textOf(members.get("author_id"))
    for (const [id, json] of includedIn(envelope, "users")) if (id === author) this.addUser(id, json)
  }

  /** Adds the posts and users that came with an envelope. */
  addAllOf(envelope: string): void {
    for (const [id, json] of includedIn(envelope, "tweets")) this.#add(this.#posts, id, json)
    for (const [id, json] of includedIn(envelope, "users")) this.addUser(id, json)
  }

  json(): string {
    const listOf = (objects: ReadonlyMap<string, string>): string => `[${[...objects.values()].join(",")}]`
    return objectOf(
      Object.entries({ users: listOf(this.#users), ...(this.#posts.size > 0 && { tweets: listOf(this.#posts) }) }),
    )
  }

  #add(to: Map<string, string>, id: string | undefined, json: string): void {
    if (id === undefined || to.has(id)) return
    const bytes = Buffer.byteLength(json) + Buffer.byteLength(",")
    if (bytes > this.#roomBytes) return
    this.#roomBytes -= bytes
    to.set(id, json)
  }
}

function includedIn(envelope: string, kind: "users" | "tweets"): readonly (readonly [id: string, json: string])[] {
  const list = membersOf(membersOf(envelope).get("includes") ?? "").get(kind) ?? ""
  return elementsOf(list).flatMap((json) => {
    const id = textOf(membersOf(json).get("id"))
    return id === undefined ? [] : [[id, json] as const]
  })
}
