/**
 * Users by id and by name, and search for them.
 *
 *     search: usernames that begin with the query, by name ─► users with all its words, the greatest id first
 *
 * A page ends in one of the two lists, and its token names the list and the place of its last user, the username or the id, so
 * users who come, go or change their names meanwhile move no others to another page. A user whose username begins with the
 * query stands in the first list alone. A page that has looked at as many users as it may is short, or empty, with a token.
 */
import { paths } from "@sluice/api"
import type { AppId, UserId } from "../model/ids.ts"
import type { App } from "../model/app.ts"
import { madeUser } from "../model/made-user.ts"
import { notFound, type Problem } from "../model/problem.ts"
import { searchWords, userWords } from "../model/user.ts"
import type { PagePosition, PageScope, PageTokens } from "../paging/page-token.ts"
import type { Events } from "../runtime/events/events.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { FoundUser, UserReads } from "../store/port/user-store.ts"
import { renderUsers, type RenderedUsers, type UserSelection } from "./render-users.ts"

/** Most users with a word that one page of a search looks at. Ours: some milliseconds. */
const searchScanMax = 2_000

/** Users whom a request names, in its order. As `author_id`, they are the authors of posts. */
export type NamedUsers = {
  readonly parameter: "id" | "ids" | "author_id" | "username" | "usernames"
  readonly names: readonly string[]
}

/** A search for users, its parameters checked. */
interface UserSearch {
  readonly query: string
  /** Most users on the page. */
  readonly limit: number
  /** Absent for the first page. */
  readonly token: string | undefined
  /** As in a token's scope. */
  readonly tokenParameter?: PageScope["tokenParameter"]
  readonly selection: UserSelection
  /** Canonical text of all parameters that a token is bound to. */
  readonly parameters: string
}

/** A page of a search. */
export interface UserSearchPage extends RenderedUsers {
  readonly nextToken?: string
}

/** Look-ups of users. */
export interface Users {
  named(named: NamedUsers, selection: UserSelection, reader: AppId): Promise<RenderedUsers>
  /** The user of an app's token: as stored, else what is known without that. */
  own(user: { readonly app: App; readonly userId: UserId }, selection: UserSelection): Promise<RenderedUsers>
  /** Throws 400 for an invalid token. */
  search(search: UserSearch, appId: AppId): Promise<UserSearchPage>
}

/** Look-ups in a store. */
export function createUsers({
  store,
  tokens,
  events,
}: {
  readonly store: UserReads & Pick<PostStore, "postsById">
  readonly tokens: PageTokens
  readonly events: Pick<Events, "failed">
}): Users {
  const render = (found: readonly (FoundUser | Problem)[], selection: UserSelection, reader: AppId) =>
    renderUsers(found, selection, reader, { store, events })

  return {
    async named({ parameter, names }, selection, reader) {
      const isById = parameter !== "username" && parameter !== "usernames"
      // Two spellings of one username are one user.
      const byKey = new Map(names.map((name) => [isById ? name : name.toLowerCase(), name]))
      const keys = [...byKey.keys()]
      const found = await (isById ? store.usersById(keys as UserId[], reader) : store.usersByName(keys, reader))
      const users = new Map<string, FoundUser>(found.map((user) => [isById ? user.id : user.username, user]))
      const shown = Array.from(byKey, ([key, name]) => users.get(key) ?? notFound("user", parameter, name))
      return render(shown, selection, reader)
    },

    async own({ app, userId }, selection) {
      const [user = madeUser(app, userId)] = await store.usersById([userId], app.id)
      return render([user], selection, app.id)
    },

    async search({ query, limit, token, tokenParameter, selection, parameters }, appId) {
      const scope = { endpoint: paths.userSearch, appId, parameters, tokenParameter, positions: "text" } as const
      const position = token === undefined ? undefined : tokens.read(scope, token)
      const page = await searchPage(store, { query, limit, position, reader: appId })
      const rendered = await render(page.users, selection, appId)
      return { ...rendered, ...(page.next && { nextToken: tokens.issue(scope, page.next) }) }
    },
  }
}

/** Users of a page, and the position of the next one. */
interface FoundPage {
  readonly users: readonly FoundUser[]
  readonly next?: PagePosition
}

/**
 * Positions in the list of usernames are `newer` ones, usernames; in that of words `older` ones, ids. Every id is below the
 * end.
 */
const inNames = "newer"
const inWords = "older"
const endOfIds = "9223372036854775807"

async function searchPage(
  store: UserReads,
  search: {
    readonly query: string
    readonly limit: number
    readonly position: PagePosition | undefined
    readonly reader: AppId
  },
): Promise<FoundPage> {
  const { query, limit, position, reader } = search
  const prefix = query.replaceAll(/[' ]/g, "").toLowerCase()
  // The longest word is mostly the rarest.
  const words = searchWords(query).toSorted((a, b) => b.length - a.length)
  if (words.length === 0) return { users: [] }
  const isInWords = position?.direction === inWords
  const after = position?.from
  const named = isInWords ? [] : await store.usersByPrefix({ prefix, after, limit: limit + 1, reader })
  const last = named.at(limit - 1)
  if (named.length > limit && last !== undefined) {
    return { users: named.slice(0, limit), next: { direction: inNames, from: last.username } }
  }
  const room = limit - named.length
  if (room === 0) return { users: named, next: { direction: inWords, from: endOfIds } }
  const below = isInWords ? (after as UserId) : undefined
  const found = await store.usersByWords({ words, below, limit: room, scanMax: searchScanMax, reader })
  const others = found.users.filter((user) => !user.username.startsWith(prefix) && hasWords(user, words))
  return {
    users: [...named, ...others],
    ...(found.stoppedAt !== undefined && { next: { direction: inWords, from: found.stoppedAt } }),
  }
}

/** The index may propose a user who has the words no longer. */
function hasWords({ json }: FoundUser, words: readonly string[]): boolean {
  if (json === undefined) return true
  const own = new Set(userWords(json))
  return words.every((word) => own.has(word))
}
