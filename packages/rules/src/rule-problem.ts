/**
 * What is wrong with a rule, in X's words where they are known.
 *
 * X's text stands first and whole, its position included, so that a client that looks for it finds
 * it; what we add (a suggestion, a reason) follows as sentences of its own. The forms differ in
 * where the full stop stands because X's do. Sources: live answers quoted in public code and issues;
 * texts about nesting, dashes and values are ours.
 */

/** One problem of a rule. */
export type RuleProblem = {
  /** For the API caller; ends in or holds `(at position N)`. */
  readonly message: string
  /** Where the offending part begins: 1-based, in code points. */
  readonly position: number
  /** The offending part as it stands in the rule at `position`, cut after 4,096 code points. */
  readonly part: string
  /** What to put in place of `part`. */
  readonly suggestion?: string
}

/** A part of the rule's text. */
export type Part = { readonly text: string; readonly position: number }

/** A character that can begin nothing here. */
export function strayCharacter(part: Part, reason?: string, suggestion?: string): RuleProblem {
  return problem(
    `no viable alternative at character '${visible(part.text)}' (at position ${part.position})`,
    part,
    {
      reason,
      suggestion,
      stop: "",
    },
  )
}

/** A part of the rule that fits nowhere. */
export function strayInput(part: Part, reason?: string, suggestion?: string): RuleProblem {
  const message = `no viable alternative at input '${visible(part.text)}' (at position ${part.position})`
  return problem(message, part, { reason, suggestion, stop: "." })
}

/** `or` or `and` where only the upper-case `OR` or a space would do. */
export function ambiguousKeyword(part: Part): RuleProblem {
  const word = part.text.toLowerCase()
  const joiner = word === "or" ? "OR" : "a space"
  const message =
    `Ambiguous use of ${word} as a keyword. Use ${joiner} to logically join two clauses, ` +
    `or "${word}" to find occurrences of ${word} in text (at position ${part.position})`
  return word === "or" ? { message, ...located(part), suggestion: "OR" } : { message, ...located(part) }
}

/** An operator name that nobody knows: X answers with two texts. */
export function unknownOperator(name: string, part: Part, suggestion?: string): readonly RuleProblem[] {
  const at = `(at position ${part.position})`
  return [
    problem(`Reference to invalid operator '${name}' ${at}.`, part, { suggestion, stop: "" }),
    problem(`Reference to invalid field '${name}' ${at}.`, part, { stop: "" }),
  ]
}

/** An operator whose value it does not have, such as `is:polls`. */
export function unknownValue(part: Part, suggestion?: string): RuleProblem {
  const message = `Reference to invalid operator '${visible(part.text)}'. (at position ${part.position})`
  return problem(message, part, { suggestion, stop: "" })
}

/** An operator of X that is not to be had here. */
export function unavailableOperator(name: string, part: Part, suggestion?: string): RuleProblem {
  const message =
    `Reference to invalid operator '${visible(name)}'. Operator is not available in current product or product packaging. ` +
    `Please refer to complete available operator list at http://t.co/operators. (at position ${part.position})`
  return problem(message, part, { suggestion, stop: "" })
}

/** `is:`, `has:` or `lang:` with nothing beside it that narrows the posts down; X has a longer text for `sample:`. */
export function notStandalone(part: Part): RuleProblem {
  const names = isSampling(part.text) ? "has/is/lang/sample/source" : "is/has/lang"
  return {
    message: `${names} cannot be used as a standalone operator (at position ${part.position})`,
    ...located(part),
  }
}

/** Whether the operator takes part of the stream as it comes. */
export function isSampling(operator: string): boolean {
  return /^(?:sample|source):/i.test(operator)
}

/** Ours, after docs.x.com, "Build a rule": `sample:` and `embedding:` take a part of the stream, and have no opposite. */
export function cannotBeNegated(part: Part): RuleProblem {
  const message = `Operator '${visible(part.text)}' cannot be negated (at position ${part.position})`
  return { message, ...located(part) }
}

/** Ours, after docs.x.com, "Build a rule". */
export function mustBeNegated(part: Part): RuleProblem {
  const message = `Operator '${part.text}' must be negated (at position ${part.position})`
  return problem(message, part, { suggestion: `-${part.text}`, stop: "" })
}

/** A rule or a branch of an OR in which everything is negated. */
export function onlyNegation(part: Part): RuleProblem {
  return {
    message: `Rules must contain a non-negation term (at position ${part.position})`,
    ...located(part),
  }
}

/** A rule or a branch of an OR in which every keyword is a stopword, or nothing is positive. */
export function onlyStopwords(part: Part): RuleProblem {
  const message = `Rules must contain at least one positive, non-stopword clause (at position ${part.position})`
  return { message, ...located(part) }
}

/** Lengths in code points. */
export function tooLong(part: Part, length: number, lengthMax: number): RuleProblem {
  const message =
    `Rule '${located(part).part}' exceeds the maximum length of a rule. ` +
    `It is ${length} characters while the maximum allowed is ${lengthMax} (at position 1)`
  return { message, ...located(part) }
}

/** Ours. */
export function tooDeep(part: Part, depthMax: number): RuleProblem {
  return strayInput(part, `Groups may be nested ${depthMax} deep`)
}

/** Ours, after docs.x.com, "Build a rule": do not negate a set of operators grouped in parentheses. */
export function negatedGroup(part: Part): RuleProblem {
  const message = `Do not negate a set of operators grouped together in parentheses (at position ${part.position})`
  return problem(message, part, { reason: "Negate each operator on its own", stop: "." })
}

type Extra = { reason?: string | undefined; suggestion?: string | undefined; stop: string }

function problem(message: string, part: Part, { reason, suggestion, stop }: Extra): RuleProblem {
  const why = reason === undefined ? "" : `. ${reason}`
  const hint = suggestion === undefined ? "" : `. Did you mean '${visible(suggestion)}'?`
  const extra = why + hint
  const text = extra === "" ? message + stop : message.replace(/\.$/, "") + extra
  return suggestion === undefined
    ? { message: text, ...located(part) }
    : { message: text, ...located(part), suggestion }
}

function located({ text, position }: Part): { position: number; part: string } {
  return {
    position,
    part: text.length > 4096 ? Array.from(text.slice(0, 8192)).slice(0, 4096).join("") : text,
  }
}

/** Characters that cannot be seen, by number. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase()
    return String.raw`\u` + (code.length > 4 ? `{${code}}` : code.padStart(4, "0"))
  })
}
