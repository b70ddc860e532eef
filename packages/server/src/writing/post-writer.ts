/**
 * Posts that apps write for their users. A written post is one line of ingest, so it is matched and delivered as every other
 * one; the response waits until it is durable.
 *
 * The posts of an app are written one after the other, so that two requests with the same text are not both accepted. On
 * PostgreSQL two processes may accept both.
 */
import { entitiesInText, textWeight } from "@sluice/rules"
import { PerAppQueues } from "../control/per-app-queues.ts"
import type { Intake } from "../ingest/intake.ts"
import { endWith } from "../ingest/port-body.ts"
import type { App } from "../model/app.ts"
import { asId, type AppId, type PostId, type UserId } from "../model/ids.ts"
import { membersOf, textOf } from "../model/json-text.ts"
import { madeUser } from "../model/made-user.ts"
import type { StoredPost } from "../model/post.ts"
import { damagedPost, forbiddenPost, invalidRequest, type Problem } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { EditReads } from "../store/port/edit-store.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { UserReads } from "../store/port/user-store.ts"
import { RecordDamaged } from "../store/store-faults.ts"
import { editableMs, editVerdict, type EditVerdict } from "./edit-rules.ts"
import { writtenEnvelope, type EditedPost, type OlderPost } from "./written-post.ts"

/** A post to write. */
interface PostRequest {
  readonly text: string
  readonly answeredId?: PostId
  readonly quotedId?: PostId
  /** The version before this one. */
  readonly editedId?: PostId
}

/** A post that is durable. */
export interface WrittenPost {
  readonly id: PostId
  readonly text: string
  /** All versions, this one last. */
  readonly chain: readonly PostId[]
}

/** Writes posts. */
export interface PostWriter {
  /**
   * Writes a post of a user of an app. Throws 400 for a text that is empty, too long, or too large for a line of ingest, 403
   * for what X forbids, 429 when too many posts of the app wait, and as the intake when it cannot be stored.
   */
  write(
    author: { readonly app: App; readonly userId: UserId },
    request: PostRequest,
    signal: AbortSignal,
  ): Promise<WrittenPost>
}

/** Longest text, as X counts it. Source: X. */
const textWeightMax = 280

/** Longest text in UTF-16 units, with links of any length. Ours. */
const textUnitsMax = 4_096

/** Newest posts of a user, and their age, among which a new one is a duplicate. Ours: X does not say. */
const [comparedMax, comparedMs] = [10, 86_400_000]

/** Most bytes of the posts that are compared; the last one may go over it. Ours. */
const comparedBytesMax = 1_048_576

/** Posts of an app in progress and waiting. Ours. */
const unfinishedMax = 20

/** Ids that are tried for one post: another post may have come under one. Ours. */
const triesMax = 3

interface PostWriterDeps {
  readonly store: Pick<PostStore, "post" | "userPosts"> &
    Pick<EditReads, "chainsOf"> &
    Pick<UserReads, "usersById" | "usersByName">
  readonly postsById: {
    isKnown(appId: AppId, id: PostId, signal: AbortSignal): Promise<boolean>
    /** An envelope of a post that came with a stored one. */
    includedEnvelope(appId: AppId, id: PostId, signal: AbortSignal): Promise<string | undefined>
  }
  readonly intake: Pick<Intake, "open">
  readonly snowflakes: Snowflakes
  readonly clock: Pick<Clock, "nowMs">
  /** Most bytes of a line of ingest. */
  readonly postBytesMax: number
}

/** Writes posts to an intake. */
export function createPostWriter(deps: PostWriterDeps): PostWriter {
  const queues = new PerAppQueues({ unfinishedMax, what: "posts to write" })
  return {
    async write(author, request, signal) {
      checkRequest(request)
      return queues.run(author.app.id, () => write(deps, author, request, signal))
    },
  }
}

function checkRequest({ text, answeredId, quotedId, editedId }: PostRequest): void {
  if (text.trim() === "") throw invalidRequest("The `text` of a post must not be empty.", { text: [text] })
  if (text.length > textUnitsMax || textWeight(text) > textWeightMax) {
    throw invalidRequest(`The \`text\` has more than ${textWeightMax} characters, as X counts them.`, { text: [text] })
  }
  if (editedId === undefined) return
  if (answeredId === undefined && quotedId === undefined) return
  throw invalidRequest("An edit has only a `text`: the post stays a reply or a quote of what it is one of.", {
    "edit_options.previous_post_id": [editedId],
  })
}

async function write(
  deps: PostWriterDeps,
  { app, userId }: Parameters<PostWriter["write"]>[0],
  request: PostRequest,
  signal: AbortSignal,
): Promise<WrittenPost> {
  const { text, answeredId, quotedId, editedId } = request
  const { store, snowflakes } = deps
  const referenced = (id: PostId | undefined, act: Act) =>
    id === undefined ? undefined : findReferenced(deps, { app, id, act, signal })
  const answered = await referenced(answeredId, "reply to")
  const quoted = await referenced(quotedId, "quote")
  const edited = editedId === undefined ? undefined : await findEdited(deps, { app, userId, id: editedId })
  const references = edited === undefined ? { answeredId, quotedId } : referencesOf(edited.previous)
  await refuseDuplicate(deps, app.id, userId, { text, ...references })
  const names = new Set(entitiesInText(text).mentions.map(({ value }) => value.toLowerCase()))
  const [author = madeUser(app, userId)] = await store.usersById([userId], app.id)
  const mentioned = names.size === 0 ? [] : await store.usersByName([...names], app.id)
  const known = mentioned.flatMap(({ json, ...user }) => (json === undefined ? [] : [{ ...user, json }]))
  const { json = madeUser(app, userId).json } = author
  for (let tries = 0; tries < triesMax; tries += 1) {
    const id = asId<PostId>(snowflakes.next())
    const parts = { author: { ...author, json }, mentioned: known, answered, quoted, edited }
    const line = writtenEnvelope({ id, text, ...parts, editableMs }, deps.postBytesMax)
    if (Buffer.byteLength(line) > deps.postBytesMax) throw tooLarge(text, deps.postBytesMax)
    const isNew = await ingest(deps.intake, line)
    if (isNew) return { id, text, chain: [...(edited?.chain ?? []), id] }
  }
  // A post is refused by its id, or because its author is deleted: the first does not happen three times.
  throw forbiddenPost("The post was not stored: its author has been deleted.")
}

