/** Matches of rules. Each test bears the id of its row of docs/compatibility.md. */
import { pathOf, paths } from "@sluice/api"
import { expect } from "vitest"
import { startEmbeddingsEndpoint } from "../../packages/server/src/runtime/embeddings-endpoint.testing.ts"
import { openStream, type OpenStream } from "../support/open-stream.testing.ts"
import {
  envelope,
  startTestServer,
  type TestResponse,
  type TestApp,
  type TestServer,
} from "../support/test-server.testing.ts"
import { addRules, idsIn, ingestNew, newIds, test } from "./support.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** The tags of the rules that matched the next post. */
async function nextTags(stream: OpenStream): Promise<readonly string[]> {
  const { matching_rules: rules } = JSON.parse(await stream.nextText()) as { matching_rules: { tag: string }[] }
  return rules.map(({ tag }) => tag)
}

test("rule-modes: a search considers only the post itself, and ignores diacritics", async ({ server }) => {
  const quote = {
    ...envelope(1, "look", { referenced_tweets: [{ type: "quoted", id: "9" }] }),
    includes: { tweets: [{ id: "9", text: "a cat" }] },
  }
  const posts = [quote, envelope(2, "a cat in a café")]
  expect(await testedIds(server, "cat", posts)).toEqual(["1", "2"])
  expect(await testedIds(server, "cat", posts, "search")).toEqual(["2"])
  expect(await testedIds(server, "cafe", posts)).toEqual([])
  expect(await testedIds(server, "cafe", posts, "search")).toEqual(["2"])
  expect(await testedIds(server, "-is:reply (cat OR café)", posts)).toEqual(["1", "2"])
  expect(await testedIds(server, "-is:reply (cat OR café)", posts, "search")).toEqual(["2"])
  const unmarked = envelope(3, "hi @gone #cat", {
    entities: { hashtags: [{ start: 9, end: 13, tag: "cat" }] },
  })
  expect(await testedIds(server, "#cat has:mentions", [unmarked])).toEqual([])
  expect(await testedIds(server, "#cat has:mentions", [unmarked], "search")).toEqual(["3"])
})

test("rule-modes-of-operators: a search and a stream have each other's operators, unless the dialect is strict", async ({
  server,
  otherServer,
}) => {
  const post = {
    ...envelope(1, "a hot pale dog", { author_id: "5", referenced_tweets: [{ type: "quoted", id: "9" }] }),
    includes: { users: [{ id: "5", username: "wren", name: "Wren", description: "a cat" }] },
  }
  const ofStream = ["bio:cat", "bio_name:wren", '"hot dog"~3', "dog sample:100"]
  const ofSearch = ["quotes_of_tweet_id:9", "quotes_of_status_id:9"]
  for (const value of [...ofStream, ...ofSearch]) {
    expect(await testedIds(server, value, [post])).toEqual(["1"])
    expect(await testedIds(server, value, [post], "search")).toEqual(["1"])
  }
  for (const [values, mode, other] of [
    [ofStream, "stream", "search"],
    [ofSearch, "search", "stream"],
  ] as const)
    for (const value of values) {
      expect(await testedIds(otherServer, value, [post], mode)).toEqual(["1"])
      const refused = await testRule(otherServer, value, [post], other)
      expect(refused.status).toBe(400)
      expect(refused.body.details).toEqual([expect.stringContaining("Operator is not available in current product")])
    }
  for (const mode of ["stream", "search"] as const) {
    expect(await testedIds(otherServer, "dog min_likes:1 OR dog", [post], mode)).toEqual(["1"])
    expect((await testRule(server, "dog list:1", [post], mode)).body.details).toEqual([
      expect.stringContaining("Reference to invalid operator 'list'. Operator is not available in current product"),
    ])
  }
})

