/**
 * Rules as integers: every distinct expression once, whatever the number of rules that hold it.
 *
 *     cat (dog OR "hot dog")  and  ("hot dog" OR dog) cat
 *
 *     root  all [ cat, ● ]                 one root, two rules
 *                      └─► any [ dog, ● ]
 *                                     └─► phrase [ hot, dog ]
 *
 * A part is named by an integer, its reference: a term, or the address of an expression; either may be negated. An
 * expression is found again by its parts ("hash consing"), which stand in a fixed order. Groups within groups of
 * their own kind are opened, repetitions left out, and a negation goes inside a small group.
 *
 * Roots are what rules stand for. They keep other things than expressions within them, and never are one.
 */

import type { Ask } from "./asks.ts"
import { askOf } from "./asks.ts"
import { ChainedTable } from "./chained-table.ts"
import type { Chain } from "./chained-table.ts"
import type { IntArena } from "./int-arena.ts"
import { noPage, pageBits, pageMask } from "./paged-ints.ts"
import { zones } from "./rule.ts"
import type { Operator, Rule } from "./rule.ts"
import type { TermTable } from "./term-table.ts"
import { placeNumber, termPlaces } from "./term-table.ts"

/** Kinds of expressions. */
export const kinds = {
  /** One of its parts holds. Without parts: never. */
  any: 0,
  /** All of its parts hold. Without parts: always. */
  all: 1,
  /** Its parts are terms, words of one zone, and stand in a row there; the lowest bit of one: it is glued. */
  phrase: 2,
  /** An operator that is asked itself. Its first part is a term that tells it from others; the other terms must be there. */
  operator: 3,
} as const

/** What an expression begins with, in this order. */
export const nodeField = {
  next: 0,
  /** Number of parts, whether it is a root, kind. */
  header: 1,
  /** Whether it held: the stamp of the post, plus 1 if it did. */
  memo: 2,
  uses: 3,
  parts: 4,
} as const

/** What a root begins with, in this order; the first two are those of any expression. */
export const rootField = {
  next: 0,
  header: 1,
  /** The first of its rules, shifted by one; the lowest bit: there are more. */
  rule: 2,
  /** The term that it is filed under; if it is not exactly one, `~` the address of the list of them. */
  filing: 3,
  /** Where it stands there; if it is not filed under exactly one, the stamp of the last post that asked for it. */
  place: 4,
  parts: 5,
} as const

/** Bits of a header that hold the kind. */
export const kindMask = 3
const rootBit = 4
/** Bits of a header below the number of parts. */
export const countShift = 3

/** Says that a root has no rule. */
export const noRule = -1

/** A negated group of at most so many parts is turned around instead: `-(a OR b)` is `-a -b`. Larger ones are worth sharing. */
const turnedMax = 4

/** Parts of a group that are sorted one by one. */
const insertedMax = 16

/** Words of a phrase that are compared as terms; of longer ones the operator is asked. See `phrase.ts`. */
const phraseWordsMax = 32

/** The reference of a term. */
export function termRef(term: number, isNegated = false): number {
  return (term << 1) | (isNegated ? 1 : 0)
}

/** The reference with a negation more, or less. */
export function negation(ref: number): number {
  return ref ^ 1
}

function nodeRef(address: number): number {
  return ~(address << 1)
}

/** The expressions of rules. They count their uses, and are forgotten when there are none. */
export class Expressions {
  readonly #arena: IntArena
  readonly #terms: TermTable
  readonly #table: ChainedTable
  /** By the term that tells an operator from others, in pages, since these are few among the terms. */
  readonly #operators: (Map<number, Operator> | undefined)[] = []
  readonly #operatorAsks = new Map<Ask, number>()
  /** References under way; every one of them is a use. */
  #stack = new Int32Array(64)
  #top = 0

  constructor(arena: IntArena, terms: TermTable) {
    this.#arena = arena
    this.#terms = terms
    this.#table = new ChainedTable(this.#chain())
  }

