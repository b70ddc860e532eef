/**
 * Invariants of every rule text and every post, so that any text and any post is a test.
 *
 * They do not say which texts are rules or what they mean. They say that a problem refers to a part of the text, that a
 * rule survives printing and parsing, and that all ways to evaluate a rule agree.
 */

import {
  evaluate,
  explain,
  parseRule,
  printRule,
  readPost,
  RuleMatcher,
  type Mode,
  type Rule,
  type RuleEnvelope,
  type RuleOptions,
  type RuleProblem,
} from "../index.ts"
import type { ReadOptions } from "../post/post-facts.ts"
import { writtenPosts } from "./written-posts.testing.ts"
import { writtenRules } from "./written-rules.testing.ts"

/** A violated invariant. */
export type Fault = {
  /** The invariant, in the same words for every input. */
  readonly invariant: string
  readonly detail: string
}

/** The invariant that parsing the text, or printing the rule, violated; undefined if none. Never throws. */
export function ruleFault(text: string, options: RuleOptions = {}): Fault | undefined {
  try {
    const parsed = parseRule(text, options)
    return parsed.ok ? acceptedFault(parsed.rule, options) : rejectedFault(text, parsed.problems)
  } catch (error) {
    return { invariant: "nothing throws", detail: causeOf(error) }
  }
}

/**
 * The invariant that matching the rule and the post violated; undefined if none, or if the text is no rule. Never
 * throws. The envelope may be any JSON: reading a post is total.
 */
export function matchingFault(text: string, envelope: unknown, mode: Mode = "stream"): Fault | undefined {
  try {
    const parsed = parseRule(text, { mode, embeddings: true })
    readPost(envelope as RuleEnvelope, readingIn(mode))
    return parsed.ok ? disagreement(parsed.rule, envelope as RuleEnvelope, mode) : undefined
  } catch (error) {
    return { invariant: "nothing throws", detail: causeOf(error) }
  }
}

/** Invented similarities, so that `embedding:` holds of some posts. */
function readingIn(mode: Mode): ReadOptions {
  return { mode, similarity: (text) => (text.length % 10) / 10 }
}

/** Source: the docstring of `parseRule`. */
const problemsMax = 100

const partMax = 4096

function rejectedFault(text: string, problems: readonly RuleProblem[]): Fault | undefined {
  if (problems.length === 0 || problems.length > problemsMax)
    return { invariant: "a rejection has 1 to 100 problems", detail: `${problems.length}` }
  let last = 1
  for (const problem of problems) {
    const invariant = brokenBy(problem, text, last)
    if (invariant !== undefined) return { invariant, detail: JSON.stringify(problem) }
    last = problem.position
  }
  return undefined
}

/** `last` is the position of the problem before. */
function brokenBy(problem: RuleProblem, text: string, last: number): string | undefined {
  const { message, part, position, suggestion } = problem
  if (!message.includes(`(at position ${position})`)) return "a message contains the position of its problem"
  if (!Number.isSafeInteger(position) || position < 1 || position > text.length + 1)
    return "a position lies in the rule"
  if (isWithinPair(text, position - 1)) return "a position is not within a pair of surrogates"
  if (!text.startsWith(part, position - 1)) return "a part is at its position in the rule"
  if (part.length > partMax && Array.from(part).length > partMax) return "a part has at most 4,096 code points"
  if (suggestion === "") return "a suggestion says something"
  return position < last ? "problems are in the order of the text" : undefined
}

/** The end of a text is within no pair: `codePointAt` may read on in the text that a slice was taken of (V8 14). */
function isWithinPair(text: string, index: number): boolean {
  return index > 0 && index < text.length && (text.codePointAt(index - 1) ?? 0) > 0xffff
}

const posts = {
  stream: writtenPosts.map((post) => readPost(post, readingIn("stream"))),
  search: writtenPosts.map((post) => readPost(post, readingIn("search"))),
}

function acceptedFault(rule: Rule, { mode = "stream", embeddings = false }: RuleOptions): Fault | undefined {
  const printed = printRule(rule)
  // Printing may add quotation marks and parentheses, so the length is not limited.
  const again = parseRule(printed, { lengthMax: Infinity, mode, embeddings })
  if (!again.ok) {
    const detail = `${JSON.stringify(printed)}: ${again.problems[0]?.message}`
    return { invariant: "a rule parses after printing", detail }
  }
  const reprinted = printRule(again.rule)
  if (reprinted !== printed) {
    const detail = `${JSON.stringify(printed)}, then ${JSON.stringify(reprinted)}`
    return { invariant: "a rule prints the same after printing and parsing", detail }
  }
  for (const [index, post] of posts[mode].entries()) {
    if (evaluate(rule, post) !== evaluate(again.rule, post))
      return {
        invariant: "a rule means the same after printing and parsing",
        detail: `${JSON.stringify(printed)}, on written post ${index}`,
      }
  }
  return undefined
}

/** Other rules in the matcher, because a matcher with one rule is rare. */
const neighbours = { stream: neighboursIn("stream"), search: neighboursIn("search") }

function neighboursIn(mode: Mode): readonly Rule[] {
  return writtenRules.flatMap((text, index) => {
    const parsed = parseRule(text, { mode, embeddings: true })
    return parsed.ok && index % 8 === 0 ? [parsed.rule] : []
  })
}

function disagreement(rule: Rule, envelope: RuleEnvelope, mode: Mode): Fault | undefined {
  const options = readingIn(mode)
  const post = readPost(envelope, options)
  const holds = evaluate(rule, post)
  const detail = `evaluate says ${holds}`
  const explanation = explain(rule, post)
  if (explanation.matches !== holds) return { invariant: "explain agrees with evaluate", detail }
  if (!holds && explanation.spans.length > 0)
    return { invariant: "no match has no spans", detail: JSON.stringify(explanation.spans) }

  const matcher = new RuleMatcher()
  const number = matcher.add(rule)
  const rules = new Map([[number, rule]])
  for (const one of [...neighbours[mode], rule]) rules.set(matcher.add(one), one)
  const expected = Array.from(rules).flatMap(([key, one]) => (evaluate(one, post) ? [key] : []))
  const found = matcher.match(post).toSorted((left, right) => left - right)
  if (found.join() !== expected.toSorted((left, right) => left - right).join())
    return {
      invariant: "the matcher finds what evaluating every rule finds",
      detail: `matched [${found.join()}], hold [${expected.join()}]; the rule is ${number}`,
    }
  for (const key of rules.keys()) matcher.remove(key)
  const { terms, expressions, blocks } = matcher.usage
  const isEmpty = matcher.size + terms + expressions + blocks === 0 && matcher.match(post).length === 0
  return isEmpty
    ? undefined
    : { invariant: "nothing is left of rules that were removed", detail: JSON.stringify(matcher.usage) }
}

function causeOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
