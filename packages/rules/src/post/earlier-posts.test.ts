import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { anyEnvelope, anyRule } from "../testing/any-rule.testing.ts"
import { EarlierPosts } from "./earlier-posts.ts"
import { evaluate } from "../meaning/evaluate.ts"
import { matches, postWith } from "../testing/matches.testing.ts"
import { readPost } from "./post-facts.ts"

const berlin = {
  id: "3078869807f9dd36",
  name: "Berlin",
  full_name: "Berlin, Germany",
  country_code: "DE",
  geo: { type: "Feature", bbox: [13.088, 52.338, 13.761, 52.675] },
}
const fromBerlin = postWith("guten Morgen", { id: "7", geo: { place_id: berlin.id } }, { places: [berlin] })

/** As X sends it: with only the id of the original's place. */
const repost = postWith(
  "RT @ann: guten Morgen",
  { id: "8", referenced_tweets: [{ type: "retweeted", id: "7" }] },
  { tweets: [fromBerlin.data] },
)

function havingSeen(...envelopes: readonly unknown[]): { readonly earlier: EarlierPosts } {
  const earlier = new EarlierPosts()
  for (const envelope of envelopes) earlier.learn(envelope)
  return { earlier }
}

describe("places", () => {
  test.each(["place:Berlin", 'place:"Berlin, Germany"', "place_country:DE"])(
    "%s finds a repost by the place of its original once another post has described the place",
    (rule) => {
      expect(matches(rule, repost)).toBe(false)
      expect(matches(rule, repost, havingSeen(fromBerlin))).toBe(true)
      expect(matches(rule, repost, havingSeen(repost))).toBe(false)
    },
  )

  test("an area finds a post by a place that another post described, but not a repost of it", () => {
    const silent = postWith("hi", { geo: { place_id: berlin.id } })
    for (const rule of ["bounding_box:[13.3 52.5 13.5 52.6]", "point_radius:[13.42 52.51 1km]"]) {
      expect(matches(rule, silent)).toBe(false)
      expect(matches(rule, silent, havingSeen(fromBerlin))).toBe(true)
      expect(matches(rule, repost, havingSeen(fromBerlin))).toBe(false)
    }
  })

  test("a post's own description of its place takes precedence", () => {
    const moved = { ...berlin, name: "Berlin, Maryland", full_name: "Berlin, MD", country_code: "US" }
    const post = postWith("hi", { geo: { place_id: berlin.id } }, { places: [moved] })
    expect(matches("place_country:US", post, havingSeen(fromBerlin))).toBe(true)
    expect(matches("place_country:DE", post, havingSeen(fromBerlin))).toBe(false)
  })

  test("a place that is described again with fewer members keeps the others", () => {
    const asked = { places: [{ id: berlin.id, full_name: "Berlin (Deutschland)" }] }
    const { earlier } = havingSeen(fromBerlin, postWith("", {}, asked))
    expect(earlier.placeOf(berlin.id)).toEqual({
      name: "Berlin",
      full_name: "Berlin (Deutschland)",
      country_code: "DE",
      geo: { bbox: berlin.geo.bbox },
    })
  })
})

describe("links", () => {
  const urls = (...some: readonly object[]) => ({ entities: { urls: some } })
  const known = { expanded_url: "https://bit.ly/cats1", unwound_url: "https://example.com/all/cats" }
  const short = postWith("look", urls({ url: "https://t.co/a1", expanded_url: "https://bit.ly/cats1" }))

  test.each(["url:example.com", "all", '"example com all cats"'])(
    "%s finds a short link whose destination another post gave",
    (rule) => {
      expect(matches(rule, short)).toBe(false)
      expect(matches(rule, short, havingSeen(postWith("", urls(known))))).toBe(true)
    },
  )

  test("url_contains: finds a short link by its destination too", () => {
    expect(matches("url_contains:/all/", short, havingSeen(postWith("", urls(known))))).toBe(true)
  })

  test("the destinations of links are also learned from original and quoted posts", () => {
    const includes = { tweets: [{ id: "5", text: "", ...urls(known) }] }
    expect(matches("url:example.com", short, havingSeen(postWith("", {}, includes)))).toBe(true)
  })

  test("a link that leads to itself, or has no destination, is not remembered", () => {
    const { earlier } = havingSeen(
      postWith("", urls({ expanded_url: "https://a.example", unwound_url: "https://a.example" })),
      postWith("", urls({ expanded_url: "https://b.example" }, { unwound_url: "https://c.example" })),
      postWith("", urls({ expanded_url: "https://d.example", unwound_url: "" }, { expanded_url: "" })),
    )
    for (const link of ["https://a.example", "https://b.example", "https://d.example", "", "undefined"])
      expect(earlier.destinationOf(link)).toBeUndefined()
  })

  test("links that lead to each other are resolved by one step", () => {
    const earlier = havingSeen(
      postWith("", urls({ expanded_url: "https://a.example", unwound_url: "https://b.example" })),
      postWith("", urls({ expanded_url: "https://b.example", unwound_url: "https://a.example" })),
    )
    const post = postWith("x", urls({ url: "https://t.co/1", expanded_url: "https://a.example" }))
    expect(matches("url:b.example", post, earlier)).toBe(true)
  })
})

