/** The cost of each app's rules together, in steps of the matcher. */
import { parseRule, ruleCost } from "@sluice/rules"
import type { AppId, RuleId } from "../../model/ids.ts"
import type { StoredRule } from "../../model/rule.ts"
import type { Turn } from "../../runtime/turns.ts"
import type { RuleReads } from "../../store/port/rule-store.ts"
import { rulesInParts } from "./stored-rules.ts"

/** Most changes of all rules that are looked through for an app's own; with more, its rules are read again. Ours. */
const changesMax = 1_000

/** The cost of an app's rules together. */
interface RulesetCost {
  readonly cost: number
  /** The position in the history of rule changes up to which it holds; absent where no other process changes rules. */
  readonly seq?: number
}

/** A ruleset's cost after a change. */
interface CostAfter {
  readonly cost: number
  /** The rules that were added or deleted. */
  readonly ids: ReadonlySet<RuleId>
}

const noIds: ReadonlySet<RuleId> = new Set()

/**
 * Costs by app, read from the store when first needed and kept level with the changes made through `update`. In a store
 * that is shared, a cost is read again when others have changed the app's rules.
 */
export class RulesetCosts {
  readonly #store: RuleReads
  readonly #isShared: boolean
  readonly #costs = new Map<AppId, RulesetCost>()

  constructor({ store, isStoreShared = false }: { store: RuleReads; isStoreShared?: boolean }) {
    this.#store = store
    this.#isShared = isStoreShared
  }

  /** Steps that the app's stored rules cost together. */
  async of(appId: AppId, turn: Turn): Promise<RulesetCost> {
    const known = this.#costs.get(appId)
    const current = known && (await this.#onlyChangedBy(noIds, appId, known))
    // The position first: a change during the read is then found to be after it.
    const { seq } = this.#isShared && current === undefined ? await this.#store.allRules() : {}
    const cost = current ?? {
      cost: await costOfStored(rulesOf(this.#store, appId), turn),
      ...(seq !== undefined && { seq }),
    }
    this.#costs.set(appId, cost)
    return cost
  }

  /** The cost at the newest position, when since then the app's rules were changed by these additions and deletions alone. */
  async #onlyChangedBy(ids: ReadonlySet<RuleId>, appId: AppId, known: RulesetCost): Promise<RulesetCost | undefined> {
    const { cost, seq } = known
    if (seq === undefined) return known
    const changes = await this.#store.ruleChanges(seq, changesMax)
    if (changes === undefined || changes.length === changesMax) return undefined
    const isOwn = changes.every((change) => {
      const { appId: changed, id } = change.kind === "added" ? change.rule : { appId: change.appId, id: change.ruleId }
      return changed !== appId || ids.has(id)
    })
    return isOwn ? { cost, seq: changes.at(-1)?.seq ?? seq } : undefined
  }

  /** Writes a change of the app's rules. `after` returns what it has made of them, from their cost before it. */
  async update<Result>(
    appId: AppId,
    write: () => Promise<Result>,
    after: (before: number, result: Result) => CostAfter | Promise<CostAfter>,
  ): Promise<Result> {
    const before = this.#costs.get(appId)
    // If the write fails, what was kept is unknown, and the cost is read again.
    this.#costs.delete(appId)
    const result = await write()
    if (before === undefined) return result
    const { cost, ids } = await after(before.cost, result)
    const known = await this.#onlyChangedBy(ids, appId, before)
    if (known !== undefined) this.#costs.set(appId, { ...known, cost })
    return result
  }
}

/** Cost of rules that are stored, or were. */
export async function costOfStored(
  rules: Iterable<StoredRule> | AsyncIterable<StoredRule>,
  turn: Turn,
): Promise<number> {
  let cost = 0
  for await (const { value } of rules) {
    const parsed = parseRule(value, { lengthMax: Number.POSITIVE_INFINITY, embeddings: true })
    if (parsed.ok) cost += ruleCost(parsed.rule)
    await turn.spend(value.length)
  }
  return cost
}

/** All rules of an app, newest first. */
async function* rulesOf(store: RuleReads, appId: AppId): AsyncGenerator<StoredRule> {
  for await (const rules of rulesInParts(store, appId, { direction: "older", limit: Number.POSITIVE_INFINITY })) {
    yield* rules
  }
}
