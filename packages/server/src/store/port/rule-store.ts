/** Rules, their numbers of matches, and the history of rule changes: a part of the store (`store.ts`). */
import type { AppId, RuleId } from "../../model/ids.ts"
import type { AddedRule, RuleChange, RuleMatches, RuleSelector, StoredRule } from "../../model/rule.ts"
import type { KeysetRange } from "../keyset-range.ts"

/** Reads: rules, their numbers of matches, and the history of rule changes. */
export interface RuleReads {
  /** Newest first; only those of `ids` when given. */
  rules(appId: AppId, range: KeysetRange<RuleId>, ids?: readonly RuleId[]): Promise<readonly StoredRule[]>
  /** The app's rules with one of these values, in any order. Costs a look-up for each value. */
  rulesByValue(appId: AppId, values: readonly string[]): Promise<readonly StoredRule[]>
  ruleCount(appId: AppId): Promise<number>
  /** How often these rules have matched, in any order; without those that never have. Costs a look-up for each. `reader` as in `ReadFor`. */
  ruleMatches(ids: readonly RuleId[], reader?: string): Promise<readonly RuleMatches[]>
  /**
   * Every rule of every app that is not revoked, oldest first, and a position in the history of rule changes. The rules
   * include all changes up to that position, and may include later ones.
   */
  allRules(): Promise<{ readonly rules: AsyncIterable<StoredRule>; readonly seq: number }>
  /**
   * Rule changes after `after`, oldest first. Empty when there are none yet; `undefined` when some of them are forgotten:
   * the reader has to begin anew with all rules.
   */
  ruleChanges(after: number, limit: number): Promise<readonly RuleChange[] | undefined>
}

/** Writes: rules, their numbers of matches, and the history of rule changes. */
export interface RuleWrites {
  /**
   * Adds rules one by one, except those whose value the app has already and those beyond `rulesMax`. Returns an outcome
   * for each, in order. With `unchangedSince`, a position in the history of rule changes, none is added when the app's
   * rules have changed after it, or when that is not known any more: each outcome is `ruleset-changed`. Throws `AppRevoked`.
   */
  addRules(
    appId: AppId,
    rules: readonly StoredRule[],
    options: { rulesMax: number; unchangedSince?: number | undefined },
  ): Promise<readonly AddedRule[]>
  /**
   * Deletes rules of an app, and returns them. A store that several processes share deletes many in several transactions,
   * between which others may change rules; when it rejects, some of them may be deleted.
   */
  deleteRules(appId: AppId, selector: RuleSelector): Promise<readonly StoredRule[]>
  /** Gives a rule another tag, or none; its id and its matches stay. False when the app has no such rule. Throws `AppRevoked`. */
  setRuleTag(appId: AppId, id: RuleId, tag: string | undefined): Promise<boolean>
  /** Adds to the numbers of rules what they have matched since the last time. Deleted rules are ignored. */
  countRuleMatches(counts: readonly RuleMatches[]): Promise<void>
  /**
   * The rule changes up to `seq` may be deleted: one reader has read them. For another one that has not, they are forgotten
   * then: it gets `undefined` of `ruleChanges`.
   */
  forgetRuleChanges(seq: number): Promise<void>
}

/** Rules, their numbers of matches, and the history of rule changes. */
export interface RuleStore extends RuleReads, RuleWrites {}
