import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expansions, mediaFields, placeFields, pollFields, postFields, userFields } from "@sluice/api"
import type { Envelope, IncludedObject } from "@sluice/api"
import fc from "fast-check"
import { expect, test } from "vitest"
import { defaultSelection, parseSelection } from "./field-selection.ts"
import type { PostId } from "./ids.ts"
import type { StoredPost } from "./post.ts"
import { turnsOf } from "../runtime/turns.testing.ts"
import { asciiText, renderDelivery, renderPosts, shapeFor } from "./render-post.ts"

const rulesJson = '[{"id":"7","tag":"cats"}]'

const quote = {
  data: {
    id: "20",
    text: "look",
    author_id: "1",
    lang: "en",
    in_reply_to_user_id: "3",
    attachments: { media_keys: ["3_1", "3_9"], poll_ids: ["50"] },
    geo: { place_id: "p1" },
    entities: {
      mentions: [
        { start: 0, end: 4, username: "BEN" },
        { start: 5, end: 9, username: "gone" },
      ],
    },
    referenced_tweets: [{ type: "quoted", id: "10" }],
    public_metrics: { like_count: 5 },
    source: null,
  },
  includes: {
    users: [
      { id: "1", username: "ann", name: "Ann", verified: true },
      { id: "2", username: "Ben", name: "Ben", description: "b" },
      { id: "3", username: "cy", name: "Cy", location: null },
    ],
    tweets: [{ id: "10", text: "first", author_id: "2", lang: "de", attachments: { media_keys: ["3_2"] } }],
    media: [
      { media_key: "3_1", type: "photo", width: 10, url: "u" },
      { media_key: "3_2", type: "video", width: 20 },
    ],
    places: [{ id: "p1", full_name: "Rome", country: "Italy" }],
    polls: [{ id: "50", options: [{ position: 1, label: "yes", votes: 3 }], duration_minutes: 60 }],
  },
}

function deliver(envelope: unknown, parameters: Readonly<Record<string, string>>): Envelope & Record<string, unknown> {
  const entry = { postJson: JSON.stringify(envelope), rulesJson }
  return JSON.parse(renderDelivery(entry, parseSelection(parameters))) as Envelope & Record<string, unknown>
}

function includesOf(parameters: Readonly<Record<string, string>>): unknown {
  return deliver(quote, parameters).includes
}

test("a delivery of default fields holds the stored text as it is", () => {
  const postJson = '{"id":"1", "text":"kept \\u0061s it is","edit_history_tweet_ids":["1"]}'
  expect(renderDelivery({ postJson, rulesJson }, defaultSelection)).toBe(
    `{"data":${postJson},"matching_rules":${rulesJson}}`,
  )
  expect(shapeFor(defaultSelection)).toBe("core")
  expect(shapeFor(parseSelection({ "tweet.fields": "lang" }))).toBe("envelope")
})

test("a delivery shows the requested fields, and the defaults", () => {
  expect(deliver(quote, { "tweet.fields": "lang,public_metrics,withheld" })).toEqual({
    data: {
      id: "20",
      text: "look",
      lang: "en",
      public_metrics: { like_count: 5 },
      edit_history_tweet_ids: ["20"],
    },
    matching_rules: [{ id: "7", tag: "cats" }],
  })
})

test("an absent value is left out, and so is a null", () => {
  expect(deliver(quote, { "tweet.fields": "source,card_uri" }).data).toEqual({
    id: "20",
    text: "look",
    edit_history_tweet_ids: ["20"],
  })
})

test("the edit history is the post's own when it has one", () => {
  const data = { ...quote.data, edit_history_tweet_ids: ["18", "20"] }
  expect(deliver({ data }, { "tweet.fields": "lang" }).data.edit_history_tweet_ids).toEqual(["18", "20"])
})

