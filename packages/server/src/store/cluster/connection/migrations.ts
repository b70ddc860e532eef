/**
 * The shape of the PostgreSQL store, as numbered steps. A step that was released is never edited.
 *
 * A step only adds: processes of the version before go on while the first of the next one takes it, and until they are
 * replaced. So a new column has a default or may be NULL, and an unused column is dropped a version later.
 *
 * The number of steps taken is in `store_version`. Each step is taken in a transaction of its own, under a lock that
 * all processes respect, so several may start at the same time, and one that is killed on the way loses nothing.
 *
 * Posts and matches are partitioned by time, so that retention drops partitions instead of deleting rows
 * (`partitions.ts`). Rows have no checksums of their own, as those of the embedded store do: PostgreSQL checks its pages
 * when the cluster was made with `--data-checksums`, and `sluice doctor` says when it was not.
 */
import { systemClock } from "../../../runtime/clock.ts"
import { StoreTooNew } from "../../store-faults.ts"
import type { ClusterSettings } from "./connections.ts"
import { ClusterDatabase, type WriteTransaction } from "./database.ts"

/** A number that only deletions take an advisory lock of: "delete" in ASCII. */
const deletionsLock = "110386840822885"

const steps: readonly string[] = [
  `
  CREATE TABLE apps (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    business_user_id bigint NOT NULL,
    instance_id bigint NOT NULL,
    consumer_key text NOT NULL UNIQUE,
    consumer_secret bytea NOT NULL,
    generation bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    revoked boolean NOT NULL
  );

  CREATE TABLE tokens (
    hash bytea PRIMARY KEY,
    kind text NOT NULL,
    app_id bigint REFERENCES apps (id),
    created_at_ms bigint NOT NULL
  );
  CREATE INDEX tokens_of_app ON tokens (app_id);

  CREATE TABLE rules (
    id bigint PRIMARY KEY,
    app_id bigint NOT NULL REFERENCES apps (id),
    value text NOT NULL,
    -- Of the value, which is too long for an index.
    value_hash bytea NOT NULL,
    tag text,
    UNIQUE (app_id, value_hash)
  );
  CREATE INDEX rules_of_app ON rules (app_id, id);

  -- Statistics: they say what was, and nothing obeys them.
  CREATE TABLE rule_matches (
    rule_id bigint PRIMARY KEY REFERENCES rules (id) ON DELETE CASCADE,
    matched bigint NOT NULL,
    last_matched_at_ms bigint NOT NULL
  ) WITH (fillfactor = 70);

  -- What the matchers follow. A removal has no value.
  CREATE TABLE rule_changes (
    seq bigint PRIMARY KEY,
    app_id bigint NOT NULL,
    rule_id bigint NOT NULL,
    value text,
    tag text,
    changed_at timestamptz NOT NULL DEFAULT now()
  );
  -- One row: the number of the newest change. Its lock gives changes of rules their order: that of their commits.
  CREATE TABLE rule_history (last_seq bigint NOT NULL);
  INSERT INTO rule_history VALUES (0);

  CREATE TABLE webhooks (
    id bigint PRIMARY KEY,
    app_id bigint NOT NULL REFERENCES apps (id),
    url text NOT NULL,
    url_hash bytea NOT NULL,
    created_at_ms bigint NOT NULL,
    valid boolean NOT NULL,
    invalid_reason text,
    checked_at_ms bigint NOT NULL,
    signing_key bytea NOT NULL,
    previous_key bytea,
    previous_until_ms bigint,
    UNIQUE (app_id, url_hash)
  );
  CREATE INDEX webhooks_of_app ON webhooks (app_id, id);

  CREATE TABLE links (
    id bigint PRIMARY KEY,
    app_id bigint NOT NULL REFERENCES apps (id),
    webhook_id bigint NOT NULL UNIQUE REFERENCES webhooks (id) ON DELETE CASCADE,
    created_at_ms bigint NOT NULL,
    query text NOT NULL,
    position bigint NOT NULL,
    first_position bigint NOT NULL,
    ordered boolean NOT NULL DEFAULT false,
    redeliveries bigint NOT NULL DEFAULT 0,
    delivered bigint NOT NULL DEFAULT 0,
    expired bigint NOT NULL DEFAULT 0,
    missed bigint NOT NULL DEFAULT 0,
    -- Attempts that were ever recorded: the number of the newest one.
    attempts bigint NOT NULL DEFAULT 0,
    -- How many rows each has in the tables of those names, so that nobody has to count them.
    retries bigint NOT NULL DEFAULT 0,
    dead_letters bigint NOT NULL DEFAULT 0,
    -- The process that drives it, and the number of its lease. NULL: nobody drives it.
    process bigint,
    lease bigint
  -- Its row changes with each save of progress, within its page.
  ) WITH (fillfactor = 50);
  CREATE INDEX links_of_app ON links (app_id, id);
  CREATE INDEX links_of_process ON links (process);

  -- The processes that share this store. Times are this server's own.
  CREATE TABLE processes (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alive_until timestamptz NOT NULL
  );
  -- Stream connections that are open, those of dead processes included until their processes are deleted.
  CREATE TABLE stream_connections (
    id uuid PRIMARY KEY,
    process bigint NOT NULL REFERENCES processes (number) ON DELETE CASCADE,
    app_id bigint NOT NULL,
    kind text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Another one has taken its place: it is about to end, and does not count.
    replaced boolean NOT NULL DEFAULT false
  );
  CREATE INDEX stream_connections_of_app ON stream_connections (app_id, kind);
  CREATE INDEX stream_connections_of_process ON stream_connections (process);

  -- How often an app has done what is limited, in a window that begins with the first time.
  CREATE TABLE app_uses (
    app_id bigint NOT NULL REFERENCES apps (id),
    use text NOT NULL,
    count integer NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, use)
  ) WITH (fillfactor = 50);

  CREATE TABLE task_leases (
    task text PRIMARY KEY,
    process bigint
  );
  CREATE SEQUENCE lease_numbers;
  -- One row: how often processes have come or gone, or links were given back.
  CREATE TABLE lease_moves (moves bigint NOT NULL);
  INSERT INTO lease_moves VALUES (0);

  -- What the process that drives a link knows of it. Nobody's when the link has another lease.
  CREATE TABLE link_states (
    link_id bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    lease bigint NOT NULL,
    is_down boolean NOT NULL,
    in_flight integer NOT NULL,
    failing_since_ms bigint,
    next_attempt_at_ms bigint,
    delivered bigint NOT NULL,
    failed bigint NOT NULL
  ) WITH (fillfactor = 50);

  -- What a link's cursor has passed and what is not delivered.
  CREATE TABLE retries (
    link_id bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    seq bigint NOT NULL,
    app_id bigint NOT NULL,
    failures integer NOT NULL,
    due_at_ms bigint NOT NULL,
    PRIMARY KEY (link_id, seq)
  );
  -- Tells whether anybody needs a match.
  CREATE INDEX retries_of_match ON retries (app_id, seq);

  -- Dead letters and retries hold no copy: retention spares the matches that they point to, and their posts.
  CREATE TABLE dead_letters (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id bigint NOT NULL,
    link_id bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    seq bigint NOT NULL,
    failures integer NOT NULL,
    outcome text NOT NULL,
    status integer,
    error text,
    died_at_ms bigint NOT NULL,
    UNIQUE (link_id, seq)
  );
  CREATE INDEX dead_letters_of_app ON dead_letters (app_id, id);
  CREATE INDEX dead_letters_of_link ON dead_letters (link_id, id);
  CREATE INDEX dead_letters_of_link_by_time ON dead_letters (link_id, died_at_ms, id);
  CREATE INDEX dead_letters_of_match ON dead_letters (app_id, seq);
  CREATE INDEX dead_letters_by_time ON dead_letters (died_at_ms);

  -- A ring for each link: a new attempt takes the slot of the oldest, so there is nothing to clear away.
  CREATE TABLE attempts (
    link_id bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    slot integer NOT NULL,
    number bigint NOT NULL,
    seq bigint NOT NULL,
    at_ms bigint NOT NULL,
    duration_ms double precision NOT NULL,
    outcome text NOT NULL,
    status integer,
    bytes bigint NOT NULL,
    error text,
    -- JSON texts: what the attempt was signed with, and what is kept of the response.
    signatures text,
    response text,
    PRIMARY KEY (link_id, slot)
  ) WITH (fillfactor = 70);

  CREATE TABLE gap_markers (
    link_id bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    from_seq bigint NOT NULL,
    to_seq bigint NOT NULL,
    at_ms bigint NOT NULL,
    PRIMARY KEY (link_id, from_seq)
  );

  CREATE TABLE replays (
    id bigint PRIMARY KEY,
    app_id bigint NOT NULL,
    webhook_id bigint NOT NULL,
    link_id bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    from_ms bigint NOT NULL,
    to_ms bigint NOT NULL,
    position bigint NOT NULL,
    end_seq bigint NOT NULL,
    delivered bigint NOT NULL,
    failed bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    state text NOT NULL,
    ended_at_ms bigint
  );
  CREATE INDEX replays_of_app ON replays (app_id, id);
  CREATE INDEX replays_of_link ON replays (link_id);
  CREATE UNIQUE INDEX replays_running ON replays (webhook_id) WHERE state = 'running';

  CREATE TABLE posts (
    id bigint PRIMARY KEY,
    author_id bigint,
    created_at_ms bigint NOT NULL,
    is_reply boolean NOT NULL,
    is_repost boolean NOT NULL,
    core text NOT NULL,
    envelope text NOT NULL
  ) PARTITION BY RANGE (id);
  CREATE TABLE posts_other PARTITION OF posts DEFAULT;
  CREATE INDEX posts_of_author ON posts (author_id, id);

  CREATE TABLE users (
    id bigint PRIMARY KEY,
    -- Whether the id of every post by the user says when it was made.
    ids_hold_time boolean NOT NULL DEFAULT true
  );

  CREATE TABLE match_logs (
    app_id bigint PRIMARY KEY REFERENCES apps (id),
    head bigint NOT NULL,
    trimmed_to bigint NOT NULL DEFAULT 0,
    -- When the newest entry up to trimmed_to was appended. NULL before the first is gone.
    trimmed_until_ms bigint,
    -- After this one, entries up to trimmed_to have to be looked through: what needed some of them is gone.
    leftovers_after bigint
  ) WITH (fillfactor = 50);

  CREATE TABLE matches (
    app_id bigint NOT NULL,
    seq bigint NOT NULL,
    post_id bigint NOT NULL,
    at_ms bigint NOT NULL,
    -- The change of rules up to which the post was matched.
    rules_seq bigint NOT NULL DEFAULT 0,
    rules text NOT NULL,
    PRIMARY KEY (app_id, seq, at_ms)
  ) PARTITION BY RANGE (at_ms);
  CREATE TABLE matches_other PARTITION OF matches DEFAULT;
  CREATE INDEX matches_of_post ON matches (post_id);

  -- How many posts ever came and went, and how often apps, rules, webhooks, links or replays changed: the sums of all
  -- rows. A transaction adds to one that no other holds, so that none waits for another.
  CREATE TABLE totals (
    shard integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    posts_accepted bigint NOT NULL DEFAULT 0,
    posts_trimmed bigint NOT NULL DEFAULT 0,
    control_changes bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 10);

  -- One row: the largest id that was ever given to an app, a rule, a webhook, a link or a replay.
  CREATE TABLE given_ids (last_id bigint NOT NULL);
  INSERT INTO given_ids VALUES (0);
  `,
  `
  -- Sessions of the console that were ended before their time.
  CREATE TABLE ended_sessions (
    id bytea PRIMARY KEY,
    expires_at_ms bigint NOT NULL
  );
  `,
  `
  -- One row: what retention saw of the time last. A store that has none yet knows when its newest matches were appended.
  CREATE TABLE known_time (
    one integer PRIMARY KEY CHECK (one = 1),
    believed_ms bigint NOT NULL,
    clock_ms bigint NOT NULL,
    steady_ms bigint NOT NULL
  );
  INSERT INTO known_time SELECT 1, at_ms, at_ms, 0 FROM (
    SELECT max(matches.at_ms) AS at_ms FROM match_logs
    JOIN matches ON matches.app_id = match_logs.app_id AND matches.seq = match_logs.head) AS newest
  WHERE at_ms IS NOT NULL;
  `,
  `
  -- The epochs of match logs but for the first one of each: which ids the matches from a position on have.
  CREATE TABLE log_epochs (
    app_id bigint NOT NULL REFERENCES apps (id),
    from_seq bigint NOT NULL,
    epoch text NOT NULL,
    PRIMARY KEY (app_id, from_seq)
  );
  -- At most one row: the database that the store was in when it was opened last.
  CREATE TABLE database_identity (identity text NOT NULL);
  `,
  `
  -- Ended sessions are forgotten in the order in which they expire.
  CREATE INDEX ended_sessions_by_expiry ON ended_sessions (expires_at_ms);
  `,
  `
  UPDATE dead_letters SET outcome = 'too_large' WHERE outcome = 'too-large';
  UPDATE attempts SET outcome = 'too_large' WHERE outcome = 'too-large';
  ALTER TABLE dead_letters RENAME COLUMN died_at_ms TO dead_lettered_at_ms;
  `,
  `
  -- The order of arrival (nouns/arrivals.ts). Posts that are here already have this transaction, and are in the order of
  -- their ids: no row is written for that. The default also counts for processes of the version before.
  ALTER TABLE posts
    ADD COLUMN arrival_era integer NOT NULL DEFAULT 0,
    ADD COLUMN arrival_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- The place among the posts of the transaction.
    ADD COLUMN arrival bigint NOT NULL DEFAULT 0;
  -- In how many other databases the store was before.
  ALTER TABLE database_identity ADD COLUMN era integer NOT NULL DEFAULT 0;
  `,
  `
  -- A step of its own: reads would have to wait for the lock of the one before.
  CREATE INDEX posts_by_arrival ON posts (arrival_era, arrival_xid, arrival, id);
  `,
  `
  -- The search index of each version of the terms, and its partitions: a table for each, which is made when it is needed.
  CREATE TABLE search_indexes (
    terms_version integer PRIMARY KEY,
    -- Up to where posts are in it. NULL: it is to be filled.
    position text
  );
  CREATE TABLE search_partitions (
    terms_version integer NOT NULL,
    from_id bigint NOT NULL,
    posts bigint NOT NULL,
    last_id bigint NOT NULL,
    PRIMARY KEY (terms_version, from_id)
  );
  `,
  `
  -- The newest object of each user that came with a post.
  CREATE TABLE user_objects (
    id bigint PRIMARY KEY,
    -- Folded. The order of the database's locale would not be that of the embedded store.
    username text COLLATE "C" NOT NULL,
    -- When its post was made; may lag while the object stays the same.
    seen_at_ms bigint NOT NULL,
    -- CRC-32 of the object, by which an unchanged one is known.
    fingerprint bigint NOT NULL,
    object text NOT NULL
  -- A changed object mostly is as long as the one before it.
  ) WITH (fillfactor = 80);
  CREATE INDEX user_objects_by_name ON user_objects (username);
  -- Words of names, by which users are found. Derived of the objects.
  CREATE TABLE user_words (
    word text COLLATE "C" NOT NULL,
    user_id bigint NOT NULL,
    PRIMARY KEY (word, user_id)
  );
  -- One row while users are still to be taken from the posts that were stored before this version, up to this id.
  CREATE TABLE user_fill (up_to bigint NOT NULL);
  INSERT INTO user_fill SELECT max(id) FROM posts HAVING max(id) IS NOT NULL;

  -- Of a token that acts for a user of its app.
  ALTER TABLE tokens ADD COLUMN user_id bigint;
  `,
  `
  -- Of a backfill: its rules as JSON text, the last id that was compared with them, and the last one that is to be.
  ALTER TABLE replays ADD COLUMN backfill_rules text, ADD COLUMN searched_id bigint, ADD COLUMN last_id bigint;
  -- What a running backfill has found.
  CREATE TABLE backfill_matches (
    replay_id bigint NOT NULL REFERENCES replays (id) ON DELETE CASCADE,
    seq bigint NOT NULL,
    post_id bigint NOT NULL,
    rules text NOT NULL,
    PRIMARY KEY (replay_id, seq)
  );
  `,
  `
  -- The versions of edited posts, each under the first version of its chain. Derived of the posts.
  CREATE TABLE edit_versions (
    first_id bigint NOT NULL,
    id bigint NOT NULL,
    PRIMARY KEY (first_id, id)
  );
  CREATE INDEX edit_versions_by_id ON edit_versions (id);
  -- Those of the posts that are here already are taken with their users, once more.
  DELETE FROM user_fill;
  INSERT INTO user_fill SELECT max(id) FROM posts HAVING max(id) IS NOT NULL;
  `,
  `
  -- Posts whose envelopes hold other posts, or that repost them. Derived of the envelopes.
  CREATE TABLE shown_posts (
    post_id bigint NOT NULL,
    shown_id bigint NOT NULL,
    is_repost boolean NOT NULL,
    PRIMARY KEY (post_id, shown_id)
  );
  CREATE INDEX shown_posts_by_shown ON shown_posts (shown_id);
  -- What posts show is taken, like their users, from those that were stored before this version.
  DELETE FROM user_fill;
  INSERT INTO user_fill SELECT max(id) FROM posts HAVING max(id) IS NOT NULL;

  -- Posts and users that are not stored again.
  CREATE TABLE deletions (
    seq bigint PRIMARY KEY,
    kind text NOT NULL,
    id bigint NOT NULL,
    author_id bigint,
    at_ms bigint NOT NULL,
    -- Whether something of it may still be stored.
    is_pending boolean NOT NULL DEFAULT true,
    UNIQUE (kind, id)
  );
  CREATE INDEX pending_deletions ON deletions (seq) WHERE is_pending;
  CREATE INDEX deletions_by_time ON deletions (at_ms);
  -- One row: the number of the newest deletion, which may be forgotten.
  CREATE TABLE last_deletion (last_seq bigint NOT NULL);
  INSERT INTO last_deletion VALUES (0);

  -- When posts were rewritten without a deleted one, as long as deletions are remembered.
  CREATE TABLE rewritten_posts (post_id bigint PRIMARY KEY, at_ms bigint NOT NULL);
  CREATE INDEX rewritten_posts_by_time ON rewritten_posts (at_ms);

  -- Taken by a deletion: it waits for the appends that run.
  CREATE FUNCTION lock_deletions() RETURNS void LANGUAGE sql VOLATILE AS
    'SELECT pg_advisory_xact_lock(${deletionsLock})';
  -- Taken by what a deletion waits for.
  CREATE FUNCTION share_deletions() RETURNS void LANGUAGE sql VOLATILE AS
    'SELECT pg_advisory_xact_lock_shared(${deletionsLock})';
  -- Asked by an append, within the lock that it shares with others. Each statement of a function that is volatile sees
  -- what has been committed before it begins.
  CREATE FUNCTION deleted_among(posts bigint[], users bigint[]) RETURNS TABLE (kind text, id bigint)
  LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    PERFORM share_deletions();
    RETURN QUERY
      SELECT deletions.kind, deletions.id FROM deletions WHERE deletions.kind = 'post' AND deletions.id = ANY (posts)
      UNION ALL
      SELECT deletions.kind, deletions.id FROM deletions WHERE deletions.kind = 'user' AND deletions.id = ANY (users);
  END
  $$;

  -- Statistics hold samples of a column, also of rows that are deleted later.
  ALTER TABLE posts ALTER COLUMN core SET STATISTICS 0, ALTER COLUMN envelope SET STATISTICS 0;
  ALTER TABLE attempts ALTER COLUMN response SET STATISTICS 0;
  ALTER TABLE user_objects ALTER COLUMN object SET STATISTICS 0;

  -- Matches whose posts were deleted before they were delivered.
  ALTER TABLE links ADD COLUMN withdrawn bigint NOT NULL DEFAULT 0;
  `,
  `
  -- What an operator has set for an app in place of the server's limits, as JSON text.
  ALTER TABLE apps ADD COLUMN limits text;
  CREATE INDEX app_uses_by_end ON app_uses (ends_at);
  -- Usage: how many posts an app got on a day (days since 1970, UTC).
  CREATE TABLE usage_days (
    day integer NOT NULL,
    app_id bigint NOT NULL REFERENCES apps (id),
    posts bigint NOT NULL,
    PRIMARY KEY (day, app_id)
  ) WITH (fillfactor = 50);
  -- The posts that are counted there, of this day and the one before.
  CREATE TABLE usage_posts (
    day integer NOT NULL,
    app_id bigint NOT NULL,
    post_id bigint NOT NULL,
    PRIMARY KEY (day, app_id, post_id)
  );
  `,
  `
  -- The history of stream connections.
  -- A connection without an end is open.
  CREATE TABLE connection_history (
    id bigint PRIMARY KEY,
    uuid uuid NOT NULL UNIQUE,
    app_id bigint NOT NULL REFERENCES apps (id),
    endpoint text NOT NULL,
    client_ip text NOT NULL,
    connected_at_ms bigint NOT NULL,
    disconnected_at_ms bigint,
    disconnect_reason text
  ) WITH (fillfactor = 80);
  CREATE INDEX connection_history_of_app ON connection_history (app_id, id);
  CREATE INDEX connection_history_ended ON connection_history (disconnected_at_ms);
  -- Whether its app has ended it: its client then gets another disconnect message than after a replacement.
  ALTER TABLE stream_connections ADD COLUMN forced boolean NOT NULL DEFAULT false;
  -- Live connections are counted by endpoint.
  UPDATE stream_connections SET kind = 'filtered_stream' WHERE kind = 'live';
  `,
  `
  -- Sources of posts whose position is kept here; what they could not give; and records that are no posts.
  CREATE TABLE sources (
    name text PRIMARY KEY,
    driver bigint NOT NULL,
    position text,
    saved_at_ms bigint,
    is_paused boolean NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE source_gaps (
    id text PRIMARY KEY,
    source text NOT NULL,
    from_ms bigint,
    to_ms bigint,
    reason text NOT NULL,
    noted_at_ms bigint NOT NULL
  );
  CREATE TABLE source_dead_letters (
    id text PRIMARY KEY,
    source text NOT NULL,
    at_ms bigint NOT NULL,
    title text NOT NULL,
    detail text NOT NULL,
    bytes bigint NOT NULL,
    record bytea NOT NULL
  );
  CREATE INDEX source_dead_letters_of_source ON source_dead_letters (source, id);
  CREATE INDEX source_dead_letter_bytes ON source_dead_letters (id, bytes);
  -- Ids that do not follow from the names of their posts.
  CREATE TABLE assigned_names (
    name text PRIMARY KEY,
    id bigint NOT NULL UNIQUE
  );
  `,
  `
  ALTER TABLE links ADD COLUMN paused_at_ms bigint;
  `,
  `
  ALTER TABLE tokens ADD COLUMN name text, ADD COLUMN last_used_at_ms bigint;
  ALTER TABLE webhooks ADD COLUMN name text, ADD COLUMN description text;
  `,
]

