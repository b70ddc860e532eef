/** Sources of posts: their positions, gaps, dead letters, and the ids that were assigned to names. */
import type { PostId } from "../../../model/ids.ts"
import type { AssignedName, SourceAppend, SourceDeadLetter, SourceProgress } from "../../../model/source.ts"
import { sourceDeadLetterBytesMax, sourceDeadLettersMax, sourceGapsMax } from "../../bounds.ts"
import { usersOfNotices, withoutDeletedUsers } from "../../ledger/deletions.ts"
import { takenAt, type NamedPost } from "../../ledger/foreign-names.ts"
import type { SourceReads, SourceWrites } from "../../port/source-store.ts"
import { columnsOf } from "../../rows/record.ts"
import {
  gapColumns,
  sourceColumns,
  sourceDeadLetterColumns,
  sourceDeadLetterOf,
  sourceGapOf,
  sourceOf,
  type SourceGapRow,
  type SourceRow,
} from "../../rows/source.ts"
import { crashPoint } from "../../../runtime/crash-points.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { textArray } from "../connection/text-array.ts"
import { appendWithin } from "./match-logs.ts"
import { deletedAmong } from "./deletions.ts"
import { saveUsers } from "./users.ts"

/** The reads of sources. */
export function createSourceReads(queries: Queries): SourceReads {
  return {
    async sources() {
      const sql = `SELECT ${columnsAs("sources", sourceColumns)} FROM sources ORDER BY name`
      return (await queries.rows<SourceRow>(sql)).map(sourceOf)
    },

    assignedNames: (names) => assignedNames(queries, names),

    async sourceGaps(source) {
      const sql = `SELECT ${columnsAs("source_gaps", gapColumns)} FROM source_gaps WHERE source = $1
        ORDER BY source_gaps.id DESC LIMIT $2`
      return (await queries.rows<SourceGapRow>(sql, source, sourceGapsMax)).map(sourceGapOf)
    },

    async sourceDeadLetters({ source, direction, from, limit }) {
      const [side, order] = direction === "older" ? ["<", "DESC"] : [">", "ASC"]
      const sql = `SELECT ${columnsAs("source_dead_letters", sourceDeadLetterColumns)} FROM source_dead_letters
        WHERE ($1::text IS NULL OR source = $1) AND ($2::text IS NULL OR source_dead_letters.id ${side} $2)
        ORDER BY source_dead_letters.id ${order} LIMIT $3`
      const rows = await queries.rows<SourceDeadLetter>(sql, source ?? null, from ?? null, limit)
      const found = rows.map(sourceDeadLetterOf)
      return direction === "older" ? found : found.toReversed()
    },

    async sourceDeadLetterCounts() {
      const rows = await queries.rows<{ source: string; count: number }>(
        "SELECT source, count(*) AS count FROM source_dead_letters GROUP BY source",
      )
      return new Map(rows.map(({ source, count }) => [source, count]))
    },
  }
}

async function assignedNames(queries: Queries, names: readonly string[]): Promise<readonly AssignedName[]> {
  if (names.length === 0) return []
  const sql = `SELECT ${columnsAs("assigned_names", "name, id")} FROM assigned_names WHERE name = ANY ($1::text[])`
  return queries.rows<AssignedName>(sql, names)
}

