/** An embedded store as an earlier version left it: without an order of arrival, and without users. */
import { readEnvelope } from "../packages/server/src/ingest/read-envelope.ts"
import { openForWriting, storeFile } from "../packages/server/src/store/embedded/connection/database.ts"
import { storeVersion } from "../packages/server/src/store/embedded/connection/migrations.ts"
import { openEmbeddedStore } from "../packages/server/src/store/embedded/serving/embedded-store.ts"
import type { SearchedPosts } from "./searched-posts.ts"

const postsPerBatch = 500

/** The version after the one whose steps `undo` undoes. */
const undoneVersion = 22

/** Undoes the steps from version 12 to 22 (`connection/migrations.ts`). */
const undo = `
  BEGIN;
  ALTER TABLE tokens DROP COLUMN name; ALTER TABLE tokens DROP COLUMN last_used_at_ms;
  ALTER TABLE webhooks DROP COLUMN name; ALTER TABLE webhooks DROP COLUMN description;
  DROP TABLE sources; DROP TABLE source_gaps; DROP TABLE source_dead_letters; DROP TABLE assigned_names;
  DROP TABLE connection_history;
  DROP TABLE usage_days; DROP TABLE usage_posts;
  ALTER TABLE apps DROP COLUMN limits;
  ALTER TABLE links DROP COLUMN withdrawn;
  ALTER TABLE links DROP COLUMN paused_at_ms;
  DROP TABLE deletions; DROP TABLE erasures; DROP TABLE rewritten_posts; DROP TABLE shown_posts;
  DROP TABLE edit_versions;
  DROP TABLE backfill_matches;
  ALTER TABLE replays DROP COLUMN backfill_rules;
  ALTER TABLE replays DROP COLUMN searched_id;
  ALTER TABLE replays DROP COLUMN last_id;
  DROP TABLE user_objects; DROP TABLE user_words; DROP TABLE user_fill;
  ALTER TABLE tokens DROP COLUMN user_id;
  DROP INDEX posts_by_arrival;
  ALTER TABLE posts DROP COLUMN arrival;
  PRAGMA user_version = 12;
  COMMIT;
  PRAGMA wal_checkpoint(TRUNCATE);`

/** Makes the store of a directory, with the first `count` of the posts. */
export async function fillOldStore(directory: string, posts: SearchedPosts, count: number): Promise<void> {
  if (storeVersion !== undoneVersion) throw new Error("The store has later steps: undo them, too.")
  const file = storeFile(directory)
  {
    await using store = await openEmbeddedStore({ file })
    for (let from = 0; from < count; from += postsPerBatch) {
      const nowMs = Date.now()
      const lines = posts
        .lines(from, Math.min(count, from + postsPerBatch))
        .trimEnd()
        .split("\n")
      await store.append(
        lines.flatMap((line) => {
          const read = readEnvelope(line, nowMs)
          return read.ok ? [{ post: { ...read.post, users: [] }, matches: [] }] : []
        }),
        nowMs,
      )
    }
  }
  const db = openForWriting(file)
  try {
    db.exec(undo)
  } finally {
    db.close()
  }
}
