/**
 * The scanner of JSON text: where its strings and values end. Everything that reads JSON by characters is built on it,
 * `json-text.ts` for stored texts and `http/input/strict-json.ts` for bodies.
 *
 * The functions take a text and a position in it, and return a position. They never look back further than an escape,
 * and nothing here is recursive, so no text is too deep. In a text that is not JSON the positions are unspecified, but
 * never beyond its end.
 */

/** Character codes of JSON's punctuation. */
export const code = {
  quote: 0x22,
  colon: 0x3a,
  comma: 0x2c,
  openingBrace: 0x7b,
  letterN: 0x6e,
} as const

const backslash = 0x5c

/** Past the white space that begins at `at`, if any. */
export function skipSpace(json: string, at: number): number {
  while (isSpace(json.charCodeAt(at))) at += 1
  return at
}

/** Space, line feed, carriage return or tab. */
export function isSpace(character: number): boolean {
  return character === 0x20 || character === 0x0a || character === 0x0d || character === 0x09
}

/** `{` or `[`. */
export function isOpening(character: number): boolean {
  return character === code.openingBrace || character === 0x5b
}

/** `}` or `]`. */
export function isClosing(character: number): boolean {
  return character === 0x7d || character === 0x5d
}

/** Past the closing quote of the string that begins at `at`; undefined when it has none. */
export function endOfString(json: string, at: number): number | undefined {
  let end = json.indexOf('"', at + 1)
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf('"', end + 1)
  return end === -1 ? undefined : end + 1
}

/** Past the string that begins at `at`. */
export function skipString(json: string, at: number): number {
  return endOfString(json, at) ?? json.length
}

/** Past the value of any kind that begins at `at`. */
export function skipValue(json: string, at: number): number {
  const first = json.charCodeAt(at)
  if (first === code.quote) return skipString(json, at)
  return isOpening(first) ? skipNested(json, at) : skipScalar(json, at)
}

/** True if the string that ends at `end` is a member's name: only a name is followed by a colon. */
export function isName(json: string, end: number): boolean {
  return json.charCodeAt(skipSpace(json, end)) === code.colon
}

/** The value of a string, from the characters between its quotes. */
export function unescaped(characters: string): string {
  return characters.includes("\\") ? String(JSON.parse(`"${characters}"`)) : characters
}

function isEscaped(json: string, at: number): boolean {
  let first = at
  while (json.charCodeAt(first - 1) === backslash) first -= 1
  return (at - first) % 2 === 1
}

function skipNested(json: string, at: number): number {
  let depth = 0
  while (at < json.length) {
    const character = json.charCodeAt(at)
    if (character === code.quote) {
      at = skipString(json, at)
      continue
    }
    if (isOpening(character)) depth += 1
    else if (isClosing(character)) depth -= 1
    at += 1
    if (depth === 0) break
  }
  return at
}

/** A number, `true`, `false` or `null`. Takes one character at least, so that a reader always advances. */
function skipScalar(json: string, at: number): number {
  do at += 1
  while (at < json.length && !isDelimiter(json.charCodeAt(at)))
  return at
}

function isDelimiter(character: number): boolean {
  return character === code.comma || isClosing(character) || isSpace(character)
}
