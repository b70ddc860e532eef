/**
 * The shape of the embedded store, as numbered steps. A step that was released is never edited.
 *
 * The number of steps taken is `PRAGMA user_version`; each is taken in a transaction of its own, so a process
 * that is killed on the way goes on where it stopped.
 */
import type { DatabaseSync } from "node:sqlite"
import { StoreTooNew } from "../../store-faults.ts"
import { crashPoint } from "../../../runtime/crash-points.ts"
import { defineRowChecksum } from "./checked-rows.ts"
import { headChecksum, matchChecksum, textChecksum, type LoggedMatch, type PostHead } from "./checksums.ts"
import { storeFault } from "./sqlite-faults.ts"

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
  `
  ALTER TABLE webhooks ADD COLUMN invalid_reason TEXT;
  ALTER TABLE webhooks ADD COLUMN previous_key BLOB;
  ALTER TABLE webhooks ADD COLUMN previous_until_ms INTEGER;

  ALTER TABLE links ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE links ADD COLUMN redeliveries INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE links ADD COLUMN first_position INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE links ADD COLUMN delivered INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE links ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
  -- Attempts that were ever recorded: the number of the newest one.
  ALTER TABLE links ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
  -- How many rows each has in the tables of those names, so that nobody has to count them.
  ALTER TABLE links ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE links ADD COLUMN dead_letters INTEGER NOT NULL DEFAULT 0;
  -- Matches that retention took before the cursor came by.
  ALTER TABLE links ADD COLUMN missed INTEGER NOT NULL DEFAULT 0;
  UPDATE links SET retries = (SELECT count(*) FROM retries WHERE link_id = links.id);
  -- Where a link began was not kept before. It counts as if it had begun here, with what it still owes.
  UPDATE links SET first_position = position - retries;
  CREATE INDEX links_with_dead_letters ON links (app_id) WHERE dead_letters > 0;

  ALTER TABLE retries ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;
  UPDATE retries SET app_id = (SELECT app_id FROM links WHERE links.id = link_id);
  -- Tells whether anybody needs a match.
  CREATE INDEX retries_of_match ON retries (app_id, seq);

  ALTER TABLE match_logs ADD COLUMN trimmed_to INTEGER NOT NULL DEFAULT 0;
  -- When the newest entry up to trimmed_to was appended. NULL before the first is gone.
  ALTER TABLE match_logs ADD COLUMN trimmed_until_ms INTEGER;
  -- After this one, entries up to trimmed_to have to be looked through: what needed some of them is gone.
  ALTER TABLE match_logs ADD COLUMN leftovers_after INTEGER;
  ALTER TABLE matches ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE matches SET checksum =
    match_checksum(CAST (app_id AS TEXT), seq, CAST (post_id AS TEXT), at_ms, rules);
  CREATE INDEX matches_of_post ON matches (post_id);

  ALTER TABLE posts ADD COLUMN head_checksum INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE posts ADD COLUMN core_checksum INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE posts ADD COLUMN envelope_checksum INTEGER NOT NULL DEFAULT 0;
  DROP INDEX posts_of_author;
  UPDATE posts SET
    head_checksum =
      head_checksum(CAST (id AS TEXT), CAST (author_id AS TEXT), created_at_ms, is_reply, is_repost),
    core_checksum = text_checksum(CAST (id AS TEXT), core),
    envelope_checksum = text_checksum(CAST (id AS TEXT), envelope);
  -- Holds the core text too: a page of a timeline is one stretch of this index, and the table is not touched.
  CREATE INDEX posts_of_author ON posts
    (author_id, id, created_at_ms, is_reply, is_repost, head_checksum, core_checksum, core);

  -- Dead letters and retries hold no copy: retention spares the matches that they point to, and their posts.
  -- The numbers of those that are gone do not come again.
  CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    app_id INTEGER NOT NULL,
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    error TEXT,
    died_at_ms INTEGER NOT NULL,
    UNIQUE (link_id, seq)
  ) STRICT;
  CREATE INDEX dead_letters_of_app ON dead_letters (app_id);
  CREATE INDEX dead_letters_of_link ON dead_letters (link_id);
  CREATE INDEX dead_letters_of_link_by_time ON dead_letters (link_id, died_at_ms);
  CREATE INDEX dead_letters_of_match ON dead_letters (app_id, seq);
  CREATE INDEX dead_letters_by_time ON dead_letters (died_at_ms);

  -- A ring for each link: a new attempt takes the slot of the oldest, so there is nothing to clear away.
  CREATE TABLE attempts (
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    slot INTEGER NOT NULL,
    number INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    duration_ms REAL NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    bytes INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (link_id, slot)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE gap_markers (
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (link_id, from_seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE replays (
    id INTEGER PRIMARY KEY,
    app_id INTEGER NOT NULL,
    webhook_id INTEGER NOT NULL,
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL,
    position INTEGER NOT NULL,
    end_seq INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    ended_at_ms INTEGER
  ) STRICT;
  CREATE INDEX replays_of_app ON replays (app_id);
  CREATE INDEX replays_of_link ON replays (link_id);
  CREATE UNIQUE INDEX replays_running ON replays (webhook_id) WHERE state = 'running';

  -- One row: how many posts ever came and went, and how often apps, rules, webhooks, links or replays changed.
  CREATE TABLE totals (
    posts_accepted INTEGER NOT NULL,
    posts_trimmed INTEGER NOT NULL,
    control_changes INTEGER NOT NULL
  ) STRICT;
  INSERT INTO totals SELECT count(*), 0, 0 FROM posts;
  `,
  `
  ALTER TABLE apps ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE apps SET checksum = row_checksum(
    id, name, business_user_id, instance_id, consumer_key, consumer_secret, generation, created_at_ms, revoked);
  ALTER TABLE tokens ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE tokens SET checksum = row_checksum(hash, kind, app_id, created_at_ms);
  ALTER TABLE rules ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE rules SET checksum = row_checksum(id, app_id, value, tag);
  ALTER TABLE rule_changes ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE rule_changes SET checksum = row_checksum(app_id, rule_id, value, tag);
  ALTER TABLE webhooks ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE webhooks SET checksum = row_checksum(
    id, app_id, url, created_at_ms, valid, invalid_reason, checked_at_ms, signing_key, previous_key, previous_until_ms);
  ALTER TABLE links ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE links SET checksum = row_checksum(
    id, app_id, webhook_id, created_at_ms, query, first_position, ordered);
  ALTER TABLE retries ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE retries SET checksum = row_checksum(app_id, link_id, seq, failures, due_at_ms);
  ALTER TABLE dead_letters ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE dead_letters SET checksum = row_checksum(
    app_id, link_id, seq, failures, outcome, status, error, died_at_ms);
  ALTER TABLE attempts ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE attempts SET checksum = row_checksum(
    link_id, slot, number, seq, at_ms, duration_ms, outcome, status, bytes, error);
  ALTER TABLE gap_markers ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE gap_markers SET checksum = row_checksum(link_id, from_seq, to_seq, at_ms);
  ALTER TABLE replays ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE replays SET checksum = row_checksum(
    id, app_id, webhook_id, link_id, from_ms, to_ms, end_seq, created_at_ms);

  -- One row: the largest id that was ever given to an app, a rule, a webhook, a link or a replay.
  CREATE TABLE given_ids (
    one INTEGER PRIMARY KEY,
    last_id INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO given_ids SELECT 1, last_id, row_checksum(1, last_id) FROM (
    SELECT coalesce(max(id), 0) AS last_id FROM (
      SELECT max(id) AS id FROM apps
      UNION ALL SELECT max(business_user_id) FROM apps
      UNION ALL SELECT max(instance_id) FROM apps
      UNION ALL SELECT max(id) FROM rules
      UNION ALL SELECT max(id) FROM webhooks
      UNION ALL SELECT max(id) FROM links
      UNION ALL SELECT max(id) FROM replays));
  `,
  `${renameOutcomes("dead_letters")} ${renameOutcomes("attempts")}`,
  `
  -- JSON texts: what an attempt was signed with, and what is kept of the response. Older attempts have neither, and a
  -- damaged one stays damaged.
  ALTER TABLE attempts ADD COLUMN signatures TEXT;
  ALTER TABLE attempts ADD COLUMN response TEXT;
  UPDATE attempts SET checksum = row_checksum(
    link_id, slot, number, seq, at_ms, duration_ms, outcome, status, bytes, error, signatures, response)
  WHERE checksum IS row_checksum(link_id, slot, number, seq, at_ms, duration_ms, outcome, status, bytes, error);
  `,
  `
  -- Statistics, without a checksum: they say what was, and nothing obeys them.
  CREATE TABLE rule_matches (
    rule_id INTEGER PRIMARY KEY REFERENCES rules (id) ON DELETE CASCADE,
    matched INTEGER NOT NULL,
    last_matched_at_ms INTEGER NOT NULL
  ) STRICT;
  `,
  `
  -- Sessions of the console that were ended before their time.
  CREATE TABLE ended_sessions (
    id BLOB PRIMARY KEY,
    expires_at_ms INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
  `,
  `
  -- Holds what timelines filter by, and no text: nearly every post of a batch is of another author, and each changed a
  -- page of an index that held the texts. Those of a page of a timeline are read from the table.
  DROP INDEX posts_of_author;
  CREATE INDEX posts_of_author ON posts (author_id, id, created_at_ms, is_reply, is_repost, head_checksum);
  `,
  `
  -- One row: what retention saw of the time last. A store that has none yet knows when its newest matches were appended.
  CREATE TABLE known_time (
    one INTEGER PRIMARY KEY,
    believed_ms INTEGER NOT NULL,
    clock_ms INTEGER NOT NULL,
    steady_ms INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO known_time SELECT 1, at_ms, at_ms, 0, row_checksum(1, at_ms, at_ms, 0) FROM (
    SELECT max(matches.at_ms) AS at_ms FROM match_logs
    JOIN matches ON matches.app_id = match_logs.app_id AND matches.seq = match_logs.head)
  WHERE at_ms IS NOT NULL;
  `,
  `
  -- The epochs of match logs but for the first one of each: which ids the matches from a position on have.
  CREATE TABLE log_epochs (
    app_id INTEGER NOT NULL REFERENCES apps (id),
    from_seq INTEGER NOT NULL,
    epoch TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (app_id, from_seq)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Ended sessions are forgotten in the order in which they expire.
  CREATE INDEX ended_sessions_by_expiry ON ended_sessions (expires_at_ms);
  `,
  `${renameTooLarge()}
  ALTER TABLE dead_letters RENAME COLUMN died_at_ms TO dead_lettered_at_ms;`,
  `
  -- The order of arrival: how many posts had been accepted with this one. Those that are here already have 0, and are in
  -- the order of their ids.
  ALTER TABLE posts ADD COLUMN arrival INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX posts_by_arrival ON posts (arrival);
  `,
  `
  -- The newest object of each user that came with a post.
  CREATE TABLE user_objects (
    id INTEGER PRIMARY KEY,
    -- Folded.
    username TEXT NOT NULL,
    -- When its post was made; may lag while the object stays the same.
    seen_at_ms INTEGER NOT NULL,
    -- CRC-32 of the object, by which an unchanged one is known.
    fingerprint INTEGER NOT NULL,
    object TEXT NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX user_objects_by_name ON user_objects (username);
  -- Words of names, by which users are found. Derived of the objects.
  CREATE TABLE user_words (
    word TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    PRIMARY KEY (word, user_id)
  ) STRICT, WITHOUT ROWID;
  -- One row while users are still to be taken from the posts that were stored before this version, up to this id.
  CREATE TABLE user_fill (up_to INTEGER NOT NULL) STRICT;
  INSERT INTO user_fill SELECT max(id) FROM posts HAVING max(id) IS NOT NULL;

  -- Of a token that acts for a user of its app.
  ALTER TABLE tokens ADD COLUMN user_id INTEGER;
  UPDATE tokens SET checksum = row_checksum(hash, kind, app_id, created_at_ms, NULL)
  WHERE checksum IS row_checksum(hash, kind, app_id, created_at_ms);
  `,
  `
  -- Of a backfill: its rules as JSON text, the last id that was compared with them, and the last one that is to be.
  ALTER TABLE replays ADD COLUMN backfill_rules TEXT;
  ALTER TABLE replays ADD COLUMN searched_id INTEGER;
  ALTER TABLE replays ADD COLUMN last_id INTEGER;
  UPDATE replays
  SET checksum = row_checksum(id, app_id, webhook_id, link_id, from_ms, to_ms, end_seq, created_at_ms, NULL)
  WHERE checksum IS row_checksum(id, app_id, webhook_id, link_id, from_ms, to_ms, end_seq, created_at_ms);
  -- What a running backfill has found.
  CREATE TABLE backfill_matches (
    replay_id INTEGER NOT NULL REFERENCES replays (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    post_id INTEGER NOT NULL,
    rules TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (replay_id, seq)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- The versions of edited posts, each under the first version of its chain. Derived of the posts.
  CREATE TABLE edit_versions (
    first_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (first_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX edit_versions_by_id ON edit_versions (id);
  -- Those of the posts that are here already are taken with their users, once more.
  DELETE FROM user_fill;
  INSERT INTO user_fill SELECT max(id) FROM posts HAVING max(id) IS NOT NULL;
  `,
  `
  -- Posts whose envelopes hold other posts, or that repost them. Derived of the envelopes.
  CREATE TABLE shown_posts (
    post_id INTEGER NOT NULL,
    shown_id INTEGER NOT NULL,
    is_repost INTEGER NOT NULL,
    PRIMARY KEY (post_id, shown_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX shown_posts_by_shown ON shown_posts (shown_id, post_id, is_repost);
  -- What posts show is taken, like their users, from those that were stored before this version.
  DELETE FROM user_fill;
  INSERT INTO user_fill SELECT max(id) FROM posts HAVING max(id) IS NOT NULL;

  -- Posts and users that are not stored again.
  CREATE TABLE deletions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    id INTEGER NOT NULL,
    author_id INTEGER,
    at_ms INTEGER NOT NULL,
    -- Whether something of it may still be stored.
    is_pending INTEGER NOT NULL DEFAULT 1,
    checksum INTEGER NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE INDEX pending_deletions ON deletions (seq) WHERE is_pending;
  CREATE INDEX deletions_by_time ON deletions (at_ms);

  -- When posts were rewritten without a deleted one, as long as deletions are remembered.
  CREATE TABLE rewritten_posts (post_id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT;
  CREATE INDEX rewritten_posts_by_time ON rewritten_posts (at_ms);

  -- Places in tables, by their keys, next to which pages may still hold bytes of what was deleted there.
  CREATE TABLE erasures (
    in_table TEXT NOT NULL,
    first_key INTEGER NOT NULL,
    second_key INTEGER NOT NULL,
    PRIMARY KEY (in_table, first_key, second_key)
  ) STRICT, WITHOUT ROWID;

  -- Matches whose posts were deleted before they were delivered.
  ALTER TABLE links ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What an operator has set for an app in place of the server's limits, as JSON text.
  ALTER TABLE apps ADD COLUMN limits TEXT;
  UPDATE apps
  SET checksum = row_checksum(id, name, business_user_id, instance_id, consumer_key, consumer_secret, generation,
    created_at_ms, revoked, NULL)
  WHERE checksum IS row_checksum(id, name, business_user_id, instance_id, consumer_key, consumer_secret, generation,
    created_at_ms, revoked);
  -- Usage: how many posts an app got on a day (days since 1970, UTC).
  CREATE TABLE usage_days (
    day INTEGER NOT NULL,
    app_id INTEGER NOT NULL REFERENCES apps (id),
    posts INTEGER NOT NULL,
    PRIMARY KEY (day, app_id)
  ) STRICT, WITHOUT ROWID;
  -- The posts that are counted there, of this day and the one before.
  CREATE TABLE usage_posts (
    day INTEGER NOT NULL,
    app_id INTEGER NOT NULL,
    post_id INTEGER NOT NULL,
    PRIMARY KEY (day, app_id, post_id)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- The history of stream connections.
  -- A connection without an end is open.
  CREATE TABLE connection_history (
    id INTEGER PRIMARY KEY,
    uuid TEXT NOT NULL UNIQUE,
    app_id INTEGER NOT NULL REFERENCES apps (id),
    endpoint TEXT NOT NULL,
    client_ip TEXT NOT NULL,
    connected_at_ms INTEGER NOT NULL,
    disconnected_at_ms INTEGER,
    disconnect_reason TEXT,
    checksum INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX connection_history_of_app ON connection_history (app_id, id);
  CREATE INDEX connection_history_ended ON connection_history (disconnected_at_ms);
  `,
  `
  -- Sources of posts whose position is kept here; what they could not give; and records that are no posts.
  CREATE TABLE sources (
    name TEXT PRIMARY KEY,
    driver INTEGER NOT NULL,
    position TEXT,
    saved_at_ms INTEGER,
    is_paused INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE source_gaps (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    from_ms INTEGER,
    to_ms INTEGER,
    reason TEXT NOT NULL,
    noted_at_ms INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE source_dead_letters (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    title TEXT NOT NULL,
    detail TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    record BLOB NOT NULL
  ) STRICT;
  CREATE INDEX source_dead_letters_of_source ON source_dead_letters (source, id);
  CREATE INDEX source_dead_letter_bytes ON source_dead_letters (id, bytes);
  -- Ids that do not follow from the names of their posts.
  CREATE TABLE assigned_names (
    name TEXT PRIMARY KEY,
    id INTEGER NOT NULL UNIQUE,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE links ADD COLUMN paused_at_ms INTEGER;
  UPDATE links SET checksum =
    row_checksum(id, app_id, webhook_id, created_at_ms, query, first_position, ordered, paused_at_ms)
    WHERE checksum IS row_checksum(id, app_id, webhook_id, created_at_ms, query, first_position, ordered);
  `,
  `
  ALTER TABLE tokens ADD COLUMN name TEXT;
  ALTER TABLE tokens ADD COLUMN last_used_at_ms INTEGER;
  UPDATE tokens SET checksum = row_checksum(hash, kind, app_id, created_at_ms, user_id, NULL)
    WHERE checksum IS row_checksum(hash, kind, app_id, created_at_ms, user_id);
  ALTER TABLE webhooks ADD COLUMN name TEXT;
  ALTER TABLE webhooks ADD COLUMN description TEXT;
  UPDATE webhooks SET checksum = row_checksum(id, app_id, url, created_at_ms, valid, invalid_reason, checked_at_ms,
    signing_key, previous_key, previous_until_ms, NULL, NULL)
    WHERE checksum IS row_checksum(id, app_id, url, created_at_ms, valid, invalid_reason, checked_at_ms, signing_key,
      previous_key, previous_until_ms);
  `,
]

