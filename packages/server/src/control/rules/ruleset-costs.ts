/** What the rules of each app cost together, in steps of the matcher. */
import { parseRule, ruleCost } from "@sluice/rules"
import type { AppId, RuleId } from "../../model/ids.ts"
import type { StoredRule } from "../../model/rule.ts"
import type { Turn } from "../../runtime/turns.ts"
import type { Store } from "../../store/store.ts"

/** Costs by app, read from the store when first needed and kept level with the changes made through `update`. */
export class RulesetCosts {
  readonly #store: Store
  readonly #costs = new Map<AppId, number>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Steps that the app's stored rules cost together. */
  async of(appId: AppId, turn: Turn): Promise<number> {
    const known = this.#costs.get(appId)
    if (known !== undefined) return known
    const cost = await costOfStored(rulesOf(this.#store, appId), turn)
    this.#costs.set(appId, cost)
    return cost
  }

  /** Writes a change of the app's rules. `costAfter` returns their cost after it, from the cost before it. */
  async update<Result>(
    appId: AppId,
    write: () => Promise<Result>,
    costAfter: (before: number, result: Result) => number | Promise<number>,
  ): Promise<Result> {
    const before = this.#costs.get(appId)
    // If the write fails, what was kept is unknown, and the cost is read again.
    this.#costs.delete(appId)
    const result = await write()
    if (before !== undefined) this.#costs.set(appId, await costAfter(before, result))
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

/** Rules that one read returns at most. Ours: some 5 microseconds each. */
export const rulesPerRead = 100

/** All rules of an app, newest first. */
async function* rulesOf(store: Store, appId: AppId): AsyncGenerator<StoredRule> {
  let from: RuleId | undefined
  do {
    const rules = await store.rules(appId, {
      direction: "older",
      limit: rulesPerRead,
      ...(from !== undefined && { from }),
    })
    yield* rules
    from = rules.at(-1)?.id
  } while (from !== undefined)
}
