/**
 * Requests for stored posts and users that are wrong: each gets a 4xx that says what is wrong, in X's words where they are
 * known, and changes nothing. Each takes less than 50 ms (ours); that is measured by hand, since a test that measures it
 * would fail on a busy machine: SLUICE_PRINT_SLOWEST=1 prints the slowest. On two virtual cores with other work (2026-11-25)
 * the median was 0.4 ms, and the best of up to seven attempts of each at most 40 ms.
 */
import { pageSizes, paths, pathOf } from "@sluice/api"
import { operatorGuides } from "@sluice/rules"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openStream } from "./support/open-stream.testing.ts"
import {
  envelope,
  startTestServer,
  type TestApp,
  type TestResponse,
  type TestServer,
} from "./support/test-server.testing.ts"

/** Path and query, and a part of the message; several where several faults are named. */
type Wrong = readonly [path: string, ...messages: readonly string[]]

const searches = [paths.searchRecent, paths.searchAll]
const counts = [paths.countsRecent, paths.countsAll]
const encoded = (text: string): string => encodeURIComponent(text)
const asked = (path: string, parameters: Readonly<Record<string, string>>): string =>
  `${path}?${new URLSearchParams(parameters).toString()}`
const times = (count: number, text: string): string => Array.from({ length: count }, () => text).join(",")

const id = { pattern: "does not match ^[0-9]{1,19}$", beyond: "is not valid" }
const tooLong = 4_097

/** Ids that are none. */
const wrongIds: readonly (readonly [string, string])[] = [
  ["12345678901234567890", id.pattern],
  ["9223372036854775808", id.beyond],
  ["-1", id.pattern],
  ["+1", id.pattern],
  ["1e3", id.pattern],
  ["0x10", id.pattern],
  ["1.0", id.pattern],
  ["١٢٣", id.pattern],
  ["１２３", id.pattern],
  ["one", id.pattern],
  [" 1", id.pattern],
  ["1;drop", id.pattern],
]

/** Lists of ids and names. */
const lists: readonly Wrong[] = [
  ...[paths.postsById, paths.users].flatMap((path): Wrong[] => [
    [path, "The `ids` query parameter can not be empty"],
    [`${path}?ids=`, "The `ids` query parameter can not be empty"],
    [
      `${path}?ids=${times(101, "1")}`,
      "The number of values in the `ids` query parameter list [101] is not between 1 and 100",
    ],
    [`${path}?ids=1,,2`, `The \`ids\` query parameter value [] ${id.pattern}`],
    [`${path}?ids=1&ids=${times(100, "2")}`, "list [101] is not between 1 and 100"],
    [`${path}?ids[]=1`, "The query parameter [ids[]] is not one of [", "The `ids` query parameter can not be empty"],
    ...wrongIds.map(([text, message]): Wrong => [`${path}?ids=1,${encoded(text)}`, `[${text}] ${message}`]),
  ]),
  [paths.usersBy, "The `usernames` query parameter can not be empty"],
  [`${paths.usersBy}?usernames=${times(101, "a")}`, "list [101] is not between 1 and 100"],
  ...["a.", "", "a b", "-b", "@wren", "a@b@c", "wrén", "c".repeat(180) + ".."].map((name): Wrong => [
    `${paths.usersBy}?usernames=wren,${encoded(name)}`,
    `The \`usernames\` query parameter value [${name}] does not match ^[A-Za-z0-9_]{1,15}$`,
  ]),
  ...["a.", "a,b", "%20", "@a@b"].map((name): Wrong => [
    `/2/users/by/username/${name}`,
    "does not match ^[A-Za-z0-9_]{1,15}$",
  ]),
  ...["", "a.b", "x".repeat(51), "wrén", "a\tb"].map((query): Wrong => [
    asked(paths.userSearch, { query }),
    query === "" ? "The `query` query parameter can not be empty" : "does not match ^[A-Za-z0-9_' ]{1,50}$",
  ]),
]

