/** Posts by their ids as response bodies. */
import { beyondRoom, damagedPost, notFound, type Problem } from "../../model/problem.ts"
import type { FoundPosts } from "../../queries/posts-by-id.ts"
import { bodyText } from "./body-text.ts"

type Found = Pick<FoundPosts, "posts" | "absent">

/** JSON text: `{"data":[…],"includes":{…},"errors":[…]}`, without `data` when no post was found. */
export function presentPostsById(found: Found): string {
  const { dataJson } = found.posts
  return bodyOf(found, dataJson === "[]" ? undefined : dataJson, "ids")
}

/** The same for one post, which `data` is. */
export function presentPostById(found: Found): string {
  const postJson = found.posts.dataJson.slice("[".length, -"]".length)
  return bodyOf(found, postJson === "" ? undefined : postJson, "id")
}

/** The errors of ids come before those of expansions. */
function bodyOf({ posts, absent }: Found, dataJson: string | undefined, parameter: "ids" | "id"): string {
  const problems = [...absent.map((post) => problemOf(post, parameter)), ...posts.missing]
  return bodyText({ dataJson, includesJson: posts.includesJson, problems })
}

function problemOf({ id, why }: Found["absent"][number], parameter: "ids" | "id"): Problem {
  switch (why) {
    case "unknown":
      return notFound("tweet", parameter, id)
    case "damaged":
      return damagedPost(id)
    case "no-room":
      return beyondRoom("tweet", id)
  }
}
