/** The attempt history: of each link a ring of the newest attempts. */
import type { AttemptReads, AttemptWrites } from "../../port/attempt-store.ts"
import type { Attempt } from "../../../model/attempt.ts"
import type { LinkId } from "../../../model/ids.ts"
import { attemptColumns, attemptOf, jsonOrNull, type AttemptRow } from "../../rows/attempt.ts"
import { maySendOld } from "../../ledger/deletions.ts"
import { deletedRules } from "../../rows/match-entry.ts"
import { columnsOf } from "../../rows/record.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { lockLinks } from "../connection/locks.ts"
import { epochOf } from "../../rows/log-epoch.ts"
import { textArray } from "../connection/text-array.ts"

const selectOfLink = `SELECT number AS "id", ${columnsAs(
  "attempts",
  attemptColumns,
)}, ${epochOf("(SELECT app_id FROM links WHERE links.id = link_id)", "seq")} FROM attempts WHERE link_id = $1`

/** The reads of attempts. */
export function createAttemptReads(queries: Queries): AttemptReads {
  return {
    async attempts(linkId, limit) {
      const rows = await queries.rows<AttemptRow>(`${selectOfLink} ORDER BY number DESC LIMIT $2`, linkId, limit)
      return rows.map(attemptOf)
    },
    async attempt(linkId, id) {
      const row = await queries.row<AttemptRow>(`${selectOfLink} AND number = $2`, linkId, id)
      return row && attemptOf(row)
    },
  }
}

/** The writes of attempts. */
export function createAttemptWrites(database: ClusterDatabase): AttemptWrites {
  return {
    async recordAttempts(attempts, { keptPerLink }) {
      if (keptPerLink < 1 || attempts.length === 0) return
      const byLink = Map.groupBy(attempts, ({ linkId }) => linkId)
      await database.write(async (transaction) => {
        const deleted = await deletedAmong(transaction, attempts)
        await lockLinks(transaction, [...byLink.keys()])
        const counted = await count(transaction, byLink)
        const keptOf = (attempt: Attempt): Attempt => (deleted.has(attempt) ? withoutResponse(attempt) : attempt)
        const kept = counted.flatMap(({ linkId, attempts: last }) =>
          numbered(byLink.get(linkId)?.slice(-keptPerLink).map(keptOf) ?? [], { last, keptPerLink }),
        )
        if (kept.length > 0) await insert(transaction, kept, keptPerLink)
      })
    },
  }
}

/**
 * The attempts with responses that may hold what is deleted. Deletions wait until the transaction has ended:
 * they find the responses that it stores.
 */
async function deletedAmong(
  transaction: WriteTransaction,
  attempts: readonly Attempt[],
): Promise<ReadonlySet<Attempt>> {
  const responded = attempts.filter(({ response }) => response !== undefined)
  if (responded.length === 0) return new Set()
  await transaction.rows("SELECT share_deletions()")
  const rows = await transaction.rows<{ place: number; isDeleted: boolean; rewrittenAtMs: number | null }>(
    `SELECT place, matches.rules = $3 AS "isDeleted", rewritten_posts.at_ms AS "rewrittenAtMs"
     FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS given (link_id, seq, place)
       JOIN links ON links.id = link_id JOIN matches ON matches.app_id = links.app_id AND matches.seq = given.seq
       LEFT JOIN rewritten_posts ON rewritten_posts.post_id = matches.post_id
     WHERE matches.rules = $3 OR rewritten_posts.at_ms IS NOT NULL`,
    ...columnsOf(responded, ["linkId", "seq"]),
    deletedRules,
  )
  return new Set(
    rows.flatMap(({ place, isDeleted, rewrittenAtMs }) => {
      const attempt = responded[place - 1]
      return attempt !== undefined && (isDeleted || maySendOld(attempt, rewrittenAtMs ?? undefined)) ? [attempt] : []
    }),
  )
}

function withoutResponse({ response: _response, ...attempt }: Attempt): Attempt {
  return attempt
}

/** Adds to the counts of links. Returns them as they are then, without those of links that are deleted. */
function count(
  transaction: WriteTransaction,
  byLink: ReadonlyMap<LinkId, readonly Attempt[]>,
): Promise<readonly { linkId: LinkId; attempts: number }[]> {
  return transaction.rows(
    `UPDATE links SET attempts = attempts + added.count
     FROM unnest($1::bigint[], $2::bigint[]) AS added (link_id, count) WHERE links.id = added.link_id
     RETURNING links.id AS "linkId", attempts`,
    [...byLink.keys()],
    Array.from(byLink.values(), ({ length }) => length),
  )
}

interface NumberedAttempt extends Attempt {
  readonly number: number
  readonly slot: number
}

/** The newest attempts of a link, of which the last has the number `last`. */
function numbered(
  newest: readonly Attempt[],
  { last, keptPerLink }: { readonly last: number; readonly keptPerLink: number },
): readonly NumberedAttempt[] {
  return newest.map((attempt, index) => {
    const number = last - newest.length + 1 + index
    return { ...attempt, number, slot: number % keptPerLink }
  })
}

async function insert(
  transaction: WriteTransaction,
  kept: readonly NumberedAttempt[],
  keptPerLink: number,
): Promise<void> {
  // The ring may have been larger. The deleted slots are none of those that are filled.
  await transaction.run(
    `WITH shrunk AS (DELETE FROM attempts WHERE link_id = ANY ($1::bigint[]) AND slot >= $13)
     INSERT INTO attempts (link_id, slot, number, seq, at_ms, duration_ms, outcome, status, bytes, error, signatures,
       response)
     SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[],
       $6::double precision[], $7::text[], $8::integer[], $9::bigint[], $10::text[], $11::text[], $12::text[])
     ON CONFLICT (link_id, slot) DO UPDATE SET number = excluded.number, seq = excluded.seq, at_ms = excluded.at_ms,
       duration_ms = excluded.duration_ms, outcome = excluded.outcome, status = excluded.status,
       bytes = excluded.bytes, error = excluded.error, signatures = excluded.signatures, response = excluded.response`,
    ...columnsOf(kept, ["linkId", "slot", "number", "seq", "atMs", "durationMs"]),
    ...columnsOf(kept, ["outcome", "status", "bytes", "error"]),
    textArray(kept.map(({ signatures }) => jsonOrNull(signatures))),
    textArray(kept.map(({ response }) => jsonOrNull(response))),
    keptPerLink,
  )
}