test.each([
  ["author_id", { users: [{ id: "1", username: "ann", name: "Ann" }] }],
  ["in_reply_to_user_id", { users: [{ id: "3", username: "cy", name: "Cy" }] }],
  ["entities.mentions.username", { users: [{ id: "2", username: "Ben", name: "Ben" }] }],
  ["referenced_tweets.id", { tweets: [{ id: "10", text: "first", edit_history_tweet_ids: ["10"] }] }],
  ["referenced_tweets.id.author_id", { users: [{ id: "2", username: "Ben", name: "Ben" }] }],
  ["attachments.media_keys", { media: [{ media_key: "3_1", type: "photo" }] }],
  ["referenced_tweets.id.attachments.media_keys", { media: [{ media_key: "3_2", type: "video" }] }],
  ["attachments.poll_ids", { polls: [{ id: "50", options: [{ position: 1, label: "yes", votes: 3 }] }] }],
  ["geo.place_id", { places: [{ id: "p1", full_name: "Rome" }] }],
])("the expansion %s includes what it reaches, with default fields, and nothing else", (expansion, includes) => {
  expect(includesOf({ expansions: expansion })).toEqual(includes)
})

test("included objects show the requested fields of their kind", () => {
  const shown = includesOf({
    expansions: "author_id,referenced_tweets.id,attachments.media_keys,geo.place_id,attachments.poll_ids",
    "tweet.fields": "lang",
    "user.fields": "verified,description",
    "media.fields": "width",
    "place.fields": "country",
    "poll.fields": "duration_minutes",
  })
  expect(shown).toEqual({
    users: [{ id: "1", username: "ann", name: "Ann", verified: true }],
    tweets: [
      {
        id: "10",
        text: "first",
        author_id: "2",
        lang: "de",
        attachments: { media_keys: ["3_2"] },
        edit_history_tweet_ids: ["10"],
      },
    ],
    media: [{ media_key: "3_1", type: "photo", width: 10 }],
    places: [{ id: "p1", full_name: "Rome", country: "Italy" }],
    polls: [{ id: "50", options: [{ position: 1, label: "yes", votes: 3 }], duration_minutes: 60 }],
  })
})

test("an object that several expansions reach is included once", () => {
  const again = { ...quote, data: { ...quote.data, in_reply_to_user_id: "1" } }
  expect(deliver(again, { expansions: "author_id,in_reply_to_user_id" }).includes).toEqual({
    users: [{ id: "1", username: "ann", name: "Ann" }],
  })
})

test("objects that the envelope does not hold are left out, and includes too when it would be empty", () => {
  expect(deliver({ data: quote.data }, { expansions: "author_id,geo.place_id" })).not.toHaveProperty("includes")
  expect(
    deliver({ data: { id: "1", text: "" }, includes: quote.includes }, { expansions: expansions.join(",") }),
  ).not.toHaveProperty("includes")
})

function stored(envelope: {
  data: { id: string; text: string; [member: string]: unknown }
  includes?: unknown
}): StoredPost {
  return { id: envelope.data.id as PostId, json: JSON.stringify(envelope) }
}

test("a page shows each included object once, as its newest post shows it", async () => {
  const page = [
    {
      data: { id: "3", text: "c", author_id: "1" },
      includes: { users: [{ id: "1", name: "New", username: "a" }] },
    },
    {
      data: { id: "2", text: "b", author_id: "2" },
      includes: { users: [{ id: "2", name: "Two", username: "b" }] },
    },
    {
      data: { id: "1", text: "a", author_id: "1" },
      includes: { users: [{ id: "1", name: "Old", username: "a" }] },
    },
  ]
  const { dataJson, includesJson } = await renderPosts(page.map(stored), parseSelection({ expansions: "author_id" }))
  expect((JSON.parse(dataJson) as { id: string }[]).map((post) => post.id)).toEqual(["3", "2", "1"])
  expect(JSON.parse(includesJson ?? "")).toEqual({
    users: [
      { id: "1", name: "New", username: "a" },
      { id: "2", name: "Two", username: "b" },
    ],
  })
})

/** X's error for an object that an expansion did not find. */
function missing(resource: string, parameter: string, value: string): Record<string, unknown> {
  const detail = `Could not find ${resource} with ${parameter}: [${value}].`
  return {
    value,
    detail,
    title: "Not Found Error",
    resource_type: resource,
    parameter,
    resource_id: value,
    type: "https://api.x.com/2/problems/resource-not-found",
    status: 404,
    message: detail,
  }
}

