/**
 * The rule's text as lexemes: one pass over its code points, no look-back, so a megabyte takes
 * milliseconds. What cannot be read is reported and stepped over, so that the rest of the rule is
 * judged in the same answer.
 *
 *     lexeme   := "OR" | ")" | "-"* ( "(" | quote | sigil word | name ":" value | word )
 *     value    := word | quote | "[" … "]"
 *     quote    := '"' ( '\"' | '\\' | character )* '"' ( "~" digit* )?
 */

import { classOf, mark, separator } from "./character-class.ts"
import { emojiAt } from "./tokenise.ts"
import { ambiguousKeyword, strayCharacter, strayInput } from "./rule-problem.ts"
import type { Part, RuleProblem } from "./rule-problem.ts"

/** A piece of a rule. `at` is 1-based and points behind the dashes, `dashAt` at the first of them. */
export type Lexeme =
  | { readonly kind: "or" | "close"; readonly at: number }
  | { readonly kind: "open"; readonly at: number; readonly dashes: number; readonly dashAt: number }
  | Clause

/** A lexeme that becomes an operator. */
export type Clause = {
  readonly kind: "clause"
  readonly at: number
  readonly dashes: number
  readonly dashAt: number
  /** As it stands in the rule, without dashes. */
  readonly raw: string
  readonly body: Body
}

/** What the clause says, unjudged. */
type Body =
  | { readonly kind: "word"; readonly text: string }
  /** Text without quotes and escapes; `proximity` begins with `~`. */
  | { readonly kind: "quote"; readonly text: string; readonly proximity?: Part }
  | { readonly kind: "sigil"; readonly sigil: "#" | "@" | "$"; readonly value: Part }
  /** `value` without quotes and escapes, `valuePart` as it stands. */
  | { readonly kind: "operator"; readonly name: string; readonly value: string; readonly valuePart: Part }
  /** Reported already; stands where a clause stood. */
  | { readonly kind: "broken" }

/** Reads the rule; problems are added to the list in the order of the text. */
export function readLexemes(text: string, problems: RuleProblem[]): readonly Lexeme[] {
  return new Reader(text, problems).read()
}

const sigils: Readonly<Record<string, "#" | "@" | "$">> = {
  "#": "#",
  "＃": "#",
  "@": "@",
  "＠": "@",
  $: "$",
  "＄": "$",
}

/** Look like something that the language has. */
const lookalikes: Readonly<Record<string, string>> = {
  "“": '"',
  "”": '"',
  "„": '"',
  "«": '"',
  "»": '"',
  "–": "-",
  "—": "-",
  "−": "-",
  "（": "(",
  "）": ")",
  "'": '"',
  "‘": '"',
}

class Reader {
  readonly #points: readonly string[]
  readonly #problems: RuleProblem[]
  #index = 0

  constructor(text: string, problems: RuleProblem[]) {
    this.#points = Array.from(text)
    this.#problems = problems
  }

  read(): readonly Lexeme[] {
    const lexemes: Lexeme[] = []
    while (this.#index < this.#points.length) {
      const lexeme = this.#next()
      if (lexeme) lexemes.push(lexeme)
    }
    return lexemes
  }

  #next(): Lexeme | undefined {
    const point = this.#peek()
    if (isSpace(point)) {
      this.#index++
      return undefined
    }
    const at = this.#index + 1
    if (point === ")") {
      this.#index++
      return { kind: "close", at }
    }
    const dashAt = at
    while (this.#peek() === "-") this.#index++
    const dashes = this.#index + 1 - at
    return this.#term(dashes, dashAt)
  }