/** Ids in the path. */
const single: readonly Wrong[] = [
  paths.postById,
  paths.user,
  paths.userPosts,
  paths.mentions,
  paths.quotes,
  paths.reposts,
  paths.reposters,
].flatMap((path) =>
  wrongIds.slice(0, 8).map(([text, message]): Wrong => [pathOf(path, { id: text }), `[${text}] ${message}`]),
)

/** Fields and expansions. */
const selections: readonly Wrong[] = [
  [`${paths.postsById}?ids=1&`, "tweet.fields=id post.fields=id user.fields=id media.fields=media_key"] as const,
  [`${paths.postsById}?ids=1&`, "place.fields=id poll.fields=id expansions=author_id"] as const,
  [`${paths.searchAll}?query=cat&`, "tweet.fields=lang post.fields=lang expansions=author_id"] as const,
  [`${paths.users}?ids=1&`, "user.fields=id tweet.fields=id post.fields=id expansions=pinned_tweet_id"] as const,
  [`${pathOf(paths.reposters, { id: "1" })}?`, "user.fields=id expansions=affiliation"] as const,
].flatMap(([request, known]) =>
  known.split(" ").flatMap((one): Wrong[] => {
    const [parameter = "", name = ""] = one.split("=")
    return [
      [`${request}${parameter}=colour`, `The \`${parameter}\` query parameter value [colour] is not one of [`],
      [`${request}${parameter}=`, `The \`${parameter}\` query parameter can not be empty`],
      [`${request}${parameter}=${name},${name}`, `The \`${parameter}\` query parameter value [${name}] is not valid`],
      [`${request}${parameter}=${name},`, `The \`${parameter}\` query parameter value [] is not one of [`],
    ]
  }),
)

/** Names of one vocabulary or kind where the other's are needed. */
const misplaced: readonly Wrong[] = [
  [`${paths.users}?ids=1&expansions=referenced_posts`, "[referenced_posts] is not one of [affiliation,"],
  [`${paths.postsById}?ids=1&expansions=pinned_post_id`, "[pinned_post_id] is not one of [article.cover_media,"],
  [`${paths.postsById}?ids=1&user.fields=note_tweet`, "[note_tweet] is not one of ["],
  [`${paths.users}?ids=1&media.fields=type`, "The query parameter [media.fields] is not one of ["],
]

/** Samples and connections. */
const streams: readonly Wrong[] = [
  [paths.sample10, "The `partition` query parameter can not be empty"],
  ...["0", "3", "5", "-1"].map((partition): Wrong => [
    `${paths.sample10}?partition=${partition}`,
    `The \`partition\` query parameter value [${partition}] is not between 1 and 2`,
  ]),
  [`${paths.sample10}?partition=one`, "The `partition` query parameter value [one] is not a valid Int"],
  ...[paths.postsCompliance, paths.usersCompliance].flatMap((path): Wrong[] => [
    [path, "The `partition` query parameter can not be empty"],
    ...["0", "5", "-1"].map((partition): Wrong => [
      `${path}?partition=${partition}`,
      `The \`partition\` query parameter value [${partition}] is not between 1 and 4`,
    ]),
    [
      `${path}?partition=1&backfill_minutes=6`,
      "The `backfill_minutes` query parameter value [6] is not between 0 and 5",
    ],
    [`${path}?partition=1&tweet.fields=text`, "The query parameter [tweet.fields] is not one of ["],
    [`${path}?partition=1&start_time=yesterday`, "The `start_time` query parameter value [yesterday]"],
  ]),
  [`${paths.sample}?partition=1`, "The query parameter [partition] is not one of ["],
  ...[`${paths.sample}?`, `${paths.sample10}?partition=1&`].flatMap((path): Wrong[] => [
    [`${path}backfill_minutes=6`, "The `backfill_minutes` query parameter value [6] is not between 0 and 5"],
    [`${path}backfill_minutes=-1`, "The `backfill_minutes` query parameter value [-1] is not between 0 and 5"],
    [`${path}start_time=2026-03-14T12:00:00Z`, "The query parameter [start_time] is not one of ["],
    [`${path}tweet.fields=colour`, "The `tweet.fields` query parameter value [colour] is not one of ["],
  ]),
  [`${paths.connections}?status=dead`, "The `status` query parameter value [dead] is not one of [active,inactive,all]"],
  [`${paths.connections}?endpoints=firehose`, "[firehose] is not one of [filtered_stream,"],
  [`${paths.connections}?max_results=0`, "value [0] is not between 1 and 100"],
  [`${paths.connections}?max_results=101`, "value [101] is not between 1 and 100"],
  [
    `${paths.connections}?pagination_token=zzz`,
    "The `pagination_token` query parameter value [zzz] is not a valid token",
  ],
  [`${paths.connections}?connection.fields=colour`, "[colour] is not one of [client_ip,"],
]