test("each object that an expansion does not find is an error next to the post, whatever its kind", () => {
  const post = {
    data: {
      id: "20",
      text: "look",
      author_id: "1",
      in_reply_to_user_id: "6",
      attachments: { media_keys: ["3_1", "3_9"], poll_ids: ["50"], media_source_tweet_id: ["30"] },
      geo: { place_id: "p1" },
      entities: { mentions: [{ username: "gone" }, { username: "Ann" }, { username: "gone" }] },
      note_tweet: { entities: { mentions: [{ username: "lost" }] } },
      referenced_tweets: [
        { type: "quoted", id: "10" },
        { type: "replied_to", id: "11" },
      ],
      edit_history_tweet_ids: ["19", "20"],
      article: { cover_media: "3_7", media_entities: ["3_8"] },
    },
    includes: {
      users: [{ id: "2", username: "ann", name: "Ann" }],
      tweets: [{ id: "10", text: "first", author_id: "4", attachments: { media_keys: ["3_2"] } }],
      media: [{ media_key: "3_1", type: "photo" }],
    },
  }
  const delivery = deliver(post, { expansions: expansions.join(",") })
  expect(delivery["errors"]).toEqual([
    missing("media", "article.cover_media", "3_7"),
    missing("media", "article.media_entities", "3_8"),
    missing("media", "attachments.media_keys", "3_9"),
    missing("tweet", "attachments.media_source_tweet", "30"),
    missing("poll", "attachments.poll_ids", "50"),
    missing("user", "author_id", "1"),
    missing("tweet", "edit_history_tweet_ids", "19"),
    missing("user", "entities.mentions.username", "gone"),
    missing("user", "entities.note.mentions.username", "lost"),
    missing("place", "geo.place_id", "p1"),
    missing("user", "in_reply_to_user_id", "6"),
    missing("tweet", "referenced_tweets.id", "11"),
    missing("media", "referenced_tweets.id.attachments.media_keys", "3_2"),
    missing("user", "referenced_tweets.id.author_id", "4"),
  ])
  expect(Object.keys(delivery)).toEqual(["data", "includes", "errors", "matching_rules"])
  expect(deliver(post, { expansions: "attachments.media_keys" })["errors"]).toEqual([
    missing("media", "attachments.media_keys", "3_9"),
  ])
  expect(deliver(post, { expansions: "referenced_tweets.id.author_id" })["errors"]).toEqual([
    missing("tweet", "referenced_tweets.id", "11"),
    missing("user", "referenced_tweets.id.author_id", "4"),
  ])
  for (const whole of [deliver(post, {}), deliver(post, { "tweet.fields": "entities,geo,referenced_tweets" })]) {
    expect(whole).not.toHaveProperty("errors")
  }
})

test("a page has errors for the missing objects of its posts, post by post, but not for those that it shows", async () => {
  const asked = parseSelection({
    expansions: "author_id,in_reply_to_user_id,entities.mentions.username,referenced_tweets.id",
  })
  const users = [{ id: "1", username: "ann", name: "Ann" }]
  const page = [
    { id: "5", author_id: "1", in_reply_to_user_id: "6", entities: { mentions: [{ username: "gone" }] } },
    { id: "4", author_id: "1", referenced_tweets: [{ type: "replied_to", id: "3" }] },
    { id: "3", author_id: "1", in_reply_to_user_id: "6", referenced_tweets: [{ type: "quoted", id: "9" }] },
  ].map((data) => stored({ data: { text: "t", ...data }, includes: { users } }))
  // Its users were not sent, but users of the other posts are the same.
  const bare = stored({
    data: { id: "2", text: "t", author_id: "1", entities: { mentions: [{ username: "ANN" }] } },
  })
  const rendered = await renderPosts([...page, bare], asked)
  expect(rendered.missing.map((problem) => problem.toErrorObject())).toEqual([
    missing("user", "entities.mentions.username", "gone"),
    missing("user", "in_reply_to_user_id", "6"),
    missing("user", "in_reply_to_user_id", "6"),
    missing("tweet", "referenced_tweets.id", "9"),
  ])
})

