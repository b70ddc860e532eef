import fc from "fast-check"
import { expect, test } from "vitest"
import { hasSharedData, sharedLines } from "../../../../test/support/shared-data.testing.ts"
import { postsOfLine, type LinePost, type PostFormat } from "./post-formats.ts"

function postsOf(text: string, format: PostFormat = "auto"): readonly LinePost[] {
  return [...postsOfLine({ kind: "line", number: 1, next: 2, bytes: Buffer.from(text) }, format)]
}

/** The envelopes of a line that holds nothing else. */
function envelopes(value: unknown, format: PostFormat = "auto"): readonly Envelope[] {
  return postsOf(typeof value === "string" ? value : JSON.stringify(value), format).map((post) => {
    if (post.kind !== "post") throw new Error(JSON.stringify(post))
    return JSON.parse(post.bytes.toString("utf8")) as Envelope
  })
}

interface Envelope {
  readonly data: Readonly<Record<string, unknown>>
  readonly includes?: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
}

test.each([
  '{"data":{"id":"1","text":"a"}}',
  ' { "data" :\t{ "n": 12345678901234567890 }, "matching_rules": [] }\r',
  '{"includes":{"users":[]},"data":{"id":"1","text":"a","n":1.10}}',
  '{"data":{"id":"1", broken',
])("an envelope is sent as it is, right or wrong: %s", (line) => {
  for (const format of ["auto", "envelope"] as const) {
    const [post, ...others] = postsOf(line, format)
    expect(post?.kind === "post" && post.bytes.toString("utf8")).toBe(line)
    expect(others).toEqual([])
  }
})

test("a page becomes an envelope for each post, with the objects that the post and its referenced posts name", () => {
  const page = {
    data: [
      {
        id: "1",
        text: "RT @b: heron @cee",
        author_id: "10",
        referenced_tweets: [{ type: "retweeted", id: "2" }],
        entities: { mentions: [{ start: 14, end: 18, username: "cee" }] },
      },
      {
        id: "4",
        text: "no more",
        author_id: "12",
        in_reply_to_user_id: "11",
        attachments: { media_keys: ["3_1"], poll_ids: ["6"] },
        geo: { place_id: "p" },
      },
      { id: "5", text: "alone" },
    ],
    includes: {
      users: [
        { id: "10", username: "ay" },
        { id: "11", username: "bee" },
        { id: "12", username: "cee" },
        { id: "13", username: "dee" },
      ],
      tweets: [
        {
          id: "2",
          text: "heron",
          author_id: "11",
          attachments: { media_keys: ["7_2"] },
          referenced_tweets: [{ type: "quoted", id: "3" }],
        },
        { id: "3", text: "a quote", author_id: "13" },
      ],
      media: [{ media_key: "3_1" }, { media_key: "7_2" }, { media_key: "7_3" }],
      polls: [{ id: "6" }],
      places: [{ id: "p", full_name: "Ferry" }],
    },
    meta: { result_count: 3, next_token: "x" },
    errors: [{ title: "Not Found Error" }],
  }
  const { users, tweets, media, polls, places } = page.includes
  expect(envelopes(page)).toEqual([
    { data: page.data[0], includes: { users: [users[0], users[2], users[1], users[3]], tweets, media: [media[1]] } },
    { data: page.data[1], includes: { users: [users[2], users[1]], media: [media[0]], polls, places } },
    { data: page.data[2] },
  ])
})

test("a page of a few megabytes that would make gigabytes of envelopes is converted post by post", () => {
  const author = { id: "7", description: "x".repeat(500_000) }
  const data = Array.from({ length: 10_000 }, (_, at) => ({ id: String(at), text: "", author_id: "7" }))
  const bytes = Buffer.from(JSON.stringify({ data, includes: { users: [author] } }))
  const posts = postsOfLine({ kind: "line", number: 1, next: 2, bytes }, "auto")
  expect(posts.next().value).toMatchObject({ kind: "post" })
  posts.return()
})

test("an array holds the formats that a line may hold, and an empty page holds no post", () => {
  const page = { data: [{ id: "2", text: "b" }] }
  expect(
    envelopes([{ id: "1", text: "a" }, page, { data: { id: "3", text: "c" } }]).map(({ data }) => data["id"]),
  ).toEqual(["1", "2", "3"])
  const disconnect = '{"errors":[{"title":"operational-disconnect","disconnect_type":"UpstreamOperationalDisconnect"}]}'
  expect(postsOf('{"errors":[{"title":"Unauthorized"}]}')).toMatchObject([{ kind: "refused" }])
  for (const empty of [
    disconnect,
    '{"meta":{"result_count":0}}',
    '{"data":[]}',
    '{"statuses":[]}',
    "[]",
    '{"delete":{"status":{}}}',
    '{"data":{"delete":{"tweet":{"id":"1","author_id":"2"},"event_at":"2026-01-01T00:00:00Z"}}}',
    '{"data":{"user_delete":{"user":{"id":"1"}}}}',
    '{"data":{"delete":{"tweet":{"id":"1","text":"a"}}}}',
    '{"data":{"drop":{"tweet":{"id":"1"}}}}',
    '{"delete":{"status":{"id_str":"5"}},"data":{}}',
    '{"data":[{"delete":{"tweet":{"id":"5"}}}]}',
  ]) {
    expect(postsOf(empty)).toEqual([{ kind: "none" }])
  }
})

