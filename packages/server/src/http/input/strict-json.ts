/**
 * A strict parser of JSON (RFC 8259). It refuses texts that two parsers may read differently: a name that occurs twice
 * in an object, an integer that loses digits, a number out of range, half of a surrogate pair, a byte order mark, bytes
 * that are not UTF-8. If the schema says so, it keeps the digits of an integer as text. Every error names the line and
 * the column. Ours, since JSON.parse accepts most of these silently.
 *
 *     value  := object | array | string | number | "true" | "false" | "null"
 *     object := "{" ( member ( "," member )* )? "}"          member := string ":" value
 *     array  := "[" ( value ( "," value )* )? "]"
 *
 * The parser is recursive, so the depth is bounded.
 */
import { endOfString, skipSpace, unescaped } from "../../model/json-scanner.ts"
import { invalidRequest, type Problem } from "../../model/problem.ts"
import { truncate } from "../../model/truncate.ts"

/** Maximum depth of nesting. X's own posts reach ten. Ours. */
const depthMax = 64

/** The part of a schema that the parser reads. */
interface ParsedSchema {
  readonly properties?: Readonly<Record<string, ParsedSchema>>
  readonly items?: ParsedSchema
  /** An integer that is not negative becomes the string of its digits, of which it loses none. */
  readonly "x-takes-integers"?: boolean
}

const anything: ParsedSchema = {}

/** Parses a JSON text in UTF-8, of a value of this schema. Throws 400 that names the fault, its line and its column. */
export function parseJson(bytes: Uint8Array, schema = anything): unknown {
  const reader = new Reader(decode(bytes))
  const value = reader.value(0, schema)
  reader.end()
  return value
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw refused("the bytes are not UTF-8")
  }
}

function refused(what: string): Problem {
  return invalidRequest(`The body is not JSON that can be read without doubt: ${what}.`)
}

const literals: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
])

const backslash = 0x5c

/** Characters that may follow a backslash, in addition to `u`. */
const escapes: ReadonlySet<string> = new Set('"\\/bfnrt')

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
    if (text.startsWith("\uFEFF")) this.#refuse("it begins with a byte order mark", 0)
  }

  /** Parses one value, and white space before it. */
  value(depth: number, schema: ParsedSchema): unknown {
    this.#skipSpace()
    const character = this.#text[this.#at]
    if (character === "{" || character === "[") {
      if (depth >= depthMax) this.#refuse(`it is nested deeper than ${depthMax} levels`)
      return character === "{" ? this.#object(depth, schema) : this.#array(depth, schema)
    }
    if (character === '"') return this.#string()
    if (character === "-" || isDigit(character)) return this.#number(schema)
    return this.#literal()
  }

  /** Refuses anything but white space after the value. */
  end(): void {
    this.#skipSpace()
    if (this.#at < this.#text.length) this.#unexpected("after its end")
  }

  #object(depth: number, { properties = {} }: ParsedSchema): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    const names = new Set<string>()
    this.#at += 1
    this.#skipSpace()
    if (this.#take("}")) return object
    do {
      this.#skipSpace()
      const start = this.#at
      if (this.#text[start] !== '"') this.#unexpected("where a name in double quotes is due")
      const name = this.#string()
      if (names.has(name)) this.#refuse(`the name ${JSON.stringify(truncate(name))} stands twice in one object`, start)
      if (name === "__proto__") this.#refuse('the name "__proto__" is not taken', start)
      names.add(name)
      this.#skipSpace()
      if (!this.#take(":")) this.#unexpected("where a colon is due")
      object[name] = this.value(depth + 1, (Object.hasOwn(properties, name) && properties[name]) || anything)
      this.#skipSpace()
    } while (this.#take(","))
    if (!this.#take("}")) this.#unexpected("where a comma or } is due")
    return object
  }

  #array(depth: number, { items = anything }: ParsedSchema): unknown[] {
    const array: unknown[] = []
    this.#at += 1
    this.#skipSpace()
    if (this.#take("]")) return array
    do {
      array.push(this.value(depth + 1, items))
      this.#skipSpace()
    } while (this.#take(","))
    if (!this.#take("]")) this.#unexpected("where a comma or ] is due")
    return array
  }

  #string(): string {
    const start = this.#at
    const end = endOfString(this.#text, start)
    const characters = this.#text.slice(start + 1, end === undefined ? undefined : end - 1)
    this.#checkCharacters(characters, start + 1)
    if (end === undefined) return this.#refuse("a string does not end", start)
    this.#at = end
    const text = unescaped(characters)
    if (!text.isWellFormed()) this.#refuse("a string holds half of a surrogate pair", start)
    return text
  }

  /** Refuses control characters and invalid escapes among the characters of a string, which begin at `from`. */
  #checkCharacters(characters: string, from: number): void {
    for (let at = 0; at < characters.length; at += 1) {
      const character = characters.charCodeAt(at)
      if (character < 0x20) {
        this.#refuse("a control character stands in a string without being escaped", from + at)
      }
      if (character !== backslash) continue
      at += 1
      if (characters[at] === "u") {
        const digits = characters.slice(at + 1, at + 5)
        if (!/^[0-9A-Fa-f]{4}$/.test(digits)) {
          this.#refuse(String.raw`after \u four hexadecimal digits are due`, from + at - 1)
        }
      } else if (!escapes.has(characters[at] ?? "")) {
        this.#refuse("an escape is unknown", from + at - 1)
      }
    }
  }

  #number({ "x-takes-integers": takesIntegers = false }: ParsedSchema): number | string {
    const start = this.#at
    const pattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
    pattern.lastIndex = start
    const text = pattern.exec(this.#text)?.[0]
    if (text === undefined) return this.#unexpected("where digits are due", start)
    this.#at = start + text.length
    if (/[0-9.eE+-]/.test(this.#text[this.#at] ?? "")) this.#refuse("a number is malformed", start)
    if (takesIntegers && /^[0-9]+$/.test(text)) return text
    const value = Number(text)
    if (!Number.isFinite(value)) this.#refuse(`the number ${truncate(text)} is out of range`, start)
    if (/^-?[0-9]+$/.test(text) && !Number.isSafeInteger(value)) {
      this.#refuse(`the number ${truncate(text)} loses digits (ids are strings, in double quotes)`, start)
    }
    return value
  }

  #literal(): boolean | null {
    const word = /[A-Za-z]*/y
    word.lastIndex = this.#at
    const text = word.exec(this.#text)?.[0] ?? ""
    const value = literals.get(text)
    if (value === undefined) return this.#unexpected("where a value is due")
    this.#at += text.length
    return value
  }

  #skipSpace(): void {
    this.#at = skipSpace(this.#text, this.#at)
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  #unexpected(where: string, at = this.#at): never {
    const point = this.#text.codePointAt(at)
    if (point === undefined) return this.#refuse(`it ends ${where}`, at)
    return this.#refuse(`${JSON.stringify(String.fromCodePoint(point))} stands ${where}`, at)
  }

  /** Lines and columns count from 1, columns in UTF-16 units. */
  #refuse(what: string, at = this.#at): never {
    const before = this.#text.slice(0, at).split("\n")
    throw refused(`${what}, at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`)
  }
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9"
}
