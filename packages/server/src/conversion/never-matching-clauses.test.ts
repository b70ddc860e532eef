import { operatorGuides, parseRule } from "@sluice/rules"
import { expect, test } from "vitest"
import type { ConverterSettings } from "./converters.ts"
import { createNeverMatching } from "./never-matching-clauses.ts"
import { neverMatching } from "./never-matching.ts"

const options = { lengthMax: 2_048, strict: false, embeddings: false }

const bluesky = (takesReposts = false): ConverterSettings => ({
  type: "bluesky",
  settings: { takesReposts, takesProfiles: false, looksUpProfiles: false, givesMediaUrls: false },
})

const mastodon: ConverterSettings = {
  type: "mastodon",
  settings: { host: "example.social", number: 1, takesReblogs: true, takesUnlisted: true },
}

const sky = { name: "sky", converter: bluesky() }
const pond = { name: "pond", converter: mastodon }

const clauses = (value: string, sources: Parameters<typeof createNeverMatching>[0] = [sky]): readonly string[] =>
  createNeverMatching(sources, options)(value).map(({ clause }) => clause)

test("a clause that no post of the sources fulfils is named, with the sources and the reason", () => {
  expect(createNeverMatching([sky], options)("cat place_country:DE")).toEqual([
    { clause: "place_country:DE", operator: "place_country", sources: ["sky"], reason: "These posts have no place." },
  ])
})

test.each([
  ["cat -place_country:DE", []],
  ["cat -(dog OR place_country:DE)", []],
  ["cat -(dog -has:geo)", ["has:geo"]],
  ["cat (place_country:DE OR has:geo)", ["place_country:DE", "has:geo"]],
  ["(cat has:geo) OR (dog has:geo)", ["has:geo"]],
  ["cat is:retweet", ["is:retweet"]],
  ["cat is:reply has:images", []],
  ['"place_country:DE" cat', []],
  ["cat bio:heron", ["bio:heron"]],
  ["(cat", []],
])("of %s", (rule, expected) => {
  expect(clauses(rule)).toEqual(expected)
})

test("of several sources only a clause that none fulfils is named, with the reasons of all", () => {
  expect(clauses("cat is:retweet", [sky, pond])).toEqual([])
  expect(clauses("cat listed_count:5", [sky, pond])).toEqual(["listed_count:5"])
  const [found] = createNeverMatching([sky, pond], options)("cat listed_count:5")
  expect(found?.sources).toEqual(["sky", "pond"])
  expect(found?.reason).toMatch(/^Bluesky does not count the lists that a user is on\. Mastodon does not count/)
})

test("nothing is known without sources, and next to a source whose messages are envelopes", () => {
  expect(clauses("cat has:geo", [])).toEqual([])
  expect(clauses("cat has:geo", [sky, { name: "nats" }])).toEqual([])
  expect(clauses("cat has:geo", [sky, { name: "feed", converter: { type: "mapped" } }])).toEqual([])
})

test("every operator that a source never matches is found in a rule", () => {
  for (const converter of [bluesky(), mastodon]) {
    const kind = converter.type === "bluesky" ? "bluesky" : "mastodon"
    const source =
      kind === "bluesky"
        ? ({ kind, takesReposts: false, takesProfiles: false, looksUpProfiles: false } as const)
        : ({ kind, takesReblogs: true } as const)
    for (const { operator, value } of neverMatching(source)) {
      const written = value === undefined ? exampleOf(operator) : `${operator}:${value}`
      expect(parseRule(`cat ${written}`, options).ok, written).toBe(true)
      expect(clauses(`cat ${written}`, [{ name: "one", converter }]), written).toHaveLength(1)
    }
  }
})

function exampleOf(operator: string): string {
  return operatorGuides.find(({ name }) => name === operator)?.example ?? operator
}
