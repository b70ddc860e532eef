/** Posts out of JSON text, as little of it as the rules ask for. */

import type { Ask } from "./asks.ts"
import { pickJson } from "./pick-json.ts"
import { readPost } from "./post-facts.ts"
import type { PostFacts, ReadOptions, RuleEnvelope } from "./post-facts.ts"
import { wantedMembers } from "./wanted-members.ts"

/**
 * With more asks than this, nearly every member is wanted; then `JSON.parse` takes no longer, and what it makes is
 * read faster. Measured over recorded posts.
 */
const picksMax = 14

/**
 * A reader of envelopes for rules that ask this, such as `RuleMatcher.asks`; make a new one when that changes.
 *
 * What the reader was not made for may be as if it were absent, and so may where in a text an entity stands. The
 * text must be JSON: of any other the reader throws SyntaxError or gives some post or other.
 */
export function postReader(asks: ReadonlySet<Ask>): (envelope: string, options?: ReadOptions) => PostFacts {
  const read =
    asks.size > picksMax ? (text: string): unknown => JSON.parse(text) : pickJson(wantedMembers(asks))
  return (envelope, options) => readPost(read(envelope) as RuleEnvelope, options)
}
