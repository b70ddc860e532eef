/**
 * Lexical analysis of a rule: one pass over the code points without backtracking, so a megabyte takes milliseconds. An
 * invalid part is reported and skipped, so that one response reports the problems of the whole rule.
 *
 *     lexeme   := "OR" | ")" | "-"* ( "(" | quote | sigil word | name ":" value | word )
 *     value    := word | quote | "[" … "]"
 *     quote    := '"' ( '\"' | '\\' | character )* '"' ( "~" digit* )?
 */

import { classOf, mark, separator } from "../text/character-class.ts"
import { codeAt, codePointAt } from "../text/code-at.ts"
import { emojiAt } from "../text/tokenise.ts"
import {
  ambiguousKeyword,
  strayCharacter,
  strayInput,
  unfinishedComparison,
  type Part,
  type RuleProblem,
} from "./rule-problem.ts"

/** A lexeme. Positions are 1-based, in UTF-16 units: `at` is after the dashes, `dashAt` at the first dash. */
export type Lexeme =
  | { readonly kind: "or" | "close"; readonly at: number }
  | { readonly kind: "open"; readonly at: number; readonly dashes: number; readonly dashAt: number }
  | ClauseLexeme

/** A lexeme that becomes an operator. */
export type ClauseLexeme = {
  readonly kind: "clause"
  readonly at: number
  readonly dashes: number
  readonly dashAt: number
  /** As written in the rule, without dashes. */
  readonly raw: string
  readonly body: Body
}

/** The content of a clause, not yet validated. */
type Body =
  | { readonly kind: "word"; readonly text: string }
  /** Text without quotes and escapes; `proximity` begins with `~`. */
  | { readonly kind: "quote"; readonly text: string; readonly proximity?: Part }
  | { readonly kind: "sigil"; readonly sigil: "#" | "@" | "$"; readonly value: Part }
  /** `value` without quotes and escapes, `valuePart` as written. */
  | { readonly kind: "operator"; readonly name: string; readonly value: string; readonly valuePart: Part }
  /** A clause that was reported as invalid. */
  | { readonly kind: "broken" }

/** The lexemes of the rule. Problems are added to the list in the order of the text. */
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

/** Characters that look like characters of the language. */
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

const quotesReason = 'Use "quotes" to find punctuation'

class Reader {
  readonly #text: string
  readonly #problems: RuleProblem[]
  #index = 0

  constructor(text: string, problems: RuleProblem[]) {
    this.#text = text
    this.#problems = problems
  }

