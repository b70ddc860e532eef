/**
 * The live rules of all apps, in memory, kept level with the store by following its changes.
 *
 * It catches up before a batch of posts is matched, so a rule whose addition was answered takes part in whatever
 * is accepted after it, and each batch is matched by exactly one version of every ruleset.
 */
import type { Envelope, MatchingRule } from "@sluice/api"
import { parseRule, readPost, RuleMatcher } from "@sluice/rules"
import type { AppId, RuleId } from "../model/ids.ts"
import type { PostMatch } from "../model/match.ts"
import type { RuleChange, StoredRule } from "../model/rule.ts"

/** Where rules come from: the part of a store that the index needs. */
export interface RuleSource {
  allRules(): Promise<{ readonly rules: readonly StoredRule[]; readonly seq: number }>
  ruleChanges(after: number, limit: number): Promise<readonly RuleChange[]>
}

/** Most changes read at once. */
const changesMax = 1_000

export class RuleIndex {
  readonly #source: RuleSource
  readonly #matcher = new RuleMatcher<StoredRule>()
  readonly #rules = new Map<RuleId, StoredRule>()
  #seq = 0

  private constructor(source: RuleSource) {
    this.#source = source
  }

  /** The index of every rule that the source has now. */
  static async load(source: RuleSource): Promise<RuleIndex> {
    const index = new RuleIndex(source)
    const { rules, seq } = await source.allRules()
    for (const rule of rules) index.#add(rule)
    index.#seq = seq
    await index.catchUp()
    return index
  }

  /** The change of rulesets up to which the index has taken everything in. */
  get seq(): number {
    return this.#seq
  }

  /** Number of rules, of all apps. */
  get size(): number {
    return this.#matcher.size
  }

  /** Number of rules that every post is tested against, since they have no selective term. */
  get scanned(): number {
    return this.#matcher.scanListLength
  }

  /** Takes in what has changed since the last time. */
  async catchUp(): Promise<void> {
    for (;;) {
      const changes = await this.#source.ruleChanges(this.#seq, changesMax)
      for (const change of changes) {
        // Two who catch up at once read the same changes; a change takes effect once.
        if (change.seq <= this.#seq) continue
        if (change.kind === "added") this.#add(change.rule)
        else this.#remove(change.ruleId)
        this.#seq = change.seq
      }
      if (changes.length < changesMax) return
    }
  }

  /** The rules that a post matches, by app; within an app, oldest rule first. Empty when it matches none. */
  match(envelope: Envelope): readonly PostMatch[] {
    const found = this.#matcher.match(readPost(envelope))
    if (found.length === 0) return []
    const byApp = Map.groupBy(found.toSorted(byAge), (rule) => rule.appId)
    return Array.from(byApp, ([appId, rules]: [AppId, StoredRule[]]) => ({
      appId,
      rules: rules.map(asMatching),
    }))
  }

  #add(rule: StoredRule): void {
    this.#remove(rule.id)
    const parsed = parseRule(rule.value, { lengthMax: Number.POSITIVE_INFINITY })
    // A rule is stored only when it parses, and what parses once must go on to: this is ours, not the caller's.
    if (!parsed.ok) throw new Error(`Stored rule ${rule.id} does not parse: ${parsed.problems[0]?.message}`)
    this.#rules.set(rule.id, rule)
    this.#matcher.add(rule, parsed.rule)
  }

  #remove(id: RuleId): void {
    const rule = this.#rules.get(id)
    if (rule === undefined) return
    this.#rules.delete(id)
    this.#matcher.remove(rule)
  }
}

function byAge(a: StoredRule, b: StoredRule): number {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : 1)
}

function asMatching(rule: StoredRule): MatchingRule {
  return { id: rule.id, ...(rule.tag !== undefined && { tag: rule.tag }) }
}