test("a post without thousands of its objects has an error for a thousand, and one for the others", () => {
  const mentions = Array.from({ length: 3_000 }, (_, index) => ({
    username: `user${index}${"x".repeat(300)}`,
  }))
  const post = { data: { id: "1", text: "t", entities: { mentions } } }
  const errors = deliver(post, { expansions: "entities.mentions.username" })["errors"] as { detail: string }[]
  expect(errors).toHaveLength(1_001)
  expect(errors[0]?.detail).toMatch(/^Could not find user with entities\.mentions\.username: \[user0x{194}…\]\.$/)
  expect(errors.at(-1)?.detail).toBe("Could not find further objects that the expansions ask for.")
})

test("a page of default fields is the stored texts, one after the other", async () => {
  const posts = [
    { id: "2" as PostId, json: '{"id": "2"}' },
    { id: "1" as PostId, json: '{"id": "1"}' },
  ]
  expect(await renderPosts(posts, defaultSelection)).toEqual({
    ids: ["2", "1"],
    dataJson: '[{"id": "2"},{"id": "1"}]',
    includesJson: undefined,
    missing: [],
  })
  expect((await renderPosts([], defaultSelection)).dataJson).toBe("[]")
  expect(await renderPosts([], parseSelection({ expansions: "author_id" }))).toEqual({
    ids: [],
    dataJson: "[]",
    includesJson: undefined,
    missing: [],
  })
})

test("stored text is sent unchanged, including digits that a double would lose", () => {
  const postJson = '{"data":{"id":"1","text":"x","public_metrics":{"like_count":12345678901234567890, "x":1e400}}}'
  expect(renderDelivery({ postJson, rulesJson }, parseSelection({ "tweet.fields": "public_metrics" }))).toContain(
    '"public_metrics":{"like_count":12345678901234567890, "x":1e400}',
  )
})

const everything = parseSelection({
  "tweet.fields": postFields.join(","),
  "user.fields": userFields.join(","),
  "media.fields": mediaFields.join(","),
  "place.fields": placeFields.join(","),
  "poll.fields": pollFields.join(","),
  expansions: expansions.join(","),
})

test("a delivery is rendered with any value in place of an entity", () => {
  const names =
    "id,text,author_id,entities,mentions,username,attachments,media_keys,poll_ids,geo,place_id,referenced_tweets," +
    "users,tweets,media,media_key,__proto__,constructor,article,note_tweet,edit_history_tweet_ids,in_reply_to_user_id"
  const name = fc.constantFrom(...names.split(","))
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, 0, -1.5, "", "1", "a", []),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(name, tie("tree"), { maxKeys: 5 }),
    ),
  }))
  fc.assert(
    fc.property(fc.dictionary(name, tree), tree, (data, includes) => {
      const postJson = JSON.stringify({ data: { ...data, id: "1", text: "t" }, includes })
      const delivery = JSON.parse(renderDelivery({ postJson, rulesJson }, everything)) as Envelope
      expect(delivery.data).toMatchObject({ id: "1", text: "t" })
      for (const objects of Object.values(delivery.includes ?? {}) as IncludedObject[][]) {
        const keys = objects.map((object) => object.media_key ?? object.id)
        expect(new Set(keys).size).toBe(keys.length)
      }
    }),
  )
})

