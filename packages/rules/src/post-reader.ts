/** Posts out of JSON text, as little of it as the rules ask for. */

import type { Ask } from "./asks.ts"
import { pickJson } from "./pick-json.ts"
import { readPost } from "./post-facts.ts"
import type { PostFacts, ReadOptions, RuleEnvelope } from "./post-facts.ts"
import { wantedMembers } from "./wanted-members.ts"

/**
 * A reader of envelopes for rules that ask this, such as `RuleMatcher.asks`; make a new one when that changes.
 *
 * What the reader was not made for is as if it were absent, and so is where in a text an entity stands. The
 * text must be JSON: of any other the reader throws SyntaxError or gives some post or other.
 */
export function postReader(asks: ReadonlySet<Ask>): (envelope: string, options?: ReadOptions) => PostFacts {
  const pick = pickJson(wantedMembers(asks))
  return (envelope, options) => readPost(pick(envelope) as RuleEnvelope, options)
}
