/** Rules and their changes as rows. */
import type { AppId, RuleId } from "../../model/ids.ts"
import type { RuleChange, StoredRule } from "../../model/rule.ts"
import { recordOf } from "./record.ts"

/** Columns of a rule. */
export const ruleColumns = "id, app_id, value, tag"

/** Columns of a change. */
export const ruleChangeColumns = "seq, app_id, rule_id, value, tag"

/** A rule. */
export interface RuleRow extends Omit<StoredRule, "tag"> {
  readonly tag: string | null
}

/** A change; that of a rule which is removed has no value. */
export interface RuleChangeRow {
  readonly seq: number
  readonly appId: AppId
  readonly ruleId: RuleId
  readonly value: string | null
  readonly tag: string | null
}

/** A row as a rule. */
export function ruleOf({ id, appId, value, tag }: RuleRow): StoredRule {
  return recordOf({ id, appId, value, tag })
}

/** A row as a change. */
export function ruleChangeOf({ seq, appId, ruleId, value, tag }: RuleChangeRow): RuleChange {
  if (value === null) return { seq, kind: "removed", appId, ruleId }
  return { seq, kind: "added", rule: recordOf({ id: ruleId, appId, value, tag }) }
}
