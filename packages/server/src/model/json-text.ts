/**
 * Parts of a JSON text as slices of it.
 *
 * What is stored goes out as it came in: a number keeps its digits, nothing is parsed only to be written again,
 * and no nesting is too deep, because nothing here calls itself. The text must be JSON: what is stored was checked
 * at the door. Of anything else the parts are unspecified.
 */

/** Members of an object by name, in order; of a name that comes twice, the last. Empty when it is no object. */
export function membersOf(json: string): Map<string, string> {
  const members = new Map<string, string>()
  let at = skipSpace(json, 0)
  if (json[at] !== "{") return members
  at = skipSpace(json, at + 1)
  while (json[at] === '"') {
    const nameEnd = skipString(json, at)
    const name = nameOf(json.slice(at + 1, nameEnd - 1))
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1)
    const end = skipValue(json, start)
    members.set(name, json.slice(start, end))
    at = skipSpace(json, end)
    if (json[at] === ",") at = skipSpace(json, at + 1)
  }
  return members
}

/**
 * The path of the first member that stands twice in an object, or in the object that is its member `inner`; absent
 * when none does. JSON allows it, and everybody who reads it makes something else of it. `distinct` is how many
 * names the two have, as whoever parsed the text knows: a text without repeats costs no more than counting.
 */
export function repeatedMember(json: string, inner: string, distinct: number): string | undefined {
  let count = 0
  visitNames(json, inner, () => {
    count += 1
  })
  if (count === distinct) return undefined
  const seen = new Set<string>()
  let repeated: string | undefined
  visitNames(json, inner, (start, end, isInner) => {
    const name = nameOf(json.slice(start, end))
    // A name may hold dots, so a path does not tell whose it is.
    const key = `${isInner} ${name}`
    if (seen.has(key)) repeated ??= isInner ? `${inner}.${name}` : name
    seen.add(key)
  })
  return repeated
}

/** Calls `visit` with where each name begins and ends, of an object and of the object that is its member `inner`. */
function visitNames(
  json: string,
  inner: string,
  visit: (start: number, end: number, isInner: boolean) => void,
): void {
  let isInner = false
  let depth = 0
  let at = 0
  while (at < json.length) {
    const code = json.charCodeAt(at)
    if (code === quote) {
      const end = skipString(json, at)
      if (depth === 1 && isName(json, end)) {
        isInner = nameOf(json.slice(at + 1, end - 1)) === inner
        visit(at + 1, end - 1, false)
      } else if (depth === 2 && isInner && isName(json, end)) {
        visit(at + 1, end - 1, true)
      }
      at = end
      continue
    }
    if (isOpening(code)) depth += 1
    else if (isClosing(code)) depth -= 1
    at += 1
  }
}

/** Whether the string that ends here is a member's name: only after a name comes a colon. */
function isName(json: string, end: number): boolean {
  return json.charCodeAt(skipSpace(json, end)) === colon
}

/** Elements of an array, in order. Empty when it is no array. */
export function elementsOf(json: string): string[] {
  const elements: string[] = []
  let at = skipSpace(json, 0)
  if (json[at] !== "[") return elements
  at = skipSpace(json, at + 1)
  while (at < json.length && json[at] !== "]") {
    const end = skipValue(json, at)
    elements.push(json.slice(at, end))
    at = skipSpace(json, end)
    if (json[at] === ",") at = skipSpace(json, at + 1)
    else break
  }
  return elements
}

/** The text of an object with these members. */
export function objectOf(members: Iterable<readonly [name: string, json: string]>): string {
  const parts: string[] = []
  for (const [name, json] of members) parts.push(`${JSON.stringify(name)}:${json}`)
  return `{${parts.join(",")}}`
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a

function nameOf(text: string): string {
  return text.includes("\\") ? String(JSON.parse(`"${text}"`)) : text
}

function skipSpace(json: string, at: number): number {
  while (isSpace(json.charCodeAt(at))) at += 1
  return at
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** From an opening quote to after the closing one. */
function skipString(json: string, at: number): number {
  let end = json.indexOf('"', at + 1)
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf('"', end + 1)
  return end === -1 ? json.length : end + 1
}

function isEscaped(json: string, at: number): boolean {
  let first = at
  while (json.charCodeAt(first - 1) === backslash) first -= 1
  return (at - first) % 2 === 1
}

/** From the first character of a value to after its last. */
function skipValue(json: string, at: number): number {
  const first = json.charCodeAt(at)
  if (first === quote) return skipString(json, at)
  return isOpening(first) ? skipNested(json, at) : skipScalar(json, at)
}

function skipNested(json: string, at: number): number {
  let depth = 0
  while (at < json.length) {
    const code = json.charCodeAt(at)
    if (code === quote) {
      at = skipString(json, at)
      continue
    }
    if (isOpening(code)) depth += 1
    else if (isClosing(code)) depth -= 1
    at += 1
    if (depth === 0) break
  }
  return at
}

/** A number, `true`, `false` or `null`. Takes one character at least, so that a reader always gets on. */
function skipScalar(json: string, at: number): number {
  do at += 1
  while (at < json.length && !isDelimiter(json.charCodeAt(at)))
  return at
}

function isOpening(code: number): boolean {
  return code === 0x7b || code === 0x5b
}

function isClosing(code: number): boolean {
  return code === 0x7d || code === 0x5d
}

function isDelimiter(code: number): boolean {
  return code === 0x2c || isClosing(code) || isSpace(code)
}