/** Sizes of pages. */
const sizes: readonly Wrong[] = [
  [paths.searchRecent, "query=cat&", pageSizes.searchRecent] as const,
  [paths.searchAll, "query=cat&", pageSizes.searchAll] as const,
  [paths.userSearch, "query=cat&", pageSizes.userSearch] as const,
  [pathOf(paths.mentions, { id: "1" }), "", pageSizes.mentions] as const,
  [pathOf(paths.quotes, { id: "1" }), "", pageSizes.quotes] as const,
  [pathOf(paths.reposts, { id: "1" }), "", pageSizes.reposts] as const,
  [pathOf(paths.reposters, { id: "1" }), "", pageSizes.reposts] as const,
].flatMap(([path, query, { min, max }]): Wrong[] => [
  ...[...new Set([0, min - 1, max + 1, -10])].map((size): Wrong => [
    `${path}?${query}max_results=${size}`,
    `The \`max_results\` query parameter value [${size}] is not between ${min} and ${max}`,
  ]),
  ...["1e2", "", "ten", "١٠", "10.0", "010"].map((size): Wrong => [
    `${path}?${query}max_results=${encoded(size)}`,
    `The \`max_results\` query parameter value [${size}] is not a valid Int`,
  ]),
  [`${path}?${query}max_results=20&max_results=30`, "Duplicate parameters are not allowed"],
])

/** Spans of searches and counts. */
const spans: readonly Wrong[] = [...searches, ...counts].flatMap((path): Wrong[] => {
  const isRecent = path === paths.searchRecent || path === paths.countsRecent
  const recent = (hoursAgo: number): string => new Date(Date.now() - hoursAgo * 3_600_000).toISOString()
  const moment = recent(1)
  const of = (parameters: Readonly<Record<string, string>>): string => asked(path, { query: "cat", ...parameters })
  return [
    [
      of({ since_id: "1990004210000005000", start_time: recent(2) }),
      "Invalid use of 'since_id' or 'until_id' in conjunction",
    ],
    [
      of({ until_id: "1990004210000005000", end_time: recent(2) }),
      "Invalid use of 'since_id' or 'until_id' in conjunction",
    ],
    [of({ start_time: recent(1), end_time: recent(2) }), "'start_time' must be before 'end_time'"],
    [of({ start_time: moment, end_time: moment }), "'start_time' must be before 'end_time'"],
    [of({ start_time: recent(isRecent ? 8 * 24 : 24 * 365 * 30) }), "'start_time' must be on or after"],
    [of({ end_time: recent(-1) }), "'end_time' must be a minimum of 10 seconds prior to the request time."],
    [of({ start_time: recent(-1) }), "'start_time' must be a minimum of 10 seconds prior to the request time."],
    ...[
      "2026-03-14T09:26:53",
      "2026-02-30T00:00:00Z",
      "2026-03-14",
      "yesterday",
      "1710408413",
      "2026-03-14T24:00:00Z",
    ].map((text): Wrong => [
      of({ start_time: text }),
      `The \`start_time\` query parameter value [${text}] is not valid`,
    ]),
    [of({ end_time: "" }), "The `end_time` query parameter can not be empty"],
    [of({ since_id: "20", until_id: "10" }), "The `since_id` query parameter value [20] is after the `until_id`"],
    ...(isRecent ? [[of({ since_id: "20" }), "'since_id' must be a tweet id created after"] as const] : []),
    [of({ since_id: "1e3" }), id.pattern],
    [of({ colour: "blue" }), "The query parameter [colour] is not one of [query,"],
  ]
})

