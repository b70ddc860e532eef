/**
 * The parser of the rule language.
 *
 *     rule   := any
 *     any    := all ( "OR" all )*
 *     all    := term+                        a space is AND, and binds tighter than OR
 *     term   := "-"* ( "(" any ")" | operator )
 *
 * Open groups are kept in a list. A recursive parser would overflow the stack for ten thousand parentheses, and rules
 * are untrusted.
 *
 * A rule that is grammatical is still rejected if it does not select: see `clause-result.ts`. The matcher relies on
 * this, because it files a rule under a term that every match must contain.
 */

import { readLexemes, type ClauseLexeme, type Lexeme } from "./lexemes.ts"
import { broken, joined, mostSpecific, negated, violationsOf, type ClauseResult } from "./clause-result.ts"
import type { Mode } from "../text/mode.ts"
import { readOperator, type Dialect } from "./operators.ts"
import {
  cannotBeNegated,
  extraParenthesis,
  mustBeNegated,
  negatedGroup,
  onlyNegation,
  onlyStopwords,
  sampleBesideOr,
  strayInput,
  tooDeep,
  tooLong,
  unclosedGroup,
  type Part,
  type RuleProblem,
} from "./rule-problem.ts"
import type { Operator, Rule } from "./rule.ts"
import { RuleSources } from "./rule-sources.ts"

/** The operators that a rule may contain. */
export type RuleOptions = {
  /** Maximum length in code points. Default 2,048, X's limit for Enterprise. */
  readonly lengthMax?: number
  /**
   * Rejects negated groups, which X discourages although their meaning is clear, and operators that X does not have in
   * the mode. Default false.
   */
  readonly strict?: boolean
  /** The use of the rule. Default `stream`. */
  readonly mode?: Mode
  /** True if `embedding:` is available. Default false. */
  readonly embeddings?: boolean
}

/** A rule, or all problems of its text. */
type ParsedRule =
  | { readonly ok: true; readonly rule: Rule }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] }

/** Most parentheses within one another. Ours: deeper than people write, and shallow enough for recursive code. */
const depthMax = 200

/** Most problems that are reported of one rule. Ours. */
const problemsMax = 100

/** A rule and where its parts stand in its text, or all problems of the text. */
type LocatedRule =
  | { readonly ok: true; readonly rule: Rule; readonly sources: RuleSources }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] }

/** Parses a rule as `parseRule` does, and keeps where each part of it stands in the text. */
export function parseLocatedRule(text: string, options: RuleOptions = {}): LocatedRule {
  const sources = new RuleSources()
  const parsed = parse(text, options, sources)
  return parsed.ok ? { ...parsed, sources } : parsed
}

/**
 * Parses a rule. Never throws. An invalid rule comes with all its problems in the order of the text, at most 100. For a
 * rule of more than four times the maximum length, the length is the only problem.
 */
export function parseRule(text: string, options: RuleOptions = {}): ParsedRule {
  return parse(text, options)
}

function parse(text: string, options: RuleOptions, sources?: RuleSources): ParsedRule {
  const lengthMax = options.lengthMax ?? 2048
  const whole = { text, position: 1 }
  const problems: RuleProblem[] = []
  const length = countCodePoints(text)
  if (length > lengthMax) {
    problems.push(tooLong(whole, length, lengthMax))
    if (length > 4 * lengthMax) return { ok: false, problems }
  }
  const found: RuleProblem[] = []
  const lexemes = readLexemes(text, found)
  const { rule, violations, isPositive } = new Parser(options, found, sources).parse(lexemes, text.length + 1)
  if (lexemes.length === 0 && found.length === 0) found.push(onlyStopwords(whole))
  else if (!isPositive) found.push(onlyNegation(whole), onlyStopwords(whole))
  else for (const violation of violations) found.push(violation.problem)
  if (problems.length === 0 && found.length === 0 && rule) return { ok: true, rule }
  for (const problem of found.toSorted((left, right) => left.position - right.position)) problems.push(problem)
  return { ok: false, problems: distinct(problems).slice(0, problemsMax) }
}

/** An OR alone is without a clause on either side, which is one problem. */
function distinct(problems: readonly RuleProblem[]): readonly RuleProblem[] {
  return Array.from(new Map(problems.map((problem) => [problem.message, problem])).values())
}

type OpenGroup = {
  readonly at: number
  readonly dashes: number
  readonly dashAt: number
  /** True if its content is negated, by its own dashes and those of the enclosing groups. */
  readonly isNegated: boolean
  readonly branches: ClauseResult[]
  current: ClauseResult[]
  /** Position of the last OR; 0 without any. */
  orAt: number
  /** The enclosing group; undefined for the rule as a whole. */
  readonly parent: OpenGroup | undefined
  /** True if it or an enclosing group has an OR. Set at the end, because an OR may follow. */
  isWithinOr: boolean
}

