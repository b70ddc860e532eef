/**
 * The rule language.
 *
 *     rule   := any
 *     any    := all ( "OR" all )*
 *     all    := term+                        a space joins, and joins tighter than OR
 *     term   := "-"* ( "(" any ")" | operator )
 *
 * The obvious parser calls itself for every parenthesis; ten thousand of them would overflow the
 * stack of a server that somebody else writes rules for. This one keeps its open groups in a list.
 *
 * Grammar is half of it. A rule must narrow the stream down: every branch of every OR needs
 * something positive and selective, or the rule would match half of all posts. Each clause carries
 * its verdict upward, `lacks`: what X would answer if the clause stood alone. An AND is saved by
 * any of its clauses, an OR only by all. What is required here is also what the matcher files
 * rules under.
 */

import { readLexemes } from "./lexemes.ts"
import type { Clause as ClauseLexeme, Lexeme } from "./lexemes.ts"
import type { Mode } from "./mode.ts"
import { readOperator } from "./operators.ts"
import type { Dialect } from "./operators.ts"
import {
  cannotBeNegated,
  isSampling,
  mustBeNegated,
  negatedGroup,
  notStandalone,
  onlyNegation,
  onlyStopwords,
  strayInput,
  tooDeep,
  tooLong,
} from "./rule-problem.ts"
import type { Part, RuleProblem } from "./rule-problem.ts"
import type { Operator, Rule } from "./rule.ts"

/** How a rule is judged. */
export type RuleOptions = {
  /** Characters (code points) of a rule at most. Default 2,048, X's figure for Enterprise. */
  readonly lengthMax?: number
  /** Refuse negated groups, which X discourages though they have one meaning. Default false. */
  readonly strict?: boolean
  /** What the rule is for. Default `stream`. */
  readonly mode?: Mode
  /** Whether similarities can be had; without them `embedding:` is refused. Default false. */
  readonly embeddings?: boolean
}

/** A rule, or everything that is wrong with it. */
export type ParsedRule =
  | { readonly ok: true; readonly rule: Rule }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] }

/** Ours: deeper than people write, shallow enough for code that calls itself. */
const depthMax = 200

const problemsMax = 100

/**
 * Reads a rule. Never throws. Refused rules come with all their problems, in the order of the text
 * (at most 100), except that of a rule more than four times too long only the length is told.
 */
export function parseRule(text: string, options: RuleOptions = {}): ParsedRule {
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
  const { rule, lacks, isPositive } = new Parser(options, found).parse(lexemes)
  if (lexemes.length === 0 && found.length === 0) found.push(onlyStopwords(whole))
  else if (!isPositive) found.push(onlyNegation(whole), onlyStopwords(whole))
  else for (const lack of lacks) found.push(lack.problem)
  if (problems.length === 0 && found.length === 0 && rule) return { ok: true, rule }
  for (const problem of found.toSorted((left, right) => left.position - right.position))
    problems.push(problem)
  return { ok: false, problems: distinct(problems).slice(0, problemsMax) }
}

/** A lone OR lacks both its neighbours, and that is one problem. */
function distinct(problems: readonly RuleProblem[]): readonly RuleProblem[] {
  return Array.from(new Map(problems.map((problem) => [problem.message, problem])).values())
}

type Lack = {
  readonly kind: "stopword" | "sampling" | "conjunction" | "negation"
  readonly problem: RuleProblem
}

/** A clause, group or branch with its verdict. Without a rule it is broken, and reported. */
type Piece = {
  readonly rule?: Rule
  /** Why it could not be a rule by itself; empty when it could. */
  readonly lacks: readonly Lack[]
  /** Holds an operator that is not negated. */
  readonly isPositive: boolean
  readonly position: number
  /** Of an `embedding_threshold:`, which is no rule but a part of the `embedding:` beside it. */
  readonly threshold?: { readonly value: number; readonly part: Part }
  /** Stands for what could not be read, so that nothing more is said about it. */
  readonly isBroken?: true
}

type OpenGroup = {
  readonly at: number
  readonly dashes: number
  readonly dashAt: number
  /** What stands within counts the other way round, by this group's dashes and those of the groups around it. */
  readonly isNegated: boolean
  readonly branches: Piece[]
  current: Piece[]
  /** Position of the last OR. */
  orAt: number
}

