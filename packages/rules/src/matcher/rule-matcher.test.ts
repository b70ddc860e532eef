import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { evaluate } from "../meaning/evaluate.ts"
import { parseRule } from "../language/parse-rule.ts"
import { readPost, type PostFacts } from "../post/post-facts.ts"
import type { Operator, Rule } from "../language/rule.ts"
import { RuleMatcher } from "./rule-matcher.ts"
import { postWith } from "../testing/matches.testing.ts"
import { wordsOf } from "../text/words.ts"

function ruleOf(text: string): Rule {
  const parsed = parseRule(text, { lengthMax: 20_000 })
  if (!parsed.ok) throw new Error(`${text}: ${parsed.problems[0]?.message}`)
  return parsed.rule
}

/** A matcher, and what it finds as the texts of the rules, sorted. */
function matcherOf(...texts: readonly string[]) {
  const matcher = new RuleMatcher()
  const byNumber = new Map(texts.map((text) => [matcher.add(ruleOf(text)), text]))
  const found = (post: PostFacts) => matcher.match(post).map((number) => byNumber.get(number) ?? "")
  return { matcher, found: (post: PostFacts) => found(post).toSorted(byText) }
}

const postOf = (text: string) => readPost({ data: { id: "1", text } })
const sorted = (numbers: readonly number[]) => numbers.toSorted((left, right) => left - right)
const byText = (left: string, right: string) => (left < right ? -1 : 1)
const not = (rule: Rule): Rule => ({ kind: "not", rule })
const key = (name: "lang" | "has", value: string): Operator => ({ kind: "key", name, value, key: value })
const nothing = { terms: 0, expressions: 0, blocks: 0 }

test("every rule that holds is found once, and no other", () => {
  const { matcher, found } = matcherOf("cat", "cat OR dog", "cat -dog", '"cat dog"', "zebra", "#cat")
  expect(found(postOf("dog, cat"))).toEqual(["cat", "cat OR dog"])
  expect(matcher.size).toBe(6)
})

test("a post is compared only with rules of which it contains a required word", () => {
  const { matcher } = matcherOf("cat zebra", "the dog", "fish (calf OR hen)", "from:ann cat")
  matcher.match(postOf("the cat and the cow"))
  expect(matcher.candidatesTotal).toBe(0)
  matcher.match(postOf("a zebra"))
  expect(matcher.candidatesTotal).toBe(1)
})

test("a rule of a frequent word and an OR of rarer ones is filed under the rarer ones", () => {
  const { matcher, found } = matcherOf("the (calf OR hen)")
  expect(found(postOf("the cat, the dog"))).toEqual([])
  expect(matcher.candidatesTotal).toBe(0)
  expect(found(postOf("the hen"))).toEqual(["the (calf OR hen)"])
  expect(found(postOf("the hen and the calf"))).toEqual(["the (calf OR hen)"])
})

test("a thousand rules that a post does not reach cost nothing", () => {
  const { matcher } = matcherOf(...Array.from({ length: 1000 }, (_, index) => `idle${index} "so idle${index}"`))
  for (let posts = 0; posts < 100; posts++) matcher.match(postOf("so many busy words, so idle"))
  expect(matcher.candidatesTotal).toBe(0)
  expect(matcher.evaluationsTotal).toBe(0)
})

test("only rules that require no selective term are on the scan list", () => {
  const { matcher } = matcherOf("cat -dog", "(cat OR dog) lang:en", "cat (dog OR -fox)")
  expect(matcher.scanListLength).toBe(0)
  const without = matcher.add(not(ruleOf("cat")))
  const english = matcher.add({ kind: "all", rules: [key("lang", "en"), not(ruleOf("cat"))] })
  expect(matcher.scanListLength).toBe(2)
  expect(matcher.match(postOf("dog"))).toEqual([without])
  expect(sorted(matcher.match(readPost({ data: { id: "1", text: "dog", lang: "en" } })))).toEqual(
    sorted([without, english, 1]),
  )
  expect(matcher.remove(without)).toBe(true)
  expect(matcher.remove(english)).toBe(true)
  expect(matcher.scanListLength).toBe(0)
})

