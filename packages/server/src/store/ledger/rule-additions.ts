/** The outcome for each rule that is to be added to an app. */
import type { AddedRule, StoredRule } from "../../model/rule.ts"

/**
 * An outcome for each rule, in order, and those to add. `existing` are the app's rules with one of these values, and
 * `room` is how many more rules it may have.
 */
export function addRules(
  rules: readonly StoredRule[],
  existing: readonly Pick<StoredRule, "id" | "value">[],
  room: number,
): { readonly outcomes: readonly AddedRule[]; readonly added: readonly StoredRule[] } {
  const ids = new Map(existing.map(({ value, id }) => [value, id]))
  const added: StoredRule[] = []
  const outcomes = rules.map((rule): AddedRule => {
    const id = ids.get(rule.value)
    if (id !== undefined) return { kind: "duplicate", id }
    if (added.length >= room) return { kind: "over-cap" }
    ids.set(rule.value, rule.id)
    added.push(rule)
    return { kind: "created" }
  })
  return { outcomes, added }
}