/** Queries. */
const queries: readonly Wrong[] = [...searches, ...counts].flatMap((path): Wrong[] => {
  const errors = "There were errors processing your request: "
  const of = (query: string): string => asked(path, { query })
  return [
    [path, "The `query` query parameter can not be empty"],
    [of(""), "Invalid 'query':''. 'query' must be a non-empty string"],
    [of("-cat"), "Rules must contain at least one positive, non-stopword clause"],
    [of("the"), `${errors}Rules must contain at least one positive, non-stopword clause`],
    [of("has:links"), errors],
    [of("cat ("), errors],
    [of("cat AND dog"), errors],
    [of("cat OR"), errors],
    [of("list:1 cat"), errors],
    [of("min_faves:3 cat"), errors],
    [of("form:wren"), errors],
    [of("cat from:a b:c d:e"), errors],
    [of("   "), errors],
    [of("x".repeat(tooLong)), "4096"],
    [`${path}?query=%E0%A4%A`, "is not valid"],
    [`${path}?query=cat&query=dog`, "Duplicate parameters are not allowed"],
  ]
})

/** Parameters that only some of the paths have. */
const others: readonly Wrong[] = [
  ...counts.flatMap((path): Wrong[] => [
    [
      `${path}?query=cat&granularity=week`,
      "The `granularity` query parameter value [week] is not one of [minute,hour,day]",
    ],
    [`${path}?query=cat&granularity=`, "The `granularity` query parameter can not be empty"],
    [`${path}?query=cat&search_count.fields=colour`, "is not one of [end,post_count,start,tweet_count]"],
    [`${path}?query=cat&max_results=10`, "The query parameter [max_results] is not one of ["],
  ]),
  ...searches.map((path): Wrong => [
    `${path}?query=cat&sort_order=best`,
    "The `sort_order` query parameter value [best] is not one of [recency,relevancy]",
  ]),
  [`${pathOf(paths.quotes, { id: "1" })}?exclude=quotes`, "is not one of [replies,retweets]"],
  [`${pathOf(paths.quotes, { id: "1" })}?exclude=`, "The `exclude` query parameter can not be empty"],
  [`${pathOf(paths.mentions, { id: "1" })}?exclude=replies`, "The query parameter [exclude] is not one of [id,"],
  [`${pathOf(paths.reposters, { id: "1" })}?since_id=1`, "The query parameter [since_id] is not one of [id,"],
]

const all = { lists, single, selections, misplaced, streams, sizes, spans, queries, others }

let server: TestServer
let slowest = { ms: 0, path: "" }

beforeAll(async () => {
  server = await startTestServer()
  await server.ingest(...Array.from({ length: 40 }, (_, at) => envelope(1_000 + at, `a cat ${at}`)))
})

afterAll(async () => {
  if (process.env["SLUICE_PRINT_SLOWEST"] !== undefined)
    process.stderr.write(`the slowest: ${slowest.ms.toFixed(1)} ms, ${slowest.path.slice(0, 200)}\n`)
  await server[Symbol.asyncDispose]()
})

async function call(path: string, app: TestApp = server): Promise<TestResponse> {
  const startedAtMs = performance.now()
  const answer = await app.call(path)
  const ms = performance.now() - startedAtMs
  if (ms > slowest.ms) slowest = { ms, path }
  return answer
}

