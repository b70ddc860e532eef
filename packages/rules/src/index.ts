/**
 * The rule language of filtered streams, and the matcher: rules and posts in, matching rules out.
 *
 *     text ── parseRule ──► Rule ──────┐
 *                                      ├─► evaluate, explain, checkRule   one rule, some posts
 *     envelope ── readPost ──► PostFacts ──► RuleMatcher.match              all rules, one post
 *     Rule ── planSearch ──► terms ◄── termsOf ── PostFacts                 one rule, stored posts
 *
 * Pure: no input or output, no clock, no dependencies. It runs in a browser as it does in the server.
 */

export { parseRule } from "./parse-rule.ts"
export type { ParsedRule, RuleOptions } from "./parse-rule.ts"
export { printRule } from "./print-rule.ts"
export type { Mode } from "./mode.ts"
export type { Operator, Rule } from "./rule.ts"
export type { RuleProblem } from "./rule-problem.ts"
export { readPost } from "./post-facts.ts"
export type { PostFacts, ReadOptions, RuleEnvelope, Where } from "./post-facts.ts"
export { postReader } from "./post-reader.ts"
export type { Ask } from "./asks.ts"
export { EarlierPosts } from "./earlier-posts.ts"
export { evaluate } from "./evaluate.ts"
export { checkRule } from "./check-rule.ts"
export type { RuleCheck, RuleWarning } from "./check-rule.ts"
export { mayMatch, planSearch, termsOf } from "./search-plan.ts"
export type { SearchPlan } from "./search-plan.ts"
export { explain } from "./explain.ts"
export type { Explanation, Span } from "./explain.ts"
export { RuleMatcher } from "./rule-matcher.ts"
