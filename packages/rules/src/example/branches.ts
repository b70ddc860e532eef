/**
 * The ways in which a rule can hold: each is a list of operators that must hold or must not.
 *
 *     (a OR b) -(c d)   ──►   a -c  |  a -d  |  b -c  |  b -d
 *
 * There may be very many, so they are found one after the other, depth first, and those in which an operator must hold
 * and must not are left out as soon as that shows. Operators come before choices, so it shows early.
 */

import { printRule } from "../language/print-rule.ts"
import type { Operator, Rule } from "../language/rule.ts"

/** An operator that must hold, or must not. */
export type Literal = { readonly operator: Operator; readonly isPositive: boolean }

/** Most steps of the search. Beyond, what is left is not looked at. Ours: a tenth of a second. */
const stepsMax = 20_000

/** A part of the rule that must hold, or must not, and those after it. */
type Pending = { readonly rule: Rule; readonly isPositive: boolean; readonly rest: Pending | undefined }

type Chosen = Literal & { readonly text: string; readonly rest: Chosen | undefined }

type State = {
  readonly pending: Pending | undefined
  readonly choices: Pending | undefined
  readonly chosen: Chosen | undefined
}

/** The branches of a rule, and what was found on the way. */
export class Branches {
  readonly #rule: Rule
  #contradiction: string | undefined

  constructor(rule: Rule) {
    this.#rule = rule
  }

  /** An operator that some branch required and excluded, as `printRule` prints it. */
  get contradiction(): string | undefined {
    return this.#contradiction
  }

  *[Symbol.iterator](): Generator<readonly Literal[], void, void> {
    const stack: State[] = [
      { pending: { rule: this.#rule, isPositive: true, rest: undefined }, choices: undefined, chosen: undefined },
    ]
    for (let step = 0; step < stepsMax; step++) {
      const state = stack.pop()
      if (state === undefined) return
      if (state.pending !== undefined) this.#takePart(state, state.pending, stack)
      else if (state.choices !== undefined) takeChoice(state, state.choices, stack)
      else yield literalsOf(state.chosen)
    }
  }

  /** Takes a part whose place is not chosen among others. */
  #takePart(state: State, { rule, isPositive, rest }: Pending, stack: State[]): void {
    if (rule.kind === "not") {
      stack.push({ ...state, pending: { rule: rule.rule, isPositive: !isPositive, rest } })
    } else if (rule.kind === "any" || rule.kind === "all") {
      const isChoice = (rule.kind === "any") === isPositive
      if (isChoice) stack.push({ ...state, pending: rest, choices: { rule, isPositive, rest: state.choices } })
      else stack.push({ ...state, pending: withParts(rule.rules, isPositive, rest) })
    } else {
      const chosen = this.#withOperator(state.chosen, rule, isPositive)
      if (chosen !== undefined) stack.push({ ...state, pending: rest, chosen })
    }
  }

  /** `undefined`: the operator must hold and must not. */
  #withOperator(chosen: Chosen | undefined, operator: Operator, isPositive: boolean): Chosen | undefined {
    const text = printRule(operator)
    for (let one = chosen; one !== undefined; one = one.rest) {
      if (one.text !== text) continue
      if (one.isPositive === isPositive) return chosen
      this.#contradiction ??= text
      return undefined
    }
    return { operator, isPositive, text, rest: chosen }
  }
}

function withParts(rules: readonly Rule[], isPositive: boolean, rest: Pending | undefined): Pending | undefined {
  return rules.reduceRight<Pending | undefined>((after, rule) => ({ rule, isPositive, rest: after }), rest)
}

function takeChoice(state: State, { rule, isPositive, rest }: Pending, stack: State[]): void {
  const parts = rule.kind === "any" || rule.kind === "all" ? rule.rules : []
  // The first is on top of the stack, so it is taken next.
  for (const part of parts.toReversed()) {
    stack.push({ ...state, choices: rest, pending: { rule: part, isPositive, rest: undefined } })
  }
}

/** In the order of the rule. */
function literalsOf(chosen: Chosen | undefined): readonly Literal[] {
  const literals: Literal[] = []
  for (let one = chosen; one !== undefined; one = one.rest) literals.push(one)
  return literals.toReversed()
}
