/** Lets the store forget the changes of rules that the index has applied, so that their history does not grow. */
import type { RuleIndex } from "../matching/rule-index.ts"
import type { Clock } from "../runtime/clock.ts"
import type { RuleWrites } from "../store/port/rule-store.ts"

/** Time between two times. Ours: a change takes some hundred bytes. */
const forgetMs = 3_600_000

/** At once and every hour, until aborted. Does not throw: what could not be forgotten is the next time. */
export async function forgetRuleChanges(
  deps: {
    readonly store: Pick<RuleWrites, "forgetRuleChanges">
    /** One of the readers. Another one that is behind it finds changes missing, and reads all rules anew. */
    readonly rules: Pick<RuleIndex, "seq">
    readonly clock: Clock
  },
  signal: AbortSignal,
): Promise<void> {
  const { store, rules, clock } = deps
  while (!signal.aborted) {
    await store.forgetRuleChanges(rules.seq).catch(() => undefined)
    await clock.pause(forgetMs, signal)
  }
}
