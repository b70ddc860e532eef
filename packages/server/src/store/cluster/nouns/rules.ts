/**
 * Rules, and the changes of rulesets that the matchers of all processes follow.
 *
 * Every write of rules locks the row of `rule_history` first, and numbers its changes under that lock. So the changes
 * become visible in the order of their numbers, without a number missing, and a matcher that reads on after the last one it
 * knows misses none.
 */
import type { RuleReads, RuleWrites } from "../../port/rule-store.ts"
import type { AppId, RuleId } from "../../../model/ids.ts"
import type { RuleSelector, StoredRule } from "../../../model/rule.ts"
import { addRules } from "../../ledger/rule-additions.ts"
import { unbrokenChanges } from "../../ledger/rule-history.ts"
import {
  ruleChangeColumns,
  ruleChangeOf,
  ruleColumns,
  ruleOf,
  type RuleChangeRow,
  type RuleRow,
} from "../../rows/rule.ts"
import { columnsOf } from "../../rows/record.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { idEnds, readKeyset } from "../connection/keyset.ts"
import { noteIds } from "../connection/last-id.ts"
import { refuseRevoked } from "./revoked-apps.ts"

/** A row for each change, or a single one without `seq` when there is none. */
type HistoryRow = { readonly lastSeq: number } & (RuleChangeRow | { readonly seq: null })

/** A change that has no number yet. A removal has no rule. */
interface NewChange {
  readonly id: RuleId
  readonly rule?: Pick<StoredRule, "value" | "tag">
}

/** Rules read at once of all there are, and most bytes of their texts. Ours: a few milliseconds of the event loop. */
const chunk = { rows: 2_000, bytes: 4_194_304 }

/** Rules changed by one statement, at most. Ours: well within the time that a statement may take. */
const changedAtOnceMax = 10_000

/** How long changes are kept, as PostgreSQL reads an interval. Ours. */
const changesKeptFor = "1 hour"

const selectRules = `SELECT ${columnsAs("rules", ruleColumns)} FROM rules`

/** SQL: the hash of a value, by which it is found. */
const hashOf = (value: string): string => `sha256(convert_to(${value}, 'UTF8'))`

/** The reads of rules. */
export function createRuleReads(queries: Queries): RuleReads {
  return {
    async rules(appId, range, ids) {
      const [among, values] = ids === undefined ? ["", []] : ["AND rules.id = ANY ($2::bigint[])", [ids]]
      const list = { select: `${selectRules} WHERE rules.app_id = $1 ${among}`, id: "rules.id" }
      return (await readKeyset<RuleRow>(queries, list, [appId, ...values], range)).map(ruleOf)
    },

    rulesByValue: (appId, values) => rulesOfValues(queries, appId, values),

    ruleCount: (appId) => ruleCount(queries, appId),

    ruleMatches: (ids) =>
      queries.rows(
        `SELECT ${columnsAs("rule_matches", "rule_id, matched, last_matched_at_ms")}
         FROM rule_matches WHERE rule_id = ANY ($1::bigint[]) ORDER BY rule_id`,
        ids,
      ),

    async allRules() {
      // The change first: a rule that is added during the read then comes again as a change, and is not missed.
      const seq = (await queries.row<{ seq: number }>("SELECT last_seq AS seq FROM rule_history"))?.seq ?? 0
      return { rules: liveRules(queries), seq }
    },

    async ruleChanges(after, limit) {
      const rows = await queries.rows<HistoryRow>(
        `SELECT last_seq AS "lastSeq", change.*
         FROM (SELECT last_seq FROM rule_history LIMIT 1) AS history LEFT JOIN LATERAL (
           SELECT ${columnsAs("rule_changes", ruleChangeColumns)}
           FROM rule_changes WHERE rule_changes.seq > $1 ORDER BY rule_changes.seq LIMIT $2) AS change ON true
         ORDER BY change.seq`,
        after,
        limit,
      )
      const changes = rows.flatMap((row) => (row.seq === null ? [] : [ruleChangeOf(row)]))
      return unbrokenChanges(changes, { after, lastSeq: rows[0]?.lastSeq ?? 0 })
    },
  }
}

/** Rules of apps that are not revoked, oldest first, read in chunks. */
async function* liveRules(queries: Queries): AsyncGenerator<StoredRule, void, void> {
  // NOT IN, and no join: the rules are read along their index, whether or not the planner knows the apps. The first row
  // has no bytes before it, so there is always one.
  const sql = `SELECT "id", "appId", "value", "tag" FROM (
      SELECT ${columnsAs("rules", ruleColumns)}, sum(octet_length(value) + coalesce(octet_length(tag), 0))
        OVER (ORDER BY rules.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM rules WHERE rules.id > $1 AND rules.app_id NOT IN (SELECT apps.id FROM apps WHERE revoked)
      ORDER BY rules.id LIMIT $2) AS next
    WHERE coalesce(before, 0) < $3 ORDER BY next."id"`
  let last = idEnds.below
  for (;;) {
    const rows = await queries.rows<RuleRow>(sql, last, chunk.rows, chunk.bytes)
    for (const row of rows) yield ruleOf(row)
    const end = rows.at(-1)
    if (end === undefined) return
    last = end.id
  }
}

