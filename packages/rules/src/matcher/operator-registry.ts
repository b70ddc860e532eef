/** The operators that are evaluated themselves, such as areas, numbers and proximities. */

import { zones, type CountName, type KeyName, type Operator, type Zone } from "../language/rule.ts"
import { runsOf } from "../text/near.ts"
import type { Word } from "../text/words.ts"
import { termRef } from "./expression-layout.ts"
import type { NearPlan } from "./word-positions.ts"

/** A part of a post that operators read. `id` is always present. */
export type PostField = Zone | KeyName | CountName | "link texts" | "post location" | "similarity" | "id"

/** An operator that is evaluated itself. One that searches for words has their terms in a plan. */
export type EvaluatedOperator = { readonly operator: Operator; readonly plan?: NearPlan }

/** Operators by the term that identifies them. */
export class OperatorRegistry {
  /** In pages of 1,024 terms, because few terms identify operators. */
  readonly #pages: (Map<number, EvaluatedOperator> | undefined)[] = []
  readonly #countsByField = new Map<PostField, number>()

  /** The operator of an expression, by its first part. */
  ofPart(part: number): EvaluatedOperator | undefined {
    return this.#pages[part >>> 11]?.get(part >>> 1)
  }

  /** The fields of posts that the operators read. */
  get requiredFields(): Iterable<PostField> {
    return this.#countsByField.keys()
  }

  /** Adds the operator unless it is there. */
  add(term: number, evaluated: EvaluatedOperator): void {
    const page = (this.#pages[term >>> 10] ??= new Map<number, EvaluatedOperator>())
    if (page.has(term)) return
    page.set(term, evaluated)
    const field = fieldOf(evaluated.operator)
    this.#countsByField.set(field, (this.#countsByField.get(field) ?? 0) + 1)
  }

  remove(term: number): void {
    const page = this.#pages[term >>> 10]
    const evaluated = page?.get(term)
    if (page === undefined || evaluated === undefined) return
    page.delete(term)
    if (page.size === 0) this.#pages[term >>> 10] = undefined
    const field = fieldOf(evaluated.operator)
    const count = (this.#countsByField.get(field) ?? 0) - 1
    if (count > 0) this.#countsByField.set(field, count)
    else this.#countsByField.delete(field)
  }
}

/** The field that the operator reads. */
function fieldOf(operator: Operator): PostField {
  switch (operator.kind) {
    case "words":
      return zones[operator.name]
    case "near":
      return "text"
    case "key":
    case "count":
      return operator.name
    case "contains":
      return "link texts"
    case "area":
      return "post location"
    case "sample":
      return "id"
    case "embedding":
      return "similarity"
  }
}

/** The words of a proximity or a long phrase by their terms. */
export function planOf(words: readonly Word[], terms: ReadonlyMap<string, number>, distance: number): NearPlan {
  return {
    words: Int32Array.from(words, ({ text, glued }) => termRef(terms.get(text) ?? 0, glued)),
    runs: Int32Array.from(runsOf(words).flatMap(({ words: { length }, index, equal = -1 }) => [index, length, equal])),
    distance,
  }
}