  /** Distinct expressions, roots among them. */
  get size(): number {
    return this.#table.size
  }

  /** The operator of an expression, by its first part. */
  operatorOf(part: number): Operator | undefined {
    return this.#operators[part >>> 11]?.get(part >>> 1)
  }

  /** What the expressions look at, of posts. */
  asks(): ReadonlySet<Ask> {
    const asks = new Set<Ask>(this.#operatorAsks.keys())
    for (const [number, place] of termPlaces.entries())
      if (place !== "operator" && this.#terms.sizeOf(number) > 0) asks.add(place)
    return asks
  }

  /** Address of the rule's root. A new one has no rule and is not filed; give it a rule, or `dropRoot`. */
  rootOf(rule: Rule): number {
    try {
      return this.#consed(this.#gatherTop(rule) | rootBit, 0)
    } catch (error) {
      // Nested too deep for the stack: what was made so far goes.
      this.#releaseFrom(0)
      throw error
    }
  }

  /** Forgets a root that has no rule left. */
  dropRoot(address: number): void {
    this.#forget(address)
  }

  /** Forgets for which posts expressions held. */
  forgetMemos(): void {
    this.#table.forEach((address) => {
      const isRoot = (this.#arena.read(address, nodeField.header) & rootBit) !== 0
      if (!isRoot) this.#arena.write(address, nodeField.memo, 0)
      else if (this.#arena.read(address, rootField.filing) < 0) this.#arena.write(address, rootField.place, 0)
    })
  }

  #gatherTop(rule: Rule): number {
    let top = rule
    for (let [only] = partsOf(top); only !== undefined && partsOf(top).length === 1; [only] = partsOf(top))
      top = only
    const kind = top.kind === "any" ? kinds.any : kinds.all
    this.#gather(top, false, kind)
    this.#tidy(0)
    return this.#top === 1 ? kinds.all : kind
  }

  /** Pushes the parts that the rule adds to a group of the kind. */
  #gather(rule: Rule, isNegated: boolean, kind: number): void {
    if (rule.kind === "not") return this.#gather(rule.rule, !isNegated, kind)
    if (rule.kind === "any" || rule.kind === "all") {
      const isTurned = isNegated && rule.rules.length <= turnedMax
      const itsKind = kinds[isTurned ? (rule.kind === "any" ? "all" : "any") : rule.kind]
      if (rule.rules.length === 1 || (itsKind === kind && isTurned === isNegated)) {
        for (const one of rule.rules) this.#gather(one, isNegated, kind)
        return
      }
      const from = this.#top
      for (const one of rule.rules) this.#gather(one, isTurned, itsKind)
      this.#tidy(from)
      const part =
        this.#top === from + 1 ? (this.#stack[--this.#top] ?? 0) : nodeRef(this.#consed(itsKind, from))
      this.#push(isNegated && !isTurned ? negation(part) : part)
      return
    }
    const part = this.#operatorRef(rule)
    this.#push(isNegated ? negation(part) : part)
  }

