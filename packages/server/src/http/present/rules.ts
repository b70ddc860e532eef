/** Rules, changes of a ruleset, and rule tests as API bodies show them. */
import {
  snowflakeAtMs,
  type Rule,
  type RuleCostBody,
  type RuleCountsBody,
  type RulesChangedBody,
  type RuleDetail,
  type RuleTestedBody,
} from "@sluice/api"
import type { Static } from "typebox"
import type { ChangedRuleset } from "../../control/rules/ruleset-changes.ts"
import type { RuleTest } from "../../control/rule-tests/test-rule.ts"
import type { Intake } from "../../ingest/intake.ts"
import type { NeverMatchingClause } from "../../conversion/never-matching-clauses.ts"
import { instant } from "../../model/date-time.ts"
import type { AppId } from "../../model/ids.ts"
import type { RuleMatches, StoredRule } from "../../model/rule.ts"
import type { Problem } from "../../model/problem.ts"
import type { KeysetPage } from "../../paging/keyset-page.ts"
import { presentErrors } from "../problems.ts"

/** A rule. */
function presentRule({ id, value, tag }: StoredRule): Rule {
  return tag === undefined ? { id, value } : { id, value, tag }
}

/** A page of rules. Without `data` when the app has no rules at all. */
export function presentRules(
  { items, meta }: KeysetPage<StoredRule>,
  rest: { readonly hasRules: boolean; readonly problems: readonly Problem[]; readonly sentAtMs: number },
) {
  return {
    ...(rest.hasRules && { data: items.map(presentRule) }),
    meta: { sent: instant(rest.sentAtMs), ...meta },
    ...presentErrors(rest.problems),
  }
}

/** A rule, how often it has matched, and its clauses that never do. */
export function presentRuleState(
  rule: StoredRule,
  { matches, never }: { readonly matches: RuleMatches | undefined; readonly never: readonly NeverMatchingClause[] },
): RuleDetail {
  return {
    ...presentNever(never),
    ...presentRule(rule),
    created_at: instant(snowflakeAtMs(rule.id) ?? 0),
    matched: matches?.matched ?? 0,
    ...(matches !== undefined && { last_matched_at: instant(matches.lastMatchedAtMs) }),
  }
}

/** The result of a change of a ruleset. `data` is there when rules were added, `errors` when some were refused or missing. */
export function presentChange(change: ChangedRuleset, sentAtMs: number): Static<typeof RulesChangedBody> {
  const sent = instant(sentAtMs)
  if (change.kind === "deleted") {
    const { deleted, missing } = change
    const summary = { deleted, not_deleted: missing.length }
    return { meta: { sent, summary }, ...presentErrors(missing) }
  }
  const data = change.rules.flatMap((one) => (one.kind === "created" ? [presentRule(one.rule)] : []))
  const problems = change.rules.flatMap((one) => (one.kind === "rejected" ? [one.problem] : []))
  const [created, invalid] = [data.length, problems.length]
  const summary = { created, not_created: invalid, valid: created, invalid }
  return {
    ...(created > 0 && { data }),
    meta: { sent, summary },
    ...presentErrors(problems),
  }
}

/** The number of an app's rules, and its bound. Here a project is one app. */
export function presentRuleCounts(
  appId: AppId,
  { count, countMax }: { readonly count: number; readonly countMax: number },
): Static<typeof RuleCountsBody> {
  const counted = { client_app_id: appId, rule_count: count }
  return {
    data: {
      all_project_client_apps: [counted],
      cap_per_client_app: String(countMax),
      cap_per_project: String(countMax),
      client_app_rules_count: counted,
      project_rules_count: String(count),
    },
  }
}

/** The cost of an app's rules and its bound, and the posts for which some rules were skipped. */
export function presentRuleCost(
  { cost, costMax }: { readonly cost: number; readonly costMax: number },
  skipped: ReturnType<Intake["skippedOf"]>,
): Static<typeof RuleCostBody> {
  return {
    data: {
      cost,
      cap_per_client_app: costMax,
      skipped: {
        posts: skipped?.posts ?? 0,
        rules: skipped?.rules ?? 0,
        ...(skipped !== undefined && { last_post_id: skipped.lastPostId }),
      },
    },
  }
}

function presentNever(clauses: readonly NeverMatchingClause[]): Pick<RuleDetail, "never_matching"> {
  if (clauses.length === 0) return {}
  return { never_matching: clauses.map(({ sources, ...clause }) => ({ ...clause, sources: [...sources] })) }
}

/** The posts that a rule matched and why, how many it was tested on, and its clauses that never match. */
export function presentRuleTest(test: RuleTest, never: readonly NeverMatchingClause[]): Static<typeof RuleTestedBody> {
  const { tested, matched, matches, unmatched, cost, times, matchesPerDay, stoppedAt, warnings } = test
  return {
    data: matches.map(({ id, spans }) => ({ id, spans: [...spans] })),
    ...(unmatched.length > 0 && {
      unmatched: unmatched.map(({ id, failed }) => ({
        id,
        failed: failed.map(({ operator, start, end, isUnwanted }) => ({ operator, start, end, negated: isUnwanted })),
      })),
    }),
    ...presentNever(never),
    meta: {
      tested,
      matched,
      share: tested === 0 ? 0 : matched / tested,
      cost,
      ...(times && { from: instant(times.fromMs), to: instant(times.toMs) }),
      ...(stoppedAt !== undefined && { stopped_at: stoppedAt }),
      ...(matchesPerDay !== undefined && { estimated_per_day: matchesPerDay }),
    },
    warnings: [...warnings],
  }
}