/** All that the server has stored that requests can change. */
async function stored(): Promise<unknown> {
  const kept = [
    paths.rules,
    paths.webhooks,
    paths.links,
    `${paths.posts}?max_results=100`,
    `${paths.userSearch}?query=w`,
  ]
  const answers = await Promise.all(kept.map(async (path) => (await server.call(path)).body as object))
  return JSON.parse(
    JSON.stringify(answers, (name, value: unknown) => (name === "sent" || name === "next_token" ? 0 : value)),
  )
}

/** How a response differs from a refusal of these messages. */
function faultsOf({ status, text, body }: TestResponse, messages: readonly string[]): readonly string[] {
  if (status !== 400) return [`${status}: ${text}`]
  const { title, detail, errors } = body as { title: string; detail: string; errors: readonly { message: string }[] }
  const isRefusal =
    title === "Invalid Request" && detail.startsWith("One or more parameters to your request was invalid.")
  const missing = messages.filter((message) => !errors.some((error) => error.message.includes(message)))
  return [...(isRefusal ? [] : [text]), ...missing.map((message) => `${message} is not in ${text}`)]
}

describe("requests that are wrong", () => {
  let before: unknown

  beforeAll(async () => {
    before = await stored()
    // The first request of a kind compiles what later ones use.
    for (const group of Object.values(all)) await server.call(group[0]?.[0] ?? "")
  })

  afterAll(async () => {
    expect(await stored()).toEqual(before)
  })

  test("there are more than 120 of them, each once", () => {
    const requests = Object.values(all).flatMap((group) => group.map(([path]) => path))
    expect(requests.length).toBeGreaterThan(120)
    expect(new Set(requests).size).toBe(requests.length)
  })

  test.each(Object.entries(all))("%s", async (_group, group) => {
    for (const [path, ...messages] of group) expect(faultsOf(await call(path), messages), path).toEqual([])
  })

  test("a query of ten thousand groups within one another is too long for a request", async () => {
    const query = `${"(".repeat(10_000)}cat${")".repeat(10_000)}`
    for (const path of [...searches, ...counts])
      expect([400, 414, 431]).toContain((await call(asked(path, { query }))).status)
  })
})

describe("page tokens that are wrong", () => {
  const request = `${paths.searchAll}?query=cat&max_results=10`
  const endpoints = [
    request,
    `${paths.searchRecent}?query=cat`,
    `${paths.countsAll}?query=cat`,
    `${pathOf(paths.mentions, { id: "7" })}?`,
    `${pathOf(paths.quotes, { id: "1000" })}?`,
    `${pathOf(paths.reposts, { id: "1000" })}?`,
    `${pathOf(paths.reposters, { id: "1000" })}?`,
    `${pathOf(paths.userPosts, { id: "7" })}?`,
  ]

  async function newToken(app: TestApp = server): Promise<string> {
    const { next_token: token } = (await app.call(request)).body.meta as { next_token?: string }
    expect(token).toBeDefined()
    return token ?? ""
  }

  test("one that is changed, another app's or none", async () => {
    const own = await newToken()
    const changed = own.replace(/.$/, (last) => (last === "0" ? "1" : "0"))
    const foreign = await newToken(await server.newApp())
    for (const token of [changed, foreign, "zzz", own.toUpperCase(), own.slice(1), `${own}0`, "%F0%9F%90%88"])
      for (const endpoint of endpoints)
        expect(
          faultsOf(await call(`${endpoint}&pagination_token=${token}`), ["`pagination_token` query parameter value ["]),
        ).toEqual([])
  })

  test("one of another endpoint, query or order, and one that was given twice", async () => {
    const token = await newToken()
    for (const endpoint of endpoints.slice(1))
      expect(faultsOf(await call(`${endpoint}&pagination_token=${token}`), ["is not a valid token"])).toEqual([])
    for (const other of ["?query=dog", "?query=cat&sort_order=relevancy", "?query=cat&tweet.fields=lang"])
      expect(
        faultsOf(await call(`${paths.searchAll}${other}&next_token=${token}`), [
          "was issued for a request with other parameters",
        ]),
      ).toEqual([])
    expect(faultsOf(await call(`${request}&next_token=${token}&pagination_token=${token}`), ["Give one of"])).toEqual(
      [],
    )
    expect(
      faultsOf(await call(`${request}&next_token=`), ["The `next_token` query parameter can not be empty"]),
    ).toEqual([])
    expect((await call(`${request}&next_token=${token}`)).status).toBe(200)
  })

  test("one that has expired", async () => {
    const token = await newToken()
    expect((await server.send("POST", paths.troubles, { kind: "page_tokens", next: 1 })).status).toBe(200)
    expect(faultsOf(await call(`${request}&next_token=${token}`), ["has expired"])).toEqual([])
    await server.call(paths.troubles, { method: "DELETE" })
  })
})

