/** The naive loops: they evaluate every rule on every post, and so define the right result. */
import { holds } from "../packages/rules/src/meaning/evaluate.ts"
import { evaluate } from "../packages/rules/src/index.ts"
import type { PostFacts, Rule } from "../packages/rules/src/index.ts"
import { zones } from "../packages/rules/src/language/rule.ts"
import type { KeyName, Zone } from "../packages/rules/src/language/rule.ts"

/** Returns the indexes of the rules that match a post, in order. */
export type NaiveMatcher = (post: PostFacts) => number[]

/** The obvious loop: `evaluate`, for each rule. */
export function evaluatingMatcher(rules: readonly Rule[]): NaiveMatcher {
  return (post) => {
    const found: number[] = []
    for (const [index, rule] of rules.entries()) if (evaluate(rule, post)) found.push(index)
    return found
  }
}

/**
 * The best loop by hand: every word and value that a rule names has a number; the loop marks those of the post once,
 * and compiles each rule once, to a closure that reads the marks. Cheap clauses come first. (A `Set` of the post's
 * words in place of the marks takes twice as long.)
 */
export function compiledMatcher(rules: readonly Rule[]): NaiveMatcher {
  const compiler = new Compiler()
  const tests = rules.map((rule) => compiler.compile(rule).test)
  const marker = new Marker(compiler)
  return (post) => {
    const marks = marker.mark(post)
    const found: number[] = []
    for (let index = 0; index < tests.length; index++) if (tests[index]?.(marks, post) === true) found.push(index)
    return found
  }
}

/** The text by which a folded word of a zone is numbered. A key has its operator's name instead. */
function wordTerm(zone: Zone, word: string): string {
  return `${zone}:${word}`
}

function keyTerm(name: KeyName, key: string): string {
  return `key ${name}:${key}`
}

/** 1 for each term of the current post, by the terms' numbers. */
type Marks = Uint8Array

type Test = (marks: Marks, post: PostFacts) => boolean

/** `effort` orders clauses: 0 reads one mark. */
type Compiled = { readonly test: Test; readonly effort: number }

class Compiler {
  readonly numbers = new Map<string, number>()
  readonly zones = new Set<Zone>()
  readonly names = new Set<KeyName>()

  compile(rule: Rule): Compiled {
    switch (rule.kind) {
      case "any":
      case "all": {
        const clauses = rule.rules.map((one) => this.compile(one)).toSorted((left, right) => left.effort - right.effort)
        const tests = clauses.map(({ test }) => test)
        return { test: rule.kind === "any" ? anyOf(tests) : allOf(tests), effort: 1 + clauses.length }
      }
      case "not": {
        const { test, effort } = this.compile(rule.rule)
        return { test: (marks, post) => !test(marks, post), effort }
      }
      case "key": {
        this.names.add(rule.name)
        return marked(this.#numberOf(keyTerm(rule.name, rule.key)))
      }
      case "words": {
        const zone = zones[rule.name]
        this.zones.add(zone)
        const numbers = rule.words.map((word) => this.#numberOf(wordTerm(zone, word.text)))
        const [only] = numbers
        if (only !== undefined && numbers.length === 1) return marked(only)
        return {
          test: (marks, post) => numbers.every((number) => marks[number] === 1) && holds(rule, post),
          effort: 100,
        }
      }
      default:
        return { test: (_, post) => holds(rule, post), effort: 1000 }
    }
  }

  #numberOf(term: string): number {
    const number = this.numbers.get(term) ?? this.numbers.size
    this.numbers.set(term, number)
    return number
  }
}

function marked(number: number): Compiled {
  return { test: (marks) => marks[number] === 1, effort: 0 }
}

function anyOf(tests: readonly Test[]): Test {
  const [first, second] = tests
  if (first && second && tests.length === 2) return (marks, post) => first(marks, post) || second(marks, post)
  return (marks, post) => {
    for (const test of tests) if (test(marks, post)) return true
    return false
  }
}

function allOf(tests: readonly Test[]): Test {
  const [first, second, third] = tests
  if (first && second && tests.length === 2) return (marks, post) => first(marks, post) && second(marks, post)
  if (first && second && third && tests.length === 3)
    return (marks, post) => first(marks, post) && second(marks, post) && third(marks, post)
  return (marks, post) => {
    for (const test of tests) if (!test(marks, post)) return false
    return true
  }
}

/** Marks the terms of one post after the other. */
class Marker {
  readonly #compiler: Compiler
  readonly #marks: Marks
  #marked: number[] = []

  constructor(compiler: Compiler) {
    this.#compiler = compiler
    this.#marks = new Uint8Array(compiler.numbers.size)
  }

  mark(post: PostFacts): Marks {
    for (const number of this.#marked) this.#marks[number] = 0
    this.#marked = []
    for (const zone of this.#compiler.zones) {
      for (const { tokens } of post.passages(zone)) {
        for (const { text, toneless } of tokens) {
          this.#markTerm(wordTerm(zone, text))
          if (toneless !== undefined) this.#markTerm(wordTerm(zone, toneless))
        }
      }
    }
    for (const name of this.#compiler.names) for (const { key } of post.keys(name)) this.#markTerm(keyTerm(name, key))
    return this.#marks
  }

  #markTerm(term: string): void {
    const number = this.#compiler.numbers.get(term)
    if (number === undefined) return
    this.#marks[number] = 1
    this.#marked.push(number)
  }
}
