/** The attacks by the names of their figures. */
import { byteChunks, sessionByteChunks, shortLines, unendingJson, unendingJsonOfApp } from "./bodies.ts"
import { challenges, signOuts, spelledCallers, streamsOpened, unknownTokens } from "./connections.ts"
import { everythingAtOnce } from "./everything.ts"
import { largePosts, pipelining, ruleLists } from "./readers.ts"
import { collidingRules, deleteByValues, matchingTags, proximityRules, ruleChanges, ruleTestQueue } from "./rules.ts"
import { searches } from "./searches.ts"
import type { Attack } from "./traffic.ts"

/** Each attack is measured on its own server. */
export const attacks: Readonly<Record<string, Attack>> = {
  pipelining,
  "large-posts": largePosts,
  "rule-lists-10": ruleLists(10),
  "rule-lists-100": ruleLists(100),
  "rule-lists-1000": ruleLists(1_000),
  "rule-tests": ruleTestQueue,
  "matching-tags": matchingTags,
  "proximity-rules": proximityRules,
  "colliding-rules": collidingRules,
  "rule-changes": ruleChanges,
  "delete-by-values": deleteByValues,
  "short-lines": shortLines,
  "byte-chunks": byteChunks,
  "session-byte-chunks": sessionByteChunks,
  "unending-json": unendingJson,
  "unending-json-of-app": unendingJsonOfApp,
  challenges,
  "streams-opened": streamsOpened,
  "sign-outs": signOuts,
  "spelled-callers": spelledCallers,
  "unknown-tokens": unknownTokens,
  searches,
  everything: everythingAtOnce,
}