/** Version of the store that this program writes. */
export const storeVersion = steps.length

/** A number that only Sluice takes an advisory lock of: "sluice" in ASCII. */
const migrationLock = "126943972910949"

/** Time between two looks whether another process still takes a step. Ours. */
const busyMs = 500

/** Longest that a step may take: an index of all posts takes longer to make than any other statement. Ours. */
const stepMsMax = 6 * 3_600_000

/** Takes the steps that are missing. Throws `StoreTooNew` when the store was made by a newer program. */
export async function migrate(database: ClusterDatabase, settings: ClusterSettings): Promise<void> {
  if ((await versionOf(database)) === storeVersion) return
  await using patient = new ClusterDatabase({ ...settings, poolMax: 1, statementMsMax: stepMsMax }, () => undefined)
  for (;;) {
    const outcome = await patient.write(async (transaction) => {
      const lock = await transaction.row<{ held: boolean }>(
        `SELECT pg_try_advisory_xact_lock(${migrationLock}) AS held`,
      )
      return lock?.held === true ? takeStep(transaction) : "busy"
    })
    if (outcome === false) return
    // Another process takes a step, for as long as that may last.
    if (outcome === "busy") await systemClock.sleep(busyMs)
  }
}

/** As `migrate`, within a transaction: other processes that open the store wait for its end. */
export async function migrateWithin(transaction: WriteTransaction): Promise<void> {
  await transaction.rows(`SELECT pg_advisory_xact_lock(${migrationLock})`)
  while (await takeStep(transaction));
}

