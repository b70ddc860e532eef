/**
 * Users as responses show them: the fields of the selection, and, with the users, the posts and users that their expansions
 * lead to, as far as these are stored.
 */
import type { UserExpansion, Vocabulary } from "@sluice/api"
import { ExpansionErrors, type ExpandedObject } from "../model/expansion-errors.ts"
import { isId, type AppId, type PostId, type UserId } from "../model/ids.ts"
import { membersOf, objectOf } from "../model/json-text.ts"
import { beyondRoom, damagedPost, damagedUser, Problem } from "../model/problem.ts"
import { listOf, objectJson, renderBarePost } from "../model/render-post.ts"
import { newIncludesNames, newMemberNames } from "../model/response-names.ts"
import type { Events } from "../runtime/events/events.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { FoundUser, UserReads } from "../store/port/user-store.ts"
import { pageBytesMax } from "./held-pages.ts"

/** The fields of users to show, by their older names, and the objects to include. */
export interface UserSelection {
  readonly user: ReadonlySet<string>
  readonly post: ReadonlySet<string>
  readonly expansions: ReadonlySet<UserExpansion>
  /** The names under which they are shown. */
  readonly vocabulary: Vocabulary
}

/** Users as JSON texts, and what is missing. */
export interface RenderedUsers {
  readonly users: readonly string[]
  /** JSON text of the object `includes`; absent when there are no objects. */
  readonly includesJson?: string
  /** A problem for each user who is not there or damaged, in the order of the request, then for each object to include. */
  readonly missing: readonly Problem[]
}

interface RenderUsersDeps {
  readonly store: Pick<PostStore, "postsById"> & Pick<UserReads, "usersById">
  readonly events: Pick<Events, "failed">
}

/** The users, or problems in their places. */
export async function renderUsers(
  found: readonly (FoundUser | Problem)[],
  selection: UserSelection,
  reader: AppId,
  deps: RenderUsersDeps,
): Promise<RenderedUsers> {
  const missing: Problem[] = []
  const users: Members[] = []
  for (const user of found) {
    if (user instanceof Problem) missing.push(user)
    else if (user.json === undefined) missing.push(damagedUser(user.id))
    else users.push(membersOf(user.json))
  }
  const objects = new ObjectsOfUsers(selection, reader, deps)
  const references = users.map((user) =>
    [...selection.expansions].flatMap((expansion) => referencesOf(user, expansion)),
  )
  await objects.add(references.flat())
  const errors = new ExpansionErrors<UserExpansion>()
  for (const ofUser of references) errors.add(ofUser.filter((reference) => !objects.isKnown(reference)))
  missing.push(...objects.problems, ...errors.problems(() => false, selection.vocabulary))
  const includesJson = objects.includesJson()
  return {
    users: users.map((user) => userJson(user, selection)),
    missing,
    ...(includesJson !== undefined && { includesJson }),
  }
}

type Members = ReadonlyMap<string, string>

/** A post or user to whom an expansion of a user leads. */
type Reference = ExpandedObject<UserExpansion> & { readonly kind: "users" | "tweets" }

/** Most affiliations of a user that are included. Ours: X's users have one. */
const affiliationsMax = 10

function referencesOf(user: Members, expansion: UserExpansion): readonly Reference[] {
  switch (expansion) {
    case "pinned_tweet_id":
    case "most_recent_tweet_id":
      return idsIn(user.get(expansion)).map((name) => ({ expansion, kind: "tweets", name }))
    case "affiliation.user_id": {
      const ids = idsIn(membersOf(user.get("affiliation") ?? "").get("user_id")).slice(0, affiliationsMax)
      return ids.map((name) => ({ expansion, kind: "users", name }))
    }
  }
}

/** The ids that a JSON text is or lists. X's `affiliation.user_id` was one id before it became a list. */
function idsIn(json = "[]"): readonly string[] {
  return [JSON.parse(json) as unknown].flat().filter((id) => typeof id === "string" && isId(id)) as string[]
}

function userJson(user: Members, { user: fields, vocabulary }: UserSelection): string {
  return objectJson(user, fields, vocabulary === "new" ? newMemberNames.user : undefined)
}

