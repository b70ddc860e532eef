/**
 * Keeps rules level with a source by its history of changes.
 *
 * An index that is further behind than the source remembers reads all rules anew. Until that is done the rules are
 * those of no version.
 */
import { setImmediate as nextRound } from "node:timers/promises"
import type { RuleId } from "../model/ids.ts"
import type { RuleChange, StoredRule } from "../model/rule.ts"

/** The source of rules: the part of a store that is needed to follow them. */
export interface RuleChangeSource {
  allRules(): Promise<{ readonly rules: AsyncIterable<StoredRule>; readonly seq: number }>
  ruleChanges(after: number, limit: number): Promise<readonly RuleChange[] | undefined>
}

/**
 * Characters of rules read in a round of the event loop, some 5 ms; `changeCharacters` count for each change in
 * addition. Ours.
 */
const turnCharactersMax = 10_000
const changeCharacters = 50

/** Most changes read at once. */
const changesMax = 1_000

/** The rules that follow. */
interface Following {
  has(rule: StoredRule): boolean
  /** Takes the place of the rule with its id. */
  add(rule: StoredRule): void
  /** Nothing happens when there is no such rule. */
  remove(id: RuleId): void
  /** Ids of all rules. */
  ids(): Iterable<RuleId>
}

/** Rules that follow those of a source. */
export class FollowedRules {
  readonly #source: RuleChangeSource
  readonly #rules: Following
  #seq = 0
  #isWhole = false
  /** The catch-up that runs, or has run last. Never rejects. */
  #catchingUp = Promise.resolve()
  /** The one that begins after it. */
  #nextCatchUp: Promise<void> | undefined

  constructor(source: RuleChangeSource, rules: Following) {
    this.#source = source
    this.#rules = rules
  }

  /** The change up to which all changes are applied. */
  get seq(): number {
    return this.#seq
  }

  /** True when the rules are those of `seq`; false while all of them are read. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /**
   * Takes in what has changed before the call; of many or long rules a part in each round of the event loop. Those who
   * call while it runs share the next one: what it has read may be older than their call.
   */
  catchUp(): Promise<void> {
    this.#nextCatchUp ??= this.#catchingUp.then(() => {
      this.#nextCatchUp = undefined
      const catchingUp = this.#catchUpOnce()
      this.#catchingUp = catchingUp.catch(() => undefined)
      return catchingUp
    })
    return this.#nextCatchUp
  }

  async #catchUpOnce(): Promise<void> {
    if (this.#isWhole && (await this.#takeChanges())) return
    do await this.#takeAll()
    while (!(await this.#takeChanges()))
    this.#isWhole = true
  }

  /** Returns false when the source does not have all changes any more. */
  async #takeChanges(): Promise<boolean> {
    let characters = 0
    for (;;) {
      const changes = await this.#source.ruleChanges(this.#seq, changesMax)
      if (changes === undefined) return false
      for (const change of changes) {
        if (change.kind === "added") this.#rules.add(change.rule)
        else this.#rules.remove(change.ruleId)
        this.#seq = change.seq
        characters += change.kind === "added" ? change.rule.value.length + changeCharacters : changeCharacters
        if (characters < turnCharactersMax) continue
        characters = 0
        await nextRound()
      }
      if (changes.length < changesMax) return true
    }
  }

  /** Makes the rules those of the source, and leaves those as they are that the index has already. */
  async #takeAll(): Promise<void> {
    this.#isWhole = false
    const { rules, seq } = await this.#source.allRules()
    const gone = new Set(this.#rules.ids())
    for await (const rule of rules) {
      gone.delete(rule.id)
      if (!this.#rules.has(rule)) this.#rules.add(rule)
    }
    for (const id of gone) this.#rules.remove(id)
    this.#seq = seq
  }
}