test("a negated group is filed under the terms that its content requires", () => {
  const matcher = new RuleMatcher()
  const words = ["a1", "a2", "a3", "a4", "a5"].map(ruleOf)
  // Not (no zebra, or one of the five), once small enough to be turned around and once not.
  const numbers = [1, 5].map((count) =>
    matcher.add(not({ kind: "any", rules: [not(ruleOf("zebra")), ...words.slice(0, count)] })),
  )
  expect(matcher.scanListLength).toBe(0)
  expect(sorted(matcher.match(postOf("zebra a3")))).toEqual([numbers[0]])
  expect(sorted(matcher.match(postOf("zebra")))).toEqual(numbers)
  expect(matcher.match(postOf("a1"))).toEqual([])
})

test("a thousand words joined by OR are one rule, found by each of them", () => {
  const words = Array.from({ length: 1000 }, (_, index) => `word${index}`)
  const rule = words.join(" OR ")
  const { matcher, found } = matcherOf(rule)
  expect(found(postOf("word0"))).toEqual([rule])
  expect(found(postOf("WORD999 word7"))).toEqual([rule])
  expect(found(postOf("word1000"))).toEqual([])
  expect(matcher.remove(0)).toBe(true)
  expect(matcher.usage).toMatchObject(nothing)
})

test("a rule filed under one term for two of its branches is found by either", () => {
  const rule = "(elephant cat) OR (elephant dog) OR (elephant -cow)"
  const { found } = matcherOf("(elephant cat) OR (elephant dog)", rule)
  expect(found(postOf("elephant, cow, cat"))).toHaveLength(2)
  expect(found(postOf("elephant, cow, dog"))).toHaveLength(2)
  expect(found(postOf("elephant"))).toEqual([rule])
  expect(found(postOf("elephant, cow"))).toEqual([])
})

test("removing returns whether there was a rule, and its number is reused", () => {
  const matcher = new RuleMatcher()
  const [cat, dog] = [matcher.add(ruleOf("cat")), matcher.add(ruleOf("dog"))]
  expect(matcher.remove(cat)).toBe(true)
  expect(matcher.remove(cat)).toBe(false)
  expect([-1, 0.5, 2, Number.NaN].map((number) => matcher.remove(number))).toEqual([false, false, false, false])
  expect(matcher.match(postOf("cat"))).toEqual([])
  expect(matcher.add(ruleOf("fish"))).toBe(cat)
  expect(matcher.size).toBe(2)
  expect(matcher.match(postOf("dog"))).toEqual([dog])
  expect(matcher.match(postOf("fish"))).toEqual([cat])
})

test("a rule that is often evaluated without a match moves to a rarer word", () => {
  const { matcher, found } = matcherOf("commonplace odd")
  for (let posts = 0; posts < 3000; posts++) matcher.match(postOf("commonplace"))
  const before = matcher.candidatesTotal
  expect(before).toBeLessThan(1000)
  for (let posts = 0; posts < 1000; posts++) matcher.match(postOf("commonplace"))
  expect(matcher.candidatesTotal).toBe(before)
  expect(found(postOf("odd, commonplace"))).toEqual(["commonplace odd"])
})

/** The candidates of ten posts with "commonplace", of a rule which by estimate needs that word, as the longer one, more than "odd". */
function candidatesWith(prepare: (matcher: RuleMatcher, add: () => number) => void): number {
  const matcher = new RuleMatcher()
  prepare(matcher, () => matcher.add(ruleOf("commonplace odd")))
  for (let posts = 0; posts < 10; posts++) matcher.match(postOf("commonplace"))
  expect(matcher.match(postOf("odd, commonplace"))).toEqual([0])
  return matcher.candidatesTotal - 1
}

test("a rule that is filed after the terms of posts were counted is filed under the rarer one at once", () => {
  const seeds = Array.from({ length: 50 }, () => postOf("commonplace"))
  const counted = candidatesWith((matcher, add) => {
    matcher.deferFiling()
    add()
    for (const post of seeds) matcher.count(post)
    expect(matcher.fileDeferred(1)).toBe(true)
  })
  expect(counted).toBe(0)
  const uncounted = candidatesWith((matcher, add) => {
    for (const post of seeds) matcher.count(post)
    add()
  })
  expect(uncounted).toBe(10)
})

