/** Usage: the posts that apps got, each once per app and day. */
import type { DatabaseSync } from "node:sqlite"
import { firstRememberedDay, remembersPosts } from "../../ledger/usage-batch.ts"
import type { DailyUsage, UsageReads, UsageWrites } from "../../port/usage-store.ts"
import { prepare } from "../connection/statements.ts"
import type { SyncReads, SyncWrites } from "../serving/sync-store.ts"

/** The reads of usage. */
export function createUsageReads(db: DatabaseSync): SyncReads<UsageReads> {
  // By the key of each day: the days of an app lie among those of all others.
  const ofDays = prepare<DailyUsage>(
    db,
    `SELECT usage_days.day, posts FROM json_each(?2) AS given
       CROSS JOIN usage_days ON usage_days.day = given.value AND usage_days.app_id = ?1
     ORDER BY usage_days.day`,
  )
  return {
    usage(appId, { fromDay, toDay }) {
      const days = Array.from({ length: toDay - fromDay + 1 }, (_, at) => fromDay + at)
      return ofDays.all(BigInt(appId), JSON.stringify(days)).map((row) => ({ ...row }))
    },
  }
}

/** The writes of usage. */
export function createUsageWrites(db: DatabaseSync): SyncWrites<UsageWrites> {
  const countedFrom = prepare<{ posts: number }>(
    db,
    "SELECT coalesce(sum(posts), 0) AS posts FROM usage_days WHERE day >= ?",
  )
  const remember = prepare(
    db,
    "INSERT OR IGNORE INTO usage_posts (app_id, day, post_id) SELECT ?1, ?2, value FROM json_each(?3)",
  )
  const unknown = prepare<{ posts: number }>(
    db,
    `SELECT count(*) AS posts FROM json_each(?3) WHERE NOT EXISTS (
       SELECT 1 FROM usage_posts WHERE app_id = ?1 AND day = ?2 AND post_id = value)`,
  )
  const add = prepare(
    db,
    `INSERT INTO usage_days (day, app_id, posts) VALUES (?2, ?1, ?3)
     ON CONFLICT (day, app_id) DO UPDATE SET posts = posts + excluded.posts`,
  )
  const forgetPosts = prepare(
    db,
    `DELETE FROM usage_posts WHERE (day, app_id, post_id) IN (
       SELECT day, app_id, post_id FROM usage_posts WHERE day < ? ORDER BY day, app_id, post_id LIMIT ?)`,
  )
  const forgetDays = prepare(db, "DELETE FROM usage_days WHERE day < ?")
  return {
    countUsage(used) {
      if (used.length === 0) return
      const areRemembered = remembersPosts(countedFrom.get(firstRememberedDay(used))?.posts ?? 0)
      for (const { appId, day, postIds } of used) {
        const app = BigInt(appId)
        const ids = `[${postIds.join(",")}]`
        const posts = areRemembered ? remember.run(app, day, ids) : (unknown.get(app, day, ids)?.posts ?? 0)
        if (posts > 0) add.run(app, day, posts)
      }
    },
    trimUsage({ beforeDay, postsBeforeDay, limit }) {
      if (forgetPosts.run(postsBeforeDay, limit) === limit) return false
      forgetDays.run(beforeDay)
      return true
    },
  }
}
