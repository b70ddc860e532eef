/**
 * Reads out of a JSON text the members that are wanted, and builds nothing for the others.
 *
 *     {"id":"1","entities":{"urls":[…]},"lang":"en"}     wanted: { id, lang }
 *      ───┬────  ─────────┬───────────   ────┬────
 *       built         stepped over         built
 *
 * Values wanted whole go to JSON.parse, as the exact stretch of the text that they are. Stepping over
 * a value keeps a count of open brackets and no stack, and reading goes only as deep as what is wanted
 * does, so no text is too deep.
 *
 * To step over a value is to look at each of its characters, so this is cheaper than JSON.parse only
 * where little is wanted. And it is no judge of what is JSON: what it does not build, it hardly checks.
 */

/** `true` takes a whole value, an object the members that it names; of an array, the same of every item. */
export type Wanted = true | { readonly [member: string]: Wanted }

/**
 * A reader for texts of which the same is wanted; make it once.
 *
 * Of a text that JSON.parse accepts, it gives what JSON.parse gives, but without the members that are not
 * wanted: lists keep their length and order, of a member that repeats the last one counts, and a value that
 * is no object where members within it are wanted is given as it is. A member named `__proto__` is never
 * wanted by name. Of any other text, it throws SyntaxError where it stumbles, or returns something.
 *
 * It always ends, after work linear in the length of the text, and reads nothing outside it. Strings of the
 * result may share the memory of the text, so what is kept for long is better copied.
 */
export function pickJson(wanted: Wanted): (text: string) => unknown {
  const plan = planOf(wanted)
  return (text) => new Reading(text).whole(plan)
}

/** Undefined: the whole value. */
type Plan = {
  /** By the length of the name, so that few need to be compared. */
  readonly byLength: readonly (readonly Member[])[]
  /** For names that are written with escapes. */
  readonly byName: ReadonlyMap<string, Member>
}

type Member = { readonly name: string; readonly plan: Plan | undefined }

function planOf(wanted: Wanted): Plan | undefined {
  if (wanted === true) return undefined
  const names = Object.keys(wanted).filter((name) => name !== "__proto__")
  const members = names.map((name) => ({ name, plan: planOf(wanted[name] ?? true) }))
  const lengthMax = Math.max(0, ...names.map((name) => name.length))
  return {
    byLength: Array.from({ length: lengthMax + 1 }, (_, length) =>
      members.filter((member) => member.name.length === length),
    ),
    byName: new Map(members.map((member) => [member.name, member])),
  }
}

const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

class Reading {
  readonly #text: string
  #at = 0
  /** Of the lists that are still open, the innermost list's last. */
  readonly #items: unknown[] = []
  /** The first backslash after where one was last looked for: most strings end before it and need no look. */
  #backslashAt = -1

  constructor(text: string) {
    this.#text = text
  }

  whole(plan: Plan | undefined): unknown {
    this.#skipSpace()
    const value = this.#value(plan)
    this.#skipSpace()
    if (this.#at < this.#text.length) this.#fail()
    return value
  }

  #value(plan: Plan | undefined): unknown {
    const first = this.#text.charCodeAt(this.#at)
    if (first === quote) return this.#string()
    if (first === openBrace && plan !== undefined) return this.#object(plan)
    if (first === openBracket && plan !== undefined) return this.#list(plan)
    return this.#parsed()
  }

  #object(plan: Plan): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    this.#at++
    let next = this.#skipSpace()
    while (next !== closeBrace) {
      const member = this.#name(plan)
      if (this.#skipSpace() !== colon) this.#fail()
      this.#at++
      this.#skipSpace()
      if (member === undefined) this.#skipValue()
      else object[member.name] = this.#value(member.plan)
      next = this.#skipSpace()
      if (next === comma) {
        this.#at++
        next = this.#skipSpace()
        if (next !== quote) this.#fail()
      } else if (next !== closeBrace) this.#fail()
    }
    this.#at++
    return object
  }

