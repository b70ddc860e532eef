/** The history of rule changes, decided once for all stores: what a reader gets of it. */
import type { RuleChange } from "../../model/rule.ts"

/**
 * The changes that a store has read after `after`, oldest first; `undefined` when some of those are forgotten, or `after` is
 * beyond the last change. Changes are numbered without gaps, so a missing number is a forgotten change. `lastSeq` is the
 * number of the newest change, also when that is forgotten; 0 before the first.
 */
export function unbrokenChanges(
  changes: readonly RuleChange[],
  { after, lastSeq }: { readonly after: number; readonly lastSeq: number },
): readonly RuleChange[] | undefined {
  const last = changes.at(-1)?.seq ?? lastSeq
  return last === after + changes.length ? changes : undefined
}