  #term(dashes: number, dashAt: number): Lexeme | undefined {
    const point = this.#peek()
    const at = this.#index + 1
    const from = this.#index
    if (point === "(") {
      this.#index++
      return { kind: "open", at, dashes, dashAt }
    }
    if (dashes > 0 && (point === "" || point === ")" || isSpace(point))) {
      this.#problems.push(
        strayCharacter({ text: "-", position: at - 1 }, "A dash stands right before what it negates"),
      )
      return this.#clause({ kind: "broken" }, { at: at - 1, from: from - 1, dashes: 0, dashAt })
    }
    const body = this.#body(point, at)
    if (body === undefined) return undefined
    if (body.kind !== "word") return this.#clause(body, { at, from, dashes, dashAt })
    if (body.text === "OR") {
      if (dashes === 0) return { kind: "or", at }
      this.#problems.push(strayInput({ text: "OR", position: at }, "OR cannot be negated"))
      return this.#clause({ kind: "broken" }, { at, from, dashes, dashAt })
    }
    if (/^(?:or|and)$/i.test(body.text)) {
      this.#problems.push(ambiguousKeyword({ text: body.text, position: at }))
      return this.#clause({ kind: "broken" }, { at, from, dashes, dashAt })
    }
    return this.#clause(body, { at, from, dashes, dashAt })
  }

  #clause(
    body: Body,
    { at, from, dashes, dashAt }: { at: number; from: number; dashes: number; dashAt: number },
  ): Clause {
    return { kind: "clause", at, dashes, dashAt, raw: this.#slice(from), body }
  }

  #body(point: string, at: number): Body | undefined {
    if (point === '"') return this.#quote()
    if (beginsWord(point, this.#peek(1), this.#peek(2))) return this.#wordOrOperator(at)
    const sigil = sigils[point]
    if (sigil !== undefined && !isWordEnd(this.#peek(1))) {
      this.#index++
      const value = this.#run({ checked: false })
      return { kind: "sigil", sigil, value: { text: value, position: at + 1 } }
    }
    this.#index++
    const part = { text: point, position: at }
    if (point === "[" || point === "]") this.#problems.push(strayInput(part))
    else if (isInvisible(point)) this.#problems.push(strayCharacter(part))
    else this.#problems.push(strayCharacter(part, undefined, lookalikes[point]))
    return undefined
  }

  #wordOrOperator(at: number): Body {
    const name = this.#operatorName()
    if (name === undefined) return { kind: "word", text: this.#run({ checked: true }) }
    this.#index += Array.from(name).length + 1
    const from = this.#index
    const value = this.#value(at)
    if (value === undefined) return { kind: "broken" }
    return { kind: "operator", name, value, valuePart: { text: this.#slice(from), position: from + 1 } }
  }

  #value(at: number): string | undefined {
    const opening = this.#peek()
    if (opening === '"') return this.#quoted()
    return opening === "[" ? this.#bracketed(at) : this.#run({ checked: false })
  }

  /** The name before a colon, when the word is an operator. */
  #operatorName(): string | undefined {
    let end = this.#index
    while (isNameCharacter(this.#points[end] ?? "")) end++
    if (this.#points[end] !== ":" || end === this.#index) return undefined
    const name = this.#points.slice(this.#index, end).join("")
    return /^\p{N}/u.test(name) ? undefined : name
  }

  /** Up to the next space, parenthesis, quote or bracket. `checked` words hold no punctuation of other languages. */
  #run({ checked }: { checked: boolean }): string {
    const from = this.#index
    for (let point = this.#peek(); !isWordEnd(point); point = this.#peek()) {
      if (isInvisible(point)) this.#problems.push(strayCharacter({ text: point, position: this.#index + 1 }))
      else if (checked && /[:*~^|{}=<>;\\`（）]/u.test(point) && !this.#isEmojiHere()) {
        const suggestion = lookalikes[point]
        const reason = suggestion === undefined ? 'Use "quotes" to find punctuation' : undefined
        this.#problems.push(strayCharacter({ text: point, position: this.#index + 1 }, reason, suggestion))
      }
      this.#index++
    }
    return this.#slice(from)
  }

  #isEmojiHere(): boolean {
    const next = this.#peek(1)
    return (next === "\u20E3" || next === "\uFE0F") && emojiAt(this.#peek() + next + this.#peek(2), 0) !== ""
  }

  #quote(): Body {
    const text = this.#quoted()
    if (text === undefined) return { kind: "broken" }
    if (this.#peek() !== "~") return { kind: "quote", text }
    const from = this.#index
    this.#index++
    while (/^\d$/.test(this.#peek())) this.#index++
    return { kind: "quote", text, proximity: { text: this.#slice(from), position: from + 1 } }
  }

  /** The text between quotation marks; undefined, and reported, when the second is missing. */
  #quoted(): string | undefined {
    const opening = this.#index
    this.#index++
    const characters: string[] = []
    for (let point = this.#peek(); point !== '"'; point = this.#peek()) {
      if (point === "") {
        const reason = "The quotation mark is never closed"
        this.#problems.push(strayCharacter({ text: '"', position: opening + 1 }, reason))
        return undefined
      }
      if (isInvisible(point)) this.#problems.push(strayCharacter({ text: point, position: this.#index + 1 }))
      if (point === "\\" && /^["\\]$/.test(this.#peek(1))) this.#index++
      characters.push(this.#peek())
      this.#index++
    }
    this.#index++
    return characters.join("")
  }

  /** With the brackets; undefined, and reported, when the second is missing. */
  #bracketed(at: number): string | undefined {
    const from = this.#index
    for (let point = this.#peek(); point !== "]" && point !== ""; point = this.#peek()) {
      if (isInvisible(point)) this.#problems.push(strayCharacter({ text: point, position: this.#index + 1 }))
      this.#index++
    }
    if (this.#peek() === "") {
      const part = { text: this.#slice(at - 1), position: at }
      this.#problems.push(strayInput(part, "The bracket is never closed"))
      return undefined
    }
    this.#index++
    return this.#slice(from)
  }

  /** The code point so many ahead; "" behind the end. */
  #peek(ahead = 0): string {
    return this.#points[this.#index + ahead] ?? ""
  }

  #slice(from: number): string {
    return this.#points.slice(from, this.#index).join("")
  }
}

function isSpace(point: string): boolean {
  return point !== "\uFEFF" && /^\s$/u.test(point)
}

function isWordEnd(point: string): boolean {
  return point === "" || /^[\s()"[\]]$/u.test(point)
}

function isNameCharacter(point: string): boolean {
  return /^[\p{L}\p{N}_]$/u.test(point)
}

function beginsWord(point: string, next: string, afterNext: string): boolean {
  if (point === "") return false
  const kind = classOf(point.codePointAt(0) ?? 0)
  if (point === "_" || (kind !== separator && kind !== mark)) return true
  return (next === "\u20E3" || next === "\uFE0F") && emojiAt(point + next + afterNext, 0) !== ""
}

/** Characters that nobody meant to type: controls, bidirectional and zero-width marks, halves of a pair. */
function isInvisible(point: string): boolean {
  return /^(?:(?![\t\n\r])\p{Cc}|\p{Cs}|[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB])$/u.test(
    point,
  )
}
