/** How a count of usage remembers posts: one decision for all stores. */
import { usagePostsMax } from "../bounds.ts"

/** Days, this one and the one before, of which posts are remembered: a count may come after midnight. */
const rememberedDays = 2

/** The first day of which posts are remembered when posts of these days are counted. */
export function firstRememberedDay(used: readonly { readonly day: number }[]): number {
  return Math.max(...used.map(({ day }) => day)) - rememberedDays + 1
}

/** Whether new posts are remembered, when the remembered days have so many. */
export function remembersPosts(counted: number): boolean {
  return counted < usagePostsMax
}