/** Has a line accepted. False when a post with its id is stored already. */
async function ingest(intake: Pick<Intake, "open">, line: string): Promise<boolean> {
  const { accepted, rejected } = await endWith(intake.open(), [Buffer.from(`${line}\n`)])
  const [fault] = rejected
  if (fault !== undefined) throw new Error(`A written post is not one for ingest: ${fault.detail}`)
  return accepted > 0
}

type Act = "reply to" | "quote" | "edit"

async function findReferenced(
  { store, postsById }: PostWriterDeps,
  { app, id, act, signal }: { readonly app: App; readonly id: PostId; readonly act: Act; readonly signal: AbortSignal },
): Promise<OlderPost> {
  const post = await readPost(store, id, app.id)
  if (post !== undefined) return { id, envelope: post.json }
  if (!(await postsById.isKnown(app.id, id, signal))) throw notVisible(act)
  return { id, envelope: await postsById.includedEnvelope(app.id, id, signal) }
}

async function findEdited(
  { store, clock }: PostWriterDeps,
  { app, userId, id }: { readonly app: App; readonly userId: UserId; readonly id: PostId },
): Promise<EditedPost> {
  const previous = await readPost(store, id, app.id)
  if (previous === undefined) throw notVisible("edit")
  const chain = (await store.chainsOf([id], app.id)).get(id) ?? [id]
  const verdict = editVerdict(previous, { chain, userId, nowMs: clock.nowMs() })
  if ("refused" in verdict) throw forbiddenPost(editRefusals[verdict.refused])
  return { previous, chain, untilMs: verdict.untilMs }
}

async function readPost(store: Pick<PostStore, "post">, id: PostId, reader: AppId): Promise<StoredPost | undefined> {
  try {
    return await store.post(id, reader)
  } catch (error) {
    throw error instanceof RecordDamaged ? damagedPost(id) : error
  }
}

/** The posts that a post answers and quotes. */
interface References {
  readonly answeredId: string | undefined
  readonly quotedId: string | undefined
}

/** A post with the same text as one of the user's newest, and with the same references. Source of the words: X. */
async function refuseDuplicate(
  { store, clock }: PostWriterDeps,
  appId: AppId,
  userId: UserId,
  wanted: References & { readonly text: string },
): Promise<void> {
  const { posts } = await store.userPosts({
    userId,
    direction: "older",
    limit: comparedMax,
    scanMax: comparedMax,
    bytesMax: comparedBytesMax,
    startMs: clock.nowMs() - comparedMs,
    excludeReplies: false,
    excludeReposts: true,
    shape: "envelope",
    reader: appId,
  })
  const isSame = (post: StoredPost): boolean => {
    const { answeredId, quotedId } = referencesOf(post)
    return textIn(post) === wanted.text && answeredId === wanted.answeredId && quotedId === wanted.quotedId
  }
  if (!posts.some(isSame)) return
  throw forbiddenPost("You are not allowed to create a Tweet with duplicate content.")
}

function textIn(post: StoredPost): string | undefined {
  return textOf(dataOf(post).get("text"))
}

function referencesOf(post: StoredPost): References {
  const references = JSON.parse(dataOf(post).get("referenced_tweets") ?? "[]") as readonly {
    readonly type: string
    readonly id: string
  }[]
  const idOf = (wanted: string): string | undefined => references.find(({ type }) => type === wanted)?.id
  return { answeredId: idOf("replied_to"), quotedId: idOf("quoted") }
}

function dataOf({ json }: StoredPost): ReadonlyMap<string, string> {
  return membersOf(membersOf(json).get("data") ?? "")
}

function tooLarge(text: string, bytesMax: number): Problem {
  const message = `The \`text\` makes a post of more than ${bytesMax} bytes, the most that this server stores.`
  return invalidRequest(message, { text: [text] })
}

/** Source of the form and of the first of them: X. */
function notVisible(act: Act): Problem {
  return forbiddenPost(`You attempted to ${act} a Tweet that is deleted or not visible to you.`)
}

const editRefusals: Readonly<Record<Extract<EditVerdict, { readonly refused: string }>["refused"], string>> = {
  "not the author's": "You are not allowed to edit a Tweet of another user.",
  "not editable": "You are not allowed to edit this Tweet: reposts and replies to others cannot be edited.",
  "not the newest": "You are not allowed to edit this version of the Tweet: there is a newer one.",
  "too late": "You are not allowed to edit this Tweet any more: its time to be edited is over.",
  "too often": "You are not allowed to edit this Tweet any more: it was edited as often as a Tweet may be.",
}