test("foreign-names: rules and look-ups accept longer names than X's, and the strict dialect accepts X's alone", async ({
  server,
  otherServer,
}) => {
  const [alice, bob] = [
    { id: "88101", username: "Alice.bsky.social", name: "Alice" },
    { id: "88102", username: "bob-b@Social.example", name: "Bob" },
  ]
  const post = {
    ...envelope(1, "platypus @bob-b@social.example.", {
      author_id: alice.id,
      in_reply_to_user_id: bob.id,
      entities: { mentions: [{ start: 9, end: 30, username: bob.username, id: bob.id }] },
    }),
    includes: { users: [alice, bob] },
  }
  const values = [
    "from:alice.bsky.social",
    "to:bob-b@social.example",
    "(@bob-b@social.example)",
    "platypus -@alice.bsky",
  ]
  for (const value of values)
    for (const mode of ["stream", "search"] as const) {
      expect([value, await testedIds(server, value, [post], mode)]).toEqual([value, ["1"]])
      const refused = await testRule(otherServer, value, [post], mode)
      expect(refused.status).toBe(400)
      expect(refused.body.details).toEqual([expect.stringMatching(/^no viable alternative at (input|character) '/)])
    }
  expect(await testedIds(otherServer, "from:88101 @88102", [post])).toEqual(["1"])

  const app = await server.newApp()
  await addRules(app, ...values.map((value) => ({ value, tag: value })))
  await using stream = await openStream(app)
  const [id = ""] = newIds(1)
  await ingestNew(app, { ...post, data: { ...post.data, id } })
  expect((await nextTags(stream)).toSorted()).toEqual(values.toSorted())
  const pages = values.map((query) => `${paths.searchAll}?query=${encodeURIComponent(query)}`)
  for (const page of [...pages, pathOf(paths.mentions, { id: bob.id })])
    expect([page, idsIn((await server.call(page)).body.data)]).toEqual([page, [id]])
  for (const user of [alice, bob]) {
    const { body } = await server.call(pathOf(paths.userByUsername, { username: user.username.toLowerCase() }))
    expect(body.data).toEqual(user)
  }
  const wrong = await server.call(pathOf(paths.userByUsername, { username: "alice." }))
  expect([wrong.status, wrong.body.errors[0].message]).toEqual([
    400,
    "The `username` query parameter value [alice.] does not match ^[A-Za-z0-9_]{1,15}$",
  ])
})

test("foreign-posts: entities alone say whom a post with a source_uri mentions, which is shown on request", async ({
  server,
}) => {
  const uri = "at://did:plc:a/app.bsky.feed.post/3mptbyoeyc22k"
  const [id = "", quoted = ""] = newIds(2)
  const text = "hi @wren and @alice.bsky.social"
  const post = {
    data: { id, text, source_uri: uri, referenced_tweets: [{ type: "quoted", id: quoted }] },
    includes: { tweets: [{ id: quoted, text: "says @finch", source_uri: `${uri}2` }] },
  }
  const mentions = [{ start: 13, end: 31, username: "alice.bsky.social" }]
  const marked = { ...post, data: { ...post.data, entities: { mentions } } }
  for (const value of ["@wren", "@finch", "@alice", "hi has:mentions"])
    for (const mode of ["stream", "search"] as const) {
      expect([value, await testedIds(server, value, [post], mode)]).toEqual([value, []])
      const isListed = value.startsWith("hi")
      expect([value, await testedIds(server, value, [marked], mode)]).toEqual([value, isListed ? [id] : []])
    }
  expect(await testedIds(server, "@alice.bsky.social", [post, marked])).toEqual([id])
  expect(await testedIds(server, "@wren has:mentions", [{ data: { id, text } }])).toEqual([id])

  expect((await server.ingest(marked)).body).toMatchObject({ accepted: 1 })
  const shown = async (query: string): Promise<TestResponse> =>
    server.call(`${pathOf(paths.postById, { id })}?${query}expansions=referenced_tweets.id`)
  for (const parameter of ["tweet.fields", "post.fields"]) {
    const { data, includes } = (await shown(`${parameter}=source_uri&`)).body
    expect([data.source_uri, (includes.tweets ?? includes.posts)[0].source_uri]).toEqual([uri, `${uri}2`])
    const refused = await shown(`${parameter}=source_url&`)
    expect(refused.body.errors[0].message).toMatch(/is not one of \[.+,source,suggested_source_links,/)
  }
  expect((await shown("")).text).not.toContain("source_uri")
})

test("quoted-operators: words, marks, links, media, is:reply and is:quote match within a quoted post", async ({
  server,
}) => {
  const quoted = {
    id: "9",
    text: "a cat #Pets @wren $CATS https://t.co/abcdefghij",
    author_id: "8",
    lang: "de",
    in_reply_to_user_id: "6",
    attachments: { media_keys: ["3_1"] },
    entities: {
      hashtags: [{ start: 6, end: 11, tag: "Pets" }],
      mentions: [{ start: 12, end: 17, username: "wren" }],
      cashtags: [{ start: 18, end: 23, tag: "CATS" }],
      urls: [{ start: 24, end: 47, url: "https://t.co/abcdefghij", expanded_url: "https://example.com/cats" }],
    },
  }
  const post = {
    data: {
      id: "1",
      text: "look",
      author_id: "7",
      lang: "en",
      referenced_tweets: [{ type: "quoted", id: "9" }],
      entities: {},
    },
    includes: { tweets: [quoted], users: [{ id: "8", username: "finch" }] },
  }
  const found = [
    ...'cat|"a cat"|"a cat"~1|#pets|@wren|$cats|url:example.com|url_contains:cats'.split("|"),
    ..."has:links has:hashtags has:mentions has:cashtags has:media has:images is:reply is:quote".split(" "),
  ]
  for (const value of found) {
    const rule = /^(?:has|is):/.test(value) ? `${value} (look OR nothing)` : value
    expect([value, await testedIds(server, rule, [post])]).toEqual([value, ["1"]])
    // A search sees only that the post is a quote.
    const isOwn = value === "is:quote"
    expect([value, await testedIds(server, rule, [post], "search")]).toEqual([value, isOwn ? ["1"] : []])
  }
  for (const value of ["from:finch", "from:8", "look lang:de"])
    expect(await testedIds(server, value, [post])).toEqual([])
  for (const value of ["from:7", "look lang:en"]) expect(await testedIds(server, value, [post])).toEqual(["1"])
})

test("repost-places: a repost matches its original's place, also after a restart, and an area matches only its own", async () => {
  await using data = await temporaryDirectory()
  const berlin = {
    id: "3078869807f9dd36",
    name: "Berlin",
    full_name: "Berlin, Germany",
    country_code: "DE",
    geo: { type: "Feature", bbox: [13.088304, 52.338079, 13.760909, 52.675323] },
  }
  const original = { id: "1", text: "servus", author_id: "7", geo: { place_id: berlin.id } }
  const repost = (id: number): unknown => ({
    data: {
      id: String(id),
      text: "RT @wren: servus",
      author_id: "8",
      referenced_tweets: [{ type: "retweeted", id: "1" }],
    },
    includes: { tweets: [original] },
  })
  const values = ["place:berlin", "place_country:de", "point_radius:[13.4 52.5 10km]"]
  const matchesOf = async (place: TestServer, post: unknown): Promise<readonly string[]> => {
    const app = await place.newApp()
    await addRules(app, ...values.map((value) => ({ value, tag: value })), {
      value: "servus",
      tag: "control",
    })
    await using stream = await openStream(app)
    expect((await app.ingest(post)).body).toMatchObject({ accepted: 1 })
    return await nextTags(stream)
  }
  {
    await using first = await startTestServer({ data: data.path })
    expect(await matchesOf(first, repost(2))).toEqual(["control"])
    expect(await matchesOf(first, { data: original, includes: { places: [berlin] } })).toEqual([...values, "control"])
    expect(await matchesOf(first, repost(3))).toEqual(["place:berlin", "place_country:de", "control"])
  }
  await using again = await startTestServer({ data: data.path })
  expect(await matchesOf(again, repost(4))).toEqual(["place:berlin", "place_country:de", "control"])
})

test("area-centres: an area matches an exact point within it, or the centre of a place without a point", async ({
  server,
}) => {
  const at = (id: number, geo: object, bbox?: readonly number[]): unknown => ({
    data: { id: String(id), text: "here", geo: { ...geo, ...(bbox && { place_id: `p${id}` }) } },
    ...(bbox && { includes: { places: [{ id: `p${id}`, full_name: "P", geo: { type: "Feature", bbox } }] } }),
  })
  const point = (...coordinates: readonly number[]): object => ({
    coordinates: { type: "Point", coordinates },
  })
  const posts = [
    // A place within the area; one around it, with the same centre; one that overlaps it; one next to it.
    at(1, {}, [13.3, 52.4, 13.4, 52.5]),
    at(2, {}, [12.9, 52.0, 13.9, 53.0]),
    at(3, {}, [13.35, 52.42, 20, 52.5]),
    at(4, {}, [13.6, 52.4, 13.7, 52.5]),
    at(5, point(13.3, 52.4)),
    at(6, point(13.6, 52.4)),
    // The point is more precise than the place around it.
    at(7, point(13.6, 52.4), [13.3, 52.4, 13.4, 52.5]),
    at(8, point(13.3, 52.4), [13.6, 52.4, 13.7, 52.5]),
  ]
  expect(await testedIds(server, "bounding_box:[13.2 52.4 13.5 52.5]", posts)).toEqual(["1", "2", "5", "8"])
  expect(await testedIds(server, "point_radius:[13.35 52.45 10km]", posts)).toEqual(["1", "2", "5", "8"])
  const onTheDateLine = [at(1, {}, [179.9, 0, -179.7, 0.1]), at(2, {}, [-179.9, 0, 179.7, 0.1])]
  expect(await testedIds(server, "bounding_box:[179.9 0 -179.9 0.1]", onTheDateLine)).toEqual(["1"])
})

test("engagement-minimums: minimums compare the counts that the post or its original came with, in searches too", async ({
  server,
}) => {
  const likes = (count: number): Readonly<Record<string, unknown>> => ({
    public_metrics: { like_count: count },
  })
  const posts = [
    envelope(1, "cat", likes(9)),
    envelope(2, "cat", likes(10)),
    envelope(3, "cat"),
    {
      ...envelope(4, "RT @wren: cat", { ...likes(0), referenced_tweets: [{ type: "retweeted", id: "9" }] }),
      includes: { tweets: [{ id: "9", text: "cat", ...likes(500) }] },
    },
  ]
  expect(await testedIds(server, "cat min_likes:10", posts)).toEqual(["2", "4"])
  expect(await testedIds(server, "cat -min_likes:10", posts)).toEqual(["1", "3"])
  expect(await testedIds(server, "cat min_likes:10", posts, "search")).toEqual(["2", "4"])
  for (const mode of [undefined, "search"] as const) {
    for (const name of ["min_likes", "min_replies", "min_reposts"])
      expect((await testRule(server, `cat ${name}:10`, posts, mode)).status).toBe(200)
    for (const [name, instead] of [
      ["min_retweets", "min_reposts"],
      ["min_faves", "min_likes"],
    ]) {
      const refused = await testRule(server, `cat ${name}:10`, posts, mode)
      expect(refused.body.details).toEqual([
        `Reference to invalid operator '${name}'. Operator is not available in current product or product packaging. ` +
          "Please refer to complete available operator list at http://t.co/operators. (at position 5)" +
          `. Did you mean '${instead}'?`,
      ])
    }
  }
})

test("sample-determinism: a sample has the same posts on every server, and a larger sample contains a smaller one", async ({
  server,
  otherServer,
}) => {
  const posts = newIds(1_000).map((id) => ({ data: { id, text: "cat" } }))
  const ten = await testedIds(server, "cat sample:10", posts)
  const again = await otherServer.send("POST", paths.ruleTest, {
    value: "cat sample:10",
    posts: posts.toReversed(),
  })
  expect(idsIn(again.body.data).toReversed()).toEqual(ten)
  const thirty = new Set(await testedIds(server, "cat sample:30", posts))
  expect(ten.filter((id) => !thirty.has(id))).toEqual([])
  expect(ten.length).toBeGreaterThan(60)
  expect(ten.length).toBeLessThan(140)
  expect(await testedIds(server, "cat sample:100", posts)).toHaveLength(1_000)
})

test("url-short-links: a link matches in each of its forms, and by the target that an earlier post gave", async ({
  server,
}) => {
  const linking = (id: number, more: object = {}): unknown =>
    envelope(id, "see https://t.co/abcdefghij", {
      entities: {
        urls: [
          {
            start: 4,
            end: 27,
            url: "https://t.co/abcdefghij",
            expanded_url: "https://sho.rt/a1",
            display_url: "sho.rt/a1",
            ...more,
          },
        ],
      },
    })
  const unwound = linking(1, { unwound_url: "https://example.com/long/way" })
  for (const value of ["url:sho.rt", 'url:"https://sho.rt/a1"', "url_contains:sho.rt/a"]) {
    expect(await testedIds(server, value, [unwound, linking(2)])).toEqual(["1", "2"])
  }
  for (const value of ["url:example.com", 'url:"example.com/long"', "url:way"]) {
    expect(await testedIds(server, value, [linking(2)])).toEqual([])
    expect(await testedIds(server, value, [linking(2), unwound])).toEqual(["2", "1"])
  }
})

test("embeddings: rules of similarity need the operator's endpoint, and ingest stops while it is unavailable", async ({
  server,
}) => {
  const value = 'embedding:"red fox" embedding_threshold:0.8'
  const { body } = await server.send("POST", paths.rules, { add: [{ value }] })
  expect(body.errors[0].details).toEqual([
    expect.stringContaining("Reference to invalid operator 'embedding'. Operator is not available"),
    expect.stringContaining("Reference to invalid operator 'embedding_threshold'. Operator is not available"),
  ])

  await using endpoint = await startEmbeddingsEndpoint()
  await using similar = await startTestServer({ "embeddings-url": endpoint.url, "embeddings-model": "words" })
  const [id] = await addRules(similar, { value })
  await using stream = await openStream(similar)
  const repost = {
    ...envelope(2, "RT @wren: red …", { referenced_tweets: [{ type: "retweeted", id: "9" }] }),
    includes: { tweets: [{ id: "9", text: "red fox" }] },
  }
  await similar.ingest(envelope(1, "a red fox"), repost, envelope(3, "a quick brown fox"))
  for (const similarity of [0.816497, 1]) {
    expect(await stream.next()).toMatchObject({
      matching_rules: [{ id, embedding_similarity: similarity, embedding_threshold: 0.8 }],
    })
  }
  await endpoint.stop()
  const refused = await similar.send("POST", paths.rules, { add: [{ value: 'embedding:"blue whale"' }] })
  expect(refused.body).toMatchObject({ errors: [{ status: 503 }], meta: { summary: { created: 0 } } })
  expect((await similar.ingest(envelope(4, "red fox"))).status).toBe(503)
  await endpoint.start()
  expect((await similar.ingest(envelope(4, "red fox"))).body).toMatchObject({ accepted: 1 })
})

/** Tests a rule on posts. */
function testRule(
  app: TestApp,
  value: string,
  posts: readonly unknown[],
  mode?: "stream" | "search",
): Promise<TestResponse> {
  return app.send("POST", paths.ruleTest, { value, posts, ...(mode && { mode }) })
}

/** Ids of those posts that a rule matches. */
async function testedIds(
  app: TestApp,
  value: string,
  posts: readonly unknown[],
  mode?: "stream" | "search",
): Promise<readonly string[]> {
  const { status, body } = await testRule(app, value, posts, mode)
  expect([value, status]).toEqual([value, 200])
  return idsIn(body.data)
}