test("an envelope nested half a million deep is delivered", () => {
  const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`
  const postJson = `{"data":{"id":"1","text":"x","entities":${deep}}}`
  expect(renderDelivery({ postJson, rulesJson }, everything)).toContain(deep)
})

test("the event loop runs while a page of large posts is rendered", async () => {
  const large = { data: { id: "1", text: "x".repeat(262_144), lang: "en" } }
  const posts = Array.from({ length: 8 }, () => stored(large))
  const turns = await turnsOf(() => renderPosts(posts, parseSelection({ "tweet.fields": "lang" })))
  expect(turns).toBeGreaterThanOrEqual(7)
})

test("no line break between the parts of a stored envelope is sent", async () => {
  const postJson = '{"data":{"id":"1",\r"text":"a\\r","entities":\r{"urls":[\r\n1,\r2]}},"includes":{"users":[\r]}}'
  const delivered = renderDelivery({ postJson, rulesJson }, everything)
  const { dataJson } = await renderPosts([{ id: "1" as PostId, json: postJson }], everything)
  for (const text of [delivered, dataJson]) expect(text).not.toMatch(/[\r\n]/)
  expect((JSON.parse(delivered) as Envelope).data).toMatchObject({ text: "a\r", entities: { urls: [1, 2] } })
})

test("escaped text is ASCII only, and parses to the same value", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.string({ unit: "binary" })), (object) => {
      const escaped = asciiText(JSON.stringify(object))
      expect(Buffer.byteLength(escaped)).toBe(escaped.length)
      expect(JSON.parse(escaped)).toEqual(object)
    }),
  )
  expect(asciiText('"é😀"')).toBe(String.raw`"\u00e9\ud83d\ude00"`)
})

const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../../../shared", import.meta.url))
const realPosts = join(shared, "data/x/posts.ndjson")
const isSkipped = !existsSync(realPosts) && process.env["CI"] === undefined
if (isSkipped) console.warn(`skipped: no real posts in ${shared}; set SLUICE_SHARED to the folder that holds data/`)

test.skipIf(isSkipped)("rendered real posts equal those that are parsed, picked and written again", () => {
  const selection = parseSelection({
    "tweet.fields": "created_at,entities,public_metrics,referenced_tweets",
    "user.fields": "public_metrics,description",
    expansions: "author_id,referenced_tweets.id,referenced_tweets.id.author_id,attachments.media_keys,geo.place_id",
  })
  const kindsSeen = new Set<string>()
  for (const postJson of readFileSync(realPosts, "utf8").trim().split("\n")) {
    const delivery = JSON.parse(renderDelivery({ postJson, rulesJson }, selection)) as Envelope
    const expected = pickSlowly(JSON.parse(postJson) as Envelope)
    expect(delivery.data).toEqual(expected.data)
    expect(sorted(delivery.includes)).toEqual(sorted(expected.includes))
    for (const kind of Object.keys(expected.includes ?? {})) kindsSeen.add(kind)
  }
  expect([...kindsSeen].toSorted()).toEqual(["media", "places", "tweets", "users"])
})

/** Included objects have no order of their own. */
function sorted(includes: Envelope["includes"]): unknown {
  const keyOf = (object: IncludedObject): string => String(object.media_key ?? object.id)
  return Object.entries(includes ?? {}).map(([kind, objects]: [string, readonly IncludedObject[]]) => [
    kind,
    objects.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b))),
  ])
}

/** The same selection, the obvious way. */
function pickSlowly({ data, includes = {} }: Envelope): Envelope {
  const pick = (object: IncludedObject, names: readonly string[]): IncludedObject =>
    Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)))
  const pickPost = (post: IncludedObject): IncludedObject => ({
    edit_history_tweet_ids: [post.id],
    ...pick(
      post,
      "id,text,edit_history_tweet_ids,created_at,entities,public_metrics,referenced_tweets,author_id,attachments,geo".split(
        ",",
      ),
    ),
  })
  const referenced = new Set((data.referenced_tweets ?? []).map((reference) => reference.id))
  const tweets = (includes.tweets ?? []).filter((post) => referenced.has(String(post.id)))
  const authors = new Set([data.author_id, ...tweets.map((post) => post.author_id)])
  const mediaKeys = new Set((data.attachments as { media_keys?: string[] } | undefined)?.media_keys)
  const placeId = (data.geo as { place_id?: string } | undefined)?.place_id
  const shown = {
    users: (includes.users ?? []).filter((user) => authors.has(String(user.id))),
    tweets,
    media: (includes.media ?? []).filter((medium) => mediaKeys.has(String(medium.media_key))),
    places: (includes.places ?? []).filter((place) => place.id === placeId),
  }
  const firsts = (objects: readonly IncludedObject[], key: string): IncludedObject[] =>
    objects.filter((object, at) => objects.findIndex((other) => other[key] === object[key]) === at)
  const rendered = {
    users: firsts(shown.users, "id").map((user) =>
      pick(user, ["id", "name", "username", "public_metrics", "description"]),
    ),
    tweets: firsts(shown.tweets, "id").map(pickPost),
    media: firsts(shown.media, "media_key").map((medium) => pick(medium, ["media_key", "type"])),
    places: firsts(shown.places, "id").map((place) => pick(place, ["id", "full_name"])),
  }
  const filled = Object.entries(rendered).filter(([, objects]) => objects.length > 0)
  return {
    data: pickPost(data) as Envelope["data"],
    ...(filled.length > 0 && { includes: Object.fromEntries(filled) }),
  }
}
