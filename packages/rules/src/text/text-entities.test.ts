import fc from "fast-check"
import { describe, expect, test, vi } from "vitest"
import { entitiesInText, type TextEntities } from "./text-entities.ts"
import { topLevelDomains } from "./top-level-domains.ts"

const kinds = ["hashtags", "mentions", "cashtags", "links"] as const

function valuesOf(text: string, kind: keyof TextEntities): readonly string[] {
  return entitiesInText(text)[kind].map((one) => one.value)
}

type Row = readonly [name: string, text: string, values: readonly string[]]

test.each<Row>([
  [
    "a hashtag is letters, digits, marks and underscores",
    "#cat #cat_2 #ñandú #e\u0301te",
    ["cat", "cat_2", "ñandú", "e\u0301te"],
  ],
  ["it needs a letter", "#1 #2024 #_ #1_2 #3d", ["3d"]],
  ["it ends where a word does", "#cat, #dog. #cow's #a-b (#fox)", ["cat", "dog", "cow", "a", "fox"]],
  ["it does not begin within a word or an escape", "a#cat 1#cat 猫#猫 &#39;a &#cat", []],
  ["it may touch punctuation and emoji", "。#猫 /#cat 🍕#pizza ❤️#love", ["猫", "cat", "pizza", "love"]],
  ["a full-width sign is one", "＃猫", ["猫"]],
  ["letters of the astral planes count", "#𝒳𠀡", ["𝒳𠀡"]],
  [
    "joiners, middle dots and wave dashes belong to it",
    "#می\u200Cخواهم #il·lusió #メ〜テレ",
    ["می\u200Cخواهم", "il·lusió", "メ〜テレ"],
  ],
  ["another sign or a protocol after it spoils it", "#cat#dog #http://a.de", []],
  ["a sign that is an emoji is none", "#️⃣cat #⃣cat #️cat", []],
])("hashtags: %s", (_, text, values) => {
  expect(valuesOf(text, "hashtags")).toEqual(values)
})

test.each<Row>([
  ["a mention is letters, digits and underscores", "@ann @ann_b @1 @_", ["ann", "ann_b", "1", "_"]],
  ["a mention may touch letters that no name contains", "猫@ann猫 é@bob", ["ann", "bob"]],
  ["accented Latin letters after it spoil it", "@annä", []],
  ["it does not begin within a word or address", "mail x@ann.com a_@ann 1@ann !@ann #@ann $@ann &@ann", []],
  ["a repost's letters may stand before it", "RT@ann rt:@bob startRT@cat", ["ann", "bob"]],
  ["another sign or a protocol after it spoils it", "@ann@example.social @ann＠bob @http://a.de", []],
  ["a full-width sign is one", "＠ann", ["ann"]],
  ["it ends after 20 characters", `@${"a".repeat(25)}`, ["a".repeat(20)]],
  ["of a list its owner is mentioned", "@ann/friends @bob/2nd @cat/", ["ann", "bob", "cat"]],
  ["an address spoils a list", "@ann/friends@example.com", []],
])("mentions: %s", (_, text, values) => {
  expect(valuesOf(text, "mentions")).toEqual(values)
})

test.each<Row>([
  ["a cashtag is one to six letters", "$A $TwitTR $Seventh", ["A", "TwitTR"]],
  ["it may have a part of one or two letters", "$BRK.A $abc_de $abc.def", ["BRK.A", "abc_de", "abc"]],
  ["it has no digits", "$5 $A1 $1A $100K", []],
  ["it begins after a space or at the start", "($BTC) US$BTC $$BTC \u200E$BTC\n$ETH", ["BTC", "ETH"]],
  ["it ends at a space, punctuation or the end", "$A, $B! $C's $D… $E猫 $F", ["A", "B", "C", "F"]],
])("cashtags: %s", (_, text, values) => {
  expect(valuesOf(text, "cashtags")).toEqual(values)
})

