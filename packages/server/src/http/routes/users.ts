import {
  defaultFields,
  expandedUserFields,
  pageSizes,
  paths,
  selectableNames,
  selectableUserExpansions,
  vocabularyOf,
  type SelectableNames,
  type UserExpansion,
} from "@sluice/api"
import {
  FoundUsersBody,
  UserBody,
  UsernameParams,
  UserParams,
  UserQuery,
  UsersBody,
  UsersByQuery,
  UserSearchQuery,
  UsersQuery,
} from "@sluice/api/schemas"
import type { FastifyRequest } from "fastify"
import type { Static } from "typebox"
import { asId } from "../../model/ids.ts"
import type { UserSelection } from "../../queries/render-users.ts"
import type { NamedUsers } from "../../queries/users.ts"
import { appOf, userOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentFoundUsers, presentUser, presentUsers } from "../present/users.ts"
import { bearerRoute, boundParameters, pageTokenOf } from "./route-schema.ts"
import { sendJson } from "./send-json.ts"

/** Look-ups of users, and search for them. A user who is not there is an error within a 200. */
export function userRoutes(server: HttpServer, { users }: Pick<HttpDeps, "users">): void {
  const find = (request: FastifyRequest, named: NamedUsers, query: Selection) =>
    users.named(named, userSelectionOf(query), appOf(request).id)

  /** GET /2/users: users by their ids, in the order of the request. */
  server.get(
    paths.users,
    bearerRoute("Get users by id", UsersBody, { querystring: UsersQuery }),
    async (request, reply) => {
      const names = request.query.ids.map((id) => asId(id))
      return sendJson(reply, presentUsers(await find(request, { parameter: "ids", names }, request.query)))
    },
  )

  /** GET /2/users/:id: a user by its id. */
  server.get(
    paths.user,
    bearerRoute("Get a user by id", UserBody, { params: UserParams, querystring: UserQuery }),
    async (request, reply) => {
      const names = [asId(request.params.id)]
      return sendJson(reply, presentUser(await find(request, { parameter: "id", names }, request.query)))
    },
  )

  /** GET /2/users/by: users by their usernames, in the order of the request. */
  server.get(
    paths.usersBy,
    bearerRoute("Get users by username", UsersBody, { querystring: UsersByQuery }),
    async (request, reply) => {
      const { usernames: names } = request.query
      return sendJson(reply, presentUsers(await find(request, { parameter: "usernames", names }, request.query)))
    },
  )

  /** GET /2/users/by/username/:username: a user by its username. */
  server.get(
    paths.userByUsername,
    bearerRoute("Get a user by username", UserBody, { params: UsernameParams, querystring: UserQuery }),
    async (request, reply) => {
      const names = [request.params.username]
      return sendJson(reply, presentUser(await find(request, { parameter: "username", names }, request.query)))
    },
  )

  /** GET /2/users/search: a page of the users that a query finds. */
  server.get(
    paths.userSearch,
    bearerRoute("Search users", FoundUsersBody, { querystring: UserSearchQuery }),
    async (request, reply) => {
      const { query } = request
      const search = {
        query: query.query,
        limit: query.max_results ?? pageSizes.userSearch.default,
        ...pageTokenOf(query),
        selection: userSelectionOf(query),
        parameters: boundParameters(query),
      }
      return sendJson(reply, presentFoundUsers(await users.search(search, appOf(request).id)))
    },
  )
}

/** The user for whom a request is made. */
export function meRoutes(server: HttpServer, { users }: Pick<HttpDeps, "users">): void {
  /** GET /2/users/me: the user of the token. */
  server.get(
    paths.me,
    bearerRoute("Get the user of the token", UserBody, { querystring: UserQuery }),
    async (request, reply) =>
      sendJson(reply, presentUser(await users.own(userOf(request), userSelectionOf(request.query)))),
  )
}

type Selection = Static<typeof UserQuery>

/** The selection of a query that the validator has read. An expansion shows the field that it follows as well. */
export function userSelectionOf(query: Selection): UserSelection {
  const older = (parameter: "user.fields" | "tweet.fields" | "post.fields"): readonly string[] =>
    (query[parameter] ?? []).map((name) => meaningOf(selectableNames[parameter], name))
  const expanded = (query.expansions ?? []).map((name) => meaningOf(selectableUserExpansions, name) as UserExpansion)
  return {
    user: new Set([
      ...defaultFields.user,
      ...older("user.fields"),
      ...expanded.map((name) => expandedUserFields[name]),
    ]),
    post: new Set([...defaultFields.post, ...older("tweet.fields"), ...older("post.fields")]),
    expansions: new Set(expanded),
    vocabulary: vocabularyOf(query),
  }
}

function meaningOf({ meanings }: SelectableNames, name: string): string {
  return meanings[name] ?? name
}