  /** Sorts the parts from there on, and leaves out repetitions. */
  #tidy(from: number): void {
    const stack = this.#stack
    if (this.#top - from > insertedMax) {
      const parts = Array.from(stack.subarray(from, this.#top))
      stack.set(
        parts.toSorted((left, right) => (left === right ? 0 : this.#isBefore(left, right) ? -1 : 1)),
        from,
      )
    } else {
      for (let end = from + 1; end < this.#top; end++) {
        const part = stack[end] ?? 0
        let at = end
        for (; at > from && this.#isBefore(part, stack[at - 1] ?? 0); at--) stack[at] = stack[at - 1] ?? 0
        stack[at] = part
      }
    }
    let top = from
    for (let index = from; index < this.#top; index++) {
      const part = stack[index] ?? 0
      if (top > from && part === stack[top - 1]) this.#release(part)
      else stack[top++] = part
    }
    this.#top = top
  }

  #push(part: number): void {
    if (this.#top === this.#stack.length) {
      const stack = new Int32Array(this.#top * 2)
      stack.set(this.#stack)
      this.#stack = stack
    }
    this.#stack[this.#top++] = part
  }

  /** Takes back the uses of the parts from there on. */
  #releaseFrom(from: number): void {
    for (let index = from; index < this.#top; index++) this.#release(this.#stack[index] ?? 0)
    this.#top = from
  }

  #isBefore(left: number, right: number): boolean {
    if (left >= 0 && right >= 0) return left < right
    const difference = this.#effortOf(left) - this.#effortOf(right)
    return difference === 0 ? left < right : difference < 0
  }

  /** What is cheap to ask comes first. */
  #effortOf(part: number): number {
    if (part >= 0) return 0
    return 1 + (this.#arena.read(~part >>> 1, nodeField.header) & kindMask)
  }

  #operatorRef(operator: Operator): number {
    if (operator.kind === "key") return termRef(this.#terms.intern(placeNumber(operator.name), operator.key))
    const from = this.#top
    if (operator.kind === "words") {
      const { words } = operator
      const place = placeNumber(zones[operator.name])
      const [first] = words
      if (first === undefined) return nodeRef(this.#consed(kinds.any, from))
      if (words.length === 1 && !first.glued) return termRef(this.#terms.intern(place, first.text))
      if (words.length <= phraseWordsMax) {
        for (const { text, glued } of words) this.#push(termRef(this.#terms.intern(place, text), glued))
        return nodeRef(this.#consed(kinds.phrase, from))
      }
    }
    this.#push(this.#identityRef(operator))
    if (operator.kind === "words" || operator.kind === "near") {
      const place = placeNumber(operator.kind === "near" ? "text" : zones[operator.name])
      for (const text of new Set(operator.words.map((word) => word.text)))
        this.#push(termRef(this.#terms.intern(place, text)))
    }
    return nodeRef(this.#consed(kinds.operator, from))
  }

  #identityRef(operator: Exclude<Operator, { kind: "key" }>): number {
    const term = this.#terms.intern(operatorPlace, identityOf(operator))
    const page = (this.#operators[term >>> 10] ??= new Map<number, Operator>())
    if (!page.has(term)) {
      page.set(term, operator)
      const ask = askOf(operator)
      this.#operatorAsks.set(ask, (this.#operatorAsks.get(ask) ?? 0) + 1)
    }
    return termRef(term)
  }

  /** Address of the expression of the parts on the stack from there on, which it takes; with one use more. */
  #consed(kind: number, from: number): number {
    const stack = this.#stack
    const header = ((this.#top - from) << countShift) | kind
    const isRoot = (kind & rootBit) !== 0
    const hash = this.#hashOf(header, from)
    const found = this.#find(header, hash, from)
    if (found !== 0) {
      this.#releaseFrom(from)
      if (!isRoot) this.#arena.write(found, nodeField.uses, this.#arena.read(found, nodeField.uses) + 1)
      return found
    }
    const begin = isRoot ? rootField.parts : nodeField.parts
    const address = this.#arena.allocate(begin + this.#top - from)
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const at = address & pageMask
    page[at + nodeField.header] = header
    if (isRoot) {
      page[at + rootField.rule] = noRule
      page[at + rootField.filing] = 0
      page[at + rootField.place] = 0
    } else {
      page[at + nodeField.memo] = 0
      page[at + nodeField.uses] = 1
    }
    for (let index = from; index < this.#top; index++) page[at + begin + index - from] = stack[index] ?? 0
    this.#top = from
    this.#table.add(address, hash)
    return address
  }

  #hashOf(header: number, from: number): number {
    const stack = this.#stack
    let hash = header
    for (let index = from; index < this.#top; index++) hash = mixed(hash, stack[index] ?? 0)
    return finished(hash)
  }

  #find(header: number, hash: number, from: number): number {
    for (let address = this.#table.first(hash); address !== 0;) {
      const page = this.#arena.pages[address >>> pageBits] ?? noPage
      const at = address & pageMask
      if (page[at + nodeField.header] === header && this.#areParts(page, at + beginOf(header), from))
        return address
      address = page[at + nodeField.next] ?? 0
    }
    return 0
  }

  #areParts(page: Int32Array, begin: number, from: number): boolean {
    const stack = this.#stack
    for (let index = from; index < this.#top; index++)
      if (page[begin + index - from] !== stack[index]) return false
    return true
  }

  /** Takes back one use of the part. */
  #release(part: number): void {
    if (part >= 0) {
      const term = part >>> 1
      const isOperator = this.#terms.placeOf(term) === operatorPlace
      if (this.#terms.release(term) && isOperator) this.#forgetOperator(term)
      return
    }
    const address = ~part >>> 1
    const uses = this.#arena.read(address, nodeField.uses) - 1
    this.#arena.write(address, nodeField.uses, uses)
    if (uses === 0) this.#forget(address)
  }

  #forget(address: number): void {
    this.#table.remove(address)
    const header = this.#arena.read(address, nodeField.header)
    const begin = beginOf(header)
    const count = header >>> countShift
    for (let index = begin; index < begin + count; index++) this.#release(this.#arena.read(address, index))
    this.#arena.free(address, begin + count)
  }

  #forgetOperator(term: number): void {
    const page = this.#operators[term >>> 10]
    const operator = page?.get(term)
    if (page === undefined || operator === undefined) return
    page.delete(term)
    if (page.size === 0) this.#operators[term >>> 10] = undefined
    const ask = askOf(operator)
    const asks = (this.#operatorAsks.get(ask) ?? 0) - 1
    if (asks > 0) this.#operatorAsks.set(ask, asks)
    else this.#operatorAsks.delete(ask)
  }

  #chain(): Chain {
    return {
      hashOf: (address) => {
        const page = this.#arena.pages[address >>> pageBits] ?? noPage
        const at = address & pageMask
        const header = page[at + nodeField.header] ?? 0
        const begin = at + beginOf(header)
        let hash = header
        for (let index = begin; index < begin + (header >>> countShift); index++)
          hash = mixed(hash, page[index] ?? 0)
        return finished(hash)
      },
      next: (address) => this.#arena.read(address, nodeField.next),
      setNext: (address, next) => this.#arena.write(address, nodeField.next, next),
    }
  }
}

function partsOf(rule: Rule): readonly Rule[] {
  return rule.kind === "any" || rule.kind === "all" ? rule.rules : []
}

const operatorPlace = placeNumber("operator")

function beginOf(header: number): number {
  return (header & rootBit) === 0 ? nodeField.parts : rootField.parts
}

function mixed(hash: number, part: number): number {
  const sum = Math.imul(hash ^ part, 0x9e3779b1)
  return sum ^ (sum >>> 15)
}

function finished(hash: number): number {
  const sum = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return sum ^ (sum >>> 13)
}

/** A text that is the same for operators that mean the same, and differs for others. */
function identityOf(operator: Exclude<Operator, { kind: "key" }>): string {
  switch (operator.kind) {
    case "words":
      return JSON.stringify([
        operator.kind,
        zones[operator.name],
        ...operator.words.map(({ text, glued }) => [text, glued]),
      ])
    case "near":
      return JSON.stringify([
        operator.kind,
        operator.distance,
        ...operator.words.map(({ text, glued }) => [text, glued]),
      ])
    case "contains":
      return JSON.stringify([operator.kind, operator.text])
    case "count":
      return `${operator.kind} ${operator.name} ${operator.least} ${operator.most}`
    case "area":
      return JSON.stringify([operator.kind, operator.area])
    case "sample":
      return `${operator.kind} ${operator.percent}`
    case "embedding":
      return JSON.stringify([operator.kind, operator.value, operator.threshold])
  }
}