test("posts that are counted add no term, and make no rule due for a review", () => {
  const matcher = new RuleMatcher()
  matcher.deferFiling()
  matcher.add(ruleOf("cat"))
  const before = matcher.usage
  for (let posts = 0; posts < 100; posts++) matcher.count(postOf(`cat word${posts} "other words"`))
  expect(matcher.usage).toEqual(before)
  expect(matcher.candidatesTotal).toBe(0)
})

test("rules whose filing was deferred are filed in parts, or by the first match, and may be removed before", () => {
  const matcher = new RuleMatcher()
  matcher.deferFiling()
  const numbers = ["cat", "cat -dog", "cat", "cat OR dog", "dog"].map((text) => matcher.add(ruleOf(text)))
  expect(matcher.remove(1)).toBe(true)
  expect(matcher.fileDeferred(2)).toBe(false)
  // The first takes the number that was free, behind what is filed, and the second shares the root of one that is not.
  expect(matcher.add(ruleOf("cat hen"))).toBe(1)
  const another = matcher.add(ruleOf("dog"))
  expect(sorted(matcher.match(postOf("cat, hen")))).toEqual([0, 1, 2, 3])
  expect(sorted(matcher.match(postOf("dog")))).toEqual([3, 4, another])
  expect(matcher.fileDeferred(1)).toBe(true)
  for (const number of [...numbers, another]) expect(matcher.remove(number)).toBe(true)
  expect(matcher.usage).toMatchObject(nothing)
})

test("all rules under a frequent word move, a few with each post", () => {
  const matcher = new RuleMatcher()
  for (let rule = 0; rule < 2000; rule++) matcher.add(ruleOf(`commonplace rarer${rule} OR commonplace rare${rule}er`))
  for (let posts = 0; posts < 4000; posts++) matcher.match(postOf("commonplace"))
  const before = matcher.candidatesTotal
  for (let posts = 0; posts < 100; posts++) matcher.match(postOf("commonplace"))
  expect(matcher.candidatesTotal).toBe(before)
  expect(matcher.match(postOf("rare7er commonplace"))).toEqual([7])
})

test("rules with the same meaning share one root, whatever the order of their words", () => {
  const { matcher, found } = matcherOf("cat dog", "dog cat", "(dog) (cat dog)", "-fish cat dog", "cat -fish dog")
  expect(matcher.usage.expressions).toBe(2)
  expect(found(postOf("a cat, a dog"))).toHaveLength(5)
  expect(matcher.candidatesTotal).toBe(2)
  expect(matcher.remove(1)).toBe(true)
  expect(found(postOf("a cat, a dog"))).toEqual(["(dog) (cat dog)", "-fish cat dog", "cat -fish dog", "cat dog"])
  for (const number of [0, 2, 3, 4]) matcher.remove(number)
  expect(matcher.usage).toMatchObject(nothing)
})

test("an expression that several rules share is evaluated once for a post", () => {
  const { matcher, found } = matcherOf(
    '"hot dog bun" cat',
    '"hot dog bun" bird',
    '-"hot dog bun" fish',
    '(cow OR "hot dog bun") cat',
    "cat followers_count:10",
    "bird followers_count:10",
  )
  const author = { id: "7", username: "ann", public_metrics: { followers_count: 12 } }
  const data = { id: "1", text: "hot dog bun, cat, bird, fish", author_id: "7" }
  expect(found(readPost({ data, includes: { users: [author] } }))).toHaveLength(5)
  expect(matcher.evaluationsTotal).toBe(2)
  // `"hot dog bun"` is not looked for where no dog is followed by a bun.
  found(postOf("hot dog cat bun"))
  expect(matcher.evaluationsTotal).toBe(3)
  found(readPost({ data, includes: { users: [author] } }))
  expect(matcher.evaluationsTotal).toBe(5)
})

