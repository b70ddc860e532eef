import type { AppId, RuleId } from "./ids.ts"

/** A rule as its app wrote it. */
export interface StoredRule {
  readonly id: RuleId
  readonly appId: AppId
  readonly value: string
  readonly tag?: string
}

/** The statistics of a rule. A crash may lose the counts of the last seconds; the match log loses nothing. */
export interface RuleMatches {
  readonly ruleId: RuleId
  /** Posts since the rule was added: those whose match names it. */
  readonly matched: number
  readonly lastMatchedAtMs: number
}

/** The result of adding a rule. */
export type AddedRule =
  | { readonly kind: "created" }
  | { readonly kind: "duplicate"; readonly id: RuleId }
  | { readonly kind: "over-cap" }
  /** Others have changed the app's rules: what was read of them before is not so any more. */
  | { readonly kind: "ruleset-changed" }

/** Selects the rules of an app to delete. */
export type RuleSelector =
  | { readonly kind: "ids"; readonly ids: readonly RuleId[] }
  | { readonly kind: "values"; readonly values: readonly string[] }
  | { readonly kind: "all" }

/**
 * One step in the history of all rulesets: what the matcher follows. A rule that is there already is added again, in its
 * place, when its tag changes.
 */
export type RuleChange =
  | { readonly seq: number; readonly kind: "added"; readonly rule: StoredRule }
  | { readonly seq: number; readonly kind: "removed"; readonly appId: AppId; readonly ruleId: RuleId }