describe("the number of remembered places and links is bounded", () => {
  const placeOf = (id: string) => postWith("", {}, { places: [{ id, name: id }] })
  const linkOf = (id: string) =>
    postWith("", {
      entities: { urls: [{ expanded_url: `https://${id}.s`, unwound_url: `https://${id}.l` }] },
    })

  test("the least recently seen places and links are forgotten", () => {
    const earlier = new EarlierPosts({ rememberedMax: 3 })
    for (const id of ["a", "b", "c", "a", "d"]) {
      earlier.learn(placeOf(id))
      earlier.learn(linkOf(id))
    }
    const known = (id: string) => [earlier.placeOf(id)?.["name"], earlier.destinationOf(`https://${id}.s`)]
    expect(known("b")).toEqual([undefined, undefined])
    for (const id of ["a", "c", "d"]) expect(known(id)).toEqual([id, `https://${id}.l`])
  })

  test("a single envelope with very many places does not exceed the bound", () => {
    const earlier = new EarlierPosts({ rememberedMax: 10 })
    const places = Array.from({ length: 10_000 }, (_, index) => ({ id: `p${index}`, name: "x" }))
    earlier.learn(postWith("", {}, { places }))
    const known = places.filter(({ id }) => earlier.placeOf(id) !== undefined)
    expect(known).toEqual(places.slice(-10))
  })

  test("only the members of a place that operators read are kept, and no long texts", () => {
    const long = "x".repeat(1_000_000)
    const place = {
      ...berlin,
      contained_within: [long],
      geo: { ...berlin.geo, properties: { long } },
      name: long,
    }
    const { earlier } = havingSeen(postWith("", {}, { places: [place, { id: long, name: "y" }] }))
    expect(earlier.placeOf(berlin.id)).toEqual({
      full_name: berlin.full_name,
      country_code: "DE",
      geo: { bbox: berlin.geo.bbox },
    })
    expect(earlier.placeOf(long)).toBeUndefined()
    earlier.learn(postWith("", { entities: { urls: [{ expanded_url: "https://s", unwound_url: long }] } }))
    expect(earlier.destinationOf("https://s")).toBeUndefined()
  })
})

describe("envelopes from an untrusted source", () => {
  test.each<[string, unknown]>([
    ["null", null],
    ["a number", 5],
    ["a text", "x"],
    ["nothing", undefined],
    ["a list", []],
    ["lists in place of objects", { data: [], includes: [] }],
    ["objects in place of lists", { data: { entities: { urls: {} } }, includes: { places: {}, tweets: {} } }],
    [
      "lists of nulls",
      { data: { entities: { urls: [null, 5] } }, includes: { places: [null, 5, []], tweets: [null] } },
    ],
    ["ids that are none", { includes: { places: [{ id: 5 }, { id: "" }, { id: null }, { id: {} }] } }],
    ["members that are none", { includes: { places: [{ id: "p", name: 5, geo: { bbox: "x" }, country_code: [] }] } }],
    ["boxes that are none", { includes: { places: [{ id: "p", geo: { bbox: [1, 2, 3, null] } }] } }],
  ])("nothing is learned from %s", (_, envelope) => {
    const { earlier } = havingSeen(envelope)
    expect(Object.keys(earlier.placeOf("p") ?? {})).toEqual([])
    for (const id of ["5", "", "null", "undefined"]) expect(earlier.placeOf(id)).toBeUndefined()
  })

  test("ids may be the names of members of Object", () => {
    const places = ["__proto__", "constructor", "toString"].map((id) => ({ id, name: `place ${id}` }))
    const { earlier } = havingSeen(postWith("", {}, { places }))
    for (const { id, name } of places) expect(earlier.placeOf(id)?.["name"]).toBe(name)
    expect(earlier.placeOf("hasOwnProperty")).toBeUndefined()
    expect(earlier.destinationOf("constructor")).toBeUndefined()
  })

  test("after any envelope a post is read without an error, and an unrelated post as before", () => {
    fc.assert(
      fc.property(
        fc.array(fc.anything({ maxDepth: 5 }), { maxLength: 5 }),
        anyEnvelope,
        anyRule,
        (some, envelope, rule) => {
          const earlier = havingSeen(...some, { data: some[0], includes: some[1] })
          expect(evaluate(rule, readPost(envelope, earlier))).toBe(evaluate(rule, readPost(envelope)))
        },
      ),
      { numRuns: 300 },
    )
  })
})
