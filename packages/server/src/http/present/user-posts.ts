/**
 * A page of a user's posts as a response body.
 *
 * The stored texts of posts go into it byte for byte and are never parsed on the way, which `bench/pages.ts` measures.
 * So this is the one body that is made as text, not as an object.
 */
import { damagedPost, notFound } from "../../model/problem.ts"
import type { UserPostsPage } from "../../queries/user-posts.ts"
import { presentErrors } from "../problems.ts"

/** An unknown user is an error within a 200, as in X's responses. */
export function presentUnknownUser(id: string) {
  return presentErrors([notFound("user", "id", id)])
}

/** JSON text: `{"data":[…],"includes":{…},"meta":{…},"errors":[…]}`, without `includes` or `errors` when there are none. */
export function presentUserPosts(page: Pick<UserPostsPage, "posts" | "meta" | "damaged">): string {
  const { posts, meta, damaged } = page
  const { dataJson, includesJson, missing } = posts
  const { errors } = presentErrors([...missing, ...damaged.map(damagedPost)])
  const members = [
    `"data":${dataJson}`,
    ...(includesJson === undefined ? [] : [`"includes":${includesJson}`]),
    `"meta":${JSON.stringify(meta)}`,
    ...(errors === undefined ? [] : [`"errors":${JSON.stringify(errors)}`]),
  ]
  return `{${members.join(",")}}`
}
