import fc from "fast-check"
import { expect, test } from "vitest"
import { parseRule } from "../language/parse-rule.ts"
import { WalkedPost } from "../walk/walked-post.ts"
import type { AbsentHashes } from "../walk/absent-hashes.ts"
import { RuleMatcher } from "./rule-matcher.ts"
import { TermHashes } from "./term-hashes.ts"

const isAbsent = ({ bits }: AbsentHashes, hash: number): boolean => {
  const bit = hash & (bits.length * 32 - 1)
  return ((bits[bit >>> 5] ?? 0) & (1 << bit)) !== 0
}

test("a hash is absent unless a term has it, whatever was added and removed before and after the bits are kept", () => {
  const { absentHashes } = new WalkedPost()
  const hash = fc.oneof(fc.integer(), fc.constantFrom(0, 1, -1, 1 << 20, 1 << 31))
  const changes = fc.array(fc.oneof({ weight: 3, arbitrary: hash }, { weight: 1, arbitrary: fc.constant(undefined) }))
  fc.assert(
    fc.property(changes, changes, (before, after) => {
      const terms: number[] = []
      const hashes = new TermHashes((take) => terms.forEach(take))
      const apply = (change: number | undefined): void => {
        if (change !== undefined) {
          terms.push(change)
          hashes.add(change)
          return
        }
        const removed = terms.shift()
        if (removed !== undefined) hashes.remove(removed)
      }
      before.forEach(apply)
      hashes.keep(absentHashes)
      after.forEach(apply)
      hashes.keep(absentHashes)
      for (const term of terms) expect(isAbsent(absentHashes, term)).toBe(false)
      const present = new Set(terms.map((term) => term & 0xfffff))
      for (const other of [...before, ...after, 12_345])
        if (other !== undefined) expect(isAbsent(absentHashes, other)).toBe(!present.has(other & 0xfffff))
    }),
    { numRuns: 30 },
  )
})

test("a hash of too many terms to count is never absent again", () => {
  const { absentHashes } = new WalkedPost()
  const hashes = new TermHashes(() => undefined)
  hashes.keep(absentHashes)
  for (let term = 0; term < 300; term++) hashes.add(7)
  for (let term = 0; term < 299; term++) hashes.remove(7)
  expect(isAbsent(absentHashes, 7)).toBe(false)
})

test("matchers that read one post in turn find their own rules, also those that change meanwhile", () => {
  const walked = new WalkedPost()
  const line = new TextEncoder().encode('{"data":{"id":"1","text":"cat dog cow"}}')
  const [cats, dogs] = [new RuleMatcher(), new RuleMatcher()]
  const add = (matcher: RuleMatcher, text: string): number => {
    const parsed = parseRule(text)
    if (!parsed.ok) throw new Error(text)
    return matcher.add(parsed.rule)
  }
  const matched = (matcher: RuleMatcher): number[] => {
    expect(walked.read(line)).toBe(true)
    return matcher.matchWalked(walked).toSorted((left, right) => left - right)
  }
  const cat = add(cats, "cat")
  expect(matched(cats)).toEqual([cat])
  const dog = add(dogs, "dog")
  expect(matched(dogs)).toEqual([dog])
  const cow = add(cats, "cow")
  dogs.remove(dog)
  expect(matched(dogs)).toEqual([])
  expect(matched(cats)).toEqual([cat, cow])
  cats.remove(cat)
  expect(matched(cats)).toEqual([cow])
})
