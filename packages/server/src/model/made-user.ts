/** Users of apps of whom no post brought an object. */
import type { App } from "./app.ts"
import type { UserId } from "./ids.ts"

/**
 * A user of whom no object came: an app's own user has its name, every other one a name made of the id, as has the username.
 * In base 36 an id fits into a username.
 */
export function madeUser(
  app: Pick<App, "name" | "businessUserId">,
  userId: UserId,
): { readonly id: UserId; readonly username: string; readonly json: string } {
  const username = `u${BigInt(userId).toString(36)}`
  const name = userId === app.businessUserId ? app.name : username
  return { id: userId, username, json: JSON.stringify({ id: userId, name, username }) }
}
