/*
 * Entities in bare text, against the cases of twitter-text and against what X itself marked in posts. The data
 * belongs to others and lies next to the repository, so these tests are skipped where it is not, except in CI.
 *
 * Left out: `validate` (whether a whole text is a name or link, for links by another rule than that of finding
 * them, and how long a post is) and `hit_highlighting` (HTML). The tests read from `autolink`
 * only which entities are linked.
 */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { entitiesInText, type TextEntities, type TextEntity } from "./text-entities.ts"

const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../../../shared", import.meta.url))
const isThere = existsSync(join(shared, "data/text/twitter-text-conformance.ndjson"))
const isSkipped = !isThere && process.env["CI"] === undefined
if (isSkipped)
  console.warn(`skipped: no conformance cases in ${shared}; set SLUICE_SHARED to the folder that holds data/`)

type Kind = keyof TextEntities

/** `indices` include the sign and, of a list, its slug. */
type Marked = {
  readonly hashtag?: string
  readonly screen_name?: string
  readonly list_slug?: string
  readonly cashtag?: string
  readonly url?: string
  readonly indices: readonly [number, number]
}

type ConformanceCase = {
  readonly file: string
  readonly category: string
  readonly description: string
  readonly text: string
  readonly expected: unknown
}

function linesOf<Line>(file: string): readonly Line[] {
  const text = readFileSync(join(shared, "data", file), "utf8")
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line)
}

function casesOf(file: string, category?: string): readonly ConformanceCase[] {
  return linesOf<ConformanceCase>("text/twitter-text-conformance.ndjson").filter(
    (one) => one.file === file && (category === undefined || one.category === category),
  )
}

describe.skipIf(isSkipped)("the conformance cases of twitter-text", () => {
  test.each<[string, Kind, number]>([
    ["hashtags", "hashtags", 65],
    ["hashtags_from_astral", "hashtags", 3],
    ["mentions", "mentions", 23],
    ["cashtags", "cashtags", 8],
    ["urls", "links", 91],
    ["tco_urls_with_params", "links", 5],
  ])("“extract %s” gives the same values", (category, kind, count) => {
    const cases = casesOf("extract", category)
    expect(cases).toHaveLength(count)
    for (const { text, description, expected } of cases) {
      const values = entitiesInText(text)[kind].map((one) => one.value)
      expect(values, description).toEqual(expected)
    }
  })

  test.each<[string, Kind, number]>([
    ["hashtags_with_indices", "hashtags", 8],
    ["mentions_with_indices", "mentions", 3],
    ["mentions_or_lists_with_indices", "mentions", 5],
    ["cashtags_with_indices", "cashtags", 2],
    ["urls_with_indices", "links", 10],
    ["urls_with_directional_markers", "links", 2],
  ])("“extract %s” gives the same values at the same offsets, except for list slugs", (category, kind, count) => {
    const cases = casesOf("extract", category)
    expect(cases).toHaveLength(count)
    for (const { text, description, expected } of cases) {
      // All of these texts are of the basic plane, where code points and UTF-16 units count the same.
      expect(text).not.toMatch(/\p{Cs}|[\u{10000}-\u{10FFFF}]/u)
      const marked = (expected as readonly Marked[]).map((one) => ({
        value: one.hashtag ?? one.screen_name ?? one.cashtag ?? one.url,
        start: one.indices[0],
        end: one.indices[1] - (one.list_slug ?? "").length,
      }))
      expect(entitiesInText(text)[kind], description).toEqual(marked)
    }
  })

  test("“extract replies” gives a mention that only spaces precede", () => {
    const cases = casesOf("extract", "replies")
    expect(cases).toHaveLength(13)
    for (const { text, description, expected } of cases) {
      const first = entitiesInText(text).mentions[0]
      const isReply = first !== undefined && text.slice(0, first.start).trim() === ""
      expect(isReply ? first.value : null, description).toBe(expected)
    }
  })

  test("every extract case is covered by one of these tests", () => {
    expect(casesOf("extract")).toHaveLength(65 + 3 + 23 + 8 + 91 + 5 + 8 + 3 + 5 + 2 + 10 + 2 + 13)
  })

  // Each category but the last two runs one linker, which passes over what the others would link.
  test.each<[string, readonly Kind[], number]>([
    ["hashtags", ["hashtags"], 70],
    ["usernames", ["mentions"], 19],
    ["lists", ["mentions"], 12],
    ["cashtags", ["cashtags"], 2],
    ["urls", ["links"], 78],
    ["all", ["hashtags", "mentions", "cashtags", "links"], 10],
    ["json", ["hashtags", "mentions", "cashtags", "links"], 5],
  ])("autolink %s: the same entities are linked, of the links those with a protocol", (category, kinds, count) => {
    const cases = casesOf("autolink", category)
    expect(cases).toHaveLength(count)
    for (const { text, description, expected } of cases) {
      const entities = entitiesInText(text)
      const found = kinds
        .flatMap((kind) => entities[kind].map((one) => ({ ...one, kind })))
        .filter(({ kind, value }) => kind !== "links" || /^https?:/i.test(value))
        .toSorted((one, other) => one.start - other.start)
      expect(
        found.map(({ value, kind }) => `${kind} ${value}`),
        description,
      ).toEqual(anchorsOf(expected as string))
    }
  })
})