class Parser {
  readonly #problems: RuleProblem[]
  readonly #strict: boolean
  readonly #dialect: Dialect
  readonly #open: OpenGroup[] = []
  /** Those whose threshold is written beside them, and not only beside a group around them. */
  readonly #limited = new Set<Rule>()
  #group: OpenGroup = openGroup({ at: 1, dashes: 0, dashAt: 1 }, false)
  #isTooDeep = false

  constructor(options: RuleOptions, problems: RuleProblem[]) {
    this.#problems = problems
    this.#strict = options.strict ?? false
    this.#dialect = { mode: options.mode ?? "stream", hasEmbeddings: options.embeddings ?? false }
  }

  parse(lexemes: readonly Lexeme[]): Piece {
    for (const lexeme of lexemes) this.#take(lexeme)
    while (this.#open.length > 0) {
      this.#problems.push(
        strayInput({ text: "(", position: this.#group.at }, "The parenthesis is never closed"),
      )
      this.#close({ isComplete: false })
    }
    if (lexemes.length === 0) return { lacks: [], isPositive: true, position: 1 }
    return this.#finish(1)
  }

  #take(lexeme: Lexeme): void {
    switch (lexeme.kind) {
      case "open":
        this.#begin(lexeme)
        break
      case "close":
        if (this.#open.length > 0) this.#close({ isComplete: true })
        else
          this.#problems.push(strayInput({ text: ")", position: lexeme.at }, "No parenthesis is open here"))
        break
      case "or":
        this.#or(lexeme.at)
        break
      case "clause":
        this.#group.current.push(negated(this.#operator(lexeme), lexeme))
    }
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
    this.#group = openGroup(opening, this.#isNegated(opening.dashes))
  }

  #close({ isComplete }: { isComplete: boolean }): void {
    const { at, dashes, dashAt, branches, current } = this.#group
    if (isComplete && branches.length === 0 && current.length === 0) {
      this.#problems.push(strayInput({ text: "(", position: at }, "The group is empty"))
    }
    const piece = this.#open.length > depthMax ? broken(at) : this.#finish(at)
    this.#group = this.#open.pop() ?? openGroup({ at: 1, dashes: 0, dashAt: 1 }, false)
    this.#group.current.push(negated(piece, { dashes, dashAt }))
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
  #finish(position: number): Piece {
    const { branches, current, orAt } = this.#group
    if (current.length > 0) return this.#any([...branches, this.#all(current)])
    if (branches.length > 0) {
      this.#problems.push(strayInput({ text: "OR", position: orAt }, "OR stands between two clauses"))
    }
    return broken(position)
  }

  #operator(clause: ClauseLexeme): Piece {
    if (clause.body.kind === "broken") return broken(clause.at)
    const { standing, operator, threshold } = readOperator(clause, this.#dialect, this.#problems)
    const part = { text: clause.raw, position: clause.at }
    const piece = { lacks: lacksOf(standing, part), isPositive: true, position: clause.at }
    if (threshold !== undefined) {
      if (this.#isNegated(clause.dashes)) this.#problems.push(cannotBeNegated(part))
      return { ...piece, threshold: { value: threshold, part } }
    }
    if (operator) this.#checkNegation(operator, part, this.#isNegated(clause.dashes))
    return operator ? { ...piece, rule: operator } : piece
  }

  #checkNegation(operator: Operator, part: Part, isNegated: boolean): void {
    const isChosen = operator.kind === "sample" || operator.kind === "embedding"
    if (isChosen && isNegated) this.#problems.push(cannotBeNegated(part))
    const isNullcast = operator.kind === "key" && operator.name === "is" && operator.key === "nullcast"
    if (isNullcast && !isNegated) this.#problems.push(mustBeNegated(part))
  }

