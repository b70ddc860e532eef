/**
 * The numbers of the rules, and the rules of each root.
 *
 * A root refers to its only rule. If it has several, they stand side by side in a block, because they are all read when
 * the root holds:
 *
 *     [ number of rules, room for rules, rule, rule, … ]
 *
 * Each rule knows its root and its place among the rules there, so that any rule can be removed from a million that are
 * equal.
 */

import { noRule, rootSlot } from "./expression-layout.ts"
import { FlatInts } from "./flat-ints.ts"
import type { IntArena } from "./int-arena.ts"

/** True if the content of a root's slot is a list of rules. */
export function isList(rules: number): boolean {
  return (rules & 1) !== 0
}

/** The rule in a root's slot that is no list. */
export function onlyRuleOf(rules: number): number {
  return rules >> 1
}

/** Layout of a list. */
export const listSlot = { count: 0, capacity: 1, rules: 2 } as const

/** The address of the list in a root's slot. */
export function listOf(rules: number): number {
  return rules >>> 1
}

/** The place of a number that is free. */
const free = -1

/** Rules by number. Numbers are dense, and reused after removal. */
export class RuleNumbers {
  readonly #arena: IntArena
  /** Two integers for each rule: its root and its place in the list; of a free number the next one and `free`. */
  readonly #places = new FlatInts()
  /** Numbers assigned so far. */
  #numbers = 0
  /** First free number, or `noRule`. */
  #firstFree = noRule
  #size = 0

  constructor(arena: IntArena) {
    this.#arena = arena
  }

  /** Number of rules. */
  get size(): number {
    return this.#size
  }

  /** Greater than the number of every rule. */
  get numbers(): number {
    return this.#numbers
  }

  /** Integers in memory, used or not. */
  get capacity(): number {
    return this.#places.ints.length
  }

  /** True if there is a rule with the number. */
  has(number: number): boolean {
    return (
      Number.isInteger(number) && number >= 0 && number < this.#numbers && this.#places.get(number * 2 + 1) !== free
    )
  }

  rootOf(rule: number): number {
    return this.#places.get(rule * 2)
  }

  /** Adds a rule to the root. Returns its number. */
  add(root: number): number {
    const number = this.#newNumber()
    const rules = this.#arena.read(root, rootSlot.rules)
    let place = 0
    if (rules === noRule) this.#arena.write(root, rootSlot.rules, number << 1)
    else {
      const list = isList(rules) ? this.#withRoom(root, listOf(rules)) : this.#newList(root, onlyRuleOf(rules))
      place = this.#arena.read(list, listSlot.count)
      this.#arena.write(list, listSlot.count, place + 1)
      this.#arena.write(list, listSlot.rules + place, number)
    }
    this.#places.set(number * 2, root)
    this.#places.set(number * 2 + 1, place)
    this.#size++
    return number
  }

  /** Removes a rule. Returns whether its root has no other. */
  remove(rule: number): boolean {
    const root = this.rootOf(rule)
    const rules = this.#arena.read(root, rootSlot.rules)
    if (isList(rules)) this.#removeFromList(root, listOf(rules), this.#places.get(rule * 2 + 1))
    else this.#arena.write(root, rootSlot.rules, noRule)
    this.#places.set(rule * 2, this.#firstFree)
    this.#places.set(rule * 2 + 1, free)
    this.#firstFree = rule
    this.#size--
    if (this.#size === 0) {
      this.#places.clear()
      this.#numbers = 0
      this.#firstFree = noRule
    }
    return !isList(rules)
  }

  #newNumber(): number {
    const number = this.#firstFree
    if (number === noRule) return this.#numbers++
    this.#firstFree = this.#places.get(number * 2)
    return number
  }

  #newList(root: number, rule: number): number {
    const list = this.#allocate(root, capacityMin)
    this.#arena.write(list, listSlot.count, 1)
    this.#arena.write(list, listSlot.rules, rule)
    return list
  }

  #allocate(root: number, capacity: number): number {
    const list = this.#arena.allocate(listSlot.rules + capacity)
    this.#arena.write(list, listSlot.capacity, capacity)
    this.#arena.write(root, rootSlot.rules, (list << 1) | 1)
    return list
  }

  /** The list, or one in its place with room for another rule. */
  #withRoom(root: number, list: number): number {
    const count = this.#arena.read(list, listSlot.count)
    return count < this.#arena.read(list, listSlot.capacity) ? list : this.#moved(root, list, count + (count >> 1))
  }

  /** A list in its place with another capacity. */
  #moved(root: number, list: number, capacity: number): number {
    const to = this.#allocate(root, capacity)
    const { ints } = this.#arena
    const count = ints[list + listSlot.count] ?? 0
    ints[to + listSlot.count] = count
    ints.copyWithin(to + listSlot.rules, list + listSlot.rules, list + listSlot.rules + count)
    this.#free(list)
    return to
  }

  /** Puts the last rule of the list into the place of the one that is removed. */
  #removeFromList(root: number, list: number, place: number): void {
    const count = this.#arena.read(list, listSlot.count) - 1
    const last = this.#arena.read(list, listSlot.rules + count)
    this.#arena.write(list, listSlot.rules + place, last)
    this.#arena.write(list, listSlot.count, count)
    this.#places.set(last * 2 + 1, place)
    if (count === 1) {
      this.#arena.write(root, rootSlot.rules, this.#arena.read(list, listSlot.rules) << 1)
      this.#free(list)
    } else if (count >= capacityMin && count * 4 <= this.#arena.read(list, listSlot.capacity))
      this.#moved(root, list, count * 2)
  }

  #free(list: number): void {
    this.#arena.free(list, listSlot.rules + this.#arena.read(list, listSlot.capacity))
  }
}

/** Room of a new list. */
const capacityMin = 4