/** The writes of sources. */
export function createSourceWrites(database: ClusterDatabase): SourceWrites {
  const steerAndTell = async (name: string, to: { position?: string; isPaused?: boolean }): Promise<void> =>
    database.write(async (transaction) => {
      await steer(transaction, name, to)
      await transaction.announceControl()
    })
  return {
    beginSource: (name) => database.write(async (transaction) => sourceOf(await steer(transaction, name))),
    appendFrom: (progress, batch, atMs) => appendFrom(database, progress, batch, atMs),
    pauseSource: (name, isPaused) => steerAndTell(name, { isPaused }),
    rewindSource: (name, position) => steerAndTell(name, { position }),

    noteSourceGap: ({ id, source, fromMs, toMs, reason, notedAtMs }) =>
      database.write(async (transaction) => {
        await transaction.run(
          `INSERT INTO source_gaps (${gapColumns}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
          id,
          source,
          fromMs ?? null,
          toMs ?? null,
          reason,
          notedAtMs,
        )
        await transaction.run(
          `DELETE FROM source_gaps WHERE id = ANY (ARRAY(
             SELECT id FROM source_gaps WHERE source = $1 ORDER BY id DESC OFFSET $2))`,
          source,
          sourceGapsMax,
        )
      }),

    async deleteSourceDeadLetters(source, ids) {
      const sql = "DELETE FROM source_dead_letters WHERE source = $2 AND id = ANY ($1::text[]) RETURNING id"
      return database.write(async (transaction) =>
        (await transaction.rows<{ id: string }>(sql, ids, source)).map(({ id }) => id),
      )
    },

    trimAssignedNames: (below, limit) =>
      database.run(
        `DELETE FROM assigned_names WHERE name = ANY (ARRAY(
           SELECT name FROM assigned_names WHERE id < $1 ORDER BY id LIMIT $2))`,
        below,
        limit,
      ),
  }
}

/** Makes the source if it is new, and gives it another driver. */
async function steer(
  transaction: WriteTransaction,
  name: string,
  { position, isPaused }: { readonly position?: string; readonly isPaused?: boolean } = {},
): Promise<SourceRow> {
  await transaction.run(
    "INSERT INTO sources (name, driver, is_paused) VALUES ($1, 0, false) ON CONFLICT (name) DO NOTHING",
    name,
  )
  const row = await transaction.row<SourceRow>(
    `UPDATE sources SET driver = driver + 1, position = coalesce($2, position), is_paused = coalesce($3, is_paused)
     WHERE name = $1 RETURNING ${columnsAs("sources", sourceColumns)}`,
    name,
    position ?? null,
    isPaused ?? null,
  )
  if (row === undefined) throw new Error("PostgreSQL returned no row of an UPDATE.")
  return row
}

/** Ends the transaction of an append whose ids belong to others. */
class IdsTaken extends Error {
  readonly at: readonly number[]

  constructor(at: readonly number[]) {
    super("Ids of posts belong to others.")
    this.at = at
  }
}

async function appendFrom(
  database: ClusterDatabase,
  progress: SourceProgress,
  batch: Parameters<SourceWrites["appendFrom"]>[1],
  atMs: number,
): Promise<SourceAppend> {
  try {
    const outcome = await database.write(async (transaction): Promise<SourceAppend> => {
      if (!(await isDriver(transaction, progress))) return { kind: "superseded" }
      const isNew = batch.length === 0 ? [] : await appendWithin(transaction, batch, atMs)
      const posts = batch.map(({ post: { id } }, index) => ({ id, name: progress.names[index] }))
      await saveAssigned(transaction, progress.assigned)
      await requireOwnIds(transaction, posts, isNew)
      const deleted = await deletedAmong(transaction, { posts: [], users: usersOfNotices(progress.users) })
      await saveUsers(transaction, withoutDeletedUsers(progress.users, deleted.users))
      await saveDeadLetters(transaction, progress.deadLetters)
      await savePosition(transaction, progress, atMs)
      return { kind: "appended", isNew }
    })
    crashPoint("after-commit")
    return outcome
  } catch (error) {
    if (error instanceof IdsTaken) return { kind: "taken", at: error.at }
    throw error
  }
}

/** Keeps the source from being steered, and from being driven by another process, until the transaction ends. */
async function isDriver(transaction: WriteTransaction, { source, driver }: SourceProgress): Promise<boolean> {
  const sql = "SELECT 1 FROM sources WHERE name = $1 AND driver = $2 FOR NO KEY UPDATE"
  return (await transaction.run(sql, source, driver)) === 1
}

/** Compares after the insert: what another process has inserted meanwhile is there by then. */
async function requireOwnIds(
  transaction: WriteTransaction,
  posts: readonly NamedPost[],
  isNew: readonly boolean[],
): Promise<void> {
  const named = posts.filter(({ name }) => name !== undefined)
  if (named.length === 0) return
  const present = posts.flatMap(({ id, name }, index) => (name !== undefined && isNew[index] !== true ? [id] : []))
  const stored =
    present.length === 0
      ? []
      : await transaction.rows<{ id: PostId; envelope: string }>(
          "SELECT id, envelope FROM posts WHERE id = ANY ($1::bigint[])",
          present,
        )
  const envelopes = new Map(stored.map(({ id, envelope }) => [id, envelope]))
  const assigned = await assignedNames(
    transaction,
    named.flatMap(({ name }) => name ?? []),
  )
  const at = takenAt(posts, { envelopes, assigned })
  if (at.length > 0) throw new IdsTaken(at)
}

async function saveAssigned(transaction: WriteTransaction, assigned: readonly AssignedName[]): Promise<void> {
  if (assigned.length === 0) return
  await transaction.run(
    `INSERT INTO assigned_names (name, id) SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT DO NOTHING`,
    ...columnsOf(assigned, ["name", "id"]),
  )
}

async function saveDeadLetters(transaction: WriteTransaction, letters: readonly SourceDeadLetter[]): Promise<void> {
  if (letters.length === 0) return
  const texts = (name: "title" | "detail") => textArray(letters.map((letter) => letter[name]))
  await transaction.run(
    `INSERT INTO source_dead_letters (id, source, at_ms, title, detail, bytes, record)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bytea[])
     ON CONFLICT DO NOTHING`,
    ...columnsOf(letters, ["id", "source", "atMs"]),
    texts("title"),
    texts("detail"),
    letters.map(({ record }) => record.length),
    letters.map(({ record }) => Buffer.from(record)),
  )
  await transaction.run(
    `DELETE FROM source_dead_letters WHERE id = ANY (ARRAY(
       SELECT id FROM (
         SELECT id, row_number() OVER newest AS place, sum(bytes) OVER newest AS size FROM source_dead_letters
         WINDOW newest AS (ORDER BY id DESC)) AS sized
       WHERE place > $1 OR size > $2))`,
    sourceDeadLettersMax,
    sourceDeadLetterBytesMax,
  )
}

async function savePosition(
  transaction: WriteTransaction,
  { source, position }: SourceProgress,
  atMs: number,
): Promise<void> {
  if (position === undefined) return
  await transaction.run("UPDATE sources SET position = $2, saved_at_ms = $3 WHERE name = $1", source, position, atMs)
}