  /** Whether a clause or group with so many dashes counts the other way round, where it stands. */
  #isNegated(dashes: number): boolean {
    return this.#group.isNegated !== (dashes % 2 === 1)
  }

  /** One clause that stands on its own is enough; else the most telling reason. */
  #all(pieces: readonly Piece[]): Piece {
    const [first] = pieces
    if (first && pieces.length === 1) return first
    const isEnough = pieces.some((piece) => piece.lacks.length === 0)
    const lacks = isEnough ? [] : mostTelling(pieces.flatMap((piece) => piece.lacks))
    const thresholds = pieces.flatMap((piece) => piece.threshold ?? [])
    const clauses = pieces.filter((piece) => piece.threshold === undefined)
    const [threshold, another] = thresholds
    if (threshold === undefined) return joined("all", pieces, lacks)
    if (another) this.#problems.push(strayInput(another.part, "One threshold is enough"))
    if (!clauses.some((piece) => piece.rule === undefined || hasEmbedding(piece.rule)))
      this.#problems.push(strayInput(threshold.part, besideEmbedding))
    const limited = clauses.map((piece) =>
      piece.rule ? { ...piece, rule: this.#withThreshold(piece.rule, threshold.value) } : piece,
    )
    const [only] = limited
    if (only === undefined) return first ?? broken(threshold.part.position)
    return limited.length === 1 ? { ...only, lacks } : joined("all", limited, lacks)
  }

  /** The rule with the threshold in every `embedding:` that has none of its own. */
  #withThreshold(rule: Rule, threshold: number): Rule {
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

  #any(branches: readonly Piece[]): Piece {
    const [first] = branches
    if (first && branches.length === 1) return first
    for (const { threshold } of branches)
      if (threshold) this.#problems.push(strayInput(threshold.part, besideEmbedding))
    const lacks = branches.flatMap((branch) => branch.lacks)
    return joined("any", branches, lacks)
  }
}

const besideEmbedding = "It stands beside the embedding: that it belongs to"

function hasEmbedding(rule: Rule): boolean {
  if (rule.kind === "any" || rule.kind === "all") return rule.rules.some(hasEmbedding)
  return rule.kind === "not" ? hasEmbedding(rule.rule) : rule.kind === "embedding"
}

function lacksOf(standing: "standalone" | "conjunction" | "stopword", part: Part): readonly Lack[] {
  if (standing === "conjunction") {
    return [{ kind: isSampling(part.text) ? "sampling" : "conjunction", problem: notStandalone(part) }]
  }
  return standing === "stopword" ? [{ kind: "stopword", problem: onlyStopwords(part) }] : []
}

/** term := "-"* …; of many dashes only oddness matters, and two are kept. */
function negated(piece: Piece, { dashes, dashAt }: { dashes: number; dashAt: number }): Piece {
  if (dashes === 0 || piece.isBroken) return piece
  const lacks: readonly Lack[] = [
    { kind: "negation", problem: onlyNegation({ text: "-", position: dashAt }) },
  ]
  const around = { lacks, isPositive: false, position: dashAt }
  if (!piece.rule) return around
  const once: Rule = { kind: "not", rule: piece.rule }
  return { ...around, rule: dashes % 2 === 1 ? once : { kind: "not", rule: once } }
}

function mostTelling(lacks: readonly Lack[]): readonly Lack[] {
  for (const kind of ["stopword", "sampling", "conjunction", "negation"] as const) {
    const some = lacks.find((lack) => lack.kind === kind)
    if (some) return [some]
  }
  return []
}

function joined(kind: "any" | "all", pieces: readonly Piece[], lacks: readonly Lack[]): Piece {
  const around = {
    lacks,
    isPositive: pieces.some((piece) => piece.isPositive),
    position: pieces[0]?.position ?? 1,
  }
  const rules = pieces.flatMap((piece) => (piece.rule ? [piece.rule] : []))
  return rules.length === pieces.length ? { ...around, rule: { kind, rules } } : around
}

function broken(position: number): Piece {
  return { lacks: [], isPositive: true, position, isBroken: true }
}

function openGroup(
  { at, dashes, dashAt }: { at: number; dashes: number; dashAt: number },
  isNegated: boolean,
): OpenGroup {
  return { at, dashes, dashAt, isNegated, branches: [], current: [], orAt: 0 }
}

/** Pairs of surrogates count once. A loop, because iterating a megabyte of text takes ten times as long. */
function countCodePoints(text: string): number {
  let count = text.length
  for (let index = 1; index < text.length; index++) {
    const isPair =
      (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800
    if (isPair) count--
  }
  return count
}
