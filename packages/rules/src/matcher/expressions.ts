/**
 * Rules as integers. Every distinct expression exists once, however many rules contain it.
 *
 *     cat (dog OR "hot dog")  and  ("hot dog" OR dog) cat
 *
 *     root  all [ cat, ● ]                 one root, two rules
 *                      └─► any [ dog, ● ]
 *                                     └─► phrase [ hot, dog ]
 *
 * A part is referred to by an integer: a term or the address of an expression, either of which may be negated. An
 * expression is found by its parts, which are sorted ("hash consing"). A group within a group of the same kind is
 * merged into it, duplicates are removed, and the negation of a small group is moved to its parts.
 *
 * Rules refer to roots. A root has another layout than the expressions within it and is never a part of one.
 */

import { identityOf } from "../language/operator-identity.ts"
import { zones, type Operator, type Rule } from "../language/rule.ts"
import { ChainedTable, type Chain } from "./chained-table.ts"
import {
  countShift,
  kindMask,
  kinds,
  negation,
  nodeRef,
  nodeSlot,
  noRule,
  partsSlot,
  rootBit,
  rootSlot,
  termRef,
  unfiled,
} from "./expression-layout.ts"
import type { IntArena } from "./int-arena.ts"
import { keyedHash, type HashKey } from "./keyed-hash.ts"
import { OperatorRegistry, planOf, type PostField } from "./operator-registry.ts"
import { longer } from "./flat-ints.ts"
import { fieldNumber, termFields } from "./term-layout.ts"
import type { TermTable } from "./term-table.ts"
import type { Word } from "../text/words.ts"
import type { NearPlan } from "./word-positions.ts"

/** Maximum parts of a negated group that is inverted: `-(a OR b)` becomes `-a -b`. A larger group is worth sharing. */
const invertedMax = 4

/** Maximum parts of a group for insertion sort. */
const insertionSortMax = 16

/**
 * Maximum words of a phrase that are compared as terms. A longer phrase is evaluated as an operator. See `phrase.ts`.
 */
const phraseWordsMax = 32

/** The expressions of the rules. Each counts its uses and is removed with the last one. */
export class Expressions {
  readonly #arena: IntArena
  readonly #terms: TermTable
  readonly #hashKey: HashKey
  readonly #table: ChainedTable
  /** The operators that are evaluated themselves. */
  readonly operators = new OperatorRegistry()
  /** References of the expression that is being made. Each of them counts as a use. */
  #stack = new Int32Array(64)
  #top = 0

  /** The key keeps apps from constructing expressions with one hash. */
  constructor(arena: IntArena, terms: TermTable, hashKey: HashKey) {
    this.#arena = arena
    this.#terms = terms
    this.#hashKey = hashKey
    this.#table = new ChainedTable(this.#chain())
  }

  /** Number of distinct expressions, roots included. */
  get size(): number {
    return this.#table.size
  }

  /** Integers in memory, used or not, in addition to those of the arena. */
  get capacity(): number {
    return this.#table.capacity
  }

  /** The fields of posts that the expressions read. */
  requiredFields(): ReadonlySet<PostField> {
    const fields = new Set<PostField>(this.operators.requiredFields)
    for (const [number, field] of termFields.entries())
      if (field !== "operator" && field !== "pair" && this.#terms.sizeOf(number) > 0) fields.add(field)
    return fields
  }

  /** Address of the rule's root. A new root has no rule and is not filed: give it a rule, or call `dropRoot`. */
  rootOf(rule: Rule): number {
    try {
      return this.#intern(this.#pushRoot(rule) | rootBit, 0)
    } catch (error) {
      // Too deeply nested for the stack: remove what was made so far.
      this.#releaseFrom(0)
      throw error
    }
  }

  /** Removes a root without rules. */
  dropRoot(address: number): void {
    this.#remove(address)
  }

  /** Clears the results of all evaluations. */
  clearMemos(): void {
    this.#table.forEach((address) => {
      const isRoot = (this.#arena.read(address, nodeSlot.header) & rootBit) !== 0
      if (!isRoot) this.#arena.write(address, nodeSlot.memo, 0)
      else if (this.#arena.read(address, rootSlot.filing) < 0) this.#arena.write(address, rootSlot.posting, 0)
    })
  }

  #pushRoot(rule: Rule): number {
    let top = rule
    for (let [only] = partsOf(top); only !== undefined && partsOf(top).length === 1; [only] = partsOf(top)) top = only
    const kind = top.kind === "any" ? kinds.any : kinds.all
    this.#pushRule(top, false, kind)
    this.#sortAndDeduplicate(0)
    return this.#top === 1 ? kinds.all : kind
  }