test("two words that follow each other are found without an evaluation, with and without tone", () => {
  const { matcher, found } = matcherOf(
    '"hot dog"',
    '"hot dog" -"dog hot"',
    '"👍 👍🏽"',
    "url:example.com",
    '"dog dog" fish',
  )
  expect(matcher.usage.terms).toBe(12)
  expect(found(postOf("a hot, dog"))).toEqual(['"hot dog"', '"hot dog" -"dog hot"'])
  expect(found(postOf("hot dog hot"))).toEqual(['"hot dog"'])
  expect(found(postOf("hot cat dog, dog, fish"))).toEqual(['"dog dog" fish'])
  expect(found(postOf("👍🏽👍🏽 dog fish"))).toEqual(['"👍 👍🏽"'])
  expect(found(postOf("👍🏽👍"))).toEqual([])
  const urls = [{ expanded_url: "https://example.com/dog" }]
  expect(found(readPost(postWith("hot", { entities: { urls } })))).toEqual(["url:example.com"])
  expect(matcher.evaluationsTotal).toBe(0)
  for (let number = 0; number < 5; number++) matcher.remove(number)
  expect(matcher.usage).toMatchObject(nothing)
})

test("a rule of a word and flags is neither evaluated nor found where the flags forbid it", () => {
  const { matcher, found } = matcherOf(
    "cat -is:retweet has:hashtags lang:en",
    "cat -has:hashtags",
    "cat lang:ja -is:quote",
  )
  const ofLang = (text: string, lang: string) => readPost({ data: { id: "1", text, lang } })
  expect(found(ofLang("cat #dog", "en"))).toEqual(["cat -is:retweet has:hashtags lang:en"])
  expect(found(ofLang("cat", "en"))).toEqual(["cat -has:hashtags"])
  expect(found(ofLang("cat", "ja"))).toEqual(["cat -has:hashtags", "cat lang:ja -is:quote"])
  expect(matcher.askedTotal).toBe(0)
})

test("an area is not evaluated for a post without a place", () => {
  const { matcher, found } = matcherOf("cat point_radius:[2.35 48.86 10km]")
  expect(found(postOf("cat"))).toEqual([])
  expect(matcher.askedTotal).toBe(0)
  const geo = { coordinates: { type: "Point", coordinates: [2.35, 48.86] } }
  expect(found(readPost({ data: { id: "1", text: "cat", geo } }))).toHaveLength(1)
  expect(matcher.askedTotal).toBe(1)
})

test("the matcher finds a phrase as evaluation does, also if it is long, glued or an emoji", () => {
  const long = Array.from({ length: 40 }, (_, index) => (index === 39 ? "end" : "a")).join(" ")
  const texts = ['"a a b"', `"${long}"`, "東京", '"👍 👍🏽"', '"b 👍"', "a_b", '"a b"~2']
  const posts = [
    "a a a b",
    long,
    `a ${long} b`,
    "東 京",
    "東京都",
    "👍🏽 👍🏽",
    "👍🏽👍",
    "b👍🏽",
    "b https://t.co/x 👍",
    "b a",
    "a b",
  ]
  const { found } = matcherOf(...texts)
  for (const text of posts) {
    const post = postOf(text)
    expect(found(post), text).toEqual(texts.filter((rule) => evaluate(ruleOf(rule), post)).toSorted(byText))
  }
})

test("empty groups and operators without words hold always or never", () => {
  const matcher = new RuleMatcher()
  const empty: Operator = { kind: "words", name: "phrase", value: "", words: [] }
  const never = matcher.add({ kind: "any", rules: [] })
  const always = matcher.add({ kind: "all", rules: [] })
  const wordless = matcher.add(empty)
  const unless = matcher.add(not(empty))
  const orCat = matcher.add({
    kind: "any",
    rules: [empty, { kind: "near", value: "", words: [], distance: 1 }, ruleOf("cat")],
  })
  const glued = matcher.add({
    kind: "words",
    name: "keyword",
    value: "京",
    words: [{ text: "京", glued: true }],
  })
  expect(sorted(matcher.match(postOf("dog")))).toEqual([always, unless])
  expect(sorted(matcher.match(postOf("cat 京")))).toEqual([always, unless, orCat])
  expect(sorted(matcher.match(postOf("東京")))).toEqual([always, unless, glued])
  for (const number of [never, always, wordless, unless, orCat, glued]) expect(matcher.remove(number)).toBe(true)
  expect(matcher.usage).toMatchObject(nothing)
})

