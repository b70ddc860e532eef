import fc from "fast-check"
import { expect, test } from "vitest"
import { flagTermMax, flagTermOf } from "./flag-masks.ts"
import { IntArena } from "./int-arena.ts"
import { TermTable } from "./term-table.ts"
import { fieldNumber, termBits, termSlot } from "./term-layout.ts"

const textPlace = fieldNumber("text")
const tagPlace = fieldNumber("hashtag")

function emptyTable() {
  const arena = new IntArena()
  return { arena, terms: new TermTable(arena) }
}

/** As if the post held the term. */
function see(terms: TermTable, term: number, times = 1): void {
  const field = (term << termBits) + termSlot.seen
  terms.slots.set(field, terms.slots.get(field) + times)
}

/** Texts of which many are the beginning of others, of all lengths, also ill-formed. */
const anyText = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "東", "\ud83d", "\udc4d"), maxLength: 30, size: "max" }),
  fc.string({ unit: "binary", maxLength: 40, size: "max" }),
)

test("a text in a field is one term, found by single and combined queries until its last use is removed", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(textPlace, tagPlace), anyText, fc.boolean()), { maxLength: 80, size: "max" }),
      (steps) => {
        const { arena, terms } = emptyTable()
        const uses = new Map<string, { place: number; text: string; term: number; uses: number }>()
        for (const [place, text, isReleased] of steps) {
          const key = `${place} ${text}`
          const known = uses.get(key)
          if (known && isReleased) {
            expect(terms.release(known.term)).toBe(--known.uses === 0)
            if (known.uses === 0) uses.delete(key)
          } else {
            const term = terms.intern(place, text)
            if (known) known.uses++
            else uses.set(key, { place, text, term, uses: 1 })
            expect(term).toBe(uses.get(key)?.term)
            expect(terms.fieldOf(term)).toBe(place)
          }
        }
        expect(terms.size).toBe(uses.size)
        const places = steps.flatMap(([, text]) => [textPlace, tagPlace].map((place) => ({ place, text })))
        const expected = places.map(({ place, text }) => uses.get(`${place} ${text}`)?.term ?? 0)
        expect(places.map(({ place, text }) => terms.find(place, text))).toEqual(expected)
        expect(places.map(({ place, text }) => terms.query(place, text))).toEqual(places.map((_, index) => index + 1))
        expect(Array.from(terms.findAll().subarray(1, places.length + 1))).toEqual(expected)
        for (const one of uses.values()) for (; one.uses > 0; one.uses--) terms.release(one.term)
        expect([terms.size, terms.sizeOf(textPlace), terms.sizeOf(tagPlace), arena.blocks]).toEqual([0, 0, 0, 0])
      },
    ),
    { numRuns: 300 },
  )
})

test("numbers of terms are reused", () => {
  const { terms } = emptyTable()
  const before = terms.numbers
  for (let round = 0; round < 100; round++) terms.release(terms.intern(textPlace, `word${round}`))
  terms.intern(textPlace, "cat")
  expect(terms.numbers).toBeLessThanOrEqual(before + 1)
})

test("a flag has the same term each time, and no other term has its number", () => {
  const { terms } = emptyTable()
  const isPlace = fieldNumber("is")
  const flag = terms.intern(isPlace, "retweet")
  expect(flag).toBe(flagTermOf(isPlace, "retweet"))
  expect(terms.find(isPlace, "retweet")).toBe(flag)
  expect(terms.release(flag)).toBe(true)
  expect(terms.find(isPlace, "retweet")).toBe(0)
  const words = Array.from({ length: 100 }, (_, index) => terms.intern(textPlace, `word${index}`))
  expect(Math.min(...words)).toBeGreaterThan(flagTermMax)
  expect(terms.intern(isPlace, "retweet")).toBe(flag)
})

