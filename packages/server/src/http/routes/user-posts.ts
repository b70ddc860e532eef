import {
  pageSizes,
  paths,
  PostsBody,
  problemTypes,
  UserParams,
  UserPostsQuery,
  type ErrorObject,
} from "@sluice/api"
import type { Static } from "typebox"
import { asId, type PostId } from "../../model/ids.ts"
import { notFound, Problem } from "../../model/problem.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, selectionOf, withBearer } from "./route.ts"

/** Users' timelines. */
export function userPostRoutes(server: HttpServer, { userPosts }: Pick<HttpDeps, "userPosts">): void {
  /** GET /2/users/:id/tweets: a page of a user's posts. A user of whom nothing is known is an error within a 200. */
  server.get(
    paths.userPosts,
    {
      schema: {
        summary: "Posts of a user",
        security: withBearer,
        params: UserParams,
        querystring: UserPostsQuery,
        response: { 200: PostsBody, ...refusals },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const { query } = request
      const outcome = await userPosts.page(appOf(request).id, {
        userId: asId(id),
        limit: query.max_results ?? pageSizes.userPosts.default,
        token: query.pagination_token,
        ...rangeOf(query),
        excludeReplies: query.exclude?.includes("replies") ?? false,
        excludeReposts: query.exclude?.includes("retweets") ?? false,
        selection: selectionOf(query),
        parameters: boundParameters(query),
      })
      void reply.type("application/json; charset=utf-8")
      // Pages come as text and are sent as they are: their posts are never parsed on the way.
      return outcome.kind === "page"
        ? reply.send(withErrors(outcome.json, outcome.damaged.map(damagedPost)))
        : reply.send({ errors: [notFound("user", "id", id).toErrorObject()] })
    },
  )
}

/** A body with errors after its other members. */
function withErrors(json: string, errors: readonly ErrorObject[]): string {
  return errors.length === 0 ? json : `${json.slice(0, -1)},"errors":${JSON.stringify(errors)}}`
}

function damagedPost(id: PostId): ErrorObject {
  return new Problem({
    status: 500,
    type: problemTypes.internalError,
    title: "Damaged",
    detail: `What is stored of the post [${id}] is damaged, so it is not shown.`,
    extras: { resource_type: "post", parameter: "id", resource_id: id, value: id },
  }).toErrorObject()
}

type Query = Static<typeof UserPostsQuery>

function rangeOf({ since_id, until_id, start_time, end_time }: Query): {
  sinceId?: PostId
  untilId?: PostId
  startMs?: number
  endMs?: number
} {
  return {
    ...(since_id === undefined ? {} : { sinceId: asId<PostId>(since_id) }),
    ...(until_id === undefined ? {} : { untilId: asId<PostId>(until_id) }),
    ...(start_time === undefined ? {} : { startMs: Date.parse(start_time) }),
    ...(end_time === undefined ? {} : { endMs: Date.parse(end_time) }),
  }
}

/** What a page token is bound to: every parameter but those two, by name, lists in one order. */
function boundParameters(query: Query): string {
  const { max_results: _size, pagination_token: _token, ...bound } = query
  return Object.entries(bound)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? value.toSorted().join(",") : value}`)
    .toSorted()
    .join("&")
}