/** Most bytes of posts that one read returns, but for the last post's, and most users of one. Ours. */
const [readBytesMax, readUsersMax] = [1_048_576, 100]

/** The objects to include with users, each once. Those that are there fill a response as those of a page do. */
class ObjectsOfUsers {
  readonly problems: Problem[] = []
  readonly #selection: UserSelection
  readonly #reader: AppId
  readonly #deps: RenderUsersDeps
  /** Texts by id. */
  readonly #shown = { users: new Map<string, string>(), tweets: new Map<string, string>() }
  /** Ids that a problem names. */
  readonly #unavailable = { users: new Set<string>(), tweets: new Set<string>() }
  #characters = 0

  constructor(selection: UserSelection, reader: AppId, deps: RenderUsersDeps) {
    this.#selection = selection
    this.#reader = reader
    this.#deps = deps
  }

  /** Reads and renders those of the objects that are stored. */
  async add(references: readonly Reference[]): Promise<void> {
    const idsOf = (wanted: Reference["kind"]): readonly string[] => [
      ...new Set(references.filter(({ kind }) => kind === wanted).map(({ name }) => name)),
    ]
    await this.#addPosts(idsOf("tweets") as readonly PostId[])
    await this.#addUsers(idsOf("users") as readonly UserId[])
  }

  /** Whether the object is included, or has a problem of its own. */
  isKnown({ kind, name }: Reference): boolean {
    return this.#shown[kind].has(name) || this.#unavailable[kind].has(name)
  }

  includesJson(): string | undefined {
    const isNew = this.#selection.vocabulary === "new"
    const lists = Object.entries(this.#shown).filter(([, texts]) => texts.size > 0)
    if (lists.length === 0) return undefined
    const nameOf = (kind: string): string => (isNew ? newIncludesNames.get(kind) : undefined) ?? kind
    return objectOf(lists.map(([kind, texts]) => [nameOf(kind), listOf([...texts.values()])]))
  }

  async #addPosts(ids: readonly PostId[]): Promise<void> {
    const { post: fields, vocabulary } = this.#selection
    for (let rest = ids; rest.length > 0;) {
      if (this.#isFull("tweets", rest)) return
      const range = { ids: rest, shape: "envelope", bytesMax: readBytesMax, reader: this.#reader } as const
      const { posts, damaged, stoppedAt, fault } = await this.#deps.store.postsById(range)
      if (fault !== undefined) this.#deps.events.failed({ where: "posts of users", error: fault })
      for (const { id, json } of posts) this.#show("tweets", id, renderBarePost(json, fields, vocabulary))
      for (const id of damaged) this.#refuse("tweets", id, damagedPost(id))
      rest = stoppedAt === undefined ? [] : rest.slice(rest.indexOf(stoppedAt) + 1)
    }
  }

  async #addUsers(ids: readonly UserId[]): Promise<void> {
    for (let at = 0; at < ids.length; at += readUsersMax) {
      if (this.#isFull("users", ids.slice(at))) return
      const part = ids.slice(at, at + readUsersMax)
      const users = new Map((await this.#deps.store.usersById(part, this.#reader)).map((user) => [user.id, user]))
      for (const id of part) {
        const user = users.get(id)
        if (user?.json !== undefined) this.#show("users", id, userJson(membersOf(user.json), this.#selection))
        else if (user !== undefined) this.#refuse("users", id, damagedUser(id))
      }
    }
  }

  /** Whether there is no room for these objects. */
  #isFull(kind: Reference["kind"], rest: readonly (PostId | UserId)[]): boolean {
    if (this.#characters < pageBytesMax) return false
    for (const id of rest) this.#refuse(kind, id, beyondRoom(kind === "tweets" ? "tweet" : "user", id))
    return true
  }

  #show(kind: Reference["kind"], id: string, json: string): void {
    this.#shown[kind].set(id, json)
    this.#characters += json.length
  }

  #refuse(kind: Reference["kind"], id: string, problem: Problem): void {
    this.#unavailable[kind].add(id)
    this.problems.push(problem)
  }
}