test("requiredFields are the fields of a post that the rules read", () => {
  const matcher = new RuleMatcher()
  expect(matcher.requiredFields).toEqual(new Set())
  const numbers = ["cat", '"a b"', "url:example.com", "from:ann has:images", "cat url_contains:x", "cat sample:5"].map(
    (text) => matcher.add(ruleOf(text)),
  )
  expect(matcher.requiredFields).toEqual(new Set(["text", "link", "from", "has", "link texts", "id"]))
  for (const number of numbers.slice(1)) matcher.remove(number)
  expect(matcher.requiredFields).toEqual(new Set(["text"]))
})

test("a field of a post that no rule reads is not read", () => {
  const { matcher } = matcherOf("#cat", "url:example.com")
  const asked: string[] = []
  const post = new Proxy(postOf("cat"), {
    get(facts, member: "passages" | "keys") {
      return (place: never) => {
        asked.push(place)
        return facts[member](place)
      }
    },
  })
  expect(matcher.match(post)).toEqual([])
  expect(asked.toSorted()).toEqual(["hashtag", "link"])
})

test("the result for one post is not used for another after the stamps wrap around", () => {
  const matcher = new RuleMatcher({ postsBefore: 2 ** 31 - 3 })
  const phrase = matcher.add(ruleOf('"hot dog hot"'))
  const either = matcher.add(ruleOf("hot OR cat"))
  const mixed = matcher.add(ruleOf('cat (cow OR "hot dog hot")'))
  for (let posts = 0; posts < 5; posts++) {
    expect(sorted(matcher.match(postOf("hot dog hot, cat")))).toEqual([phrase, either, mixed])
    expect(sorted(matcher.match(postOf("dog, hot dog, dog hot, cat")))).toEqual([either])
    // Rules that are added just before the stamps wrap around have no result yet.
    const added = matcher.add(ruleOf(`"dog hot dog" OR "new${posts} dog"`))
    expect(sorted(matcher.match(postOf("hot dog hot dog")))).toEqual([phrase, either, added])
    matcher.remove(added)
  }
})

test("a term of many rules is found by all of them, and removed with the last one", () => {
  const { matcher, found } = matcherOf("cat", "#cat", "@cat", "from:cat", "bio:cat", "url:cat", "cat lang:en")
  expect(matcher.usage.terms).toBe(7)
  expect(found(postOf("cat"))).toEqual(["cat"])
  for (let number = 0; number < 7; number++) matcher.remove(number)
  expect(matcher.usage).toMatchObject(nothing)
  expect(matcher.match(postOf("cat"))).toEqual([])
})

test("adding and removing rules repeatedly takes no more memory than once", () => {
  const matcher = new RuleMatcher()
  const kept = matcher.add(ruleOf("kept"))
  const texts = Array.from(
    { length: 2000 },
    (_, index) => `word${index % 300} (w${index} OR "x${index} y${index % 7}") -z${index % 50}`,
  )
  const rules = texts.map(ruleOf)
  let capacity = 0
  for (let round = 0; round < 20; round++) {
    // In another order each time.
    const numbers = rules.map((_, index) =>
      matcher.add(rules[(index * 7 + round * 13) % rules.length] ?? not(ruleOf("x"))),
    )
    if (round === 1) ({ capacity } = matcher.usage)
    for (const [index] of numbers.entries()) matcher.remove(numbers[(index * 11 + round) % numbers.length] ?? -1)
    expect(matcher.usage).toMatchObject({ terms: 1, expressions: 1 })
  }
  expect(matcher.usage.capacity).toBeLessThanOrEqual(capacity)
  matcher.remove(kept)
  expect(matcher.usage).toMatchObject(nothing)
})