/** The values that the anchors of autolinked HTML link: names by their class, links by their address. */
function anchorsOf(html: string): readonly string[] {
  return Array.from(html.matchAll(/<a ([^>]*)>(.*?)<\/a>/g), ([, attributes = "", content = ""]) => {
    const kind = /class="tweet-url ([a-z-]+)/.exec(attributes)?.[1]
    if (kind === "hashtag" || kind === "cashtag") return `${kind}s ${content.slice(1)}`
    if (kind !== undefined) return `mentions ${content.replace(/\/.*/, "")}`
    return `links ${(/href="([^"]*)"/.exec(attributes)?.[1] ?? "").replaceAll("&amp;", "&")}`
  })
}

describe.skipIf(isSkipped)("the entities that X lists", () => {
  type Mark = { readonly start: number; readonly end: number; readonly [member: string]: unknown }
  type Envelope = {
    readonly data: { readonly text: string; readonly entities?: Readonly<Record<string, readonly Mark[]>> }
  }

  const posts = isThere ? markedPosts() : []

  function markedPosts() {
    const lines = gunzipSync(readFileSync(join(shared, "data/x/posts-full.ndjson.gz")))
      .toString()
      .trim()
      .split("\n")
    return lines.flatMap((line) => {
      const { text, entities } = (JSON.parse(line) as Envelope).data
      return entities === undefined ? [] : [{ text, points: Array.from(text), entities }]
    })
  }

  const placed = ({ start, end }: Pick<TextEntity, "start" | "end">) => `${start}-${end}`

  test.each<[Kind, string, string, number]>([
    ["hashtags", "hashtags", "tag", 40_000],
    ["mentions", "mentions", "username", 20_000],
    ["cashtags", "cashtags", "tag", 20],
    ["links", "urls", "url", 7_000],
  ])("%s of X are all found in the text, at the same code points", (kind, list, member, leastMarks) => {
    const missed: string[] = []
    let marks = 0
    let unwritten = 0
    for (const { text, points, entities } of posts) {
      const found = new Set(entitiesInText(text)[kind].map((one) => `${one.value.toLowerCase()} ${placed(one)}`))
      // X marks the media of a post several times with one link.
      for (const mark of new Map((entities[list] ?? []).map((one) => [placed(one), one])).values()) {
        // A name is marked in the case of its owner's profile.
        const value = String(mark[member]).toLowerCase()
        marks++
        // A name that is masked in the data; the links of a notice that X shows in place of a post.
        const isWritten = points.slice(mark.start, mark.end).join("").toLowerCase().endsWith(value)
        if (!isWritten) unwritten++
        else if (!found.has(`${value} ${placed(mark)}`)) missed.push(`${value} ${placed(mark)} in ${text}`)
      }
    }
    console.info(`${kind}: of ${marks} marked, ${unwritten} not written in the text, ${missed.length} missed`)
    expect(missed).toEqual([])
    expect(marks).toBeGreaterThan(leastMarks)
    expect(unwritten).toBeLessThan(20)
  })

  // X lists the mentions of users that exist, which the text does not show.
  test.each<[Kind, string]>([
    ["hashtags", "hashtags"],
    ["cashtags", "cashtags"],
    ["links", "urls"],
  ])("no %s are found that X does not list, except at the end of a repost that X cut off", (kind, list) => {
    for (const { text, points, entities } of posts) {
      const places = new Set((entities[list] ?? []).map(placed))
      for (const one of entitiesInText(text)[kind]) {
        if (places.has(placed(one))) continue
        expect(points.slice(one.end).join(""), `${one.value} in ${text}`).toBe("…")
      }
    }
  })
})
