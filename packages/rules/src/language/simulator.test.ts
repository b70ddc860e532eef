/*
 * Behaviours in which X's own simulator of its stream errs: 24 behaviours, one test each. It splits rules at spaces,
 * searches for words as substrings, and evaluates every rule for every post, several times a second.
 */

import { expect, test } from "vitest"
import { matches, messagesOf, postWith, ruleOf } from "../testing/matches.testing.ts"
import { readPost } from "../post/post-facts.ts"
import { RuleMatcher } from "../matcher/rule-matcher.ts"

/** Which of the texts the rule finds. */
const found = (rule: string, ...texts: readonly string[]) => texts.filter((text) => matches(rule, postWith(text)))

test("1. cat OR dog finds either, and no post about neither", () => {
  expect(found("cat OR dog", "a cat", "a dog", "cat and dog", "a cow", "or")).toEqual(["a cat", "a dog", "cat and dog"])
})

test("2. (cat OR dog) lang:en finds either word, in English alone", () => {
  const inLanguage = (text: string, lang: string) => matches("(cat OR dog) lang:en", postWith(text, { lang }))
  expect(inLanguage("a cat", "en")).toBe(true)
  expect(inLanguage("a dog", "en")).toBe(true)
  expect(inLanguage("a dog", "fr")).toBe(false)
  expect(inLanguage("a cow", "en")).toBe(false)
})

test('3. "trick OR treat" is a phrase of three words', () => {
  expect(found('"trick OR treat"', "Trick or treat!", "trick", "treat", "trick treat")).toEqual(["Trick or treat!"])
})

test("4. hello ( is rejected with the position of the parenthesis", () => {
  expect(messagesOf("hello (")).toEqual([
    "mismatched input 'EOF' expecting ')' (at position 8). The parenthesis at position 7 is never closed",
  ])
})

test("5. cat (dog) needs both words", () => {
  expect(found("cat (dog)", "cat", "dog", "dog cat")).toEqual(["dog cat"])
})

test("6. cat -(dog) needs the one word and not the other", () => {
  expect(found("cat -(dog)", "cat", "dog", "dog cat", "cat doghouse")).toEqual(["cat", "cat doghouse"])
})

test('7. a phrase begins and ends with its words: "zebra cat" is not in "zebra catalog"', () => {
  const texts = ["zebra cat", "a zebra, CAT!", "zebra catalog", "subzebra cat"]
  expect(found('"zebra cat"', ...texts)).toEqual(["zebra cat", "a zebra, CAT!"])
})

test("8. url:example.com finds links to example.com, and not every link", () => {
  const linking = (expanded_url: string) =>
    matches(
      "url:example.com",
      postWith("see", { entities: { urls: [{ url: "https://t.co/a", expanded_url, display_url: "…" }] } }),
    )
  expect(linking("https://example.com/a")).toBe(true)
  expect(linking("https://www.Example.com")).toBe(true)
  expect(linking("https://example.org/a")).toBe(false)
  expect(linking("https://other.com/example")).toBe(false)
})

test('9. "zebra cat dog"~2 wants all three words, near each other', () => {
  expect(
    found('"zebra cat dog"~2', "zebra cat dog", "zebra or cat or dog", "zebra cat", "zebra 1 2 3 cat dog"),
  ).toEqual(["zebra cat dog", "zebra or cat or dog"])
})

test('10. url:"https://h.com/~bob" finds the page of that name', () => {
  const urls = [{ url: "https://t.co/a", expanded_url: "https://h.com/~Bob/x" }]
  expect(matches('url:"https://h.com/~bob"', postWith("", { entities: { urls } }))).toBe(true)
  expect(matches('url:"https://h.com/~ann"', postWith("", { entities: { urls } }))).toBe(false)
})

test("11. don't finds don't, however its apostrophe is written, and not its letter t", () => {
  const texts = ["I don't", "I DON’T", "i don t", "don", "t"]
  expect(found("don't", ...texts)).toEqual(["I don't", "I DON’T", "i don t"])
})

test("12. 猫 is found inside a sentence without spaces", () => {
  expect(found("猫", "うちの猫が好き", "うちの犬が好き")).toEqual(["うちの猫が好き"])
})

test("13. #ñandú is one hashtag, diacritics and all", () => {
  expect(found("#ñandú", "un #Ñandú", "un #nandu", "un ñandú", "#ñandúes")).toEqual(["un #Ñandú"])
})

test("14. From:user is the operator from:, whatever the case", () => {
  const users = [{ id: "10", username: "User" }]
  expect(matches("From:user", postWith("hi", { author_id: "10" }, { users }))).toBe(true)
  expect(matches("From:user", postWith("From:user", { author_id: "11" }, { users }))).toBe(false)
})