/** In the order of the values. */
async function rulesOfValues(
  queries: Queries,
  appId: AppId,
  values: readonly string[],
): Promise<readonly StoredRule[]> {
  const rows = await queries.rows<RuleRow>(
    `${selectRules} JOIN unnest($2::text[]) WITH ORDINALITY AS wanted (value, place)
       ON rules.value_hash = ${hashOf("wanted.value")} AND rules.value = wanted.value
     WHERE rules.app_id = $1 ORDER BY place`,
    appId,
    // PostgreSQL takes no text with NUL, so no rule has one.
    values.filter((value) => !value.includes("\0")),
  )
  return rows.map(ruleOf)
}

async function ruleCount(queries: Queries, appId: AppId): Promise<number> {
  const sql = "SELECT count(*) AS count FROM rules WHERE app_id = $1"
  return (await queries.row<{ count: number }>(sql, appId))?.count ?? 0
}

/** The writes of rules. */
export function createRuleWrites(database: ClusterDatabase): RuleWrites {
  return {
    addRules: (appId, rules, { rulesMax, unchangedSince }) =>
      database.write(async (transaction) => {
        await lockRuleHistory(transaction)
        await refuseRevoked(transaction, appId)
        if (unchangedSince !== undefined && (await hasChanged(transaction, appId, unchangedSince))) {
          return rules.map(() => ({ kind: "ruleset-changed" }))
        }
        const values = [...new Set(rules.map(({ value }) => value))]
        const existing = await rulesOfValues(transaction, appId, values)
        const room = rulesMax - (await ruleCount(transaction, appId))
        const { outcomes, added } = addRules(rules, existing, room)
        if (added.length === 0) return outcomes
        await insertRules(transaction, appId, added)
        await addChanges(
          transaction,
          appId,
          added.map((rule) => ({ id: rule.id, rule })),
        )
        await noteIds(transaction, ...added.map(({ id }) => id))
        await transaction.announceControl()
        return outcomes
      }),

    async deleteRules(appId, selector) {
      const deleted: StoredRule[] = []
      for (;;) {
        const part = await deletePart(database, appId, selector, deleted.at(-1)?.id)
        deleted.push(...part)
        if (selector.kind === "values" || part.length < changedAtOnceMax) return deleted
      }
    },

    setRuleTag: (appId, id, tag) =>
      database.write(async (transaction) => {
        await lockRuleHistory(transaction)
        await refuseRevoked(transaction, appId)
        const row = await transaction.row<Pick<RuleRow, "value">>(
          "UPDATE rules SET tag = $1 WHERE id = $2 AND app_id = $3 RETURNING value",
          storableTag(tag),
          id,
          appId,
        )
        if (row === undefined) return false
        const rule = { value: row.value, ...(tag !== undefined && { tag }) }
        await addChanges(transaction, appId, [{ id, rule }])
        return transaction.announceControl()
      }),

    async countRuleMatches(counts) {
      if (counts.length === 0) return
      await database.write((transaction) =>
        transaction.run(
          // The rules are locked, in the order of their ids, so that none is deleted before its number is stored.
          `INSERT INTO rule_matches (rule_id, matched, last_matched_at_ms)
           SELECT rules.id, counted.matched, at_ms FROM (
             SELECT id, sum(matched)::bigint AS matched, max(at_ms) AS at_ms
             FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS given (id, matched, at_ms) GROUP BY id) AS counted
             JOIN rules ON rules.id = counted.id
           ORDER BY rules.id FOR KEY SHARE OF rules
           ON CONFLICT (rule_id) DO UPDATE SET
             matched = rule_matches.matched + excluded.matched,
             last_matched_at_ms = greatest(rule_matches.last_matched_at_ms, excluded.last_matched_at_ms)`,
          ...columnsOf(counts, ["ruleId", "matched", "lastMatchedAtMs"]),
        ),
      )
    },

    /**
     * Only those of an hour ago: each reader says what it has read itself, and knows nothing of the others. For one
     * that has not read for longer, they are forgotten.
     */
    async forgetRuleChanges(seq) {
      const sql = `DELETE FROM rule_changes WHERE seq IN (
        SELECT seq FROM rule_changes WHERE seq <= $1 AND changed_at < now() - $2::text::interval ORDER BY seq LIMIT $3)`
      while ((await database.run(sql, seq, changesKeptFor, changedAtOnceMax)) === changedAtOnceMax);
    },
  }
}