test("numbers and memory depend on the present rules only, in any order of additions and removals", () => {
  const matcher = new RuleMatcher()
  const numbers = new Set<number>()
  for (let round = 0; round < 500; round++) {
    numbers.add(matcher.add(ruleOf(`cat${round % 9} OR cat dog${round % 5}`)))
    if (round % 3 === 2)
      for (const number of [...numbers].slice(0, 2)) if (numbers.delete(number)) matcher.remove(number)
  }
  expect(matcher.size).toBe(numbers.size)
  expect(Math.max(...numbers)).toBeLessThan(500 / 3 + 3)
})

test("a rule with a thousand nested groups is matched", () => {
  const matcher = new RuleMatcher()
  let rule = ruleOf("cat")
  for (let depth = 0; depth < 1000; depth++)
    rule = { kind: depth % 2 === 0 ? "all" : "any", rules: [rule, ruleOf(`w${depth}`)] }
  const number = matcher.add(rule)
  expect(matcher.match(postOf("w999"))).toEqual([number])
  expect(matcher.match(postOf("cat w998"))).toEqual([])
  matcher.remove(number)
  expect(matcher.usage).toMatchObject(nothing)
})

type Step =
  | { readonly kind: "add"; readonly key: number; readonly rule: Rule }
  | { readonly kind: "remove"; readonly key: number }
  | { readonly kind: "match"; readonly post: number; readonly times: number }
  | { readonly kind: "defer" }
  | { readonly kind: "count"; readonly post: number; readonly times: number }
  | { readonly kind: "file"; readonly rulesMax: number }

/** So few words that many rules are filed under one word, or on the scan list. */
const crowdedRules = ["cat", "dog", "cat dog", "cat OR dog", '"cat dog" OR cat zebra'].map(ruleOf)
const crowdedRule = fc.constantFrom<Rule>(...crowdedRules, ...crowdedRules.map(not))

/** A phrase of few words, found among posts of the same. */
const phrase = fc
  .array(fc.constantFrom("cat", "dog", "東京", "👍", "👍🏽"), { minLength: 1, maxLength: 4 })
  .map((some): Rule => ({
    kind: "words",
    name: "phrase",
    value: some.join(" "),
    words: wordsOf(some.join(" ")),
  }))

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("add"),
      key: fc.nat(12),
      rule: fc.oneof(anyRule, crowdedRule, phrase),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("remove"), key: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "defer" }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("file"), rulesMax: fc.nat(4) }) },
  // Many times over, so that rules are looked at again and move.
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("match", "match", "count"),
      post: fc.nat(20),
      times: fc.constantFrom(1, 1, 1, 200),
    }),
  },
)

test("the matcher finds what evaluating every rule finds, after any additions and removals", () => {
  fc.assert(
    fc.property(
      fc.array(anyStep, { minLength: 5, maxLength: 60, size: "max" }),
      fc.array(anyEnvelope, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(0, 2 ** 31 - 100),
      (steps, envelopes, postsBefore) => {
        const similarity = (text: string) => (text.length % 10) / 10
        const posts = envelopes.map((envelope) => readPost(envelope, { similarity }))
        const matcher = new RuleMatcher({ postsBefore })
        const rules = new Map<number, { readonly number: number; readonly rule: Rule }>()
        const remove = (one: number) => {
          const rule = rules.get(one)
          if (rule) expect(matcher.remove(rule.number)).toBe(true)
          rules.delete(one)
        }
        for (const step of steps) {
          if (step.kind === "match" || step.kind === "count") {
            const post = posts[step.post % posts.length]
            if (post === undefined) continue
            const expected = [...rules.values()].filter(({ rule }) => evaluate(rule, post)).map(({ number }) => number)
            for (let time = 0; time < step.times; time++)
              if (step.kind === "count") matcher.count(post)
              else expect(sorted(matcher.match(post))).toEqual(sorted(expected))
          } else if (step.kind === "defer") matcher.deferFiling()
          else if (step.kind === "file") matcher.fileDeferred(step.rulesMax)
          else remove(step.key)
          if (step.kind === "add") rules.set(step.key, { number: matcher.add(step.rule), rule: step.rule })
          expect(matcher.size).toBe(rules.size)
        }
        for (const one of Array.from(rules.keys())) remove(one)
        expect(matcher.usage).toMatchObject(nothing)
      },
    ),
    { numRuns: 200 },
  )
})
