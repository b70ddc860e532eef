/** The cost of adding rules to many, and of removing them. */
import { readPost, type RuleEnvelope, type RuleMatcher } from "../packages/rules/src/index.ts"
import { figure, quantile, type Figure } from "./figure.ts"
import type { RuleMix } from "./rule-mix.ts"
import { clausesOf, rulesOf } from "./rules-about.ts"
import { threadUs } from "./thread-time.ts"

/** A matcher, and the number of clauses of each of its rules. */
export type Built = { readonly matcher: RuleMatcher; readonly clauses: Uint16Array }

/** Goals. */
const allowed = { changePerClauseUs: 0.2, changeMaxMs: 1 } as const

/**
 * Adds and removes by turns, each timed alone, with a post now and then as in a server. The longest counts only the
 * thread's own time: a pause of the machine is not the program's.
 */
export function measureChanges(
  posts: readonly RuleEnvelope[],
  mix: RuleMix,
  { matcher, clauses }: Built,
  set: string,
  print: (figure: Figure) => void,
): void {
  const changes = 100_000
  const changesUnmeasured = 10_000
  const count = matcher.size
  const rules = rulesOf({ ...mix, seed: mix.seed + 1 })
  const facts = posts.slice(0, 1000)
  const seen = { add: new Changes(), remove: new Changes() }
  for (let change = 0; change < changes + changesUnmeasured; change += 2) {
    if (change === changesUnmeasured) for (const one of Object.values(seen)) one.forget()
    const rule = rules.next().value
    const added = clausesOf(rule)
    clauses[seen.add.time(added, () => matcher.add(rule))] = added
    // Spread over all rules, so that memory is as far away as it is in a server.
    const number = (change * 7_919) % count
    seen.remove.time(clauses[number] ?? 1, () => matcher.remove(number))
    if (change % 10 === 0) matcher.match(readPost(facts[(change / 10) % facts.length] as RuleEnvelope))
  }
  for (const [name, { perClauseUs, longestUs }] of Object.entries(seen)) {
    const p99 = { value: quantile(perClauseUs, 0.99), unit: "µs", limit: allowed.changePerClauseUs }
    const limitIs = "for each clause of the rule; allowed"
    print(figure({ name: `match-${name}-p99-per-clause-${set}`, ...p99, limitIs }, { atMost: 1 }))
    const max = { value: longestUs / 1000, unit: "ms", limit: allowed.changeMaxMs, limitIs: "allowed" }
    print(figure({ name: `match-${name}-max-${set}`, ...max }, { atMost: 1 }))
  }
}

class Changes {
  perClauseUs: number[] = []
  longestUs = 0

  time<Result>(clauses: number, change: () => Result): Result {
    const threadStartUs = threadUs()
    const startMs = performance.now()
    const result = change()
    this.perClauseUs.push(((performance.now() - startMs) * 1000) / clauses)
    this.longestUs = Math.max(this.longestUs, threadUs() - threadStartUs)
    return result
  }

  forget(): void {
    this.perClauseUs = []
    this.longestUs = 0
  }
}
