/**
 * Checksums of the rows that say what the server does: apps, tokens, sessions, rules, webhooks, links, replays,
 * and what deliveries keep. Without them the server would obey a flipped letter in a rule or in a link's query.
 *
 * A row's `checksum` is over the columns that are named here. An update keeps it by `settingChecked`, which leaves the
 * checksum of a damaged row as it is: damage stays damage until the row is deleted.
 *
 * Left out on purpose: counters and cursors that move with every delivery, since the sums of the audit prove them; the
 * last uses of tokens; the numbers that SQLite gives to dead letters and changes of rules; and posts and matches, which have checksums of their
 * own (`checksums.ts`).
 */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import { crc32 } from "node:zlib"
import { RecordDamaged } from "../../store-faults.ts"
import { prepare, type Statement } from "./statements.ts"

interface CheckedTable {
  /** A list with commas. The first chooses one row, unless what does is not covered. */
  readonly columns: string
  /** SQL for what a row is called. */
  readonly name: string
}

const checkedTables = {
  apps: {
    columns:
      "id, name, business_user_id, instance_id, consumer_key, consumer_secret, generation, created_at_ms, revoked, limits",
    name: "'app ' || apps.id",
  },
  tokens: {
    columns: "hash, kind, app_id, created_at_ms, user_id, name",
    name: "'the token whose SHA-256 begins with ' || lower(substr(hex(tokens.hash), 1, 12))",
  },
  ended_sessions: {
    columns: "id, expires_at_ms",
    name: "'the ended session that begins with ' || lower(substr(hex(ended_sessions.id), 1, 12))",
  },
  connection_history: {
    columns: "id, uuid, app_id, endpoint, client_ip, connected_at_ms, disconnected_at_ms, disconnect_reason",
    name: "'connection ' || connection_history.uuid || ' of app ' || connection_history.app_id",
  },
  rules: {
    columns: "id, app_id, value, tag",
    name: "'rule ' || rules.id || ' of app ' || rules.app_id",
  },
  rule_changes: {
    columns: "app_id, rule_id, value, tag",
    name: "'change ' || rule_changes.seq || ' of the rules'",
  },
  webhooks: {
    columns:
      "id, app_id, url, created_at_ms, valid, invalid_reason, checked_at_ms, signing_key, previous_key, " +
      "previous_until_ms, name, description",
    name: "'webhook ' || webhooks.id || ' of app ' || webhooks.app_id",
  },
  links: {
    columns: "id, app_id, webhook_id, created_at_ms, query, first_position, ordered, paused_at_ms",
    name: "'the link to webhook ' || links.webhook_id || ' of app ' || links.app_id",
  },
  retries: {
    columns: "app_id, link_id, seq, failures, due_at_ms",
    name: "'the retry of match ' || retries.seq || ' over link ' || retries.link_id",
  },
  dead_letters: {
    columns: "app_id, link_id, seq, failures, outcome, status, error, dead_lettered_at_ms",
    name: "'dead letter ' || dead_letters.id || ' of link ' || dead_letters.link_id",
  },
  attempts: {
    columns: "link_id, slot, number, seq, at_ms, duration_ms, outcome, status, bytes, error, signatures, response",
    name: "'attempt ' || attempts.number || ' of link ' || attempts.link_id",
  },
  gap_markers: {
    columns: "link_id, from_seq, to_seq, at_ms",
    name: "'the gap marker from ' || gap_markers.from_seq || ' of link ' || gap_markers.link_id",
  },
  replays: {
    columns: "id, app_id, webhook_id, link_id, from_ms, to_ms, end_seq, created_at_ms, backfill_rules",
    name: "'replay ' || replays.id || ' of app ' || replays.app_id",
  },
  backfill_matches: {
    columns: "replay_id, seq, post_id, rules",
    name: "'match ' || backfill_matches.seq || ' that replay ' || backfill_matches.replay_id || ' has found'",
  },
  known_time: { columns: "one, believed_ms, clock_ms, steady_ms", name: "'what is known of the time'" },
  log_epochs: {
    columns: "app_id, from_seq, epoch",
    name: "'the epoch from match ' || log_epochs.from_seq || ' of app ' || log_epochs.app_id || ' on'",
  },
  user_objects: {
    columns: "id, username, seen_at_ms, fingerprint, object",
    name: "'user ' || user_objects.id",
  },
  deletions: {
    columns: "kind, id, author_id, at_ms",
    name: "'the deletion of ' || deletions.kind || ' ' || deletions.id",
  },
  sources: {
    columns: "name, driver, position, saved_at_ms, is_paused",
    name: "'source ' || sources.name",
  },
  source_gaps: {
    columns: "id, source, from_ms, to_ms, reason, noted_at_ms",
    name: "'a gap of source ' || source_gaps.source",
  },
  assigned_names: { columns: "name, id", name: "'the id of ' || assigned_names.name" },
  given_ids: { columns: "one, last_id", name: "'the last id that was given'" },
} as const satisfies Readonly<Record<string, CheckedTable>>

/** A table whose rows have checksums. */
export type CheckedName = keyof typeof checkedTables

