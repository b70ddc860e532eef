import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { anyEnvelope, anyRule } from "./any-rule.testing.ts"
import { EarlierPosts } from "./earlier-posts.ts"
import { evaluate } from "./evaluate.ts"
import { matches, postWith } from "./matches.testing.ts"
import { readPost } from "./post-facts.ts"

const berlin = {
  id: "3078869807f9dd36",
  name: "Berlin",
  full_name: "Berlin, Germany",
  country_code: "DE",
  geo: { type: "Feature", bbox: [13.088, 52.338, 13.761, 52.675] },
}
const fromBerlin = postWith("guten Morgen", { id: "7", geo: { place_id: berlin.id } }, { places: [berlin] })

/** As X sends it: the original says its place by id alone. */
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
    "%s finds a repost by the place of its original once a post told of the place",
    (rule) => {
      expect(matches(rule, repost)).toBe(false)
      expect(matches(rule, repost, havingSeen(fromBerlin))).toBe(true)
      expect(matches(rule, repost, havingSeen(repost))).toBe(false)
    },
  )

  test("areas find a post by a place that another told of, and not the repost of it", () => {
    const silent = postWith("hi", { geo: { place_id: berlin.id } })
    for (const rule of ["bounding_box:[13.3 52.5 13.5 52.6]", "point_radius:[13.4 52.5 1km]"]) {
      expect(matches(rule, silent)).toBe(false)
      expect(matches(rule, silent, havingSeen(fromBerlin))).toBe(true)
      expect(matches(rule, repost, havingSeen(fromBerlin))).toBe(false)
    }
  })

  test("what the post itself says of its place comes first", () => {
    const moved = { ...berlin, name: "Berlin, Maryland", full_name: "Berlin, MD", country_code: "US" }
    const post = postWith("hi", { geo: { place_id: berlin.id } }, { places: [moved] })
    expect(matches("place_country:US", post, havingSeen(fromBerlin))).toBe(true)
    expect(matches("place_country:DE", post, havingSeen(fromBerlin))).toBe(false)
  })

  test("a place told of again with fewer members keeps the others", () => {
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
    "%s finds a shortened link whose end another post told",
    (rule) => {
      expect(matches(rule, short)).toBe(false)
      expect(matches(rule, short, havingSeen(postWith("", urls(known))))).toBe(true)
    },
  )

  test("url_contains: finds it too", () => {
    expect(matches("url_contains:/all/", short, havingSeen(postWith("", urls(known))))).toBe(true)
  })

  test("the ends of links are learned from originals and quoted posts as well", () => {
    const includes = { tweets: [{ id: "5", text: "", ...urls(known) }] }
    expect(matches("url:example.com", short, havingSeen(postWith("", {}, includes)))).toBe(true)
  })

  test("a link that leads to itself, or nowhere, is not remembered", () => {
    const { earlier } = havingSeen(
      postWith("", urls({ expanded_url: "https://a.example", unwound_url: "https://a.example" })),
      postWith("", urls({ expanded_url: "https://b.example" }, { unwound_url: "https://c.example" })),
      postWith("", urls({ expanded_url: "https://d.example", unwound_url: "" }, { expanded_url: "" })),
    )
    for (const link of ["https://a.example", "https://b.example", "https://d.example", "", "undefined"])
      expect(earlier.endOf(link)).toBeUndefined()
  })

  test("links that lead to each other are followed one step", () => {
    const earlier = havingSeen(
      postWith("", urls({ expanded_url: "https://a.example", unwound_url: "https://b.example" })),
      postWith("", urls({ expanded_url: "https://b.example", unwound_url: "https://a.example" })),
    )
    const post = postWith("x", urls({ url: "https://t.co/1", expanded_url: "https://a.example" }))
    expect(matches("url:b.example", post, earlier)).toBe(true)
  })
})

describe("what is remembered is bounded", () => {
  const placeOf = (id: string) => postWith("", {}, { places: [{ id, name: id }] })
  const linkOf = (id: string) =>
    postWith("", {
      entities: { urls: [{ expanded_url: `https://${id}.s`, unwound_url: `https://${id}.l` }] },
    })

  test("those told of least lately are forgotten", () => {
    const earlier = new EarlierPosts({ rememberedMax: 3 })
    for (const id of ["a", "b", "c", "a", "d"]) {
      earlier.learn(placeOf(id))
      earlier.learn(linkOf(id))
    }
    const known = (id: string) => [earlier.placeOf(id)?.["name"], earlier.endOf(`https://${id}.s`)]
    expect(known("b")).toEqual([undefined, undefined])
    for (const id of ["a", "c", "d"]) expect(known(id)).toEqual([id, `https://${id}.l`])
  })

  test("a single envelope of very many places leaves no more than the bound", () => {
    const earlier = new EarlierPosts({ rememberedMax: 10 })
    const places = Array.from({ length: 10_000 }, (_, index) => ({ id: `p${index}`, name: "x" }))
    earlier.learn(postWith("", {}, { places }))
    const known = places.filter(({ id }) => earlier.placeOf(id) !== undefined)
    expect(known).toEqual(places.slice(-10))
  })

  test("of a place only what operators ask is kept, and no text of great length", () => {
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
    expect(earlier.endOf("https://s")).toBeUndefined()
  })
})

describe("envelopes from anywhere", () => {
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
    [
      "members that are none",
      { includes: { places: [{ id: "p", name: 5, geo: { bbox: "x" }, country_code: [] }] } },
    ],
    ["boxes that are none", { includes: { places: [{ id: "p", geo: { bbox: [1, 2, 3, null] } }] } }],
  ])("%s teaches nothing", (_, envelope) => {
    const { earlier } = havingSeen(envelope)
    expect(Object.keys(earlier.placeOf("p") ?? {})).toEqual([])
    for (const id of ["5", "", "null", "undefined"]) expect(earlier.placeOf(id)).toBeUndefined()
  })

  test("names of members of every object are ids like others", () => {
    const places = ["__proto__", "constructor", "toString"].map((id) => ({ id, name: `place ${id}` }))
    const { earlier } = havingSeen(postWith("", {}, { places }))
    for (const { id, name } of places) expect(earlier.placeOf(id)?.["name"]).toBe(name)
    expect(earlier.placeOf("hasOwnProperty")).toBeUndefined()
    expect(earlier.endOf("constructor")).toBeUndefined()
  })

  test("whatever it was shown, a post is read without a throw, and one that it knows nothing of as before", () => {
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
