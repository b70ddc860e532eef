/**
 * Changes of an app's ruleset: adding and deleting rules, or a dry run of it.
 *
 *     request ─► parse ─► (queue of the app) ─► validate ─► compare with the stored rules ─► write ─► outcome
 *                                               └──────────── in turns ──────────────┘   └── not in a dry run
 *
 * Each rule of a batch is validated alone: valid rules of a mixed batch are added, and each other one is an error.
 * Source: captures of X's responses.
 *
 * Everything is decided here, by reads, so that a dry run needs no writer. This is correct because the changes of an
 * app are made one at a time. When another process has changed rules first, the store adds none, and the change is
 * decided anew.
 */
import type { ChangeRulesBody } from "@sluice/api"
import type { RuleOptions } from "@sluice/rules"
import type { AppId } from "../../model/ids.ts"
import { duplicateRule, noSuchRule, ruleOverCap, ruleOverCost, type Problem } from "../../model/problem.ts"
import type { AddedRule, RuleSelector, StoredRule } from "../../model/rule.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Embeddings } from "../../runtime/embeddings.ts"
import type { Snowflakes } from "../../runtime/snowflakes.ts"
import { Turns, type Turn } from "../../runtime/turns.ts"
import type { RuleStore } from "../../store/port/rule-store.ts"
import { PerAppQueues } from "../per-app-queues.ts"
import { parseChange, type NewRule } from "./parse-change.ts"
import { costOfStored, RulesetCosts } from "./ruleset-costs.ts"
import { rulesWithIds, rulesWithValues } from "./stored-rules.ts"
import {
  rejectUnembeddable,
  validateRules,
  type CandidateRule,
  type RejectedRule,
  type ValidatedRule,
} from "./validate-rules.ts"

/** The result of a change, or of a dry run. */
export type ChangedRuleset =
  /** In the order of the request. */
  | { readonly kind: "added"; readonly rules: readonly (CreatedRule | RejectedRule)[] }
  /** `missing` has a problem for each rule that was named and is not there. */
  | { readonly kind: "deleted"; readonly deleted: number; readonly missing: readonly Problem[] }

/** A rule that was added. */
interface CreatedRule {
  readonly kind: "created"
  readonly rule: StoredRule
}

/** Limits of one app, where they are others than the server's. */
interface RuleLimits {
  readonly rulesMax: number
  readonly ruleCharactersMax: number
}

/** Limits as they hold for a change. */
interface ChangeLimits extends Pick<RuleLimits, "rulesMax"> {
  readonly ruleOptions: RuleOptions
}

/** Changes of all rulesets. */
export interface RulesetChanges {
  /**
   * Throws 400 unless the request asks for exactly one of `add`, `delete` and `deleteAll`, and 429 when too many changes
   * of the app wait.
   */
  change(
    appId: AppId,
    body: ChangeRulesBody | undefined,
    options: { readonly dryRun: boolean; readonly deleteAll: boolean; readonly limits?: RuleLimits },
  ): Promise<ChangedRuleset>
  /** Steps of the matcher that the app's rules cost together. */
  costOf(appId: AppId): Promise<number>
}

/** Dependencies of changes. Without `embeddings`, `ruleOptions` must not allow `embedding:`. */
export interface RulesetChangesDeps {
  readonly store: RuleStore
  readonly snowflakes: Snowflakes
  /** True if other processes change rules, too. */
  readonly isStoreShared?: boolean
  readonly clock: Clock
  readonly rulesPerAppMax: number
  readonly ruleStepsPerAppMax: number
  readonly ruleOptions: RuleOptions
  readonly embeddings?: Embeddings | undefined
}

/** Most changes of an app that run or wait; beyond it a request gets 429. Ours. */
const unfinishedMax = 16

