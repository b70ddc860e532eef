/** Usage: the posts that apps got, each once per app and day. A part of the store (`store.ts`). */
import type { AppId, PostId } from "../../model/ids.ts"

/** Posts that an app got on a day. */
export interface UsedPosts {
  readonly appId: AppId
  /** Days since 1970, in UTC. */
  readonly day: number
  readonly postIds: readonly PostId[]
}

/** The usage of an app on a day. */
export interface DailyUsage {
  readonly day: number
  /** Different posts. */
  readonly posts: number
}

/** Reads of usage. */
export interface UsageReads {
  /** The days from `fromDay` to `toDay` on which the app got posts, oldest first. Both are inclusive. */
  usage(appId: AppId, range: { readonly fromDay: number; readonly toDay: number }): Promise<readonly DailyUsage[]>
}

/** Writes of usage. */
export interface UsageWrites {
  /**
   * Counts posts, each once per app and day, whenever it was counted before. When `usagePostsMax` posts are remembered,
   * those that are new are counted and not remembered.
   */
  countUsage(used: readonly UsedPosts[]): Promise<void>
  /**
   * Forgets which posts were counted on days before `postsBeforeDay`, at most `limit` of them, and then the numbers of days
   * before `beforeDay`. False while there are more posts to forget.
   */
  trimUsage(options: {
    readonly beforeDay: number
    readonly postsBeforeDay: number
    readonly limit: number
  }): Promise<boolean>
}
