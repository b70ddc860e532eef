/**
 * The problems of an invalid rule, in X's words where they are known.
 *
 * A message begins with X's complete text, position included, so that a client that searches for it finds it. A reason
 * or a suggestion of ours follows as a separate sentence. Full stops are where X has them. Sources: live responses
 * quoted in public code and issues; the texts about nesting, dashes and values are ours.
 */
import { codePointAt } from "../text/code-at.ts"

/** One problem of a rule. */
export type RuleProblem = {
  /** For the API caller. Contains `(at position N)`. */
  readonly message: string
  /** Start of the invalid part: 1-based, in UTF-16 units, as X counts. */
  readonly position: number
  /** The invalid part as written in the rule at `position`, cut after 4,096 code points. */
  readonly part: string
  /** Replacement for `part`. */
  readonly suggestion?: string
}

/** A part of the rule's text; `position` is 1-based, in UTF-16 units. */
export type Part = { readonly text: string; readonly position: number }

/** A character that is not valid at its position. */
export function strayCharacter(part: Part, reason?: string, suggestion?: string): RuleProblem {
  const message = `no viable alternative at character '${visible(part.text)}' (at position ${part.position})`
  return problem(message, part, { reason, suggestion })
}

/** The end of a rule whose last character is `>`, at `position`: X's language reads it as the beginning of `>=`. */
export function unfinishedComparison(position: number, reason: string): RuleProblem {
  const message = `mismatched character '<EOF>' expecting '=' (at position ${position})`
  return problem(message, { text: "", position }, { reason })
}

/** A part of the rule that is not valid at its position. */
export function strayInput(part: Part, reason?: string, suggestion?: string): RuleProblem {
  const message = `no viable alternative at input '${visible(part.text)}' (at position ${part.position})`
  return problem(message, part, { reason, suggestion, stop: "." })
}

/** A `)` without an open group. */
export function extraParenthesis(position: number): RuleProblem {
  const part = { text: ")", position }
  const reason = "No parenthesis is open here"
  return problem(`missing EOF at ')' (at position ${position})`, part, { reason })
}

/** The end of a rule with unclosed groups; `openAt` is the position of the innermost one. */
export function unclosedGroup(position: number, openAt: number): RuleProblem {
  const message = `mismatched input 'EOF' expecting ')' (at position ${position})`
  const reason = `The parenthesis at position ${openAt} is never closed`
  return problem(message, { text: "", position }, { reason })
}

/** `or` or `and` instead of the upper-case `OR` or a space. */
export function ambiguousKeyword(part: Part): RuleProblem {
  const word = part.text.toLowerCase()
  const joiner = word === "or" ? "OR" : "a space"
  const message =
    `Ambiguous use of ${word} as a keyword. Use ${joiner} to logically join two clauses, ` +
    `or "${word}" to find occurrences of ${word} in text (at position ${part.position})`
  return { ...problem(message, part), ...(word === "or" && { suggestion: "OR" }) }
}

/** An unknown operator. X reports it with two messages. */
export function unknownOperator(name: string, part: Part, suggestion?: string): readonly RuleProblem[] {
  const at = `(at position ${part.position})`
  return [
    problem(`Reference to invalid operator '${name}' ${at}.`, part, { suggestion }),
    problem(`Reference to invalid field '${name}' ${at}.`, part),
  ]
}

/** An operator of X that Sluice does not have, or a known operator with an unknown value, such as `is:polls`. */
export function unavailableOperator(name: string, part: Part, suggestion?: string): RuleProblem {
  const message =
    `Reference to invalid operator '${visible(name)}'. Operator is not available in current product or product packaging. ` +
    `Please refer to complete available operator list at http://t.co/operators. (at position ${part.position})`
  return problem(message, part, { suggestion })
}

/**
 * `is:`, `has:` or `lang:` without a standalone operator next to it; X has a longer text for `sample:` and `source:`.
 */
export function notStandalone(part: Part): RuleProblem {
  const names = isSampling(part.text) ? "has/is/lang/sample/source" : "is/has/lang"
  return problem(`${names} cannot be used as a standalone operator (at position ${part.position})`, part)
}

/** True if X uses the longer text of `notStandalone` for the operator. */
export function isSampling(operator: string): boolean {
  return /^(?:sample|source):/i.test(operator)
}

/**
 * Ours, after docs.x.com, "Build a rule": `sample:` and `embedding:` select a part of the stream and have no opposite.
 */
export function cannotBeNegated(part: Part): RuleProblem {
  const message = `Operator '${visible(part.text)}' cannot be negated (at position ${part.position})`
  return problem(message, part)
}

/** `sample:` below an OR. Source: enterprise documentation of `POST /validation`, its spelling included. */
export function sampleBesideOr(part: Part): RuleProblem {
  const message =
    "The sample operator cannot be used with an OR. To use the sample operator with an OR in the rule, the ORed clauses " +
    "must be grouped together with parenthesis.  For example, to get 10% of activites that have term1 or term2, the rule " +
    `should be (excluding the single quotes) '(term1 OR term2) sample:10' (at position ${part.position})`
  return problem(message, part)
}

/** Ours, after docs.x.com, "Build a rule". */
export function mustBeNegated(part: Part): RuleProblem {
  const message = `Operator '${part.text}' must be negated (at position ${part.position})`
  return problem(message, part, { suggestion: `-${part.text}` })
}

/** A rule or a branch of an OR in which every clause is negated. */
export function onlyNegation(part: Part): RuleProblem {
  return problem(`Rules must contain a non-negation term (at position ${part.position})`, part)
}

/** A rule or a branch of an OR without a positive clause that is not a stopword. */
export function onlyStopwords(part: Part): RuleProblem {
  const message = `Rules must contain at least one positive, non-stopword clause (at position ${part.position})`
  return problem(message, part)
}

/** Lengths in code points. */
export function tooLong(part: Part, length: number, lengthMax: number): RuleProblem {
  const message =
    `Rule '${shortened(part.text)}' exceeds the maximum length of a rule. ` +
    `It is ${length} characters while the maximum allowed is ${lengthMax} (at position 1)`
  return problem(message, part)
}

/** Ours. */
export function tooDeep(part: Part, depthMax: number): RuleProblem {
  return strayInput(part, `Groups may be nested ${depthMax} deep`)
}

/** Source: docs.x.com, "Build a rule", whose advice this is. */
export function negatedGroup(part: Part): RuleProblem {
  const message = `Do not negate a set of operators grouped together in parentheses (at position ${part.position})`
  return problem(message, part, { reason: "Negate each operator on its own", stop: "." })
}

type Extra = {
  readonly reason?: string | undefined
  readonly suggestion?: string | undefined
  readonly stop?: "."
}

/** Without a reason and a suggestion the message ends with `stop`. */
function problem(message: string, part: Part, { reason, suggestion, stop }: Extra = {}): RuleProblem {
  const why = reason === undefined ? "" : `. ${reason}`
  const hint = suggestion === undefined ? "" : `. Did you mean '${visible(suggestion)}'?`
  const extra = why + hint
  return {
    message: extra === "" ? message + (stop ?? "") : message.replace(/\.$/, "") + extra,
    position: part.position,
    part: shortened(part.text),
    ...(suggestion !== undefined && { suggestion }),
  }
}

function shortened(text: string): string {
  return text.length > 4096 ? Array.from(text.slice(0, 8192)).slice(0, 4096).join("") : text
}

/** The text with invisible characters as escapes. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = codePointAt(character, 0).toString(16).toUpperCase()
    return String.raw`\u` + (code.length > 4 ? `{${code}}` : code.padStart(4, "0"))
  })
}
