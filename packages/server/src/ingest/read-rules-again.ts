/** Reads the rules again that could not be read, until they are. */
import type { RuleIndex } from "../matching/rule-index.ts"
import type { Clock } from "../runtime/clock.ts"

/** Time between two tries. Ours: three within the time for which a failed read counts in `/readyz`. */
const againMs = 30_000

/** Until the rules are whole, or it is aborted; `failed` is called with each failure. Does not throw. */
export async function readRulesAgain(
  deps: {
    readonly rules: Pick<RuleIndex, "isWhole" | "catchUp">
    readonly clock: Clock
    readonly failed: (error: unknown) => void
  },
  signal: AbortSignal,
): Promise<void> {
  const { rules, clock, failed } = deps
  while (!rules.isWhole) {
    await clock.pause(againMs, signal)
    if (signal.aborted) return
    await rules.catchUp().catch(failed)
  }
}
