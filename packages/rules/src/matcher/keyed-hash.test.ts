import { expect, test } from "vitest"
import { countShift, kinds, rootBit } from "./expression-layout.ts"
import { Expressions } from "./expressions.ts"
import { IntArena } from "./int-arena.ts"
import { keyedHash, type HashKey } from "./keyed-hash.ts"
import { TermTable } from "./term-table.ts"
import { parseRule } from "../language/parse-rule.ts"

test("the hash is HalfSipHash-1-3", () => {
  // Source: the test vectors of Linux's 32-bit hsiphash, for the bytes 0, 1, 2, 3, … under the key 0, 1, 2, … 7.
  const key = [0x03020100, 0x07060504] as const
  const words = Int32Array.of(0x07060504, 0x0b0a0908)
  const hashes = [0, 1].map((end) => keyedHash(key, 0x03020100, words, 0, end) >>> 0)
  expect(hashes).toEqual([0x7e059ea6, 0x577999b1])
})

/** An arena that counts the integers that are read where expressions are compared. */
class CountedArena extends IntArena {
  reads = 0

  override get ints(): Int32Array {
    return new Proxy(super.ints, {
      get: (ints, name) => {
        this.reads += 1
        const value: unknown = Reflect.get(ints, name, ints)
        return typeof value === "function" ? value.bind(ints) : value
      },
    })
  }
}

/** Pairs of the words w0, w1, … whose roots stand in one bucket of 512 under the key. */
function collidingRules(key: HashKey, count: number): readonly string[] {
  const terms = new TermTable(new IntArena())
  const refs = Array.from({ length: 900 }, (_, at) => terms.intern(0, `w${at}`) << 1)
  const header = (2 << countShift) | rootBit | kinds.all
  const rules: string[] = []
  for (const [first, left] of refs.entries()) {
    for (let second = first + 1; second < refs.length; second++) {
      const hash = keyedHash(key, header, Int32Array.of(left, refs[second] ?? 0), 0, 2)
      if ((hash & 511) === 0) rules.push(`w${first} w${second}`)
      if (rules.length === count) return rules
    }
  }
  throw new Error("too few words")
}

test("roots that were constructed to collide under one key do not collide under another", () => {
  const known: HashKey = [1, 2]
  const rules = collidingRules(known, 400)
  const readsUnder = (key: HashKey): number => {
    const terms = new TermTable(new IntArena())
    const arena = new CountedArena()
    // Terms are numbered in the order in which they come, so that an app knows them.
    for (let at = 0; at < 900; at++) terms.intern(0, `w${at}`)
    const expressions = new Expressions(arena, terms, key)
    for (const value of rules) {
      const parsed = parseRule(value)
      if (!parsed.ok) throw new Error(value)
      expressions.rootOf(parsed.rule)
    }
    return arena.reads
  }
  // Under the known key each root is compared with all before it: 400 × 400 ÷ 2 comparisons.
  expect(readsUnder(known)).toBeGreaterThan(150_000)
  expect(readsUnder([0x1234567, -987_654_321])).toBeLessThan(20_000)
})
