/** A rule's text cut into tokens, for highlighting it while it is written, right or wrong. */

import { readLexemes, type ClauseLexeme, type Lexeme } from "./lexemes.ts"
import type { SourceRange } from "./rule-sources.ts"

/** A piece of a rule's text. Between tokens there is space, or a character that no rule may have there. */
export type RuleToken = SourceRange & {
  readonly kind:
    | "word"
    /** A text in quotation marks, with them. */
    | "phrase"
    /** `~3` after a phrase. */
    | "proximity"
    /** `#cat`, `@nasa`, `$BTC`, with the sign. */
    | "mark"
    /** The name of an operator with its colon. */
    | "operator"
    | "value"
    /** The dashes before what they negate. */
    | "negation"
    | "or"
    | "parenthesis"
    /** A clause that could not be read. */
    | "invalid"
}

/** The tokens of a text, in its order, not overlapping. Never throws; takes time proportional to the text. */
export function tokensOf(text: string): readonly RuleToken[] {
  return readLexemes(text, []).flatMap(tokensOfLexeme)
}

function tokensOfLexeme(lexeme: Lexeme): readonly RuleToken[] {
  const start = lexeme.at - 1
  switch (lexeme.kind) {
    case "or":
      return [{ kind: "or", start, end: start + 2 }]
    case "close":
      return [{ kind: "parenthesis", start, end: start + 1 }]
    case "open":
      return [...negation(lexeme), { kind: "parenthesis", start, end: start + 1 }]
    case "clause":
      return [...negation(lexeme), ...tokensOfClause(lexeme)]
  }
}

function negation({ dashes, dashAt }: { dashes: number; dashAt: number }): readonly RuleToken[] {
  return dashes === 0 ? [] : [{ kind: "negation", start: dashAt - 1, end: dashAt - 1 + dashes }]
}

function tokensOfClause({ at, raw, body }: ClauseLexeme): readonly RuleToken[] {
  const start = at - 1
  const end = start + raw.length
  switch (body.kind) {
    case "word":
      return [{ kind: "word", start, end }]
    case "sigil":
      return [{ kind: "mark", start, end }]
    case "broken":
      return [{ kind: "invalid", start, end }]
    case "quote": {
      const { proximity } = body
      if (proximity === undefined) return [{ kind: "phrase", start, end }]
      const from = proximity.position - 1
      return [
        { kind: "phrase", start, end: from },
        { kind: "proximity", start: from, end },
      ]
    }
    case "operator": {
      const from = body.valuePart.position - 1
      const name: RuleToken = { kind: "operator", start, end: from }
      return from === end ? [name] : [name, { kind: "value", start: from, end }]
    }
  }
}