test("15. cat sample:1 finds about one in a hundred posts about cats", () => {
  const rule = ruleOf("cat sample:1")
  const matcher = new RuleMatcher()
  matcher.add(rule)
  let taken = 0
  for (let id = 0; id < 20_000; id++) {
    const post = { data: { id: String(1_800_000_000_000_000_000n + BigInt(id) * 4099n), text: "cat" } }
    taken += matcher.match(readPost(post)).length
  }
  // Five standard deviations of a fair draw around 200.
  expect(Math.abs(taken - 200)).toBeLessThan(5 * Math.sqrt(198))
})

const places = [
  {
    id: "p1",
    name: "Berlin",
    full_name: "Berlin, Germany",
    country_code: "DE",
    geo: { bbox: [13.09, 52.34, 13.76, 52.68] },
  },
]
const inBerlin = postWith("hallo", { geo: { place_id: "p1" } }, { places })

test("16. has:geo finds posts with a place, and no others", () => {
  expect(matches("has:geo", inBerlin)).toBe(true)
  expect(matches("has:geo", postWith("has:geo"))).toBe(false)
})

test("17. place: finds the place by its name", () => {
  expect(matches("place:berlin", inBerlin)).toBe(true)
  expect(matches('place:"Berlin, Germany"', inBerlin)).toBe(true)
  expect(matches("place:hamburg", inBerlin)).toBe(false)
  expect(matches("place:berlin", postWith("Berlin", {}, { places }))).toBe(false)
})

test("18. bounding_box: finds posts from places whose centre is in the box", () => {
  expect(matches("bounding_box:[13.3 52.4 13.5 52.6]", inBerlin)).toBe(true)
  expect(matches("bounding_box:[2.3 48.8 2.4 48.9]", inBerlin)).toBe(false)
})

test("19. context: finds the topic of a post, also with * for the entity", () => {
  const post = postWith("", {
    context_annotations: [{ domain: { id: "10" }, entity: { id: "799022225751871488" } }],
  })
  expect(matches("context:10.799022225751871488", post)).toBe(true)
  expect(matches("context:10.*", post)).toBe(true)
  expect(matches("context:11.*", post)).toBe(false)
})

test("20. min_followers: compares the author's followers", () => {
  const from = (followers_count: number) =>
    postWith("x", { author_id: "1" }, { users: [{ id: "1", public_metrics: { followers_count } }] })
  expect(matches("min_followers:100", from(100))).toBe(true)
  expect(matches("min_followers:100", from(99))).toBe(false)
})

test("21. the quoted post's text counts as the post's own", () => {
  const quote = postWith(
    "so true",
    { id: "2", referenced_tweets: [{ type: "quoted", id: "1" }] },
    { tweets: [{ id: "1", text: "a zebra" }] },
  )
  expect(matches("zebra", quote)).toBe(true)
  expect(matches("zebra true", quote)).toBe(true)
  expect(matches('"true a"', quote)).toBe(false)
})

test("22. a post matches whatever its date", () => {
  for (const created_at of ["2006-03-21T20:50:14.000Z", "1970-01-01T00:00:00.000Z", undefined, "2999-01-01T00:00:00Z"])
    expect(matches("cat", postWith("a cat", created_at === undefined ? {} : { created_at }))).toBe(true)
})

test("23. a thousand rules that share no term with a post cost nothing", () => {
  const matcher = new RuleMatcher()
  for (let index = 0; index < 1000; index++) {
    matcher.add(ruleOf(`idle${index} (zebra OR "hot dog") lang:en -is:retweet`))
    matcher.add(ruleOf(`from:user${index} has:media`))
    matcher.add(ruleOf(`#tag${index} OR @name${index}`))
  }
  expect(matcher.scanListLength).toBe(0)
  for (let id = 0; id < 100; id++) {
    const post = postWith(`a cat and a dog, number ${id} #cats @ann`, { lang: "en", author_id: "5" })
    expect(matcher.match(readPost(post))).toEqual([])
  }
  expect(matcher.candidatesTotal).toBe(0)
  expect(matcher.evaluationsTotal).toBe(0)
})

test("24. a post is evaluated once, however many applications have the rule", () => {
  const matcher = new RuleMatcher()
  const post = postWith("a cat, a hot dog, a cat and a hot dog")
  const ascending = (left: number, right: number) => left - right
  const numbers = Array.from({ length: 100 }, () => matcher.add(ruleOf('cat "hot dog"')))
  expect(matcher.match(readPost(post)).toSorted(ascending)).toEqual(numbers.toSorted(ascending))
  expect(matcher.size).toBe(100)
  expect(matcher.candidatesTotal).toBe(1)
  // The phrase, once.
  expect(matcher.evaluationsTotal).toBeLessThanOrEqual(1)
  // A post that matches several rules is one result, with each of them in it once.
  const others = ["dog cat", "cat OR zebra OR dog", '"hot dog" cat a'].map((text) => matcher.add(ruleOf(text)))
  expect(matcher.match(readPost(post)).toSorted(ascending)).toEqual([...numbers, ...others].toSorted(ascending))
})