test("a notice is no envelope, and a post that quotes one in its text is sent as it is", () => {
  const notice = '{"data":{"user_delete":{"user":{"id":"1"}}}}'
  expect(postsOf(notice, "envelope")).toEqual([{ kind: "none" }])
  const post = JSON.stringify({ data: { id: "1", text: notice } })
  expect(postsOf(post).map((one) => (one.kind === "post" ? one.bytes.toString() : one.kind))).toEqual([post])
  const other = '{"data":{"id":"1","delete":true,"text":"a"}}'
  expect(postsOf(other)).toMatchObject([{ kind: "post" }])
})

test("a post by itself gets an envelope, and objects that were joined into it are in its includes again", () => {
  expect(envelopes({ id: "1", text: "a", lang: "en" })).toEqual([{ data: { id: "1", text: "a", lang: "en" } }])
  const flattened = {
    id: "1",
    text: "@bee heron",
    author_id: "10",
    author: { id: "10", username: "ay", pinned_tweet_id: "9", pinned_tweet: { id: "9", text: "pinned" } },
    in_reply_to_user_id: "11",
    in_reply_to_user: {},
    entities: {
      hashtags: [{ start: 1, end: 2, tag: "x" }],
      mentions: [{ start: 0, end: 4, username: "bee", id: "11", name: "Bee", verified: true }],
    },
    attachments: { media_keys: ["3_1"], media: [{ media_key: "3_1", type: "photo" }, {}] },
    geo: { place_id: "p", coordinates: { type: "Point" }, id: "p", full_name: "Ferry", geo: { bbox: [1, 2, 3, 4] } },
    referenced_tweets: [
      {
        type: "quoted",
        id: "2",
        text: "quoted",
        author: { id: "12", username: "cee" },
        referenced_tweets: [{ type: "replied_to", id: "3", text: "not the post's own", author: { id: "13" } }],
      },
      { type: "replied_to", id: "8" },
    ],
    matching_rules: [{ id: "5" }],
    __twarc: { version: "2" },
  }
  expect(envelopes(flattened, "post")).toEqual([
    {
      data: {
        id: "1",
        text: "@bee heron",
        author_id: "10",
        in_reply_to_user_id: "11",
        entities: {
          hashtags: [{ start: 1, end: 2, tag: "x" }],
          mentions: [{ start: 0, end: 4, username: "bee", id: "11" }],
        },
        attachments: { media_keys: ["3_1"] },
        geo: { place_id: "p", coordinates: { type: "Point" } },
        referenced_tweets: [
          { type: "quoted", id: "2" },
          { type: "replied_to", id: "8" },
        ],
      },
      includes: {
        users: [
          { id: "10", username: "ay", pinned_tweet_id: "9" },
          { id: "11", username: "bee", name: "Bee", verified: true },
          { id: "12", username: "cee" },
        ],
        tweets: [{ id: "2", text: "quoted", referenced_tweets: [{ type: "replied_to", id: "3" }] }],
        media: [{ media_key: "3_1", type: "photo" }],
        places: [{ id: "p", full_name: "Ferry", geo: { bbox: [1, 2, 3, 4] } }],
      },
    },
  ])
})

const shapes =
  'an envelope {"data":{"id":"…","text":"…"}}, a page {"data":[{"id":"…","text":"…"}]}, a post {"id":"…","text":"…"} ' +
  'or a v1.1 post {"id_str":"…","full_text":"…"}.'

test.each([
  ["auto", "heron", "Invalid JSON", `Expected ${shapes}`],
  ["auto", '"heron"', "Unknown Format", "It is a string."],
  ["auto", "null", "Unknown Format", "It is null."],
  ["auto", "[7]", "Unknown Format", "It is a number."],
  ["auto", '{"text":"a","user_id":1}', "Unknown Format", "It is an object, with the members text, user_id."],
  ["auto", '{"data":[7]}', "Invalid Post", "It is not a JSON object."],
  ["auto", '{"statuses":[7]}', "Invalid Post", "It is not a JSON object."],
  [
    "page",
    '{"data":{"id":"1","text":"a"}}',
    "Wrong Format",
    'Expected a page {"data":[{"id":"…","text":"…"}]}. It is an envelope',
  ],
  ["post", '{"id_str":"1","text":"a"}', "Wrong Format", "It is a v1.1 post"],
  ["v1.1", '{"id":"1","text":"a"}', "Wrong Format", "It is a post"],
  ["v1.1", "{", "Invalid JSON", 'Expected a v1.1 post {"id_str":"…","full_text":"…"}.'],
  ["auto", '{"id":505874924095815681,"full_text":"a"}', "Invalid Post", "`id` as a number has lost its last digits"],
  ["auto", '{"user":{},"text":"a","id":null}', "Invalid Post", "needs its id as a string"],
  ["auto", '{"id_str":"1"}', "Invalid Post", "needs `full_text` or `text`"],
  ["auto", '{"id_str":"1","text":"a","created_at":"yesterday"}', "Invalid Post", "Wed Oct 10 20:19:24 +0000 2018"],
] as const)("a line that cannot be read is refused with the expected format: %s %s", (format, line, title, detail) => {
  expect(postsOf(line, format)).toEqual([{ kind: "refused", title, detail: expect.stringContaining(detail) }])
})