test("a pair of words is one term in its order, which keeps its words until its last use is removed", () => {
  const { terms, arena } = emptyTable()
  const word = (index: number) => terms.intern(textPlace, `word${index}`)
  // More than fit into the small filter.
  const pairs = Array.from({ length: 1500 }, (_, index) => terms.internPair(word(index), word(index + 1)))
  expect(new Set(pairs).size).toBe(1500)
  expect(terms.internPair(word(7), word(8))).toBe(pairs[7])
  const find = (index: number) => terms.find(textPlace, `word${index}`)
  expect(pairs.map((_, index) => terms.findPair(find(index), find(index + 1)))).toEqual(pairs)
  expect(terms.findPair(find(8), find(7))).toBe(0)
  expect(terms.size).toBe(3001)
  for (const pair of pairs) terms.release(pair)
  expect(terms.size).toBe(3)
  expect(terms.findPair(find(7), find(8))).toBe(pairs[7])
  terms.release(pairs[7] ?? 0)
  expect([terms.size, arena.blocks]).toEqual([0, 0])
})

/** Texts of four characters of one hash: the second pair takes back what the first one did. */
function forgedTexts(count: number): string[] {
  const step = (hash: number, pair: number) => {
    const product = Math.imul(hash ^ pair, 0x9e3779b1)
    return product ^ (product >>> 15)
  }
  return Array.from({ length: count }, (_, index) => {
    const first = 0x4e00_4e00 + index * 0x1_0001
    const second = step(textPlace, first) ^ 0x1234_5678
    return String.fromCharCode(first & 0xffff, first >>> 16, second & 0xffff, second >>> 16)
  })
}

test("texts constructed to have the same hash are distinct terms and do not make long chains", () => {
  const { arena, terms } = emptyTable()
  const texts = forgedTexts(500)
  const numbers = texts.map((text) => terms.intern(textPlace, text))
  expect(new Set(numbers).size).toBe(500)
  const hashes = new Set(numbers.map((term) => terms.slots.get((term << termBits) + termSlot.hash)))
  expect(hashes.size).toBe(1)
  expect(texts.map((text) => terms.find(textPlace, text))).toEqual(numbers)
  for (const text of texts) terms.query(textPlace, text)
  expect(Array.from(terms.findAll().subarray(1, 501))).toEqual(numbers)
  expect(terms.find(tagPlace, texts[400] ?? "")).toBe(0)
  let longest = 0
  for (const start of numbers) {
    let length = 0
    for (let term = start; term !== 0 && length < 500; length++)
      term = terms.slots.get((term << termBits) + termSlot.next)
    longest = Math.max(longest, length)
  }
  expect(longest).toBeLessThan(100)
  for (const term of numbers) terms.release(term)
  expect([terms.size, arena.blocks]).toEqual([0, 0])
  expect(texts.map((text) => terms.find(textPlace, text))).toEqual(texts.map(() => 0))
})

test("the frequency of a term is estimated at first and counted later", () => {
  const { terms } = emptyTable()
  const [the, long, tag] = [
    terms.intern(textPlace, "the"),
    terms.intern(textPlace, "elephant"),
    terms.intern(tagPlace, "cat"),
  ]
  expect(terms.frequencyOf(the)).toBeGreaterThan(terms.frequencyOf(long))
  expect(terms.frequencyOf(long)).toBeGreaterThan(terms.frequencyOf(tag))
  for (let posts = 0; posts < 100_000; posts++) {
    terms.countPost()
    if (posts % 10 === 0) see(terms, tag)
  }
  expect(terms.frequencyOf(tag)).toBeCloseTo(0.1, 2)
  expect(terms.frequencyOf(long)).toBeLessThan(0.001)
  // A term that is named later has a guess of its own.
  expect(terms.frequencyOf(terms.intern(textPlace, "elephantine"))).toBeCloseTo(0.005, 4)
})

test("a term that no longer occurs is rare again after some millions of posts", () => {
  const { terms } = emptyTable()
  const term = terms.intern(textPlace, "yesterday")
  for (let posts = 0; posts < 500_000; posts++) terms.countPost()
  see(terms, term, 500_000)
  expect(terms.frequencyOf(term)).toBeGreaterThan(0.9)
  for (let posts = 0; posts < 6_000_000; posts++) {
    terms.countPost()
    if (posts % 100_000 === 0) terms.frequencyOf(term)
  }
  expect(terms.frequencyOf(term)).toBeLessThan(0.05)
})