/**
 * SQL that gives stored outcomes their present names. Damaged rows stay as they are, so that their damage stays
 * visible. The columns are written out, because a later version may cover others.
 */
function renameOutcomes(table: "dead_letters" | "attempts"): string {
  const renamed = `CASE outcome WHEN 'answer' THEN 'invalid_response' WHEN 'failed' THEN 'server_error'
    WHEN 'local' THEN 'local_error' WHEN 'address' THEN 'blocked_address' END`
  const checksum = (outcome: string): string =>
    table === "attempts"
      ? `row_checksum(link_id, slot, number, seq, at_ms, duration_ms, ${outcome}, status, bytes, error)`
      : `row_checksum(app_id, link_id, seq, failures, ${outcome}, status, error, died_at_ms)`
  return `UPDATE ${table} SET outcome = ${renamed}, checksum = ${checksum(renamed)}
    WHERE outcome IN ('answer', 'failed', 'local', 'address') AND checksum IS ${checksum("outcome")};`
}

/** SQL that gives the outcome `too_large` its present name, as `renameOutcomes` does. */
function renameTooLarge(): string {
  const checksums = {
    dead_letters: (outcome: string) =>
      `row_checksum(app_id, link_id, seq, failures, ${outcome}, status, error, died_at_ms)`,
    attempts: (outcome: string) =>
      `row_checksum(link_id, slot, number, seq, at_ms, duration_ms, ${outcome}, status, bytes, error, signatures, response)`,
  }
  return Object.entries(checksums)
    .map(
      ([table, checksum]) => `UPDATE ${table} SET outcome = 'too_large', checksum = ${checksum("'too_large'")}
        WHERE outcome = 'too-large' AND checksum IS ${checksum("outcome")};`,
    )
    .join("\n")
}