  read(): readonly Lexeme[] {
    const lexemes: Lexeme[] = []
    while (this.#index < this.#text.length) {
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
      this.#problems.push(strayCharacter({ text: "-", position: at - 1 }, "A dash stands right before what it negates"))
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
  ): ClauseLexeme {
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
    this.#index += point.length
    const part = { text: point, position: at }
    if (point === "[" || point === "]") this.#problems.push(strayInput(part))
    else if (isInvisible(point)) this.#problems.push(strayCharacter(part))
    else if (point === ">" && this.#peek() === "") this.#problems.push(unfinishedComparison(at + 1, quotesReason))
    else this.#problems.push(strayCharacter(part, undefined, lookalikes[point]))
    return undefined
  }

  #wordOrOperator(at: number): Body {
    const name = this.#operatorName()
    if (name === undefined) return { kind: "word", text: this.#run({ checked: true }) }
    this.#index += name.length + 1
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

  /** The name before a colon if the word is an operator. */
  #operatorName(): string | undefined {
    let end = plainEnd(this.#text, this.#index)
    for (let point = pointAt(this.#text, end); isNameCharacter(point); point = pointAt(this.#text, end))
      end += point.length
    if (this.#text[end] !== ":" || end === this.#index) return undefined
    const name = this.#text.slice(this.#index, end)
    return /^\p{N}/u.test(name) ? undefined : name
  }

  /** Up to the next space, parenthesis, quote or bracket. In a `checked` word, punctuation of other query languages is invalid. */
  #run({ checked }: { checked: boolean }): string {
    const from = this.#index
    for (let point = this.#peekBehindPlain(); !isWordEnd(point); point = this.#peekBehindPlain()) {
      if (isInvisible(point)) this.#problems.push(strayCharacter({ text: point, position: this.#index + 1 }))
      else if (checked && /[:*~^|{}=<>;\\`（）]/u.test(point) && !this.#isEmojiHere()) {
        this.#problems.push(this.#punctuation(point))
      }
      this.#index += point.length
    }
    return this.#slice(from)
  }

  /** Punctuation of other query languages, here. */
  #punctuation(point: string): RuleProblem {
    const position = this.#index + 1
    if (point === ">" && this.#peek(1) === "") return unfinishedComparison(position + 1, quotesReason)
    const suggestion = lookalikes[point]
    const reason = suggestion === undefined ? quotesReason : undefined
    return strayCharacter({ text: point, position }, reason, suggestion)
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

  /** The text between quotation marks. If the second is missing, reports that and returns undefined. */
  #quoted(): string | undefined {
    const opening = this.#index
    this.#index++
    const characters: string[] = []
    for (;;) {
      const from = this.#index
      const point = this.#peekBehindPlain()
      if (this.#index > from) characters.push(this.#slice(from))
      if (point === '"') break

      if (point === "") {
        const reason = "The quotation mark is never closed"
        this.#problems.push(strayCharacter({ text: '"', position: opening + 1 }, reason))
        return undefined
      }
      if (isInvisible(point)) this.#problems.push(strayCharacter({ text: point, position: this.#index + 1 }))
      if (point === "\\" && /^["\\]$/.test(this.#peek(1))) this.#index++
      const character = this.#peek()
      characters.push(character)
      this.#index += character.length
    }
    this.#index++
    return characters.join("")
  }

  /** The text with its brackets. If the second is missing, reports that and returns undefined. */
  #bracketed(at: number): string | undefined {
    const from = this.#index
    for (let point = this.#peek(); point !== "]" && point !== ""; point = this.#peek()) {
      if (isInvisible(point)) this.#problems.push(strayCharacter({ text: point, position: this.#index + 1 }))
      this.#index += point.length
    }
    if (this.#peek() === "") {
      const part = { text: this.#slice(at - 1), position: at }
      this.#problems.push(strayInput(part, "The bracket is never closed"))
      return undefined
    }
    this.#index++
    return this.#slice(from)
  }

  /** The code point so many ahead; "" after the end. */
  #peek(ahead = 0): string {
    let index = this.#index
    for (let passed = 0; passed < ahead; passed++) index += pointAt(this.#text, index).length
    return pointAt(this.#text, index)
  }

  /** The code point behind the plain characters, which are passed. */
  #peekBehindPlain(): string {
    this.#index = plainEnd(this.#text, this.#index)
    return this.#peek()
  }

  #slice(from: number): string {
    return this.#text.slice(from, this.#index)
  }
}

/** The code point at the index; a lone surrogate as such; "" after the end. */
function pointAt(text: string, index: number): string {
  return index < text.length ? String.fromCodePoint(codePointAt(text, index)) : ""
}

/** Index behind the ASCII letters, digits and underscores that begin at the index: they are in names and words, and most rules have little else. */
function plainEnd(text: string, index: number): number {
  let end = index
  for (let code = codeAt(text, end); code < 0x80 && plain[code] === 1; code = codeAt(text, end)) end++
  return end
}

const plain = Uint8Array.from({ length: 0x80 }, (_, code) => (/\w/.test(String.fromCharCode(code)) ? 1 : 0))

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
  const kind = classOf(codePointAt(point, 0))
  if (point === "_" || (kind !== separator && kind !== mark)) return true
  return (next === "\u20E3" || next === "\uFE0F") && emojiAt(point + next + afterNext, 0) !== ""
}

/** Characters that are typed by accident: controls, bidirectional and zero-width marks, lone surrogates. */
function isInvisible(point: string): boolean {
  return /^(?:(?![\t\n\r])\p{Cc}|\p{Cs}|[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB])$/u.test(
    point,
  )
}
