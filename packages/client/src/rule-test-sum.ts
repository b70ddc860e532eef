/** The sum of the responses to a test on the stored posts since a time, which takes as many requests as there are posts. */
import type { RuleTestedBody } from "@sluice/api"

const dayMs = 86_400_000

/** How often a rule matched in the posts that were tested so far. */
export interface RuleTestSum {
  readonly tested: number
  readonly matched: number
  /** `matched / tested`, 0 to 1; 0 when nothing was tested. */
  readonly share: number
  /** Between the oldest and the newest post that were tested; absent when they are of one moment. */
  readonly matchesPerDay?: number
  /** Steps that the rule costs the matcher for a post. */
  readonly cost: number
  /** When the oldest and the newest of the posts were made, Unix ms; absent when nothing was tested. */
  readonly times?: { readonly fromMs: number; readonly toMs: number }
  /** About the newest posts, of which there are most in one response. */
  readonly warnings: readonly string[]
  /** Clauses that no post of the server's sources fulfils; absent without any, and where it is not known. */
  readonly neverMatching?: NonNullable<RuleTestedBody["never_matching"]>
}

/** Sums up the responses of a test, the first one first. */
export function sumOfRuleTests(bodies: readonly [RuleTestedBody, ...RuleTestedBody[]]): RuleTestSum {
  const [first] = bodies
  const sum = (name: "tested" | "matched"): number => bodies.reduce((total, { meta }) => total + meta[name], 0)
  const [tested, matched] = [sum("tested"), sum("matched")]
  const instants = bodies.flatMap(({ meta: { from, to } }) =>
    from === undefined || to === undefined ? [] : [Date.parse(from), Date.parse(to)],
  )
  const [fromMs, toMs] = [Math.min(...instants), Math.max(...instants)]
  return {
    tested,
    matched,
    share: tested === 0 ? 0 : matched / tested,
    ...(toMs > fromMs && { matchesPerDay: (matched * dayMs) / (toMs - fromMs) }),
    cost: first.meta.cost,
    ...(instants.length > 0 && { times: { fromMs, toMs } }),
    warnings: first.warnings.map(({ message }) => message),
    ...(first.never_matching && { neverMatching: first.never_matching }),
  }
}
