/** The table of an outbox, over one connection. */
import type pg from "pg"
import { itemBytesKept } from "../../mapping/source-item.ts"
import { AdvisedError } from "../positioned-source.ts"
import type { OutboxSettings } from "./outbox-settings.ts"
import type { OutboxRow, OutboxTable } from "./settled-rows.ts"

/** A row as it is read. */
export interface EnvelopeRow extends OutboxRow {
  /** Undefined when the column is NULL. Only the beginning when there are too many bytes. */
  readonly text: string | undefined
  /** Bytes of the whole text. */
  readonly bytes: number
}

/** Most rows that are read together. Ours: with rows of the largest size, some megabytes. */
export const rowsMax = 100

/** Most rows that are deleted together. Ours. */
const deletedMax = 1_000

/** Longest wait for a connection, and for the end of a statement. Ours. */
const connectMsMax = 10_000
const statementMsMax = 30_000

/** Names in SQL, quoted, and bounds. */
interface Names {
  readonly table: string
  readonly id: string
  readonly envelope: string
}

/** The table of an outbox. */
export class ConnectedTable implements OutboxTable<EnvelopeRow>, AsyncDisposable {
  readonly #client: pg.Client
  readonly #settings: OutboxSettings
  readonly #names: Names
  readonly #bytesMax: number
  /** The table and the sequences of its ids, by number. */
  #locked: readonly string[] = []
  /** The names of these sequences in SQL, and whether all of them may be read. */
  #sequences: { readonly names: readonly string[]; readonly areReadable: boolean } = { names: [], areReadable: false }

