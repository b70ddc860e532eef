import { expect, test } from "vitest"
import { Cover } from "./cover.ts"
import { Expressions } from "./expressions.ts"
import { IntArena } from "./int-arena.ts"
import { parseRule } from "../language/parse-rule.ts"
import { TermTable } from "./term-table.ts"
import { always, fieldNumber, termBits, termSlot } from "./term-layout.ts"

/** Posts that hold these words, of 100,000. */
const seen = { the: 50_000, often: 5000, some: 500, other: 400, rare: 50, scarce: 40 }

/** Where the rule is filed: `term` or `term/guard`, `*` for every post; and whether that is all there is to it. */
function coverOf(text: string) {
  const arena = new IntArena()
  const terms = new TermTable(arena)
  const names = new Map([[always, "*"]])
  for (const [word, posts] of Object.entries(seen)) {
    const term = terms.intern(fieldNumber("text"), word)
    names.set(term, word)
    terms.slots.set((term << termBits) + termSlot.seen, posts)
  }
  names.set(terms.intern(fieldNumber("lang"), "en"), "en")
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

test("the cover of an AND is its rarest word, guarded by the second rarest", () => {
  expect(coverOf("often")).toEqual(["often", true])
  expect(coverOf("the rare")).toEqual(["rare/the", true])
  expect(coverOf("the rare some")).toEqual(["rare/some", false])
  expect(coverOf("often -rare")).toEqual(["often", false])
  expect(coverOf("often lang:en")).toEqual(["often/en", true])
})

test("the cover of an OR has all branches, each with its own guard", () => {
  expect(coverOf("rare OR some OR rare")).toEqual(["rare some", true])
  expect(coverOf("(rare some) OR (often the)")).toEqual(["often/the rare/some", false])
  expect(coverOf("(rare some) OR (rare the)")).toEqual(["rare", false])
})

test("the cover of a phrase is its rarest word, guarded by the second rarest inside or outside it", () => {
  expect(coverOf('"the rare some"')).toEqual(["rare/some", false])
  expect(coverOf('"the often" rare')).toEqual(["rare/often", false])
  expect(coverOf('"the often" OR rare')).toEqual(["often/the rare", false])
})

test("the cover of an AND may be a rarer OR guarded by a frequent word, but not a more frequent OR", () => {
  expect(coverOf("often (rare OR scarce)")).toEqual(["rare/often scarce/often", false])
  expect(coverOf("rare (the OR often)")).toEqual(["rare", false])
})

test("the cover of a negated group is that of its inverted content", () => {
  expect(coverOf("often -(-rare OR -some)")).toEqual(["rare/some", false])
  // Too many to be turned around in the tree.
  expect(coverOf("often -(-rare OR -some OR -other OR -scarce OR -the)")).toEqual(["scarce/rare", false])
})