class Parser {
  readonly #problems: RuleProblem[]
  readonly #strict: boolean
  readonly #dialect: Dialect
  readonly #open: OpenGroup[] = []
  /** Operators with a threshold next to them, rather than next to an enclosing group. */
  readonly #limited = new Set<Rule>()
  #group: OpenGroup = openGroup({ at: 1, dashes: 0, dashAt: 1 }, false)
  #isTooDeep = false
  /** X's parser takes the first extra parenthesis for the end of the rule and does not report others. */
  #isClosedTooOften = false
  /** All groups, outermost first. */
  readonly #groups: OpenGroup[] = [this.#group]
  readonly #samples: { readonly part: Part; readonly group: OpenGroup }[] = []
  /** Absent unless the caller asks where the parts stand. */
  readonly #sources: RuleSources | undefined

  constructor(options: RuleOptions, problems: RuleProblem[], sources: RuleSources | undefined) {
    this.#problems = problems
    this.#sources = sources
    this.#strict = options.strict ?? false
    this.#dialect = {
      mode: options.mode ?? "stream",
      isStrict: this.#strict,
      hasEmbeddings: options.embeddings ?? false,
    }
  }

  /** `end` is the position after the text. */
  parse(lexemes: readonly Lexeme[], end: number): ClauseResult {
    for (const lexeme of lexemes) this.#take(lexeme)
    if (this.#open.length > 0) this.#problems.push(unclosedGroup(end, this.#group.at))
    while (this.#open.length > 0) this.#close({ isComplete: false, end: end - 1 })
    this.#checkSamples()
    if (lexemes.length === 0) return { violations: [], isPositive: true, position: 1 }
    return this.#finish(1)
  }

  #take(lexeme: Lexeme): void {
    switch (lexeme.kind) {
      case "open":
        this.#begin(lexeme)
        break
      case "close":
        if (this.#open.length > 0) this.#close({ isComplete: true, end: lexeme.at })
        else if (!this.#isClosedTooOften) {
          this.#isClosedTooOften = true
          this.#problems.push(extraParenthesis(lexeme.at))
        }
        break
      case "or":
        this.#or(lexeme.at)
        break
      case "clause":
        this.#add(this.#operator(lexeme), lexeme, lexeme.at - 1 + lexeme.raw.length)
    }
  }

  /** Adds a clause or a group to the open group. `end` is the offset after it. */
  #add(result: ClauseResult, place: { at: number; dashes: number; dashAt: number }, end: number): void {
    this.#sources?.note(result.rule, { start: place.at - 1, end })
    const added = negated(result, place)
    const extent = { start: place.dashes > 0 ? place.dashAt - 1 : place.at - 1, end }
    this.#sources?.note(added.rule, extent)
    this.#sources?.extend(added, extent)
    this.#group.current.push(added)
  }

  #begin(opening: { at: number; dashes: number; dashAt: number }): void {
    if (this.#strict && opening.dashes > 0) {
      this.#problems.push(negatedGroup({ text: "-".repeat(opening.dashes) + "(", position: opening.dashAt }))
    }
    if (this.#open.length >= depthMax && !this.#isTooDeep) {
      this.#isTooDeep = true
      this.#problems.push(tooDeep({ text: "(", position: opening.at }, depthMax))
    }
    this.#open.push(this.#group)
    this.#group = openGroup(opening, this.#isNegated(opening.dashes), this.#group)
    this.#groups.push(this.#group)
  }

  #close({ isComplete, end }: { isComplete: boolean; end: number }): void {
    const { at, dashes, dashAt, branches, current } = this.#group
    if (isComplete && branches.length === 0 && current.length === 0) {
      this.#problems.push(strayInput({ text: "(", position: at }, "The group is empty"))
    }
    const result = this.#open.length > depthMax ? broken(at) : this.#finish(at)
    this.#group = this.#open.pop() ?? openGroup({ at: 1, dashes: 0, dashAt: 1 }, false)
    this.#add(result, { at, dashes, dashAt }, end)
  }

  #or(at: number): void {
    const group = this.#group
    if (group.current.length === 0) {
      this.#problems.push(strayInput({ text: "OR", position: at }, "OR stands between two clauses"))
      group.current.push(broken(at))
    }
    group.branches.push(this.#all(group.current))
    group.current = []
    group.orAt = at
  }

  /** any := all ( "OR" all )* */
  #finish(position: number): ClauseResult {
    const { branches, current, orAt } = this.#group
    if (current.length > 0) return this.#any([...branches, this.#all(current)])
    if (branches.length > 0) {
      this.#problems.push(strayInput({ text: "OR", position: orAt }, "OR stands between two clauses"))
    }
    return broken(position)
  }

  #operator(clause: ClauseLexeme): ClauseResult {
    if (clause.body.kind === "broken") return broken(clause.at)
    const { selectivity, operator, threshold } = readOperator(clause, this.#dialect, this.#problems)
    const part = { text: clause.raw, position: clause.at }
    const result = { violations: violationsOf(selectivity, part), isPositive: true, position: clause.at }
    if (threshold !== undefined) {
      if (this.#isNegated(clause.dashes)) this.#problems.push(cannotBeNegated(part))
      return { ...result, threshold: { value: threshold, part } }
    }
    if (operator) this.#checkNegation(operator, part, this.#isNegated(clause.dashes))
    if (operator?.kind === "sample") this.#samples.push({ part, group: this.#group })
    return operator ? { ...result, rule: operator } : result
  }

  /** A sample applies to the whole rule. Below an OR, at any depth, it would apply to a branch. */
  #checkSamples(): void {
    if (this.#samples.length === 0) return
    for (const group of this.#groups) group.isWithinOr = group.orAt > 0 || group.parent?.isWithinOr === true
    for (const { part, group } of this.#samples) if (group.isWithinOr) this.#problems.push(sampleBesideOr(part))
  }

  #checkNegation(operator: Operator, part: Part, isNegated: boolean): void {
    const isChosen = operator.kind === "sample" || operator.kind === "embedding"
    if (isChosen && isNegated) this.#problems.push(cannotBeNegated(part))
    const isNullcast = operator.kind === "key" && operator.name === "is" && operator.key === "nullcast"
    if (isNullcast && !isNegated) this.#problems.push(mustBeNegated(part))
  }

  /** True if a clause or group with so many dashes is negated at the present position. */
  #isNegated(dashes: number): boolean {
    return this.#group.isNegated !== (dashes % 2 === 1)
  }

  /** An AND of the results. */
  #all(results: readonly ClauseResult[]): ClauseResult {
    const result = this.#conjunction(results)
    this.#sources?.join(result, results)
    return result
  }

  /** One standalone clause is enough; otherwise the most specific violation is reported. */
  #conjunction(results: readonly ClauseResult[]): ClauseResult {
    const [first] = results
    if (first && results.length === 1) return first
    const isEnough = results.some((result) => result.violations.length === 0)
    const violations = isEnough ? [] : mostSpecific(results.flatMap((result) => result.violations))
    const thresholds = results.flatMap((result) => result.threshold ?? [])
    const clauses = results.filter((result) => result.threshold === undefined)
    const [threshold, another] = thresholds
    if (threshold === undefined) return joined("all", results, violations)
    if (another) this.#problems.push(strayInput(another.part, "One threshold is enough"))
    if (!clauses.some((result) => result.rule === undefined || hasEmbedding(result.rule)))
      this.#problems.push(strayInput(threshold.part, besideEmbedding))
    const limited = clauses.map((result) =>
      result.rule ? { ...result, rule: this.#withThreshold(result.rule, threshold.value) } : result,
    )
    const [only] = limited
    if (only === undefined) return first ?? broken(threshold.part.position)
    return limited.length === 1 ? { ...only, violations } : joined("all", limited, violations)
  }

  /** The rule with the threshold in every `embedding:` without one. */
  #withThreshold(rule: Rule, threshold: number): Rule {
    const limited = this.#limitedTo(rule, threshold)
    this.#sources?.copy(rule, limited)
    return limited
  }

  #limitedTo(rule: Rule, threshold: number): Rule {
    switch (rule.kind) {
      case "any":
      case "all":
        return { kind: rule.kind, rules: rule.rules.map((one) => this.#withThreshold(one, threshold)) }
      case "not":
        return { kind: "not", rule: this.#withThreshold(rule.rule, threshold) }
      case "embedding": {
        if (this.#limited.has(rule)) return rule
        const limited = { ...rule, threshold }
        this.#limited.add(limited)
        return limited
      }
      default:
        return rule
    }
  }

  #any(branches: readonly ClauseResult[]): ClauseResult {
    const [first] = branches
    if (first && branches.length === 1) return first
    for (const { threshold } of branches)
      if (threshold) this.#problems.push(strayInput(threshold.part, besideEmbedding))
    const violations = branches.flatMap((branch) => branch.violations)
    const result = joined("any", branches, violations)
    this.#sources?.join(result, branches)
    return result
  }
}

const besideEmbedding = "It stands beside the embedding: that it belongs to"

function hasEmbedding(rule: Rule): boolean {
  if (rule.kind === "any" || rule.kind === "all") return rule.rules.some(hasEmbedding)
  return rule.kind === "not" ? hasEmbedding(rule.rule) : rule.kind === "embedding"
}

function openGroup(
  { at, dashes, dashAt }: { at: number; dashes: number; dashAt: number },
  isNegated: boolean,
  parent?: OpenGroup,
): OpenGroup {
  return { at, dashes, dashAt, isNegated, branches: [], current: [], orAt: 0, parent, isWithinOr: false }
}

/** Counts a surrogate pair once. A loop, because iterating over a megabyte of text takes ten times as long. */
function countCodePoints(text: string): number {
  let count = text.length
  for (let index = 1; index < text.length; index++) {
    const isPair = (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800
    if (isPair) count--
  }
  return count
}
