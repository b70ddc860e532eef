/** The ruleset of each app: changing, listing and counting its rules. */
import type { AppId, RuleId } from "../../model/ids.ts"
import type { StoredRule } from "../../model/rule.ts"
import type { KeysetRange } from "../../store/store.ts"
import { createRulesetChanges, type RulesetChanges, type RulesetChangesDeps } from "./ruleset-changes.ts"

/** The rulesets of all apps. */
export interface Rulesets extends Pick<RulesetChanges, "change"> {
  /** Steps of the matcher that the app's rules cost together, and may cost. */
  cost(appId: AppId): Promise<{ readonly cost: number; readonly costMax: number }>
  /** Newest first; only those of `ids` when given. */
  list(appId: AppId, range: KeysetRange<RuleId>, ids?: readonly RuleId[]): Promise<readonly StoredRule[]>
  /** How many rules the app has, and may have. */
  count(appId: AppId): Promise<{ readonly count: number; readonly countMax: number }>
}

/** The rulesets kept in a store. */
export function createRulesets(deps: RulesetChangesDeps): Rulesets {
  const { store, rulesPerAppMax, ruleStepsPerAppMax } = deps
  const changes = createRulesetChanges(deps)
  return {
    change: (appId, body, options) => changes.change(appId, body, options),
    cost: async (appId) => ({ cost: await changes.costOf(appId), costMax: ruleStepsPerAppMax }),
    list: (appId, range, ids) => store.rules(appId, range, ids),
    count: async (appId) => ({ count: await store.ruleCount(appId), countMax: rulesPerAppMax }),
  }
}