/**
 * Locks the history of rules until the end of the transaction: to be called by each write that changes rules, before it
 * locks or reads anything else.
 */
export async function lockRuleHistory(transaction: WriteTransaction): Promise<void> {
  await transaction.run("SELECT last_seq FROM rule_history FOR UPDATE")
}

/** Removes an app's rules from what is matched. The rules themselves stay. The history is locked. */
export async function removeRulesOf(transaction: WriteTransaction, appId: AppId): Promise<void> {
  await transaction.run(
    `WITH removed AS (SELECT id, row_number() OVER (ORDER BY id) AS place FROM rules WHERE app_id = $1),
       history AS (
         UPDATE rule_history SET last_seq = last_seq + (SELECT count(*) FROM removed)
         RETURNING last_seq - (SELECT count(*) FROM removed) AS before)
     INSERT INTO rule_changes (seq, app_id, rule_id) SELECT before + place, $1, id FROM history, removed`,
    appId,
  )
}

/**
 * Deletes the next part of the selected rules in a transaction of its own, so that the history is locked only briefly.
 */
async function deletePart(
  database: ClusterDatabase,
  appId: AppId,
  selector: RuleSelector,
  after: RuleId | undefined,
): Promise<readonly StoredRule[]> {
  return database.write(async (transaction) => {
    await lockRuleHistory(transaction)
    const rules = await nextRules(transaction, appId, selector, after)
    if (rules.length === 0) return rules
    const ids = rules.map(({ id }) => id)
    await transaction.run("DELETE FROM rules WHERE id = ANY ($1::bigint[])", ids)
    await addChanges(
      transaction,
      appId,
      ids.map((id) => ({ id })),
    )
    await transaction.announceControl()
    return rules
  })
}

/** Whether the app's rules have changed after `seq`, or that is forgotten. The history is locked. */
async function hasChanged(transaction: WriteTransaction, appId: AppId, seq: number): Promise<boolean> {
  const after = await transaction.row<{ known: number; own: number; lastSeq: number }>(
    `SELECT count(*) AS known, count(*) FILTER (WHERE app_id = $1) AS own,
       (SELECT last_seq FROM rule_history) AS "lastSeq"
     FROM rule_changes WHERE seq > $2`,
    appId,
    seq,
  )
  return after === undefined || after.own > 0 || after.known !== after.lastSeq - seq
}

async function insertRules(transaction: WriteTransaction, appId: AppId, rules: readonly StoredRule[]): Promise<void> {
  await transaction.run(
    `INSERT INTO rules (id, app_id, value, value_hash, tag)
     SELECT id, $1, value, ${hashOf("value")}, tag
     FROM unnest($2::bigint[], $3::text[], $4::text[]) AS added (id, value, tag)`,
    appId,
    rules.map(({ id }) => id),
    rules.map(({ value }) => value),
    rules.map(({ tag }) => storableTag(tag)),
  )
}

/** Adds changes to the history, in their order. */
async function addChanges(transaction: WriteTransaction, appId: AppId, changes: readonly NewChange[]): Promise<void> {
  await transaction.run(
    `WITH history AS (
       UPDATE rule_history SET last_seq = last_seq + cardinality($2::bigint[])
       RETURNING last_seq - cardinality($2::bigint[]) AS before)
     INSERT INTO rule_changes (seq, app_id, rule_id, value, tag)
     SELECT before + place, $1, rule_id, value, tag
     FROM history, unnest($2::bigint[], $3::text[], $4::text[]) WITH ORDINALITY AS change (rule_id, value, tag, place)`,
    appId,
    changes.map(({ id }) => id),
    changes.map(({ rule }) => rule?.value ?? null),
    changes.map(({ rule }) => storableTag(rule?.tag)),
  )
}

/**
 * An app's selected rules after `after`, oldest first, at most as many as are changed at once; rules selected by value
 * all at once.
 */
async function nextRules(
  transaction: WriteTransaction,
  appId: AppId,
  selector: RuleSelector,
  after: RuleId | undefined,
): Promise<readonly StoredRule[]> {
  if (selector.kind === "values") return rulesOfValues(transaction, appId, [...new Set(selector.values)])
  const ids = selector.kind === "ids" ? [selector.ids] : []
  const rows = await transaction.rows<RuleRow>(
    `${selectRules} WHERE rules.app_id = $1 AND rules.id > $2
     ${ids.length === 0 ? "" : "AND rules.id = ANY ($4::bigint[])"} ORDER BY rules.id LIMIT $3`,
    appId,
    after ?? idEnds.below,
    changedAtOnceMax,
    ...ids,
  )
  return rows.map(ruleOf)
}

/** A tag as PostgreSQL takes it: its texts have no NUL. */
function storableTag(tag: string | undefined): string | null {
  return tag?.replaceAll("\0", "\uFFFD") ?? null
}
