/**
 * The rule language of filtered streams, and the matcher that finds the rules that a post matches.
 *
 *     text ── parseRule ──► Rule ──────┐
 *                                      ├─► evaluate, explain, checkRule   one rule, some posts
 *     envelope ── readPost ──► PostFacts ──► RuleMatcher.match              all rules, one post
 *
 *     bytes of a line ── WalkedPost (its own entry, `@sluice/rules/walk`) ──► RuleMatcher.matchWalked
 *
 *     PostFacts ── indexTerms ──► an index of stored posts ◄── indexQuery ── Rule       proposes; evaluate decides
 *
 * Folders import in one direction: text ← language ← post ← meaning ← matcher ← trial; meaning ← example;
 * meaning ← search; and post ← walk ← matcher.
 *
 * Pure: no input or output, no clock, no dependencies. It runs in a browser as well as in the server.
 */

export { parseLocatedRule, parseRule, type RuleOptions } from "./language/parse-rule.ts"
export { entitiesInText } from "./text/text-entities.ts"
export { textWeight } from "./text/text-weight.ts"
export { absentOperators } from "./language/absent-operators.ts"
export { operatorGuides } from "./language/operator-guide.ts"
export { tokensOf, type RuleToken } from "./language/rule-tokens.ts"
export { isUsername } from "./language/usernames.ts"
export { printRule } from "./language/print-rule.ts"
export type { Mode } from "./text/mode.ts"
export type { Operator, Rule } from "./language/rule.ts"
export type { RuleProblem } from "./language/rule-problem.ts"
export { readPost, type PostFacts } from "./post/post-facts.ts"
export type { RuleEnvelope } from "./post/post-objects.ts"
export { EarlierPosts } from "./post/earlier-posts.ts"
export { evaluate } from "./meaning/evaluate.ts"
export { isSampled } from "./meaning/sample.ts"
export { explain, type Span } from "./meaning/explain.ts"
export { explainSteps, ruleCost } from "./meaning/rule-cost.ts"
export { whyNot, type ClauseOutcome } from "./meaning/why-not.ts"
export { RuleMatcher } from "./matcher/rule-matcher.ts"
export { cutTerm, indexTermsOf, indexTermsVersion } from "./search/index-terms.ts"
export { anyTerm, indexQuery, indexQueryHolds, orTerm, type IndexQuery } from "./search/index-query.ts"
export { includedPostIds, includedTerm, quotedByOriginal, repostedQuoteTerm } from "./search/included-terms.ts"
export { mentionsAnother, type MentionedUser } from "./search/mentioned-user.ts"
export { relevanceOf } from "./search/relevance.ts"
export { withoutReposts } from "./search/reposts.ts"
export { examplePost } from "./example/example-post.ts"
export { checkRule, RuleTrial, type RuleWarning } from "./trial/check-rule.ts"
