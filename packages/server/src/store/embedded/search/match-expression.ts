/**
 * Queries in the language of FTS5.
 *
 *     all [t:cat, any [t:dog, t:owl], not t:cow]    ──►    (("t:dog" OR "t:owl") AND "t:cat") NOT "t:cow"
 *
 * FTS5 subtracts posts from others, and has no negation of its own. So a part is a list of posts, or all posts without a
 * list, and De Morgan's laws join them; a query that is all posts without a list is subtracted from the token of every post.
 *
 * Its parser has a stack of 100 entries, however long the text is: a group takes one where it comes first, and three after
 * an operator. So the deepest part comes first. Source: SQLite's ext/fts5/fts5parse.y, and Lemon's default.
 */
import { everyPost, type Token } from "../../search-terms.ts"
import type { TokenQuery } from "../../search-query.ts"

/** Most entries of the parser's stack that an expression may take. Ours: the rest is for what a token takes. */
const stackMax = 80

interface Expression {
  readonly text: string
  /** Entries of the parser's stack. */
  readonly stack: number
  readonly isGroup: boolean
}

interface Part {
  readonly expression: Expression
  /** Whether it is all posts without those of the expression. */
  readonly isNegated: boolean
}

/** The expression of a query, or of every post; `undefined` when groups are nested deeper than FTS5 reads. */
export function matchExpression(query: TokenQuery | true): string | undefined {
  if (query === true) return token(everyPost).text
  const { expression, isNegated } = partOf(query)
  const { text, stack } = isNegated ? group("NOT", [token(everyPost), expression]) : expression
  return stack > stackMax ? undefined : text
}

function token(text: Token): Expression {
  return { text: `"${text}"`, stack: 1, isGroup: false }
}

function partOf(query: TokenQuery): Part {
  switch (query.kind) {
    case "token":
      return { expression: token(query.token), isNegated: false }
    case "not":
      return negated(partOf(query.of))
    case "all":
      return allOf(query.of.map(partOf))
    case "any":
      return negated(allOf(query.of.map((one) => negated(partOf(one)))))
  }
}

function negated({ expression, isNegated }: Part): Part {
  return { expression, isNegated: !isNegated }
}

function allOf(parts: readonly Part[]): Part {
  const required = joined("AND", parts, false)
  const excluded = joined("OR", parts, true)
  if (required === undefined) return { expression: excluded ?? token(everyPost), isNegated: true }
  return { expression: excluded === undefined ? required : group("NOT", [required, excluded]), isNegated: false }
}

/** Those of the parts that are negated, or are not, as one expression; `undefined` when there is none. */
function joined(operator: "AND" | "OR", parts: readonly Part[], areNegated: boolean): Expression | undefined {
  const taken = parts.filter(({ isNegated }) => isNegated === areNegated).map(({ expression }) => expression)
  const [first] = taken
  return taken.length > 1
    ? group(
        operator,
        taken.toSorted((a, b) => b.stack - a.stack),
      )
    : first
}

function group(operator: "AND" | "OR" | "NOT", parts: readonly Expression[]): Expression {
  const stacks = parts.map(({ stack, isGroup }, index) => stack + (isGroup ? 1 : 0) + (index === 0 ? 0 : 2))
  return {
    text: parts.map(({ text, isGroup }) => (isGroup ? `(${text})` : text)).join(` ${operator} `),
    stack: Math.max(...stacks),
    isGroup: true,
  }
}