  /** Pushes the parts of the rule within a group of the kind. */
  #pushRule(rule: Rule, isNegated: boolean, kind: number): void {
    if (rule.kind === "not") return this.#pushRule(rule.rule, !isNegated, kind)
    if (rule.kind === "any" || rule.kind === "all") {
      const isInverted = isNegated && rule.rules.length <= invertedMax
      const itsKind = kinds[isInverted ? (rule.kind === "any" ? "all" : "any") : rule.kind]
      if (rule.rules.length === 1 || (itsKind === kind && isInverted === isNegated)) {
        for (const one of rule.rules) this.#pushRule(one, isNegated, kind)
        return
      }
      const from = this.#top
      for (const one of rule.rules) this.#pushRule(one, isInverted, itsKind)
      this.#sortAndDeduplicate(from)
      const part = this.#top === from + 1 ? (this.#stack[--this.#top] ?? 0) : nodeRef(this.#intern(itsKind, from))
      this.#push(isNegated && !isInverted ? negation(part) : part)
      return
    }
    const part = this.#operatorRef(rule)
    this.#push(isNegated ? negation(part) : part)
  }

  /** Sorts the parts from `from` on and removes duplicates. */
  #sortAndDeduplicate(from: number): void {
    const stack = this.#stack
    if (this.#top - from > insertionSortMax) {
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
    if (this.#top === this.#stack.length) this.#stack = longer(this.#stack)
    this.#stack[this.#top++] = part
  }

  /** Removes the parts from `from` on, and their uses. */
  #releaseFrom(from: number): void {
    for (let index = from; index < this.#top; index++) this.#release(this.#stack[index] ?? 0)
    this.#top = from
  }

  #isBefore(left: number, right: number): boolean {
    if (left >= 0 && right >= 0) return left < right
    const difference = this.#rankOf(left) - this.#rankOf(right)
    return difference === 0 ? left < right : difference < 0
  }

  /** Order of evaluation: what is cheap comes first. */
  #rankOf(part: number): number {
    if (part >= 0) return 0
    return 1 + (this.#arena.read(~part >>> 1, nodeSlot.header) & kindMask)
  }

  #operatorRef(operator: Operator): number {
    if (operator.kind === "key") return termRef(this.#terms.intern(fieldNumber(operator.name), operator.key))
    const from = this.#top
    if (operator.kind === "words") {
      const { words } = operator
      const field = fieldNumber(zones[operator.name])
      const [first] = words
      if (first === undefined) return nodeRef(this.#intern(kinds.any, from))
      const isGlued = words.some(({ glued }) => glued)
      if (words.length === 1 && !isGlued) return termRef(this.#terms.intern(field, first.text))
      if (words.length === 2 && !isGlued) return termRef(this.#pairOf(field, words, 1))
      if (words.length <= phraseWordsMax) {
        for (let index = 1; index < words.length; index++) this.#push(termRef(this.#pairOf(field, words, index)))
        for (const { text, glued } of words) this.#push(termRef(this.#terms.intern(field, text), glued))
        return nodeRef(this.#intern(kinds.phrase, from))
      }
    }
    const identity = this.#terms.intern(operatorField, identityOf(operator))
    this.#push(termRef(identity))
    // A post that was sent from a known point has a place or a point.
    if (operator.kind === "area") this.#push(termRef(this.#terms.intern(fieldNumber("has"), "geo")))
    let plan: NearPlan | undefined
    if (operator.kind === "words" || operator.kind === "near") {
      const field = fieldNumber(operator.kind === "near" ? "text" : zones[operator.name])
      const terms = new Map<string, number>()
      for (const { text } of operator.words) {
        if (terms.has(text)) continue
        const term = this.#terms.intern(field, text)
        terms.set(text, term)
        this.#push(termRef(term))
      }
      plan = planOf(operator.words, terms, operator.kind === "near" ? operator.distance : 0)
    }
    // The expression is in use at least as long as the operator, and so are the terms of the plan.
    this.operators.add(identity, plan === undefined ? { operator } : { operator, plan })
    return nodeRef(this.#intern(kinds.operator, from))
  }

  /** The term of the word and the one before it. */
  #pairOf(field: number, words: readonly Word[], index: number): number {
    const first = this.#terms.intern(field, words[index - 1]?.text ?? "")
    return this.#terms.internPair(first, this.#terms.intern(field, words[index]?.text ?? ""))
  }

  /** Address of the expression of the parts on the stack from `from` on, which are popped. Adds one use. */
  #intern(kind: number, from: number): number {
    const stack = this.#stack
    const header = ((this.#top - from) << countShift) | kind
    const isRoot = (kind & rootBit) !== 0
    const hash = keyedHash(this.#hashKey, header, stack, from, this.#top)
    const found = this.#find(header, hash, from)
    if (found !== 0) {
      this.#releaseFrom(from)
      if (!isRoot) this.#arena.write(found, nodeSlot.uses, this.#arena.read(found, nodeSlot.uses) + 1)
      return found
    }
    const begin = isRoot ? rootSlot.parts : nodeSlot.parts
    const address = this.#arena.allocate(begin + this.#top - from)
    const { ints } = this.#arena
    ints[address + nodeSlot.header] = header
    if (isRoot) {
      ints[address + rootSlot.rules] = noRule
      ints[address + rootSlot.filing] = unfiled
      ints[address + rootSlot.posting] = 0
    } else {
      ints[address + nodeSlot.memo] = 0
      ints[address + nodeSlot.uses] = 1
    }
    for (let index = from; index < this.#top; index++) ints[address + begin + index - from] = stack[index] ?? 0
    this.#top = from
    this.#table.add(address, hash)
    return address
  }

  #find(header: number, hash: number, from: number): number {
    const { ints } = this.#arena
    for (let address = this.#table.first(hash); address !== 0;) {
      if (ints[address + nodeSlot.header] === header && this.#areParts(address + partsSlot(header), from))
        return address
      address = ints[address + nodeSlot.next] ?? 0
    }
    return 0
  }

  #areParts(begin: number, from: number): boolean {
    const { ints } = this.#arena
    const stack = this.#stack
    for (let index = from; index < this.#top; index++) if (ints[begin + index - from] !== stack[index]) return false
    return true
  }

  /** Removes one use of the part. */
  #release(part: number): void {
    if (part >= 0) {
      const term = part >>> 1
      const isOperator = this.#terms.fieldOf(term) === operatorField
      if (this.#terms.release(term) && isOperator) this.operators.remove(term)
      return
    }
    const address = ~part >>> 1
    const uses = this.#arena.read(address, nodeSlot.uses) - 1
    this.#arena.write(address, nodeSlot.uses, uses)
    if (uses === 0) this.#remove(address)
  }

  #remove(address: number): void {
    this.#table.remove(address)
    const header = this.#arena.read(address, nodeSlot.header)
    const begin = partsSlot(header)
    const count = header >>> countShift
    for (let index = begin; index < begin + count; index++) this.#release(this.#arena.read(address, index))
    this.#arena.free(address, begin + count)
  }

  #chain(): Chain {
    return {
      hashOf: (address) => {
        const { ints } = this.#arena
        const header = ints[address + nodeSlot.header] ?? 0
        const begin = address + partsSlot(header)
        return keyedHash(this.#hashKey, header, ints, begin, begin + (header >>> countShift))
      },
      next: (address) => this.#arena.read(address, nodeSlot.next),
      setNext: (address, next) => this.#arena.write(address, nodeSlot.next, next),
    }
  }
}

function partsOf(rule: Rule): readonly Rule[] {
  return rule.kind === "any" || rule.kind === "all" ? rule.rules : []
}

const operatorField = fieldNumber("operator")
