import { expect, test } from "vitest"
import { Cover } from "./cover.ts"
import { Expressions } from "./expressions.ts"
import { IntArena } from "./int-arena.ts"
import { parseRule } from "./parse-rule.ts"
import { always, placeNumber, termBits, termField, TermTable } from "./term-table.ts"

/** Posts that hold these words, of 100,000. */
const seen = { the: 50_000, often: 5000, some: 500, other: 400, rare: 50, scarce: 40 }

/** Where the rule is filed: `term` or `term/guard`, `*` for every post; and whether that is all there is to it. */
function coverOf(text: string) {
  const arena = new IntArena()
  const terms = new TermTable(arena)
  const names = new Map([[always, "*"]])
  for (const [word, posts] of Object.entries(seen)) {
    const term = terms.intern(placeNumber("text"), word)
    names.set(term, word)
    terms.fields.set((term << termBits) + termField.seen, posts)
  }
  names.set(terms.intern(placeNumber("lang"), "en"), "en")
  for (let posts = 0; posts < 100_000; posts++) terms.countPost()
  const parsed = parseRule(text)
  if (!parsed.ok) throw new Error(text)
  const cover = new Cover(arena, terms)
  cover.find(new Expressions(arena, terms).rootOf(parsed.rule))
  const places = Array.from(cover.terms.subarray(0, cover.count), (term, index) => {
    const guard = cover.guards[index] ?? always
    return guard === always ? (names.get(term) ?? "") : `${names.get(term)}/${names.get(guard)}`
  })
  return [places.toSorted((left, right) => (left < right ? -1 : 1)).join(" "), cover.isExact] as const
}

test("of an AND, the rarest word, guarded by the next", () => {
  expect(coverOf("often")).toEqual(["often", true])
  expect(coverOf("the rare")).toEqual(["rare/the", true])
  expect(coverOf("the rare some")).toEqual(["rare/some", false])
  expect(coverOf("often -rare")).toEqual(["often", false])
  expect(coverOf("often lang:en")).toEqual(["often/en", true])
})

test("of an OR, all branches, each with its own guard", () => {
  expect(coverOf("rare OR some OR rare")).toEqual(["rare some", true])
  expect(coverOf("(rare some) OR (often the)")).toEqual(["often/the rare/some", false])
  expect(coverOf("(rare some) OR (rare the)")).toEqual(["rare", false])
})

test("of a phrase, its rarest word, guarded by the next, from within or without", () => {
  expect(coverOf('"the rare some"')).toEqual(["rare/some", false])
  expect(coverOf('"the often" rare')).toEqual(["rare/often", false])
  expect(coverOf('"the often" OR rare')).toEqual(["often/the rare", false])
})

test("a rarer OR beside a frequent word, which guards it; a frequent one does not", () => {
  expect(coverOf("often (rare OR scarce)")).toEqual(["rare/often scarce/often", false])
  expect(coverOf("rare (the OR often)")).toEqual(["rare", false])
})

test("of a negated group, the cover of its inside turned around", () => {
  expect(coverOf("often -(-rare OR -some)")).toEqual(["rare/some", false])
  // Too many to be turned around in the tree.
  expect(coverOf("often -(-rare OR -some OR -other OR -scarce OR -the)")).toEqual(["scarce/rare", false])
})
