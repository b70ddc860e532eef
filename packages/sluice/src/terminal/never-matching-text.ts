/** A clause that no post of the server's sources fulfils, as a sentence. */
import type { RuleTestSum } from "@sluice/client"

/** The sentence and the reason. */
export function neverMatchingText({
  clause,
  sources,
  reason,
}: NonNullable<RuleTestSum["neverMatching"]>[number]): string {
  return `${clause} matches no post of the configured sources (${sources.join(", ")}). ${reason}`
}
