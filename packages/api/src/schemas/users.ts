/** Users: look-ups by id and by username, and search. */
import { Type, type Static } from "typebox"
import type { User } from "../envelope.ts"
import { selectableUserExpansions } from "../fields.ts"
import { pageSizes, usersLookedUpMax } from "../limits.ts"
import {
  chosenBy,
  Errors,
  exactly,
  Id,
  PageMeta,
  pageSize,
  PaginationToken,
  queryOf,
  selection,
  type WithPosts,
} from "./common.ts"

/**
 * Form of a username by which a caller names a user: X's, and longer ones of other networks, such as `alice.bsky.social` and
 * `alice@social.example`. Ours: a rule can name every user whom it fits.
 */
const usernamePattern =
  "^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?(@[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)?$"

/** The form of a username of X, which X's refusal names. Source: X's OpenAPI document 2.167. */
const usernamePatternOfX = "^[A-Za-z0-9_]{1,15}$"

/** Form of a query for users. Source: X's OpenAPI document 2.167. */
const userQueryPattern = "^[A-Za-z0-9_' ]{1,50}$"

const Username = Type.String({
  pattern: usernamePattern,
  "x-named-pattern": usernamePatternOfX,
  description: "Without @ before it. Case does not matter.",
})

/** A user. Only the members that every user shows are checked; all other members pass. */
const OpenUser = Type.Object({ id: Id, name: Type.String(), username: Type.String() }, { additionalProperties: true })

/** Posts and users that the expansions lead to. */
const ExpandedObjects = Type.Optional(Type.Object({}, { additionalProperties: true }))

/** A user; or why there is none, in `errors`. */
export const UserBody = Type.Object({ data: Type.Optional(OpenUser), includes: ExpandedObjects, errors: Errors })
export type UserBody = WithPosts<Static<typeof UserBody>, User>

/** Users in the order of the request; `errors` names those who are not there, in the same order. */
export const UsersBody = Type.Object({
  data: Type.Optional(Type.Array(OpenUser)),
  includes: ExpandedObjects,
  errors: Errors,
})
export type UsersBody = WithPosts<Static<typeof UsersBody>, readonly User[]>

/** A page of users that a query finds. It may be short, or empty, with a `next_token`. */
export const FoundUsersBody = Type.Object({
  data: Type.Array(OpenUser),
  includes: ExpandedObjects,
  meta: Type.Object({ next_token: Type.Optional(Type.String()) }),
  errors: Errors,
})
export type FoundUsersBody = WithPosts<Static<typeof FoundUsersBody>, readonly User[]>

/** A page of users. It may be short, or empty, with a `next_token`. */
export const UsersPageBody = Type.Object({
  data: Type.Optional(Type.Array(OpenUser)),
  includes: ExpandedObjects,
  meta: Type.Optional(PageMeta),
  errors: Errors,
})
export type UsersPageBody = WithPosts<Static<typeof UsersPageBody>, readonly User[]>

/** Query parameters that choose the fields to show of users, and the posts and users to include. */
const userSelection = {
  "user.fields": selection["user.fields"],
  expansions: chosenBy(selectableUserExpansions),
  "tweet.fields": selection["tweet.fields"],
  "post.fields": selection["post.fields"],
}

/** Query of one user. */
export const UserQuery = queryOf(userSelection)
export type UserQuery = Static<typeof UserQuery>

const upToMax = { minItems: 1, maxItems: usersLookedUpMax, description: "Comma-separated." }

/** Query of users by id. */
export const UsersQuery = queryOf({ ids: Type.Array(Id, upToMax), ...userSelection })
export type UsersQuery = Static<typeof UsersQuery>

/** Query of users by username. */
export const UsersByQuery = queryOf({ usernames: Type.Array(Username, upToMax), ...userSelection })
export type UsersByQuery = Static<typeof UsersByQuery>

/** Query of a search for users. */
export const UserSearchQuery = queryOf({
  query: Type.String({
    pattern: userQueryPattern,
    description: "Finds usernames that begin with it, and users with all its words in their names.",
  }),
  max_results: pageSize(pageSizes.userSearch),
  next_token: PaginationToken,
  pagination_token: PaginationToken,
  ...userSelection,
})
export type UserSearchQuery = Static<typeof UserSearchQuery>

/** Query of the users who reposted a post. */
export const RepostersQuery = queryOf({
  max_results: pageSize(pageSizes.reposts),
  pagination_token: PaginationToken,
  ...userSelection,
})
export type RepostersQuery = Static<typeof RepostersQuery>

/** Path parameters of the route of one user by username. */
export const UsernameParams = exactly({ username: Username })
