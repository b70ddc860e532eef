import { expect, test } from "vitest"
import { Cover, coverLength } from "./cover.ts"
import { Expressions } from "./expressions.ts"
import { flagTermOf, maskOf } from "./flag-masks.ts"
import { IntArena } from "./int-arena.ts"
import { parseRule } from "../language/parse-rule.ts"
import { TermTable } from "./term-table.ts"
import { always, fieldNumber, termBits, termSlot } from "./term-layout.ts"

/** Posts that hold these words, of 100,000. */
const seen = { the: 50_000, often: 5000, some: 500, other: 400, rare: 50, scarce: 40 }

const flags = (["is:retweet", "has:media", "lang:en"] as const).map((flag) => {
  const [field, value] = flag.split(":") as ["is" | "has" | "lang", string]
  return { flag, term: flagTermOf(fieldNumber(field), value) }
})

function flagsOf(mask: number): string {
  const texts = flags.flatMap(({ flag, term }) => [
    ...((mask & maskOf(term, false)) === 0 ? [] : [flag]),
    ...((mask & maskOf(term, true)) === 0 ? [] : [`-${flag}`]),
  ])
  return texts.length === 0 ? "" : `[${texts.join()}]`
}

/**
 * The terms that the rule is filed under: `term`, `term/guard` or `term/guard[flags]`, `*` for every post, `one_two`
 * for a pair; with `!` if that is all there is to it.
 */
function coverOf(text: string): string {
  const arena = new IntArena()
  const terms = new TermTable(arena)
  const names = new Map([[always, "*"]])
  for (const [word, posts] of Object.entries(seen)) {
    const term = terms.intern(fieldNumber("text"), word)
    names.set(term, word)
    terms.slots.set((term << termBits) + termSlot.seen, posts)
  }
  names.set(terms.intern(fieldNumber("lang"), "sv"), "sv")
  for (let posts = 0; posts < 100_000; posts++) terms.countPost()
  const parsed = parseRule(text)
  if (!parsed.ok) throw new Error(text)
  const cover = new Cover(arena, terms)
  const root = new Expressions(arena, terms, [0, 0]).rootOf(parsed.rule)
  const words = Array.from(names)
  for (const [first, one] of words)
    for (const [second, other] of words) names.set(terms.findPair(first, second) || -1, `${one}_${other}`)
  cover.find(root)
  const places = Array.from({ length: cover.count }, (_, index) => {
    const [term = 0, guard = 0, mask = 0, isExact] = cover.entries.subarray(index * coverLength)
    const guarded = guard === always ? "" : `/${names.get(guard)}`
    return `${names.get(term)}${guarded}${flagsOf(mask)}${isExact === 1 ? "!" : ""}`
  })
  return places.toSorted((left, right) => (left < right ? -1 : 1)).join(" ")
}

test("the cover of an AND is its rarest word, guarded by the second rarest", () => {
  expect(coverOf("often")).toBe("often!")
  expect(coverOf("the rare")).toBe("rare/the!")
  expect(coverOf("the rare some")).toBe("rare/some")
  expect(coverOf("often -rare")).toBe("often")
  expect(coverOf("often lang:sv")).toBe("often/sv!")
})

test("flags are decided by the mask, present or absent", () => {
  expect(coverOf("the rare -is:retweet has:media lang:en")).toBe("rare/the[-is:retweet,has:media,lang:en]!")
  expect(coverOf("rare -lang:en")).toBe("rare")
  expect(coverOf("rare (is:retweet OR has:media)")).toBe("rare")
  expect(coverOf("(rare is:retweet) OR (some has:media) OR often")).toBe("often! rare[is:retweet]! some[has:media]!")
  expect(coverOf("rare point_radius:[2.35 48.86 10km]")).toBe("rare")
})

test("the cover of an OR has all branches, each with its own guard", () => {
  expect(coverOf("rare OR some OR rare")).toBe("rare! some!")
  expect(coverOf("(rare some) OR (often the)")).toBe("often/the! rare/some!")
})

test("a term of two branches requires only what both do, and is exact if that is all of one of them", () => {
  expect(coverOf("(rare some) OR (rare the)")).toBe("rare")
  expect(coverOf("(rare some) OR (rare some has:media)")).toBe("rare/some!")
  expect(coverOf("(rare some has:media) OR (rare some is:retweet)")).toBe("rare/some")
  expect(coverOf("(rare is:retweet has:media) OR (rare has:media)")).toBe("rare[has:media]!")
})

test("the cover of a phrase is its rarest pair of words, guarded by the rarest term inside or outside it", () => {
  expect(coverOf('"the rare"')).toBe("the_rare!")
  expect(coverOf('"the rare" often')).toBe("the_rare/often!")
  expect(coverOf('"the often" OR rare')).toBe("rare! the_often!")
  expect(coverOf('"the rare some"')).toBe("the_rare/rare_some")
  expect(coverOf('"the often some" rare')).toBe("the_often/often_some")
})

test("the cover of an AND may be a rarer OR guarded by a frequent word, but not a more frequent OR", () => {
  expect(coverOf("often (rare OR scarce)")).toBe("rare/often! scarce/often!")
  expect(coverOf("often has:media (rare OR scarce)")).toBe("rare/often[has:media]! scarce/often[has:media]!")
  expect(coverOf("often the (rare OR scarce)")).toBe("rare/often scarce/often")
  expect(coverOf("often (rare OR scarce) (some OR other)")).toBe("rare/often scarce/often")
  expect(coverOf("rare (the OR often)")).toBe("rare")
})

test("the cover of a negated group is that of its inverted content", () => {
  expect(coverOf("often -(-rare OR -some)")).toBe("rare/some")
  // Too many to be turned around in the tree.
  expect(coverOf("often -(-rare OR -some OR -other OR -scarce OR -the)")).toBe("scarce/rare")
})
