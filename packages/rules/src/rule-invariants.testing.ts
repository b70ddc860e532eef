/**
 * What holds of every text whatever as a rule, and of every post: so any of them is a test.
 *
 * Nothing here says which texts are rules or what they mean. It says that a refusal points at
 * something that is there, that a rule survives being printed, and that the ways to ask whether a
 * rule holds agree.
 */

import {
  evaluate,
  explain,
  mayMatch,
  parseRule,
  planSearch,
  postReader,
  printRule,
  readPost,
  RuleMatcher,
  termsOf,
} from "./index.ts"
import type { Mode, ReadOptions, Rule, RuleEnvelope, RuleOptions, RuleProblem } from "./index.ts"
import { writtenPosts } from "./written-posts.testing.ts"
import { writtenRules } from "./written-rules.testing.ts"

/** An invariant that does not hold. */
export type Fault = {
  /** The invariant, in words that are the same whatever broke it. */
  readonly invariant: string
  readonly detail: string
}

/** What parsing the text, and then printing the rule, broke; undefined when all is well. Never throws. */
export function ruleFault(text: string, options: RuleOptions = {}): Fault | undefined {
  try {
    const parsed = parseRule(text, options)
    return parsed.ok ? acceptedFault(parsed.rule, options) : refusedFault(text, parsed.problems)
  } catch (error) {
    return { invariant: "nothing throws", detail: causeOf(error) }
  }
}

/**
 * What the rule and the post, read together, broke; undefined when all is well, and when the text
 * is no rule. Never throws. The envelope may be any JSON: reading a post is total.
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

/** Similarities that nobody measured, so that `embedding:` holds of some posts. */
function readingIn(mode: Mode): ReadOptions {
  return { mode, similarity: (text) => (text.length % 10) / 10 }
}

/** Source: the docstring of `parseRule`. */
const problemsMax = 100

const partMax = 4096

function refusedFault(text: string, problems: readonly RuleProblem[]): Fault | undefined {
  if (problems.length === 0 || problems.length > problemsMax)
    return { invariant: "a refusal has 1 to 100 problems", detail: `${problems.length}` }
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
  if (!message.includes(`(at position ${position})`)) return "a message tells the position of its problem"
  const start = unitsOf(text, position - 1)
  if (start === undefined) return "a position lies in the rule"
  if (!text.startsWith(part, start)) return "a part stands at its position in the rule"
  if (part.length > partMax && Array.from(part).length > partMax)
    return "a part has at most 4,096 code points"
  if (suggestion === "") return "a suggestion says something"
  return position < last ? "problems are told in the order of the text" : undefined
}

/** UTF-16 units that so many code points take at the beginning of the text; undefined when it has fewer. */
function unitsOf(text: string, points: number): number | undefined {
  if (!Number.isSafeInteger(points) || points < 0) return undefined
  let units = 0
  for (let point = 0; point < points; point++) {
    if (units >= text.length) return undefined
    units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1
  }
  return units
}

const posts = {
  stream: writtenPosts.map((post) => readPost(post, readingIn("stream"))),
  search: writtenPosts.map((post) => readPost(post, readingIn("search"))),
}

function acceptedFault(rule: Rule, { mode = "stream", embeddings = false }: RuleOptions): Fault | undefined {
  const printed = printRule(rule)
  // Quotation marks and parentheses that printing adds count for nothing.
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

/** What stands in the matcher beside the rule, as nobody has one rule. */
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
  if (holds && !mayMatch(planSearch(rule), termsOf(post)))
    return { invariant: "the plan of a search finds every match", detail }

  const matcher = new RuleMatcher()
  const number = matcher.add(rule)
  const picked = postReader(matcher.asks)(JSON.stringify(envelope), options)
  if (evaluate(rule, picked) !== holds)
    return { invariant: "a post read for the rule alone is the same to it", detail }

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
  const { terms, expressions, blocks } = matcher.use
  const isEmpty = matcher.size + terms + expressions + blocks === 0 && matcher.match(post).length === 0
  return isEmpty
    ? undefined
    : { invariant: "nothing is left of rules that were removed", detail: JSON.stringify(matcher.use) }
}

function causeOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