test("a wrong request to end connections gets a 400, and ends none", async () => {
  const app = await server.newApp()
  await using _open = await openStream(app, "", paths.sample)
  const uuid = "01890a5d-ac96-774b-bcce-b302099a8057"
  const bodies: readonly unknown[] = [
    {},
    { uuids: [] },
    { uuids: Array.from({ length: 101 }, () => uuid) },
    { uuids: ["one"] },
    { uuids: [uuid.slice(1)] },
    { uuids: [`${uuid}0`] },
    { uuids: [7] },
    { uuids: uuid },
    { uuids: [null] },
    { uuids: [uuid], all: true },
    { ids: [uuid] },
    [uuid],
  ]
  for (const body of bodies) {
    const { status, body: problem } = await app.send("DELETE", paths.connections, body)
    expect(status, JSON.stringify(body)).toBe(400)
    expect(problem, JSON.stringify(body)).toMatchObject({ title: "Invalid Request" })
  }
  for (const path of [paths.connections, `${paths.connections}/`]) {
    const { status } = await app.send("DELETE", path)
    expect([400, 404], path).toContain(status)
  }
  const limit = Array.from({ length: 100 }, (_, at) => `${uuid.slice(0, -2)}${String(at).padStart(2, "0")}`)
  expect((await app.send("DELETE", paths.connections, { uuids: limit })).body.data).toMatchObject({ failed_kills: 100 })
  for (const endpoint of ["firehose", "ALL", "filtered-stream", "1"]) {
    const { status, text } = await app.send("DELETE", pathOf(paths.endpointConnections, { endpoint_id: endpoint }))
    expect(status, endpoint).toBe(400)
    expect(text).toContain(`[${endpoint}] is not one of [filtered_stream,`)
  }
  expect((await app.call(paths.connections)).body.meta).toMatchObject({ result_count: 1 })
})

test("in the strict dialect, each operator that X's search does not have is refused by its name", async () => {
  await using strict = await startTestServer({ "rule-dialect": "strict" })
  const streamOnly = operatorGuides.filter(
    ({ modesOfX, needsEmbeddings }) => !modesOfX.includes("search") && !needsEmbeddings,
  )
  expect(streamOnly.length).toBeGreaterThan(10)
  for (const { name, example } of streamOnly)
    for (const path of [...searches, ...counts]) {
      const answer = await call(asked(path, { query: `cat ${example}` }), strict)
      expect(faultsOf(answer, ["not available in current product or product packaging"])).toEqual([])
      expect(answer.body.errors[0].message).toContain(name)
    }
})

