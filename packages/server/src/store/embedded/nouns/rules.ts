/** Rules, and the changes of rulesets that the matcher follows. */
import type { RuleReads, RuleWrites } from "../../port/rule-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { RuleId } from "../../../model/ids.ts"
import type { RuleMatches, RuleSelector, StoredRule } from "../../../model/rule.ts"
import { idEnds } from "../../id-bounds.ts"
import { addRules } from "../../ledger/rule-additions.ts"
import { unbrokenChanges } from "../../ledger/rule-history.ts"
import { withinKeyset } from "../../keyset-range.ts"
import { serverItself } from "../../readers.ts"
import {
  ruleChangeColumns,
  ruleChangeOf,
  ruleColumns,
  ruleOf,
  type RuleChangeRow,
  type RuleRow,
} from "../../rows/rule.ts"
import { StoreDamaged } from "../../store-faults.ts"
import { damageOf, insertChecked, isWhole, settingChecked, type CheckedRow } from "../connection/checked-rows.ts"
import { prepareKeyset, readKeyset } from "../connection/keyset.ts"
import { prepareNoteIds } from "../connection/last-id.ts"
import { inChunks, textBytes } from "../connection/row-chunks.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import { prepareRefuseRevoked } from "./revoked-apps.ts"
import type { ReadContext, SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

const ruleColumnsAs = columnsAs("rules", ruleColumns)

/** The reads of rules. */
export function createRuleReads(db: DatabaseSync, { damaged, turns, faults }: ReadContext): SyncReads<RuleReads> {
  const select = `SELECT ${ruleColumnsAs}, ${damageOf("rules")} AS damage FROM rules`
  type Row = RuleRow & CheckedRow
  // Without damaged rows, so that a page is full unless the list is at its end.
  const pages = prepareKeyset<RuleRow>(
    db,
    `SELECT ${ruleColumnsAs} FROM rules WHERE rules.app_id = ? AND ${isWhole("rules")}`,
    "rules.id",
  )
  const byId = prepare<Row>(db, `${select} WHERE rules.id = ? AND rules.app_id = ?`)
  const byValue = prepare<Row>(db, `${select} WHERE rules.app_id = ? AND rules.value = ?`)
  const count = prepare<{ count: number }>(db, "SELECT count(*) AS count FROM rules WHERE app_id = ?")
  const matchesOf = prepare<RuleMatches>(
    db,
    `SELECT CAST (rule_id AS TEXT) AS ruleId, matched, last_matched_at_ms AS lastMatchedAtMs
     FROM rule_matches WHERE rule_id = ?`,
  )
  const live = prepare<Row>(
    db,
    `${select} JOIN apps ON apps.id = app_id WHERE NOT revoked AND rules.id > ? ORDER BY rules.id LIMIT ?`,
  )
  // The number stays when the newest change is forgotten.
  const lastChange = prepare<{ seq: number }>(db, "SELECT seq FROM sqlite_sequence WHERE name = 'rule_changes'")
  const changes = prepare<RuleChangeRow & CheckedRow>(
    db,
    `SELECT ${columnsAs("rule_changes", ruleChangeColumns)}, ${damageOf("rule_changes")} AS damage
     FROM rule_changes WHERE seq > ? ORDER BY seq LIMIT ?`,
  )

  async function* liveRules(): AsyncGenerator<StoredRule, void, void> {
    const read = (last: Row | undefined, limit: number): Iterable<Row> =>
      live.iterate(last === undefined ? idEnds.below : BigInt(last.id), limit)
    for await (const row of inChunks(
      { turns, reader: serverItself },
      read,
      ({ value, tag }) => textBytes(value) + textBytes(tag),
    )) {
      for (const whole of damaged.whole("rules", [row])) yield ruleOf(whole)
    }
  }

  return {
    rules(appId, range, ids) {
      if (ids === undefined) return readKeyset(pages, range, [BigInt(appId)]).map(ruleOf)
      const found = [...new Set(ids)].flatMap((id) => byId.all(BigInt(id), BigInt(appId)))
      return withinKeyset(damaged.whole("rules", found), range).map(ruleOf)
    },

    rulesByValue(appId, values) {
      return values.flatMap((value) => damaged.whole("rules", byValue.all(BigInt(appId), value)).map(ruleOf))
    },

    ruleMatches: (ids) => ids.flatMap((id) => matchesOf.all(BigInt(id)).map((row) => ({ ...row }))),

    ruleCount: (appId) => count.get(BigInt(appId))?.count ?? 0,

    allRules() {
      // The change first: a rule that is added during the read then comes again as a change, and is not missed.
      const seq = lastChange.get()?.seq ?? 0
      return { rules: faults === undefined ? liveRules() : faults.namingRows(liveRules()), seq }
    },

    ruleChanges(after, limit) {
      // The number first: a change that comes between the two reads is then among the changes, and does not seem forgotten.
      const lastSeq = lastChange.get()?.seq ?? 0
      const read = changes.all(after, limit).map(({ damage, ...row }) => {
        // It is not known which rule it was about. A start reads all rules anew.
        if (damage !== null)
          throw new StoreDamaged(`In the store ${damage} is not as it was stored. Start Sluice again.`)
        return ruleChangeOf(row)
      })
      return unbrokenChanges(read, { after, lastSeq })
    },
  }
}

/** The writes of rules. */
export function createRuleWrites(db: DatabaseSync, { announceControl }: WriteContext): SyncWrites<RuleWrites> {
  const select = `SELECT ${ruleColumnsAs} FROM rules`
  const all = prepare<RuleRow>(db, `${select} WHERE app_id = ?`)
  const byId = prepare<RuleRow>(db, `${select} WHERE app_id = ? AND rules.id = ?`)
  const byValue = prepare<RuleRow>(db, `${select} WHERE app_id = ? AND value = ?`)
  const count = prepare<{ count: number }>(db, "SELECT count(*) AS count FROM rules WHERE app_id = ?")
  const insert = prepare(db, insertChecked("rules"))
  const remove = prepare(db, "DELETE FROM rules WHERE id = ?")
  const insertChange = prepare(db, insertChecked("rule_changes"))
  const setTag = prepare(db, `UPDATE rules SET ${settingChecked("rules", { tag: "?1" })} WHERE id = ?2`)
  const countMatches = prepare(
    db,
    `INSERT INTO rule_matches (rule_id, matched, last_matched_at_ms)
     SELECT id, ?2, ?3 FROM rules WHERE id = ?1
     ON CONFLICT (rule_id) DO UPDATE SET
       matched = matched + excluded.matched, last_matched_at_ms = max(last_matched_at_ms, excluded.last_matched_at_ms)`,
  )
  const changedAfter = prepare(db, "SELECT 1 FROM rule_changes WHERE seq > ? AND app_id = ? LIMIT 1")
  const forgetChanges = prepare(db, "DELETE FROM rule_changes WHERE seq <= ?")
  const refuseRevoked = prepareRefuseRevoked(db)
  const noteIds = prepareNoteIds(db)

  function selected(app: bigint, selector: RuleSelector): readonly RuleRow[] {
    switch (selector.kind) {
      case "all":
        return all.all(app)
      case "ids":
        return [...new Set(selector.ids)].flatMap((id) => byId.all(app, BigInt(id)))
      case "values":
        return [...new Set(selector.values)].flatMap((value) => byValue.all(app, value))
    }
  }

  return {
    addRules(appId, rules, { rulesMax, unchangedSince }) {
      const app = BigInt(appId)
      refuseRevoked(app)
      // Only this process changes rules, so the forgotten change was its own.
      if (unchangedSince !== undefined && changedAfter.get(unchangedSince, app) !== undefined) {
        return rules.map(() => ({ kind: "ruleset-changed" }))
      }
      const room = rulesMax - (count.get(app)?.count ?? 0)
      const existing = rules.flatMap(({ value }) => byValue.all(app, value))
      const { outcomes, added } = addRules(rules, existing, room)
      for (const { id, value, tag = null } of added) {
        insert.run(BigInt(id), app, value, tag)
        noteIds(id)
        insertChange.run(app, BigInt(id), value, tag)
      }
      announceControl()
      return outcomes
    },

    deleteRules(appId, selector) {
      const app = BigInt(appId)
      const deleted = selected(app, selector)
      for (const { id } of deleted) {
        remove.run(BigInt(id))
        insertChange.run(app, BigInt(id), null, null)
      }
      announceControl()
      return deleted.map(ruleOf)
    },

    setRuleTag(appId, id, tag) {
      const app = BigInt(appId)
      refuseRevoked(app)
      const [rule] = byId.all(app, BigInt(id))
      if (rule === undefined) return false
      setTag.run(tag ?? null, BigInt(id))
      insertChange.run(app, BigInt(id), rule.value, tag ?? null)
      return announceControl()
    },

    countRuleMatches(counts) {
      for (const { ruleId, matched, lastMatchedAtMs } of counts) {
        countMatches.run(BigInt(ruleId), matched, lastMatchedAtMs)
      }
    },

    forgetRuleChanges(seq) {
      forgetChanges.run(seq)
    },
  }
}

/** Prepares the removal of an app's rules from what is matched. The rules themselves stay. */
export function prepareRemoveRules(db: DatabaseSync): (app: bigint) => void {
  const ids = prepare<{ id: RuleId }>(db, "SELECT CAST (id AS TEXT) AS id FROM rules WHERE app_id = ?")
  const insertChange = prepare(db, insertChecked("rule_changes"))
  return (app) => {
    for (const { id } of ids.all(app)) insertChange.run(app, BigInt(id), null, null)
  }
}