/** The version of the store that is there, by this program or a newer one; 0 without one. */
export async function anyVersionOf(database: Pick<ClusterDatabase, "row">): Promise<number> {
  const found = await database.row<{ name: string | null }>("SELECT to_regclass('store_version')::text AS name")
  if (found?.name === null) return 0
  return (await database.row<{ version: number }>("SELECT version FROM store_version"))?.version ?? 0
}

/** As `anyVersionOf`. Throws `StoreTooNew` for a newer one. */
async function versionOf(database: Pick<ClusterDatabase, "row">): Promise<number> {
  const taken = await anyVersionOf(database)
  if (taken > storeVersion) {
    throw new StoreTooNew(
      `The store is of version ${taken}, and this program knows versions up to ${storeVersion}. Install the newer Sluice.`,
    )
  }
  return taken
}

/** Takes the next step, under the lock. False when there is none. */
async function takeStep(transaction: WriteTransaction): Promise<boolean> {
  await transaction.run("CREATE TABLE IF NOT EXISTS store_version (version integer NOT NULL)")
  const taken = await versionOf(transaction)
  const step = steps[taken]
  if (step === undefined) return false
  await transaction.script(step)
  await transaction.run("DELETE FROM store_version")
  await transaction.run("INSERT INTO store_version VALUES ($1)", taken + 1)
  return true
}
