/**
 * Every row of a store as plain values, table by table: how a store is moved to an engine of another kind.
 *
 * Both engines have these tables and columns under these names. Columns that only one of them has are left out, since
 * they derive from the rest: checksums of rows, hashes, leases.
 */
import type { KnownTime } from "../model/known-time.ts"

/** A value of a row. Ids are text; what holds true or false is 1 or 0, or a boolean. */
export type RowValue = string | number | boolean | null | Uint8Array

/** A table that both engines have. */
export interface StoredTable {
  readonly name: string
  /** Columns by which its rows are read in order, a list with commas. */
  readonly key: string
  /** Its columns and their types, as PostgreSQL declares them: a list with commas. */
  readonly columns: string
}

/** All tables, each after those that it refers to. */
export const storedTables = [
  {
    name: "apps",
    key: "id",
    columns: `id bigint, name text, business_user_id bigint, instance_id bigint, consumer_key text,
      consumer_secret bytea, generation bigint, created_at_ms bigint, revoked boolean,
      limits text`,
  },
  {
    name: "tokens",
    key: "hash",
    columns:
      "hash bytea, kind text, app_id bigint, created_at_ms bigint, user_id bigint, name text, last_used_at_ms bigint",
  },
  { name: "ended_sessions", key: "id", columns: "id bytea, expires_at_ms bigint" },
  {
    name: "connection_history",
    key: "id",
    columns: `id bigint, uuid uuid, app_id bigint, endpoint text, client_ip text, connected_at_ms bigint,
      disconnected_at_ms bigint, disconnect_reason text`,
  },
  { name: "rules", key: "id", columns: "id bigint, app_id bigint, value text, tag text" },
  { name: "rule_matches", key: "rule_id", columns: "rule_id bigint, matched bigint, last_matched_at_ms bigint" },
  { name: "rule_changes", key: "seq", columns: "seq bigint, app_id bigint, rule_id bigint, value text, tag text" },
  {
    name: "webhooks",
    key: "id",
    columns: `id bigint, app_id bigint, url text, created_at_ms bigint, valid boolean, invalid_reason text,
      checked_at_ms bigint, signing_key bytea, previous_key bytea, previous_until_ms bigint, name text,
      description text`,
  },
  {
    name: "links",
    key: "id",
    columns: `id bigint, app_id bigint, webhook_id bigint, created_at_ms bigint, query text, position bigint,
      first_position bigint, ordered boolean, paused_at_ms bigint, redeliveries bigint, delivered bigint, expired bigint,
      missed bigint, withdrawn bigint, attempts bigint, retries bigint, dead_letters bigint`,
  },
  {
    name: "retries",
    key: "link_id, seq",
    columns: "link_id bigint, seq bigint, app_id bigint, failures integer, due_at_ms bigint",
  },
  {
    name: "dead_letters",
    key: "id",
    columns: `id bigint, app_id bigint, link_id bigint, seq bigint, failures integer, outcome text,
      status integer, error text, dead_lettered_at_ms bigint`,
  },
  {
    name: "attempts",
    key: "link_id, slot",
    columns: `link_id bigint, slot integer, number bigint, seq bigint, at_ms bigint,
      duration_ms double precision, outcome text, status integer, bytes bigint, error text,
      signatures text, response text`,
  },
  {
    name: "gap_markers",
    key: "link_id, from_seq",
    columns: "link_id bigint, from_seq bigint, to_seq bigint, at_ms bigint",
  },
  {
    name: "replays",
    key: "id",
    columns: `id bigint, app_id bigint, webhook_id bigint, link_id bigint, from_ms bigint, to_ms bigint,
      position bigint, end_seq bigint, delivered bigint, failed bigint, created_at_ms bigint,
      state text, ended_at_ms bigint, backfill_rules text, searched_id bigint, last_id bigint`,
  },
  {
    name: "backfill_matches",
    key: "replay_id, seq",
    columns: "replay_id bigint, seq bigint, post_id bigint, rules text",
  },
  { name: "users", key: "id", columns: "id bigint, ids_hold_time boolean" },
  {
    name: "user_objects",
    key: "id",
    columns: "id bigint, username text, seen_at_ms bigint, fingerprint bigint, object text",
  },
  { name: "user_words", key: "word, user_id", columns: "word text, user_id bigint" },
  { name: "user_fill", key: "up_to", columns: "up_to bigint" },
  { name: "edit_versions", key: "first_id, id", columns: "first_id bigint, id bigint" },
  {
    name: "posts",
    key: "id",
    columns: `id bigint, author_id bigint, created_at_ms bigint, is_reply boolean, is_repost boolean, core text,
      envelope text, arrival bigint`,
  },
  { name: "shown_posts", key: "post_id, shown_id", columns: "post_id bigint, shown_id bigint, is_repost boolean" },
  {
    name: "deletions",
    key: "seq",
    columns: "seq bigint, kind text, id bigint, author_id bigint, at_ms bigint, is_pending boolean",
  },
  {
    name: "sources",
    key: "name",
    columns: "name text, driver bigint, position text, saved_at_ms bigint, is_paused boolean",
  },
  {
    name: "source_gaps",
    key: "id",
    columns: "id text, source text, from_ms bigint, to_ms bigint, reason text, noted_at_ms bigint",
  },
  {
    name: "source_dead_letters",
    key: "id",
    columns: "id text, source text, at_ms bigint, title text, detail text, bytes bigint, record bytea",
  },
  { name: "assigned_names", key: "name", columns: "name text, id bigint" },
  {
    name: "match_logs",
    key: "app_id",
    columns: "app_id bigint, head bigint, trimmed_to bigint, trimmed_until_ms bigint, leftovers_after bigint",
  },
  { name: "usage_days", key: "day, app_id", columns: "day bigint, app_id bigint, posts bigint" },
  { name: "usage_posts", key: "day, app_id, post_id", columns: "day bigint, app_id bigint, post_id bigint" },
  { name: "log_epochs", key: "app_id, from_seq", columns: "app_id bigint, from_seq bigint, epoch text" },
  {
    name: "matches",
    key: "app_id, seq",
    columns: "app_id bigint, seq bigint, post_id bigint, at_ms bigint, rules text",
  },
] as const satisfies readonly StoredTable[]