/** Changes of the rulesets that a store keeps. */
export function createRulesetChanges(deps: RulesetChangesDeps): RulesetChanges {
  const { store, clock, ruleStepsPerAppMax, embeddings } = deps
  const queues = new PerAppQueues({ unfinishedMax, what: "changes of its rules" })
  const turns = new Turns(clock)
  const costs = new RulesetCosts(deps)

  async function beginTurn(): Promise<Turn> {
    const turn = turns.open()
    await turn.next()
    return turn
  }

  async function add(
    appId: AppId,
    rules: readonly NewRule[],
    { isDryRun, limits: { rulesMax, ruleOptions } }: { readonly isDryRun: boolean; readonly limits: ChangeLimits },
  ): Promise<ChangedRuleset> {
    const turn = await beginTurn()
    const validating = validateRules(appId, rules, { ...deps, ruleOptions }, turn)
    const validated = await rejectUnembeddable(await validating, embeddings)
    const candidates = validated.filter((one) => one.kind === "candidate")
    const problems = await addCandidates(appId, candidates, { isDryRun, rulesMax }, turn)
    return { kind: "added", rules: validated.map((one) => addedOrRejected(one, problems)) }
  }

  /** Adds candidates, but in a dry run; returns why those cannot be added that were not. */
  async function addCandidates(
    appId: AppId,
    candidates: readonly CandidateRule[],
    { isDryRun, rulesMax }: { readonly isDryRun: boolean; readonly rulesMax: number },
    turn: Turn,
  ): Promise<ReadonlyMap<CandidateRule, Problem>> {
    for (;;) {
      const { problems, seq } = await compareWithStored(appId, candidates, rulesMax, turn)
      const accepted = candidates.filter((candidate) => !problems.has(candidate))
      if (isDryRun || accepted.length === 0) return problems
      const outcomes = await write(appId, accepted, { rulesMax, unchangedSince: seq })
      // Another process was first: room and cost are to be looked at again.
      if (outcomes.some(({ kind }) => kind === "ruleset-changed")) continue
      for (const [at, candidate] of accepted.entries()) {
        const problem = problemOf(candidate, outcomes[at], rulesMax)
        if (problem !== undefined) problems.set(candidate, problem)
      }
      return problems
    }
  }

  /**
   * The reasons why candidates cannot be added, and the change of rules up to which they hold. A candidate that can be added
   * takes its room and its cost from later ones.
   */
  async function compareWithStored(
    appId: AppId,
    candidates: readonly CandidateRule[],
    rulesMax: number,
    turn: Turn,
  ): Promise<{ readonly problems: Map<CandidateRule, Problem>; readonly seq?: number | undefined }> {
    if (candidates.length === 0) return { problems: new Map() }
    const values = candidates.map(({ rule }) => rule.value)
    const stored = await rulesWithValues(store, appId, values)
    const { cost, seq } = await costs.of(appId, turn)
    const count = await store.ruleCount(appId)
    const limits = { rulesMax, costMax: ruleStepsPerAppMax }
    return { problems: problemsOf(candidates, { stored, count, cost }, limits), seq }
  }

  async function write(
    appId: AppId,
    candidates: readonly CandidateRule[],
    room: { readonly rulesMax: number; readonly unchangedSince: number | undefined },
  ): Promise<readonly AddedRule[]> {
    const rules = candidates.map(({ rule }) => rule)
    return costs.update(
      appId,
      () => store.addRules(appId, rules, room),
      (before, outcomes) => {
        const created = candidates.filter((_, at) => outcomes[at]?.kind === "created")
        const cost = created.reduce((sum, one) => sum + one.cost, before)
        return { cost, ids: new Set(created.map(({ rule }) => rule.id)) }
      },
    )
  }

  async function remove(appId: AppId, selector: RuleSelector, isDryRun: boolean): Promise<ChangedRuleset> {
    const turn = await beginTurn()
    if (isDryRun) return wouldDelete(store, appId, selector)
    const found = await withoutValues(store, appId, selector)
    if (found.kind === "ids" && found.ids.length === 0) return deletedRules(selector, [])
    const deleted = await costs.update(
      appId,
      () => store.deleteRules(appId, found),
      async (before, gone) => ({
        cost: selector.kind === "all" ? 0 : before - (await costOfStored(gone, turn)),
        ids: new Set(gone.map(({ id }) => id)),
      }),
    )
    return deletedRules(selector, deleted)
  }

  return {
    async change(appId, body, { dryRun: isDryRun, deleteAll, limits: own }) {
      const limits = limitsFor(own, deps)
      const change = parseChange(body, deleteAll)
      return queues.run(appId, () =>
        change.kind === "add"
          ? add(appId, change.rules, { isDryRun, limits })
          : remove(appId, change.selector, isDryRun),
      )
    },
    costOf: (appId) => queues.run(appId, async () => (await costs.of(appId, await beginTurn())).cost),
  }
}

