/** A page of posts as a response body. */
import { damagedPost, notFound } from "../../model/problem.ts"
import type { PageMeta } from "@sluice/api"
import type { PostId } from "../../model/ids.ts"
import type { RenderedPosts } from "../../model/render-post.ts"
import { presentErrors } from "../problems.ts"
import { bodyText } from "./body-text.ts"

/** An unknown user is an error within a 200, as in X's responses. */
export function presentUnknownUser(id: string) {
  return presentErrors([notFound("user", "id", id)])
}

/** JSON text: `{"data":[…],"includes":{…},"meta":{…},"errors":[…]}`, without `includes` or `errors` when there are none. */
export function presentPostsPage(page: {
  readonly posts: RenderedPosts
  readonly meta: PageMeta
  /** Posts that are not on the page, since what is stored of them is damaged. */
  readonly damaged: readonly PostId[]
}): string {
  const { dataJson, includesJson, missing } = page.posts
  return bodyText({
    dataJson,
    includesJson,
    meta: page.meta,
    problems: [...missing, ...page.damaged.map(damagedPost)],
  })
}
