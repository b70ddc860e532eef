/** What the rules of each app cost together, in steps of the matcher. */
import { parseRule, ruleCost } from "@sluice/rules"
import type { AppId, RuleId } from "../../model/ids.ts"
import type { StoredRule } from "../../model/rule.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Turn } from "../../runtime/turns.ts"
import type { Store } from "../../store/store.ts"

/** How long a cost is relied on while other processes may change rules. Ours: reading it again takes up to 0.3 s. */
const sharedMsMax = 10_000

interface KnownCost {
  readonly cost: number
  /** How many rules the app had then. */
  readonly count: number
  /** Monotonic. */
  readonly readAtMs: number
}

/**
 * Costs by app, read from the store when first needed and kept level with the changes made through `update`. In a store
 * that is shared, a cost is read again when the number of rules is not what it was, and after a while.
 */
export class RulesetCosts {
  readonly #store: Store
  readonly #clock: Clock
  readonly #isShared: boolean
  readonly #costs = new Map<AppId, KnownCost>()

  constructor({ store, clock, isStoreShared = false }: { store: Store; clock: Clock; isStoreShared?: boolean }) {
    this.#store = store
    this.#clock = clock
    this.#isShared = isStoreShared
  }

  /** Steps that the app's stored rules cost together. */
  async of(appId: AppId, turn: Turn): Promise<number> {
    const known = this.#costs.get(appId)
    if (known !== undefined && (await this.#isCurrent(appId, known))) return known.cost
    const readAtMs = this.#clock.monotonicMs()
    const count = await this.#countOf(appId)
    const cost = await costOfStored(rulesOf(this.#store, appId), turn)
    this.#costs.set(appId, { cost, count, readAtMs })
    return cost
  }

  async #isCurrent(appId: AppId, { count, readAtMs }: KnownCost): Promise<boolean> {
    if (!this.#isShared) return true
    return this.#clock.monotonicMs() - readAtMs < sharedMsMax && count === (await this.#countOf(appId))
  }

  async #countOf(appId: AppId): Promise<number> {
    return this.#isShared ? this.#store.ruleCount(appId) : 0
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
    if (before === undefined) return result
    const count = await this.#countOf(appId)
    this.#costs.set(appId, { ...before, cost: await costAfter(before.cost, result), count })
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