/** Version of the store that this program writes. */
export const storeVersion = steps.length

/** Takes the steps that are missing. Throws when the store was made by a newer program. */
export function migrate(db: DatabaseSync): void {
  defineChecksums(db)
  while (takeSteps(db));
}

/** The checksums as functions of SQL, for steps that add them to what is there. Ids come as text. */
function defineChecksums(db: DatabaseSync): void {
  defineRowChecksum(db)
  const options = { deterministic: true, directOnly: true }
  db.function("text_checksum", options, (id, text) => textChecksum(id as string, text))
  db.function("head_checksum", options, (id, authorId, createdAtMs, isReply, isRepost) =>
    headChecksum(id as string, { authorId, createdAtMs, isReply, isRepost } as PostHead),
  )
  db.function("match_checksum", options, (appId, seq, postId, atMs, rules) =>
    matchChecksum(appId as string, { seq, postId, atMs, rules } as LoggedMatch),
  )
}

/**
 * Takes the next step, if there is one; in a new store all of them, which have nothing to change there. The version is read
 * under the lock: another process may be migrating too.
 */
function takeSteps(db: DatabaseSync): boolean {
  db.exec("BEGIN IMMEDIATE")
  try {
    const { user_version: taken } = db.prepare("PRAGMA user_version").get() as { user_version: number }
    if (taken > storeVersion) {
      throw new StoreTooNew(
        `The store has version ${taken}, and this program knows versions up to ${storeVersion}. ` +
          "It was made by a newer Sluice: use that one, or another data directory.",
      )
    }
    const next = taken === 0 ? steps : steps.slice(taken, taken + 1)
    for (const step of next) db.exec(step)
    if (next.length > 0) {
      db.exec(`PRAGMA user_version = ${taken + next.length}`)
      crashPoint("in-migration")
    }
    db.exec("COMMIT")
    return next.length > 0
  } catch (error) {
    // A full or failing disk may have ended it already.
    if (db.isTransaction) db.exec("ROLLBACK")
    throw storeFault(error)
  }
}