describe("links", () => {
  test.each<Row>([
    [
      "with a protocol",
      "http://example.com HTTPS://Example.COM/a ftp://example.com",
      ["http://example.com", "HTTPS://Example.COM/a"],
    ],
    ["after letters that no link has", "見てhttps://example.com/aください", ["https://example.com/a"]],
    [
      "not after letters, digits and the signs of names",
      "xhttp://a.de 1http://a.de @http://a.de #http://a.de $http://a.de",
      [],
    ],
    [
      "with letters of any script",
      "http://müller.de http://例え.jp/ http://пример.рф",
      ["http://müller.de", "http://例え.jp/", "http://пример.рф"],
    ],
    [
      "up to the last top-level domain",
      "http://a.com.au http://a.com.x9 http://a.com.",
      ["http://a.com.au", "http://a.com", "http://a.com"],
    ],
    ["not without one that exists", "http://localhost http://a.notatld http://a.comx http://10.0.0.1/a", []],
    [
      "with a port",
      "http://example.com:8080 http://example.com:80/a http://example.com:x",
      ["http://example.com:8080", "http://example.com:80/a", "http://example.com"],
    ],
    [
      "with underscores before the last two labels only",
      "http://a_b.example.com http://a_b.com http://a_b_.example.com",
      ["http://a_b.example.com"],
    ],
    [
      "with dashes within labels only",
      "http://a-b.c-d.de http://-a.de http://a-.de http://a.de-x",
      ["http://a-b.c-d.de"],
    ],
    [
      "with labels of 63 characters and not more",
      `http://${"a".repeat(63)}.de http://${"a".repeat(64)}.de`,
      [`http://${"a".repeat(63)}.de`],
    ],
    [
      "in Punycode, unless it holds other letters",
      "http://xn--bcher-kva.de http://a.xn--p1ai/b http://xn--bü.de xn--bü.de",
      ["http://xn--bcher-kva.de", "http://a.xn--p1ai/b"],
    ],
  ])("%s", (_, text, values) => {
    expect(valuesOf(text, "links")).toEqual(values)
  })

  test.each<Row>([
    [
      "by the list of top-level domains",
      "example.com it.so a.museum foo.notatld a.みんな",
      ["example.com", "it.so", "a.museum", "a.みんな"],
    ],
    ["in any case of letters", "Example.Com", ["Example.Com"]],
    ["by the longest that fits", "a.भारतम्/x a.भारत/x", ["a.भारतम्/x", "a.भारत/x"]],
    ["after a letter that ended the name before it", "@猫a.de", ["a.de"]],
    ["not of what those left over, whatever follows", "/a.com猫 @a.com猫 -a.猫b.de ..猫b.de", []],
    ["not of a link that is written within another", "a.com/http://猫b.de", ["a.com/http://", "b.de"]],
    [
      "cut out of other letters",
      "これはexample.comです。t.co/abをmüller.deで",
      ["example.com", "t.co/ab", "müller.de"],
    ],
    ["several in one run of letters", "a.com猫b.de猫c.org/x", ["a.com", "b.de", "c.org/x"]],
    ["not of an address, name, path or file", "a@b.com a.b@c.de @a.com #a.com $a.com /a.com tar.bz2", []],
    ["not what other characters left over", "..a.com -a.com _a.com a..com a_b.com b-.a.com", []],
    ["after an underscore in a label before", "a_b.example.com", ["b.example.com"]],
    [
      "with what follows only when there is a path",
      "a.com/x?y=1 a.com?y=1 a.com:80 a.com:80/x",
      ["a.com/x?y=1", "a.com", "a.com", "a.com:80/x"],
    ],
    ["not when a letter, digit, dash, plus or sign follows", "a.com1 a.comx a.com- a.com+ a.com@b", []],
  ])("without a protocol, %s", (_, text, values) => {
    expect(valuesOf(text, "links")).toEqual(values)
  })

  test.each<Row>([
    [
      "end before the punctuation of the sentence",
      "http://a.de/b. http://a.de/b, (http://a.de/b) http://a.de/b! http://a.de/?",
      ["http://a.de/b", "http://a.de/b", "http://a.de/b", "http://a.de/b", "http://a.de/"],
    ],
    [
      "keep parentheses that close, one within another",
      "http://a.de/b_(c) http://a.de/b(c(d)e)f http://a.de/b(c(d(e))) http://a.de/b_(c",
      ["http://a.de/b_(c)", "http://a.de/b(c(d)e)f", "http://a.de/b", "http://a.de/b_"],
    ],
    [
      "hold accented, Cyrillic and no other letters",
      "http://a.de/café http://a.de/Русь http://a.de/b猫",
      ["http://a.de/café", "http://a.de/Русь", "http://a.de/b"],
    ],
    [
      "end before quotation marks and spaces",
      'http://a.de/b"c" http://a.de/b<c> http://a.de/b\u3000c',
      ["http://a.de/b", "http://a.de/b", "http://a.de/b"],
    ],
    [
      "have queries",
      "http://a.de?b=c&d http://a.de/?b=(c) http://a.de/b?c#d!",
      ["http://a.de?b=c&d", "http://a.de/?b=(c", "http://a.de/b?c#d"],
    ],
    [
      "to t.co have a name of up to 40 letters and digits",
      `http://t.co/Ab1's https://t.co/a?b=c http://t.co/${"a".repeat(41)}`,
      ["http://t.co/Ab1", "https://t.co/a?b=c"],
    ],
  ])("%s", (_, text, values) => {
    expect(valuesOf(text, "links")).toEqual(values)
  })
})

test("a part of a link is no other entity", () => {
  const entities = entitiesInText("http://a.de/@ann a.de/#cat http://a.de/?$BTC #b @ann")
  expect(entities.links.map((one) => one.value)).toEqual(["http://a.de/@ann", "a.de/#cat", "http://a.de/?$BTC"])
  expect(entities.hashtags.map((one) => one.value)).toEqual(["b"])
  expect(entities.mentions.map((one) => one.start)).toEqual([48])
  expect(entities.cashtags).toEqual([])
})

test("a hashtag that runs into a link keeps its letters", () => {
  const { hashtags, links } = entitiesInText("#猫a.de/x")
  expect(hashtags).toEqual([{ value: "猫a", start: 0, end: 3 }])
  expect(links).toEqual([])
})