/** All of them. */
export const checkedNames = Object.keys(checkedTables) as readonly CheckedName[]

/** Defines `row_checksum` on a connection. Every connection to a store needs it, before statements are prepared. */
export function defineRowChecksum(db: DatabaseSync): void {
  const options = { deterministic: true, directOnly: true, varargs: true, useBigIntArguments: true }
  db.function("row_checksum", options, (...values) => crc32(values.map(asText).join(" ")))
}

/** Numbers are as written, however they are bound; texts have their length before them, so that none runs into the next. */
function asText(value: SQLOutputValue): string {
  if (value === null) return "-"
  if (typeof value === "string") return `"${value.length} ${value}`
  return typeof value === "object" ? `x${Buffer.from(value).toString("hex")}` : String(value)
}

/** SQL: the checksum of a row as it stands. */
export function rowChecksum(table: CheckedName): string {
  return `row_checksum(${columnsOf(table)
    .map((column) => `${table}.${column}`)
    .join(", ")})`
}

/** SQL: what a damaged row is called; NULL for one that is whole. */
export function damageOf(table: CheckedName): string {
  return `iif(${isWhole(table)}, NULL, coalesce(${checkedTables[table].name}, 'a row of ${table}'))`
}

/** SQL: whether a row is what was stored. */
export function isWhole(table: CheckedName): string {
  // IS: what damage made NULL is not whole either.
  return `${table}.checksum IS ${rowChecksum(table)}`
}

/** SQL that inserts a row with its checksum: the parameters are its covered columns, in order. */
export function insertChecked(table: CheckedName, verb = "INSERT"): string {
  const columns = columnsOf(table).join(", ")
  const values = columnsOf(table)
    .map((_, index) => `?${index + 1}`)
    .join(", ")
  return `${verb} INTO ${table} (${columns}, checksum) VALUES (${values}, row_checksum(${values}))`
}

/**
 * SQL that sets columns, and the checksum with them unless the row is damaged: that must go on being seen. Only a
 * change that `ends` the row ends its damage too. `values` are SQL, by column.
 */
export function settingChecked(
  table: CheckedName,
  values: Readonly<Record<string, string>>,
  { ends = false } = {},
): string {
  const after = `row_checksum(${columnsOf(table)
    .map((column) => values[column] ?? column)
    .join(", ")})`
  const assignments = Object.entries(values).map(([column, value]) => `${column} = ${value}`)
  return `${assignments.join(", ")}, checksum = ${ends ? after : `iif(${isWhole(table)}, ${after}, checksum)`}`
}

function columnsOf(table: CheckedName): readonly string[] {
  return checkedTables[table].columns.split(", ")
}

/** A row as it is read: what it is called when it is damaged. */
export interface CheckedRow {
  readonly damage: string | null
}

/** Tables of which reads leave out damaged rows. */
const notedTables = ["apps", "tokens", "rules", "webhooks", "links", "replays", "log_epochs"] as const

type NotedName = (typeof notedTables)[number]

type RowKey = string | Uint8Array

/** Most damaged rows that are noted; of more only these are reported. Ours. */
const notedMax = 1_000

/** The damaged rows that reads have met. */
export class DamagedRows {
  readonly #noted = new Map<string, { readonly table: NotedName; readonly key: bigint | Uint8Array }>()
  readonly #isStillThere: ReadonlyMap<NotedName, Statement<unknown>>

  constructor(db: DatabaseSync) {
    this.#isStillThere = new Map(
      notedTables.map((table) => {
        const [key] = columnsOf(table)
        return [table, prepare(db, `SELECT 1 FROM ${table} WHERE ${key} = ? AND NOT (${isWhole(table)})`)]
      }),
    )
  }

  /** Whether a row is whole; one that is not is noted. */
  isWhole(table: NotedName, key: RowKey, { damage }: CheckedRow): boolean {
    if (damage === null) return true
    if (this.#noted.size < notedMax)
      this.#noted.set(damage, { table, key: typeof key === "string" ? BigInt(key) : key })
    return false
  }

  /** Those of the rows that are whole. */
  whole<Row extends CheckedRow & { readonly id: RowKey }>(table: NotedName, rows: readonly Row[]): readonly Row[] {
    return rows.filter((row) => this.isWhole(table, row.id, row))
  }

  /** The row as `read` reads it. Throws `RecordDamaged` for a damaged one: a caller must not take it for missing. */
  one<Row extends CheckedRow & { readonly id: RowKey }, Result>(
    table: NotedName,
    row: Row | undefined,
    read: (row: Row) => Result,
  ): Result | undefined {
    if (row === undefined) return undefined
    if (this.isWhole(table, row.id, row)) return read(row)
    throw new RecordDamaged(`In the store ${row.damage} is not as it was stored. \`sluice doctor\` says what to do.`)
  }

  /** Names of those that are still there. */
  names(): readonly string[] {
    for (const [name, { table, key }] of this.#noted) {
      if (this.#isStillThere.get(table)?.get(key) === undefined) this.#noted.delete(name)
    }
    return [...this.#noted.keys()]
  }
}