/** The names of a table's columns and their types. */
export function columnTypesOf({ columns }: StoredTable): ReadonlyMap<string, string> {
  const declared = columns.split(/,\s+/).map((column) => /^(\w+) (.+)$/.exec(column) ?? [])
  return new Map(declared.map(([, name = "", type = ""]) => [name, type]))
}

/** The name of such a table. */
export type StoredTableName = (typeof storedTables)[number]["name"]

/** Numbers that a store keeps outside its tables. */
export interface StoredNumbers {
  readonly postsAccepted: number
  readonly postsTrimmed: number
  readonly controlChanges: number
  /** The largest id that was ever given to an app, a rule, a webhook, a link or a replay: digits. */
  readonly lastId: string
  /** The largest numbers that a dead letter and a change of rules ever had; 0 before the first. */
  readonly lastDeadLetter: number
  readonly lastRuleChange: number
  /** The time that retention saw last. */
  readonly knownTime: KnownTime | undefined
}

/** A store whose rows are read, all of one moment. */
export interface StoredRows {
  readonly numbers: StoredNumbers
  /** Whether the store is a copy in which no epoch has begun yet. */
  readonly isCopy: boolean
  readonly counts: ReadonlyMap<StoredTableName, number>
  /** The rows of a table in the order of its key, read one by one: values in the order of its columns. */
  rows(table: StoredTable): Iterable<readonly RowValue[]>
  /** Unix ms: a moment of each day (UTC) on which matches were appended that retention has not passed, the newest first. */
  readonly matchDays: readonly number[]
  /** An id of each span of time in which posts were made, by the time in their ids, the newest first. */
  postIdsOfSpans(spanMs: number): readonly string[]
  /** Throws `StoreFailed` when the store was written to since it was opened. */
  requireUnchanged(): void
}
