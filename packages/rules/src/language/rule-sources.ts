import type { ClauseResult } from "./clause-result.ts"
import type { Rule } from "./rule.ts"

/** A part of a rule's text, in UTF-16 units from 0, `end` exclusive. */
export type SourceRange = { readonly start: number; readonly end: number }

/**
 * Positions of the parts of a rule in its text. They are kept next to the tree, not within it: the matcher keeps a
 * million trees, and only people who look at one rule ask for places.
 */
export class RuleSources {
  readonly #ranges = new Map<Rule, SourceRange>()
  /** Sources of results while the rule is parsed, with dashes and parentheses. */
  readonly #extents = new Map<ClauseResult, SourceRange>()

  /** The range of a part of the rule that these sources were parsed with. Throws for any other tree. */
  of(rule: Rule): SourceRange {
    const range = this.#ranges.get(rule)
    if (range === undefined) throw new Error("The tree is not a part of the rule that was parsed")
    return range
  }

  /** Notes where a rule stands, unless that is known: the parentheses around an operator are not part of it. */
  note(rule: Rule | undefined, range: SourceRange): void {
    if (rule === undefined) return
    if (!this.#ranges.has(rule)) this.#ranges.set(rule, range)
    // Two dashes are two negations that stand in one place.
    if (rule.kind === "not") this.note(rule.rule, range)
  }

  /** Notes where a result stands. */
  extend(result: ClauseResult, extent: SourceRange): void {
    this.#extents.set(result, extent)
  }

  /** Notes that a result was made of these, in the order of the text. */
  join(result: ClauseResult, parts: readonly ClauseResult[]): void {
    const [first, last] = [parts.at(0), parts.at(-1)]
    const start = first && this.#extents.get(first)?.start
    const end = last && this.#extents.get(last)?.end
    if (start === undefined || end === undefined) return
    this.extend(result, { start, end })
    this.note(result.rule, { start, end })
  }

  /** Notes that `copy` stands where `rule` does. */
  copy(rule: Rule, copy: Rule): void {
    const range = this.#ranges.get(rule)
    if (range !== undefined) this.note(copy, range)
  }
}
