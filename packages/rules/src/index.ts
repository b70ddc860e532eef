/**
 * The rule language of filtered streams, and the matcher: rules and posts in, matching rules out.
 *
 *     text ── parseRule ──► Rule ──────┐
 *                                      ├─► evaluate, explain   one rule, one post
 *     envelope ── readPost ──► PostFacts ──► RuleMatcher.match   all rules, one post
 *
 * Pure: no input or output, no clock, no dependencies. It runs in a browser as it does in the server.
 */

export { parseRule } from "./parse-rule.ts"
export type { ParsedRule, RuleOptions } from "./parse-rule.ts"
export { printRule } from "./rule.ts"
export type { HasValue, IsValue, Operator, Rule, Word } from "./rule.ts"
export type { RuleProblem } from "./rule-problem.ts"
export { readPost } from "./post-facts.ts"
export type { Passage, PostFacts, RuleEnvelope, UserNames, Where } from "./post-facts.ts"
export { evaluate } from "./evaluate.ts"
export { explain } from "./explain.ts"
export type { Explanation, Span } from "./explain.ts"
export { RuleMatcher } from "./rule-matcher.ts"