test("offsets are code points and include the sign", () => {
  expect(entitiesInText("🍕🍕 #𝒳y 👩🏽‍💻@ann $AB\ud800 猫a.de/b")).toEqual({
    hashtags: [{ value: "𝒳y", start: 3, end: 6 }],
    mentions: [{ value: "ann", start: 11, end: 15 }],
    cashtags: [],
    links: [{ value: "a.de/b", start: 22, end: 28 }],
  })
})

test("the top-level domains are in lower case and composed form, and contain every kind", () => {
  expect(topLevelDomains.size).toBe(1582)
  for (const name of topLevelDomains) expect(name).toBe(name.toLowerCase().normalize("NFC"))
  for (const name of ["com", "de", "travelersinsurance", "zw", "рф", "みんな", "vermögensberatung", "भारतम्"])
    expect(topLevelDomains).toContain(name)
  // IANA has delisted these.
  for (const name of ["onion", "um", "tp", "an", "intel", "guardian", "tiffany", "诺基亚", "موبايلي"])
    expect(topLevelDomains).toContain(name)
  for (const name of ["", "example", "local", "internal", "xn--p1ai"]) expect(topLevelDomains).not.toContain(name)
})

test("a name under a delisted top-level domain is a link, with and without its scheme", () => {
  const { links } = entitiesInText("at news.guardian, https://abc.onion/a, shop.um and a.internal")
  expect(links.map(({ value }) => value)).toEqual(["news.guardian", "https://abc.onion/a", "shop.um"])
})

// Pieces that meet in hostile and in honest texts.
const pieces = fc.constantFrom(
  ..."# ＃ @ ＠ $ . .. / // :// http:// https:// - _ ( ) ? & = : 80 ! ' \" RT a B1 é 猫 🍕 \u200D \uFE0F \ud800 com de co.uk みんな xn-- t.co/a".split(
    " ",
  ),
  " ",
  "\n",
)

test("entities are in the text at their offsets, in order and without overlap", () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 24 }), (parts) => {
      const text = parts.join("")
      const points = Array.from(text)
      const entities = entitiesInText(text)
      for (const kind of kinds) {
        for (const { value, start, end } of entities[kind]) {
          const sign = { hashtags: /^[#＃]/, mentions: /^[@＠]/, cashtags: /^\$/, links: /^/ }[kind]
          const written = points.slice(start, end).join("")
          expect(written).toMatch(sign)
          expect(written.replace(sign, "")).toBe(value)
          expect(value).not.toBe("")
        }
        const starts = entities[kind].map((one) => one.start)
        expect(starts).toEqual(starts.toSorted((one, other) => one - other))
      }
      const all = kinds.flatMap((kind) => entities[kind]).toSorted((one, other) => one.start - other.start)
      for (const [index, one] of all.slice(1).entries()) expect(one.start).toBeGreaterThanOrEqual(all[index]?.end ?? 0)
    }),
    { numRuns: 3000 },
  )
})

test("text that is separated by spaces does not affect an entity", () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), fc.array(pieces, { maxLength: 12 }), (left, right) => {
      const [one, other] = [left.join(""), right.join("")]
      const apart = kinds.map((kind) => [...valuesOf(one, kind), ...valuesOf(other, kind)])
      // Nothing crosses the line break, neither what precedes an entity nor what follows it.
      expect(kinds.map((kind) => valuesOf(`${one}\n\n${other}`, kind))).toEqual(apart)
    }),
    { numRuns: 3000 },
  )
})

describe("entities in hostile texts", () => {
  const parts = (
    "a. @a #a http:// https://t.co/a a.com a.com猫 a_b. -. xn--. 日.com 猫. http://日. http://a.co/( http://a.co/(( " +
    "a.co/! a.co/?! a.co:8 $a @a/b RT@ #1 a 1 _ # @ $ . ( 🍕 \ud800. vermögensberatun. #🍕a."
  ).split(" ")

  function textsOf(part: string, length: number): readonly string[] {
    const text = part.repeat(Math.ceil(length / part.length)).slice(0, length)
    return [text, `http://a.co/${text}`, `http://a.co?${text}`, `#${text}`, `a.${text}`]
  }

  test.each(parts)("25,000 characters of “%s” are searched in linear time", (part) => {
    for (const text of textsOf(part, 25_000)) {
      // The best of several, since the machine may be busy: a millisecond or two. Going back over the text once
      // per character would take seconds.
      const times = Array.from({ length: 5 }, () => {
        const startedAt = performance.now()
        entitiesInText(text)
        return performance.now() - startedAt
      })
      expect(Math.min(...times)).toBeLessThan(150)
    }
  })

  test.each(parts)("each character of “%s” is read a few times, whatever the length", (part) => {
    const reads = vi.spyOn(String.prototype, "charCodeAt")
    try {
      for (const length of [300, 3000]) {
        for (const text of textsOf(part, length)) {
          reads.mockClear()
          entitiesInText(text)
          const count = reads.mock.calls.length
          expect(count, text.slice(0, 30)).toBeLessThan(25 * text.length)
        }
      }
    } finally {
      reads.mockRestore()
    }
  })
})