  #name(plan: Plan): Member | undefined {
    const text = this.#text
    const start = this.#at + 1
    if (text.charCodeAt(start - 1) !== quote) this.#fail()
    const end = this.#stringEnd(this.#at)
    this.#at = end + 1
    if (this.#backslashAt < end) return plan.byName.get(JSON.parse(text.slice(start - 1, end + 1)) as string)
    const alike = plan.byLength[end - start]
    if (alike === undefined) return undefined
    for (const member of alike) if (text.startsWith(member.name, start)) return member
    return undefined
  }

  /**
   * Lists in lists are read in a loop: how deep they go is not bounded by what is wanted. Items wait together
   * until their list is closed, for a list that grows takes many times the memory of a short one.
   */
  #list(plan: Plan): readonly unknown[] {
    const items = this.#items
    const outerStarts: number[] = []
    let start = items.length
    this.#at++
    for (;;) {
      let next = this.#skipSpace()
      if (next === openBracket) {
        outerStarts.push(start)
        start = items.length
        this.#at++
        continue
      }
      if (next !== closeBracket || items.length > start) {
        items.push(this.#value(plan))
        next = this.#skipSpace()
      }
      while (next === closeBracket) {
        this.#at++
        const list = items.splice(start)
        const outerStart = outerStarts.pop()
        if (outerStart === undefined) return list
        start = outerStart
        items.push(list)
        next = this.#skipSpace()
      }
      if (next !== comma) this.#fail()
      this.#at++
    }
  }

  #parsed(): unknown {
    const start = this.#at
    this.#skipValue()
    return JSON.parse(this.#text.slice(start, this.#at))
  }

  #string(): string {
    const start = this.#at
    const end = this.#stringEnd(this.#at)
    this.#at = end + 1
    if (this.#backslashAt < end) return JSON.parse(this.#text.slice(start, end + 1)) as string
    return this.#text.slice(start + 1, end)
  }

  #skipValue(): void {
    const first = this.#text.charCodeAt(this.#at)
    if (first === quote) this.#at = this.#stringEnd(this.#at) + 1
    else if (first === openBrace || first === openBracket) this.#skipNested()
    else this.#skipScalar()
  }

  #skipNested(): void {
    const text = this.#text
    let at = this.#at
    let depth = 0
    do {
      const code = text.charCodeAt(at)
      if (code === quote) at = this.#stringEnd(at)
      else if (code === openBrace || code === openBracket) depth++
      else if (code === closeBrace || code === closeBracket) depth--
      else if (Number.isNaN(code)) this.#fail()
      at++
    } while (depth > 0)
    this.#at = at
  }

  /** Numbers and words end where something else begins. */
  #skipScalar(): void {
    const start = this.#at
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      const isWithin = code > comma ? code !== closeBracket && code !== closeBrace : code === 0x2b
      if (!isWithin) break
      this.#at++
    }
    if (this.#at === start) this.#fail()
  }

  /** The closing quote to an opening one. Afterwards `#backslashAt` lies before it if there are escapes. */
  #stringEnd(start: number): number {
    const text = this.#text
    let end = text.indexOf('"', start + 1)
    if (this.#backslashAt < start) {
      const found = text.indexOf("\\", start)
      this.#backslashAt = found < 0 ? text.length : found
    }
    while (this.#backslashAt < end && isEscaped(text, end)) end = text.indexOf('"', end + 1)
    if (end < 0) this.#fail()
    return end
  }

  /** What comes next; NaN at the end. */
  #skipSpace(): number {
    let code = this.#text.charCodeAt(this.#at)
    if (code > space) return code
    while (code === space || code === lineFeed || code === carriageReturn || code === tab) {
      this.#at++
      code = this.#text.charCodeAt(this.#at)
    }
    return code
  }

  #fail(): never {
    throw new SyntaxError(`not JSON at position ${this.#at}`)
  }
}

/** An odd number of backslashes before a quote makes it part of the string. */
function isEscaped(text: string, quoteAt: number): boolean {
  let start = quoteAt
  while (text.charCodeAt(start - 1) === backslash) start--
  return (quoteAt - start) % 2 === 1
}