  private constructor(client: pg.Client, settings: OutboxSettings, bytesMax: number) {
    this.#client = client
    this.#settings = settings
    this.#bytesMax = bytesMax
    this.#names = {
      table: settings.table.map((part) => client.escapeIdentifier(part)).join("."),
      id: client.escapeIdentifier(settings.idColumn),
      envelope: client.escapeIdentifier(settings.envelopeColumn),
    }
  }

  /**
   * Connects. Throws an `AdvisedError` when the table or its columns are missing, or ids could be skipped. `notified` is
   * called for each notification, and `lost` once when the connection is lost.
   */
  static async connect(
    settings: OutboxSettings,
    bytesMax: number,
    { notified, lost }: { readonly notified: () => void; readonly lost: (error: Error) => void },
  ): Promise<ConnectedTable> {
    const { Client } = (await import("pg")).default
    const client = new Client({
      connectionString: urlWithCredentials(settings),
      application_name: "sluice",
      connectionTimeoutMillis: connectMsMax,
      statement_timeout: statementMsMax,
      query_timeout: statementMsMax + connectMsMax,
      keepAlive: true,
    })
    client.on("error", lost)
    client.on("notification", notified)
    const table = new ConnectedTable(client, settings, bytesMax)
    try {
      await client.connect()
      await table.#prepare()
      return table
    } catch (error) {
      await table[Symbol.asyncDispose]()
      throw table.#advised(error)
    }
  }

  async rows(after: bigint): Promise<readonly EnvelopeRow[]> {
    const { table, id, envelope } = this.#names
    const rows = await this.#query<{ id: string; text: string | null; bytes: number | null }>(
      `SELECT id::text AS id, octet_length(text) AS bytes,
         CASE WHEN octet_length(text) <= $2 THEN text ELSE left(text, $3) END AS text
       FROM (SELECT ${id} AS id, ${envelope}::text AS text FROM ${table} WHERE ${id} > $1 ORDER BY ${id} LIMIT $4) AS next
       ORDER BY next.id`,
      [String(after), this.#bytesMax, itemBytesKept, rowsMax],
    )
    return rows.map((row) => ({ id: BigInt(row.id), text: row.text ?? undefined, bytes: row.bytes ?? 0 }))
  }

  async writers(): Promise<ReadonlySet<string>> {
    const rows = await this.#query<{ writer: string }>(
      `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
       WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted AND relation = ANY ($1::oid[])
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND pid IS DISTINCT FROM pg_backend_pid()`,
      [this.#locked],
    )
    return new Set(rows.map(({ writer }) => writer))
  }

  /**
   * Throws an `AdvisedError` when the ids of the table have not come to the position: then rows were numbered anew, and
   * those up to the position may never have been read. Only rows count when the sequence may not be read.
   */
  async refuseBehind(position: bigint): Promise<void> {
    const { table } = this.#names
    const { names, areReadable } = this.#sequences
    const [end] = await this.#query<{ id: string | null }>(`SELECT (${this.#endSql})::text AS id`)
    // A table without rows tells nothing.
    if (typeof end?.id !== "string" || BigInt(end.id) >= position) return
    const user = this.#client.escapeIdentifier(this.#client.user ?? "sluice")
    const unless = `Or, if only rows were removed: GRANT SELECT ON SEQUENCE ${names.join(", ")} TO ${user};`
    throw new AdvisedError(
      `The ids of ${table} have come to ${end.id}, and the source has stored them up to ${position}: they were numbered anew, or it is another table. Nothing is read or deleted.`,
      `Rewind the source, to 0 for all rows that are there: sluice sources rewind NAME --position 0.${areReadable ? "" : ` ${unless}`}`,
    )
  }

  /**
   * Deletes rows behind an id, if there is one, up to another, some at a time. Resolves to whether there may be more. Deletes
   * none while the ids of the table have not come to `last`: an application may number the rows anew at any time.
   */
  async deleteRows(after: bigint | undefined, last: bigint): Promise<boolean> {
    const { table, id } = this.#names
    const { rowCount } = await this.#client
      .query(
        `DELETE FROM ${table} WHERE ${id} IN (
           SELECT ${id} FROM ${table} WHERE ($1::bigint IS NULL OR ${id} > $1) AND ${id} <= $2 ORDER BY ${id} LIMIT $3)
         AND (${this.#endSql}) >= $2`,
        [after === undefined ? null : String(after), String(last), deletedMax],
      )
      .catch((error: unknown) => {
        throw this.#advised(error)
      })
    return rowCount === deletedMax
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end().catch(() => undefined)
  }

  /** Cuts the connection, so that what it works at fails. */
  cut(): void {
    const { connection } = this.#client as pg.Client & { readonly connection: { readonly stream: { destroy(): void } } }
    connection.stream.destroy()
  }

  /** The highest id that the table has or, if that may be read, its sequences have given. NULL when there is none. */
  get #endSql(): string {
    const { names, areReadable } = this.#sequences
    const ends = [
      `SELECT max(${this.#names.id}) AS id FROM ${this.#names.table}`,
      ...(areReadable ? names : []).map(
        (name) => `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM ${name}`,
      ),
    ]
    return `SELECT max(ends.id) FROM (${ends.join(" UNION ALL ")}) AS ends`
  }

  async #prepare(): Promise<void> {
    const { table } = this.#names
    const [server] = await this.#query<{ isStandby: boolean }>(`SELECT pg_is_in_recovery() AS "isStandby"`)
    if (server?.isStandby === true) {
      const advice = "Write the address of the primary server: a standby does not tell which transactions are running."
      throw new AdvisedError("The server of the outbox is a standby.", advice)
    }
    // Tells what is missing by an error of its own.
    await this.#query(`SELECT ${this.#names.id}, ${this.#names.envelope} FROM ${table} LIMIT 0`)
    const sequences = await this.#query<SequenceRow>(sequencesSql, [table, this.#settings.idColumn])
    const [first] = sequences
    if (first === undefined) {
      throw new AdvisedError(
        `The column ${this.#names.id} of ${table} has no sequence.`,
        `Make it one that counts by itself: ALTER TABLE ${table} ALTER ${this.#names.id} ADD GENERATED BY DEFAULT AS IDENTITY.`,
      )
    }
    for (const { step, cache, name } of sequences) {
      if (step === "1" && cache === "1") continue
      // A session would use ids of its own long after others have used higher ones.
      const advice = `ALTER SEQUENCE ${name} INCREMENT 1 CACHE 1. Else ids are used out of order, and rows would be skipped.`
      throw new AdvisedError(`The sequence ${name} hands out several ids at a time.`, advice)
    }
    this.#locked = [first.table, ...sequences.map(({ sequence }) => sequence)]
    this.#sequences = {
      names: sequences.map(({ name }) => name),
      areReadable: sequences.every(({ isReadable }) => isReadable),
    }
    const { channel } = this.#settings
    if (channel !== undefined) await this.#query(`LISTEN ${this.#client.escapeIdentifier(channel)}`)
  }

  async #query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    try {
      return (await this.#client.query<Row>(text, [...values])).rows
    } catch (error) {
      throw this.#advised(error)
    }
  }

  /** An error of PostgreSQL, with what the operator can do where that is known. */
  #advised(error: unknown): unknown {
    const { table, id, envelope } = this.#names
    const { code = "", message = "" } = error as { readonly code?: string; readonly message?: string }
    const user = this.#client.escapeIdentifier(this.#client.user ?? "sluice")
    const rights = this.#settings.deletesRows ? "SELECT, DELETE" : "SELECT"
    const advice: Readonly<Record<string, string>> = {
      "42P01": `Create it: CREATE TABLE ${table} (${id} bigserial PRIMARY KEY, ${envelope} jsonb NOT NULL). Or correct table.`,
      "3F000": "Correct the schema in table.",
      "42703": `Correct idColumn and envelopeColumn: the table must have ${id} and ${envelope}.`,
      "42501": grantAdvice(user, rights, this.#settings.table, table),
      "28P01": "Check username, and the file or the variable of the password.",
      "28000": "Check username, and whether pg_hba.conf lets it connect from here.",
      "3D000": "Correct the name of the database in url.",
    }
    const known = advice[code]
    return known === undefined || error instanceof AdvisedError
      ? error
      : new AdvisedError(`PostgreSQL says: ${message}.`, known, { cause: error })
  }
}

