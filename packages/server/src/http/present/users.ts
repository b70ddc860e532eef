/** Users as response bodies. Their stored texts go in as they are, so a body is made as text. */
import type { PageMeta } from "@sluice/api"
import { damagedPost } from "../../model/problem.ts"
import { listOf } from "../../model/render-post.ts"
import type { RenderedUsers } from "../../queries/render-users.ts"
import type { RepostersPage } from "../../queries/reposters.ts"
import type { UserSearchPage } from "../../queries/users.ts"
import { bodyText } from "./body-text.ts"

/** JSON text with one user, or with the errors alone. */
export function presentUser(rendered: RenderedUsers): string {
  return bodyOf(rendered, rendered.users[0])
}

/** JSON text with a list of users, or with the errors alone when all are missing. */
export function presentUsers(rendered: RenderedUsers): string {
  return bodyOf(rendered, rendered.users.length === 0 ? undefined : listOf(rendered.users))
}

/** JSON text of a page of a search. */
export function presentFoundUsers(page: UserSearchPage): string {
  const meta = page.nextToken === undefined ? {} : { next_token: page.nextToken }
  return bodyOf(page, listOf(page.users), meta)
}

/** JSON text of a page of the users who reposted a post. */
export function presentReposters({ users, includesJson, missing, meta, damaged }: RepostersPage): string {
  const problems = [...missing, ...damaged.map(damagedPost)]
  return bodyText({ dataJson: listOf(users), includesJson, meta, problems })
}

function bodyOf(
  { includesJson, missing }: RenderedUsers,
  dataJson: string | undefined,
  meta?: Partial<PageMeta>,
): string {
  return bodyText({ dataJson, includesJson, meta, problems: missing })
}