/** Bodies of a post to write. The member that is wrong stands first. */
const wrongPosts: readonly (readonly [name: string, status: 400 | 403, body: unknown])[] = [
  ["no body", 400, undefined],
  ["an empty body", 400, ""],
  ["half a body", 400, '{"text":"a'],
  ["a text alone", 400, '"a"'],
  ["null", 400, "null"],
  ["a list", 400, [{ text: "a" }]],
  ["two texts", 400, '{"text":"a","text":"b"}'],
  ...[undefined, null, "", " ", "\n\t", 5, true, ["a"], { a: "b" }, "a".repeat(281), "鷺".repeat(141)].map(
    (text) => ["text", 400, { text }] as const,
  ),
  ...["poll", "media", "geo", "community_id", "card_uri", "direct_message_deep_link", "for_super_followers_only"].map(
    (name) => [name, 400, { text: "a", [name]: "1" }] as const,
  ),
  ...["reply_settings", "made_with_ai", "nullcast", "paid_partnership", "share_with_followers", "Text", ""].map(
    (name) => [name, 400, { text: "a", [name]: "1" }] as const,
  ),
  ...wrongIds.flatMap(([wrong]) => [
    ["reply", 400, { text: "a", reply: { in_reply_to_tweet_id: wrong } }] as const,
    ["quote_tweet_id", 400, { text: "a", quote_tweet_id: wrong }] as const,
    ["edit_options", 400, { text: "a", edit_options: { previous_post_id: wrong } }] as const,
  ]),
  ["reply", 400, { text: "a", reply: {} }],
  ["reply", 400, { text: "a", reply: "1000" }],
  ["reply", 400, { text: "a", reply: { in_reply_to_tweet_id: 1000 } }],
  ["reply", 400, { text: "a", reply: { in_reply_to_tweet_id: "1000", exclude_reply_user_ids: "7" } }],
  ["reply", 400, { text: "a", reply: { in_reply_to_tweet_id: "1000", auto_populate_reply_metadata: true } }],
  ["edit_options", 400, { text: "a", edit_options: {} }],
  ["an edit of a reply", 400, { text: "a", edit_options: { previous_post_id: "1000" }, quote_tweet_id: "1000" }],
  ["a reply to nothing", 403, { text: "a", reply: { in_reply_to_tweet_id: "404404" } }],
  ["a quote of nothing", 403, { text: "a", quote_tweet_id: "404404" }],
  ["an edit of nothing", 403, { text: "a", edit_options: { previous_post_id: "404404" } }],
  ["an edit of another's post", 403, { text: "a", edit_options: { previous_post_id: "1000" } }],
]

test("no wrong request to write a post stores one, and each gets its reason", async () => {
  expect(wrongPosts.length).toBeGreaterThan(60)
  const before = (await server.call(paths.posts)).body.data as unknown
  for (const [name, status, body] of wrongPosts) {
    const refused = await server.send("POST", paths.postsById, body)
    expect([refused.status, typeof refused.body.detail], `${name}: ${refused.text}`).toEqual([status, "string"])
  }
  expect((await server.send("POST", paths.postsById, { text: "a".repeat(1_048_577) })).status).toBe(413)
  expect((await server.call(paths.posts)).body.data).toEqual(before)
})

test("the costliest queries, from ten connections at once, end within their budget or wait their turn, and look-ups go on", async () => {
  const part = (at: number): string => `(url_contains:"a${at}" OR "a b c d e f g"~6 OR bio:"x y z ${at}")`
  const query = Array.from({ length: 200 }, (_, at) => part(at))
    .join(" ")
    .slice(0, 4_000)
    .replace(/ [^ ]*$/, "")
  const closed = query.slice(0, query.lastIndexOf(")") + 1)
  await server.ingest(
    ...Array.from({ length: 500 }, (_, at) => envelope(5_000 + at, `a b c d e f g ${"h ".repeat(2_000)}`)),
  )
  const path = asked(paths.searchAll, { query: closed, sort_order: "relevancy", max_results: "500" })
  const answers = Array.from({ length: 10 }, () => server.call(path))
  const other = await server.newApp()
  const lookUp = await other.call(`${paths.postsById}?ids=1000`)
  expect(lookUp.body.data).toHaveLength(1)
  for (const { status, text } of await Promise.all(answers)) expect([200, 429], text.slice(0, 500)).toContain(status)
})
