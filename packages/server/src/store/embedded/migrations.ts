/**
 * The shape of the embedded store, as numbered steps. A step that was released is never edited.
 *
 * The number of steps taken is `PRAGMA user_version`; each is taken in a transaction of its own, so a process
 * that is killed on the way goes on where it stopped.
 */
import type { DatabaseSync } from "node:sqlite"

const steps: readonly string[] = [
  `
  CREATE TABLE apps (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    business_user_id INTEGER NOT NULL,
    instance_id INTEGER NOT NULL,
    consumer_key TEXT NOT NULL UNIQUE,
    consumer_secret BLOB NOT NULL,
    generation INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    revoked INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE tokens (
    hash BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    app_id INTEGER REFERENCES apps (id),
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tokens_of_app ON tokens (app_id);

  CREATE TABLE rules (
    id INTEGER PRIMARY KEY,
    app_id INTEGER NOT NULL REFERENCES apps (id),
    value TEXT NOT NULL,
    tag TEXT,
    UNIQUE (app_id, value)
  ) STRICT;
  CREATE INDEX rules_of_app ON rules (app_id, id);

  -- What the matcher follows. A removal has no value.
  CREATE TABLE rule_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    app_id INTEGER NOT NULL,
    rule_id INTEGER NOT NULL,
    value TEXT,
    tag TEXT
  ) STRICT;

  CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY,
    app_id INTEGER NOT NULL REFERENCES apps (id),
    url TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    valid INTEGER NOT NULL,
    checked_at_ms INTEGER NOT NULL,
    signing_key BLOB NOT NULL,
    UNIQUE (app_id, url)
  ) STRICT;

  CREATE TABLE links (
    id INTEGER PRIMARY KEY,
    app_id INTEGER NOT NULL REFERENCES apps (id),
    webhook_id INTEGER NOT NULL UNIQUE REFERENCES webhooks (id) ON DELETE CASCADE,
    created_at_ms INTEGER NOT NULL,
    query TEXT NOT NULL,
    position INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX links_of_app ON links (app_id, id);

  -- What a link's cursor has passed and what is not delivered.
  CREATE TABLE retries (
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    due_at_ms INTEGER NOT NULL,
    PRIMARY KEY (link_id, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE posts (
    id INTEGER PRIMARY KEY,
    author_id INTEGER,
    created_at_ms INTEGER NOT NULL,
    is_reply INTEGER NOT NULL,
    is_repost INTEGER NOT NULL,
    core TEXT NOT NULL,
    envelope TEXT NOT NULL
  ) STRICT;
  -- Holds the core text too: a page of a timeline is one stretch of this index, and the table is not touched.
  CREATE INDEX posts_of_author ON posts (author_id, id, created_at_ms, is_reply, is_repost, core);

  CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    -- Whether the id of every post by the user says when it was made.
    ids_hold_time INTEGER NOT NULL DEFAULT 1
  ) STRICT;

  CREATE TABLE match_logs (
    app_id INTEGER PRIMARY KEY REFERENCES apps (id),
    head INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE matches (
    app_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    post_id INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    rules TEXT NOT NULL,
    PRIMARY KEY (app_id, seq)
  ) STRICT, WITHOUT ROWID;
  `,
]

/** Version of the store that this program writes. */
export const storeVersion = steps.length

/** Takes the steps that are missing. Throws when the store was made by a newer program. */
export function migrate(db: DatabaseSync): void {
  while (takeStep(db));
}

/** Takes the next step, if there is one. What was taken is read under the lock: another process may be at it too. */
function takeStep(db: DatabaseSync): boolean {
  db.exec("BEGIN IMMEDIATE")
  try {
    const { user_version: taken } = db.prepare("PRAGMA user_version").get() as { user_version: number }
    if (taken > storeVersion) {
      throw new Error(
        `The store has version ${taken}, and this program knows versions up to ${storeVersion}. ` +
          "It was made by a newer Sluice: use that one, or another data directory.",
      )
    }
    const step = steps[taken]
    if (step !== undefined) db.exec(`${step}; PRAGMA user_version = ${taken + 1}`)
    db.exec("COMMIT")
    return step !== undefined
  } catch (error) {
    db.exec("ROLLBACK")
    throw error
  }
}
