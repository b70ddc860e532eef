/** Usage: the posts that apps got, each once per app and day, whichever process counts it. */
import { firstRememberedDay, remembersPosts } from "../../ledger/usage-batch.ts"
import type { DailyUsage, UsageReads, UsageWrites, UsedPosts } from "../../port/usage-store.ts"
import type { ClusterDatabase, Queries } from "../connection/database.ts"

/** The reads of usage. */
export function createUsageReads(queries: Queries): UsageReads {
  return {
    usage(appId, { fromDay, toDay }) {
      // By the key of each day: the days of an app lie among those of all others.
      const days = Array.from({ length: toDay - fromDay + 1 }, (_, at) => fromDay + at)
      return queries.rows<DailyUsage>(
        "SELECT day, posts FROM usage_days WHERE day = ANY ($1::integer[]) AND app_id = $2 ORDER BY day",
        days,
        appId,
      )
    },
  }
}

/** The posts that came, each once. */
const given = `SELECT DISTINCT day, app_id, post_id FROM unnest($1::integer[], $2::bigint[], $3::bigint[])
  AS given (day, app_id, post_id)`

/** In the order of the keys, so that two processes seldom wait for each other. */
const remembered = `INSERT INTO usage_posts (day, app_id, post_id) ${given} ORDER BY day, app_id, post_id
  ON CONFLICT DO NOTHING RETURNING day, app_id`

const unknown = `SELECT day, app_id FROM (${given}) AS given
  WHERE NOT EXISTS (SELECT 1 FROM usage_posts WHERE (usage_posts.day, usage_posts.app_id, usage_posts.post_id)
    = (given.day, given.app_id, given.post_id))`

const counting = (fresh: string): string => `WITH fresh AS (${fresh})
  INSERT INTO usage_days (day, app_id, posts)
    SELECT day, app_id, count(*) FROM fresh GROUP BY day, app_id ORDER BY day, app_id
  ON CONFLICT (day, app_id) DO UPDATE SET posts = usage_days.posts + excluded.posts`

/** The writes of usage. */
export function createUsageWrites(database: ClusterDatabase): UsageWrites {
  return {
    async countUsage(used) {
      if (used.length === 0) return
      await database.write(async (transaction) => {
        const counted = await transaction.row<{ posts: number }>(
          "SELECT coalesce(sum(posts), 0)::bigint AS posts FROM usage_days WHERE day >= $1",
          firstRememberedDay(used),
        )
        const fresh = remembersPosts(counted?.posts ?? 0) ? remembered : unknown
        await transaction.run(counting(fresh), ...columnsOfPosts(used))
      })
    },
    async trimUsage({ beforeDay, postsBeforeDay, limit }) {
      const forgotten = await database.run(
        `DELETE FROM usage_posts WHERE (day, app_id, post_id) IN (
           SELECT day, app_id, post_id FROM usage_posts WHERE day < $1 ORDER BY day, app_id, post_id LIMIT $2)`,
        postsBeforeDay,
        limit,
      )
      if (forgotten === limit) return false
      await database.run("DELETE FROM usage_days WHERE day < $1", beforeDay)
      // Windows of requests that have ended: those of users may be many.
      const ended = await database.run(
        `DELETE FROM app_uses WHERE (app_id, use) IN (
           SELECT app_id, use FROM app_uses WHERE ends_at < clock_timestamp() - interval '1 day' ORDER BY ends_at LIMIT $1)`,
        limit,
      )
      return ended < limit
    },
  }
}

function columnsOfPosts(used: readonly UsedPosts[]): readonly (readonly (string | number)[])[] {
  const posts = used.flatMap(({ day, appId, postIds }) => postIds.map((postId) => ({ day, appId, postId })))
  return [posts.map(({ day }) => day), posts.map(({ appId }) => appId), posts.map(({ postId }) => postId)]
}