/** The library takes users and passwords from the URL alone, if there is one. */
function urlWithCredentials({ url, username, password }: OutboxSettings): string {
  const all = new URL(url)
  if (username !== undefined) all.username = encodeURIComponent(username)
  const secret = password?.()
  if (secret !== undefined) all.password = encodeURIComponent(secret)
  return all.href
}

function grantAdvice(user: string, rights: string, parts: readonly string[], table: string): string {
  const schema = parts.length === 2 ? `GRANT USAGE ON SCHEMA "${parts[0]}" TO ${user}; ` : ""
  return `${schema}GRANT ${rights} ON ${table} TO ${user};`
}

/** A sequence, and the table of its column. */
interface SequenceRow {
  readonly table: string
  readonly sequence: string
  readonly step: string
  readonly cache: string
  readonly name: string
  readonly isReadable: boolean
}

/** The sequences from which a column takes its values: by its default, as `serial`, or as an identity. */
const sequencesSql = `
  WITH id AS (
    SELECT attrelid, attnum FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2 AND NOT attisdropped)
  SELECT DISTINCT id.attrelid::text AS "table", seqrelid::text AS sequence, seqincrement::text AS step,
    seqcache::text AS cache, seqrelid::regclass::text AS name, has_sequence_privilege(seqrelid, 'SELECT') AS "isReadable"
  FROM id
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  JOIN pg_depend ON
    (classid = 'pg_attrdef'::regclass AND objid = pg_attrdef.oid AND refclassid = 'pg_class'::regclass)
    OR (classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass
      AND refobjid = attrelid AND refobjsubid = attnum AND deptype IN ('a', 'i'))
  JOIN pg_sequence ON seqrelid IN (objid, refobjid)`
