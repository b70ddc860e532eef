/**
 * Parts of a JSON text as slices of it.
 *
 * Stored texts go out as they came in: a number keeps its digits, and nothing is parsed only to be written again. The text
 * must be JSON, as stored texts are: they were checked when they came in. For any other text the result is unspecified.
 */
import {
  code,
  isClosing,
  isName,
  isOpening,
  isSpace,
  skipSpace,
  skipString,
  skipValue,
  unescaped,
} from "./json-scanner.ts"

/** Members of an object by name, in order; for a name that occurs twice, the last. Empty for any other value. */
export function membersOf(json: string): Map<string, string> {
  const members = new Map<string, string>()
  visitMembers(json, 0, (name, _start, valueStart, end) => {
    members.set(name, json.slice(valueStart, end))
    return true
  })
  return members
}

/**
 * The object with each member's value as `change` makes it of its name and text, or without the member where that is
 * undefined. Names, order and unchanged values stay letter for letter. A text of any other value is returned unchanged.
 */
export function withMembers(json: string, change: (name: string, value: string) => string | undefined): string {
  if (json[skipSpace(json, 0)] !== "{") return json
  const parts: string[] = []
  visitMembers(json, 0, (name, start, valueStart, end) => {
    const value = change(name, json.slice(valueStart, end))
    if (value !== undefined) parts.push(json.slice(start, valueStart) + value)
    return true
  })
  return `{${parts.join(",")}}`
}

/** The object with another member at its end. It must have one already. */
export function withMember(json: string, name: string, value: string): string {
  const end = json.lastIndexOf("}")
  return `${json.slice(0, end)},${JSON.stringify(name)}:${value}${json.slice(end)}`
}

/** The object with another member at the end of the object that is its member `outer`, which must have one already. */
export function withMemberIn(json: string, outer: string, name: string, value: string): string {
  let at = json.length
  visitMembers(json, 0, (found, _start, _valueStart, end) => {
    if (found === outer) at = end
    return found !== outer
  })
  return withMember(json.slice(0, at), name, value) + json.slice(at)
}

/**
 * Calls `visit` with the name of each member of the object that begins at `from`, and the positions of the member, of
 * its value and of its end, until it returns false.
 */
function visitMembers(
  json: string,
  from: number,
  visit: (name: string, start: number, valueStart: number, end: number) => boolean,
): void {
  let at = skipSpace(json, from)
  if (json[at] !== "{") return
  at = skipSpace(json, at + 1)
  while (json[at] === '"') {
    const start = at
    const nameEnd = skipString(json, at)
    const name = unescaped(json.slice(at + 1, nameEnd - 1))
    const valueStart = skipSpace(json, skipSpace(json, nameEnd) + 1)
    const end = skipValue(json, valueStart)
    if (!visit(name, start, valueStart, end)) return
    at = skipSpace(json, end)
    if (json[at] === ",") at = skipSpace(json, at + 1)
  }
}

/** Number of members of all objects of a text. A name that comes twice in an object counts twice. */
export function countMembers(json: string): number {
  let count = 0
  let at = json.indexOf('"')
  while (at !== -1) {
    const end = skipString(json, at)
    if (isName(json, end)) count += 1
    at = json.indexOf('"', end)
  }
  return count
}

/**
 * The path of the first member whose name its object has already, however deep; undefined when there is none. JSON
 * allows it, and readers differ in what they make of it. Slow: `countMembers` shows sooner that there is none.
 */
export function repeatedMember(json: string): string | undefined {
  /** The open objects and arrays: the names of an object, and the name or index that is being read. */
  const open: { readonly names: Set<string> | undefined; key: string | number }[] = []
  let at = 0
  while (at < json.length) {
    const character = json.charCodeAt(at)
    const inner = open.at(-1)
    if (character === code.quote) {
      const end = skipString(json, at)
      if (inner?.names !== undefined && isName(json, end)) {
        inner.key = unescaped(json.slice(at + 1, end - 1))
        if (inner.names.has(inner.key)) return open.map(({ key }) => key).join(".")
        inner.names.add(inner.key)
      }
      at = end
      continue
    }
    if (isOpening(character)) open.push({ names: character === code.openingBrace ? new Set() : undefined, key: 0 })
    else if (isClosing(character)) open.pop()
    else if (character === code.comma && typeof inner?.key === "number") inner.key += 1
    at += 1
  }
  return undefined
}

/** The text without the members of its objects that are null, however deep. All else stays letter for letter. */
export function withoutNullMembers(json: string): string {
  const kept: string[] = []
  let keptTo = 0
  /** The brace, bracket or comma after which a value or member begins, as far as it is not cut. */
  let opening = 0
  let isValueOfMember = false
  let at = 0
  while (at < json.length) {
    const character = json.charCodeAt(at)
    if (character === code.quote) {
      at = skipString(json, at)
      isValueOfMember = false
      continue
    }
    if (character === code.letterN && isValueOfMember) {
      let end = at + "null".length
      const isFirst = json.charCodeAt(opening) !== code.comma
      kept.push(json.slice(keptTo, isFirst ? opening + 1 : opening))
      const next = skipSpace(json, end)
      if (isFirst && json.charCodeAt(next) === code.comma) end = next + 1
      keptTo = end
      at = end
      isValueOfMember = false
      continue
    }
    if (isOpening(character) || character === code.comma) opening = at
    if (character === code.colon) isValueOfMember = true
    else if (!isSpace(character)) isValueOfMember = false
    at += 1
  }
  kept.push(json.slice(keptTo))
  return kept.join("")
}

/**
 * JSON text in one line. JSON allows line breaks between its parts, and many readers of a stream end a line at CR too.
 * Within strings it does not allow them, so none of these is part of a value.
 */
export function withoutLineBreaks(json: string): string {
  return json.includes("\r") || json.includes("\n") ? json.replace(lineBreaks, " ") : json
}

const lineBreaks = /[\r\n]/g

/** Elements of an array, in order. Empty for any other value. */
export function elementsOf(json: string): string[] {
  return placesOfElements(json, 0).map(({ start, end }) => json.slice(start, end))
}

/** Places of the elements of the array that a path of members leads to, in order. Empty where there is none. */
export function elementPlaces(json: string, path: readonly string[]): readonly TextPlace[] {
  let from = 0
  for (const name of path) {
    let at: number | undefined
    visitMembers(json, from, (found, _start, valueStart) => {
      if (found === name) at = valueStart
      return at === undefined
    })
    if (at === undefined) return []
    from = at
  }
  return placesOfElements(json, from)
}

/** A stretch of a text, in characters. */
interface TextPlace {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

function placesOfElements(json: string, from: number): TextPlace[] {
  const places: TextPlace[] = []
  let at = skipSpace(json, from)
  if (json[at] !== "[") return places
  at = skipSpace(json, at + 1)
  while (at < json.length && json[at] !== "]") {
    const end = skipValue(json, at)
    places.push({ start: at, end })
    at = skipSpace(json, end)
    if (json[at] === ",") at = skipSpace(json, at + 1)
    else break
  }
  return places
}

/** The text that a JSON text is, if it is a text. */
export function textOf(json: string | undefined): string | undefined {
  return json?.startsWith('"') === true ? String(JSON.parse(json)) : undefined
}

/** The text of an object with these members. */
export function objectOf(members: Iterable<readonly [name: string, json: string]>): string {
  const parts: string[] = []
  for (const [name, json] of members) parts.push(`${JSON.stringify(name)}:${json}`)
  return `{${parts.join(",")}}`
}