test("a post that is longer than a server accepts is refused by its size", () => {
  const [post] = postsOf(JSON.stringify({ data: { id: "1", text: "x".repeat(1_048_576) } }))
  expect(post).toMatchObject({ kind: "refused", detail: "It has 1048605 bytes; the limit is 1048576." })
})

test("any JSON on a line is converted or refused", () => {
  const name = fc.constantFrom(
    ..."data includes statuses id id_str text full_text user entities media place geo coordinates indices".split(" "),
    ..."bounding_box extended_tweet retweeted_status quoted_status referenced_tweets mentions attachments author".split(
      " ",
    ),
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, true, 1, "1", "", "Wed Oct 10 20:19:24 +0000 2018"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(name, tie("value"), { maxKeys: 5 }),
    ),
  }))
  const property = fc.property(value, (tree) => {
    for (const post of postsOf(JSON.stringify(tree))) {
      if (post.kind === "post") JSON.parse(post.bytes.toString("utf8"))
    }
  })
  expect(() => fc.assert(property, { numRuns: 500 })).not.toThrow()
})

test.skipIf(!hasSharedData)("recorded pages lose no post", () => {
  const pages = sharedLines("data/x/http-exchanges.ndjson")
    .map((line) => (JSON.parse(line) as { body: { data?: unknown } | null }).body)
    .filter((body): body is { data: readonly object[] } => Array.isArray(body?.data))
    .filter(({ data }) => data.some((post) => "text" in post))
  for (const page of pages) expect(envelopes(page).map(({ data }) => data)).toEqual(page.data)
  expect(pages.length).toBeGreaterThan(20)
})

test.skipIf(!hasSharedData)("recorded envelopes combined into pages are converted back with their objects", () => {
  const recorded = sharedLines("data/x/posts.ndjson").map((line) => JSON.parse(line) as Envelope)
  const kinds = [
    ["users", "id"],
    ["tweets", "id"],
    ["media", "media_key"],
    ["polls", "id"],
    ["places", "id"],
  ] as const
  // These envelopes hold more users than their posts name.
  const authorsOf = ({ data, includes }: Envelope) =>
    new Set([data, ...(includes?.["tweets"] ?? [])].map((post) => post["author_id"]))
  const keysOf = (envelope: Envelope, [kind, key]: (typeof kinds)[number]) => {
    const keys = new Set(envelope.includes?.[kind]?.map((object) => object[key]))
    return kind === "users" ? keys.intersection(authorsOf(envelope)) : keys
  }
  let included = 0
  // Some pages of them: to compare all takes seconds.
  for (let from = 0; from < 500; from += 100) {
    const all = recorded.slice(from, from + 100)
    const merged = kinds.map(([kind]) => [kind, all.flatMap(({ includes }) => includes?.[kind] ?? [])] as const)
    const found = envelopes({ data: all.map(({ data }) => data), includes: Object.fromEntries(merged) })
    for (const [at, one] of all.entries()) {
      expect(found[at]?.data).toEqual(one.data)
      for (const kind of kinds) {
        const missing = keysOf(one, kind).difference(keysOf(found[at] ?? { data: {} }, kind))
        expect([one.data["id"], ...kind, ...missing]).toEqual([one.data["id"], ...kind])
        included += keysOf(one, kind).size
      }
    }
  }
  expect(included).toBeGreaterThan(500)
})

test.skipIf(!hasSharedData)("recorded envelopes that are flattened are converted back unchanged", () => {
  for (const line of sharedLines("data/x/stream-captures.ndjson")) {
    const { envelope } = JSON.parse(line) as { envelope: Partial<Envelope> }
    if (envelope.data === undefined) continue
    const [asPost] = envelopes({ ...envelope.data, includes: envelope.includes })
    expect(asPost?.data).toEqual(envelope.data)
    const [asPage] = envelopes({ data: [envelope.data], includes: envelope.includes })
    expect(asPage?.data).toEqual(envelope.data)
  }
})