/** The outcome for a rule, by the reasons why candidates were not added. */
function addedOrRejected(
  one: ValidatedRule,
  problems: ReadonlyMap<CandidateRule, Problem>,
): CreatedRule | RejectedRule {
  if (one.kind === "rejected") return one
  const problem = problems.get(one)
  return problem === undefined ? { kind: "created", rule: one.rule } : { kind: "rejected", problem }
}

/** The limits of an app, or of the server when it has none of its own. */
function limitsFor(own: RuleLimits | undefined, { rulesPerAppMax, ruleOptions }: RulesetChangesDeps): ChangeLimits {
  if (own === undefined) return { rulesMax: rulesPerAppMax, ruleOptions }
  return { rulesMax: own.rulesMax, ruleOptions: { ...ruleOptions, lengthMax: own.ruleCharactersMax } }
}

/** The reasons why candidates cannot be added to a ruleset of this size and cost, of which `stored` may have the same values. */
function problemsOf(
  candidates: readonly CandidateRule[],
  ruleset: { readonly stored: readonly StoredRule[]; readonly count: number; readonly cost: number },
  { rulesMax, costMax }: { readonly rulesMax: number; readonly costMax: number },
): Map<CandidateRule, Problem> {
  const problems = new Map<CandidateRule, Problem>()
  const existing = new Map(ruleset.stored.map(({ value, id }) => [value, id]))
  let { count, cost: costBefore } = ruleset
  for (const candidate of candidates) {
    const { cost, rule } = candidate
    const id = existing.get(rule.value)
    if (id !== undefined) problems.set(candidate, duplicateRule(rule.value, id))
    else if (count >= rulesMax) problems.set(candidate, ruleOverCap(rule.value, rulesMax))
    else if (costBefore + cost > costMax) {
      problems.set(candidate, ruleOverCost(rule.value, { cost, costBefore, costMax }))
    } else {
      count += 1
      costBefore += cost
    }
  }
  return problems
}

/** The store decides last, in case something was added that was not looked for. */
function problemOf({ rule }: CandidateRule, outcome: AddedRule | undefined, rulesMax: number): Problem | undefined {
  switch (outcome?.kind) {
    case "created":
      return undefined
    case "duplicate":
      return duplicateRule(rule.value, outcome.id)
    case "over-cap":
    case "ruleset-changed":
    case undefined:
      return ruleOverCap(rule.value, rulesMax)
  }
}

/** The result of a dry run. */
async function wouldDelete(store: RuleStore, appId: AppId, selector: RuleSelector): Promise<ChangedRuleset> {
  switch (selector.kind) {
    case "all":
      return { kind: "deleted", deleted: await store.ruleCount(appId), missing: [] }
    case "ids":
      return deletedRules(selector, await rulesWithIds(store, appId, selector.ids))
    case "values":
      return deletedRules(selector, await rulesWithValues(store, appId, selector.values))
  }
}

/**
 * The selector, with ids in place of values: reads take turns, and writes do not, so a thousand values that no rule has
 * must not keep the writer. Ids are not looked up, because a damaged rule can be deleted and not read.
 */
async function withoutValues(store: RuleStore, appId: AppId, selector: RuleSelector): Promise<RuleSelector> {
  if (selector.kind !== "values") return selector
  const named = await rulesWithValues(store, appId, selector.values)
  return { kind: "ids", ids: named.map(({ id }) => id) }
}

function deletedRules(selector: RuleSelector, deleted: readonly StoredRule[]): ChangedRuleset {
  return { kind: "deleted", deleted: deleted.length, missing: missingOf(selector, deleted) }
}

/** A problem for each rule that was to be deleted and is not there. */
function missingOf(selector: RuleSelector, deleted: readonly StoredRule[]): readonly Problem[] {
  switch (selector.kind) {
    case "all":
      return []
    case "ids": {
      const gone = new Set(deleted.map((rule) => rule.id))
      return selector.ids.filter((id) => !gone.has(id)).map((id) => noSuchRule({ id }))
    }
    case "values": {
      const gone = new Set(deleted.map((rule) => rule.value))
      return selector.values.filter((value) => !gone.has(value)).map((value) => noSuchRule({ value }))
    }
  }
}
