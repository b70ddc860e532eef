/** Look-ups of posts over HTTP. Every answer is compared with X's own document, where the recorded data is. */
import { paths, postFields, postIdsMax, selectableNames, userFields } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { asciiText } from "../../model/render-post.ts"
import { openStream } from "../../../../../test/support/open-stream.testing.ts"
import {
  envelope,
  startTestServer,
  type TestApp,
  type TestServer,
} from "../../../../../test/support/test-server.testing.ts"
import { WebhookReceiver } from "../../../../../test/support/webhook-receiver.testing.ts"
import { checkedByX } from "../../../../../test/support/x-document.testing.ts"

let server: TestServer
let at: TestApp

beforeAll(async () => {
  server = await startTestServer()
  at = checkedByX(server)
  await server.ingest(
    envelope(11, "one"),
    {
      data: {
        id: "12",
        text: "two",
        author_id: "7",
        lang: "en",
        created_at: "2026-03-14T09:26:53.000Z",
        edit_history_tweet_ids: ["11", "12"],
        referenced_tweets: [{ type: "quoted", id: "10" }],
        public_metrics: { retweet_count: 1, reply_count: 2, like_count: 3, quote_count: 4 },
        note_tweet: { text: "two and more", entities: { hashtags: [{ start: 0, end: 3, tag: "two" }] } },
        withheld: { country_codes: ["XY"] },
        attachments: { media_keys: ["3_1"] },
      },
      includes: {
        users: [{ id: "7", username: "wren", name: "Wren", pinned_tweet_id: "10", public_metrics: { tweet_count: 5 } }],
        tweets: [
          { id: "10", text: "zero", author_id: "8", public_metrics: { retweet_count: 6 } },
          { id: "11", text: "one" },
        ],
        media: [{ media_key: "3_1", type: "photo", public_metrics: {} }],
      },
    },
    envelope(13, "three"),
  )
})

afterAll(() => server[Symbol.asyncDispose]())

const one = (id: string): string => paths.postById.replace(":id", id)
const many = (ids: string): string => `${paths.postsById}?ids=${ids}`

test("posts come in the order of the request, with their default fields", async () => {
  const { status, headers, body } = await at.call(many("13,11,12"))
  expect(status).toBe(200)
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8")
  expect(body).toEqual({
    data: [
      { id: "13", text: "three", edit_history_tweet_ids: ["13"] },
      { id: "11", text: "one", edit_history_tweet_ids: ["11", "12"] },
      { id: "12", text: "two", edit_history_tweet_ids: ["11", "12"] },
    ],
  })
  expect((await at.call(one("12"))).body).toEqual({
    data: { id: "12", text: "two", edit_history_tweet_ids: ["11", "12"] },
  })
})

test("fields and expansions are shown in the older names, unless the request has newer ones", async () => {
  const query =
    "public_metrics,note_tweet,withheld&user.fields=public_metrics,pinned_tweet_id&media.fields=public_metrics"
  const older = await at.call(
    `${one("12")}?expansions=author_id,referenced_tweets.id,edit_history_tweet_ids,attachments.media_keys&tweet.fields=${query}`,
  )
  expect(older.body).toEqual({
    data: {
      id: "12",
      text: "two",
      author_id: "7",
      edit_history_tweet_ids: ["11", "12"],
      referenced_tweets: [{ type: "quoted", id: "10" }],
      public_metrics: { retweet_count: 1, reply_count: 2, like_count: 3, quote_count: 4 },
      note_tweet: { text: "two and more", entities: { hashtags: [{ start: 0, end: 3, tag: "two" }] } },
      withheld: { country_codes: ["XY"] },
      attachments: { media_keys: ["3_1"] },
    },
    includes: {
      users: [{ id: "7", username: "wren", name: "Wren", pinned_tweet_id: "10", public_metrics: { tweet_count: 5 } }],
      tweets: [
        {
          id: "10",
          text: "zero",
          author_id: "8",
          public_metrics: { retweet_count: 6 },
          edit_history_tweet_ids: ["10"],
        },
        { id: "11", text: "one", edit_history_tweet_ids: ["11", "12"] },
      ],
      media: [{ media_key: "3_1", type: "photo", public_metrics: {} }],
    },
  })
  const newer = await at.call(
    `${one("12")}?expansions=author_id,referenced_posts,edit_history_post_ids,attachments.media_keys&post.fields=${query}`,
  )
  const zeros = { bookmark_count: 0, impression_count: 0 }
  expect(newer.body).toEqual({
    data: {
      id: "12",
      text: "two",
      author_id: "7",
      edit_history_post_ids: ["11", "12"],
      referenced_posts: [{ type: "quoted", id: "10" }],
      public_metrics: { repost_count: 1, reply_count: 2, like_count: 3, quote_count: 4, ...zeros },
      note_post: { text: "two and more", entities: { hashtags: [{ start: 0, end: 3, tag: "two" }] } },
      withheld: { country_codes: ["XY"], copyright: false },
      attachments: { media_keys: ["3_1"] },
    },
    includes: {
      users: [
        {
          id: "7",
          username: "wren",
          name: "Wren",
          pinned_post_id: "10",
          public_metrics: { post_count: 5, followers_count: 0, following_count: 0, listed_count: 0 },
        },
      ],
      posts: [
        {
          id: "10",
          text: "zero",
          author_id: "8",
          public_metrics: { repost_count: 6, reply_count: 0, like_count: 0, quote_count: 0, ...zeros },
          edit_history_post_ids: ["10"],
        },
        { id: "11", text: "one", edit_history_post_ids: ["11", "12"] },
      ],
      media: [{ media_key: "3_1", type: "photo", public_metrics: { view_count: 0 } }],
    },
  })
})

test("the errors of ids come before those of expansions, which have the names of the request", async () => {
  const query = "&expansions=referenced_tweets.id.author_id,edit_history_tweet_ids"
  const older = await at.call(`${many("404,12,405")}${query}`)
  const shown = (errors: readonly { readonly parameter: string; readonly value: string }[]): unknown =>
    errors.map(({ parameter, value }) => `${parameter} ${value}`)
  expect(shown(older.body.errors)).toEqual(["ids 404", "ids 405", "referenced_tweets.id.author_id 8"])
  await server.ingest({ data: { id: "14", text: "four", referenced_tweets: [{ type: "quoted", id: "9" }] } })
  const oldName = await at.call(`${one("14")}?expansions=referenced_tweets.id`)
  expect(shown(oldName.body.errors)).toEqual(["referenced_tweets.id 9"])
  const newName = await at.call(`${one("14")}?expansions=referenced_posts`)
  expect(newName.body.errors).toMatchObject([
    { detail: "Could not find tweet with referenced_posts: [9].", parameter: "referenced_posts" },
  ])
})

test("a post with the same fields is byte for byte what the timeline, searches, a list of quotes, the stream and a webhook show", async () => {
  await using receiver = await WebhookReceiver.start(server.app.consumer_secret)
  await server.send("POST", paths.rules, { add: [{ value: "kingfisher" }] })
  const fields = "tweet.fields=created_at,public_metrics,entities,lang&expansions=author_id&user.fields=verified"
  const everything = `tweet.fields=${postFields.join()}&user.fields=${userFields.join()}&expansions=author_id,referenced_tweets.id,entities.mentions.username`
  const queries = ["", fields, everything]
  const { body: webhook } = await server.send("POST", paths.webhooks, { url: receiver.url })
  for (const [round, query] of queries.entries()) {
    const link = `${paths.link.replace(":webhook_id", webhook.data.id as string)}?${query}`
    expect((await server.send("POST", link)).status).toBe(200)
    await using stream = await openStream(server, `?${query}`)
    const id = String(7_000 + round)
    const text = `a kingfisher \\u00e9 ${round}`
    const quoted = String(6_000 + round)
    const line = `{"data":{"id":"${id}","text":"${text}","author_id":"7","lang":"en","public_metrics":{"like_count":1.50e1},"created_at":"2026-03-14T09:26:53.000Z","entities":{"hashtags":[{"start":0,"end":1,"tag":"x"}],"mentions":[{"start":0,"end":1,"username":"Wren"}]},"referenced_tweets":[{"type":"quoted","id":"${quoted}"}]},"includes":{"users":[{"id":"7","username":"wren","name":"Wren","verified":true}],"tweets":[{"id":"${quoted}","text":"\\u0061","geo":{"coordinates":{"type":"Point","coordinates":[1.0,2.50]}}}]}}`
    const sent = await server.call(paths.posts, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: line,
    })
    expect(sent.body).toMatchObject({ accepted: 1 })
    await receiver.arrived(round + 1)
    const span = `since_id=${Number(id) - 1}&until_id=${Number(id) + 1}`
    const texts = [
      (await at.call(`${one(id)}?${query}`)).text,
      (await at.call(`${many(id)}&${query}`)).text,
      (await at.call(`${paths.userPosts.replace(":id", "7")}?${query}&${span}`)).text,
      (await at.call(`${paths.mentions.replace(":id", "7")}?${query}&${span}`)).text,
      (await at.call(`${paths.searchAll}?query=kingfisher&${query}&${span}`)).text,
      (await at.call(`${paths.searchAll}?query=kingfisher&sort_order=relevancy&${query}&${span}`)).text,
      (await at.call(`${paths.quotes.replace(":id", quoted)}?${query}`)).text,
      await stream.nextText(),
      receiver.received[round]?.body ?? "",
    ]
    const [data, includes] = partsOf(asciiText(texts[0] ?? ""))
    expect(data).toContain(`"id":"${id}"`)
    expect(includes === undefined).toBe(query === "")
    // The stream escapes what is not ASCII.
    for (const shown of texts.map(asciiText)) {
      expect(shown).toContain(shown.startsWith('{"data":[') ? `{"data":[${data}]` : `{"data":${data}`)
      if (includes !== undefined) expect(shown).toContain(`"includes":${includes}`)
    }
    expect((await server.send("DELETE", link.split("?", 1)[0] ?? "")).status).toBe(200)
  }
})

/** The texts of `data` and `includes` of a look-up of one post. */
function partsOf(text: string): readonly [data: string | undefined, includes: string | undefined] {
  const [, data, includes] = /^\{"data":(\{.*?\})(?:,"includes":(\{.*\}))?\}$/s.exec(text) ?? []
  return [data, includes]
}

test("posts belong to no app: another app's token shows the same, and an operator's none", async () => {
  const other = await server.newApp()
  for (const path of [many("11,404"), one("12")]) {
    expect((await checkedByX(other).call(path)).text).toBe((await at.call(path)).text)
    const operator = await server.running.apps.createToken("operator")
    expect((await at.call(path, { token: operator })).status).toBe(403)
    expect((await at.call(path, { token: null })).status).toBe(401)
  }
})

test("a hundred posts are found at once, with any fields", async () => {
  const ids = Array.from({ length: postIdsMax }, (_, index) => String(20_000 + index)).toReversed()
  await server.ingest(...ids.map((id) => envelope(id, `post ${id}`)))
  for (const query of ["", "&tweet.fields=created_at&expansions=author_id", "&post.fields=created_at"]) {
    const { body } = await at.call(many(ids.join(",")) + query)
    expect((body.data as { id: string }[]).map(({ id }) => id)).toEqual(ids)
    expect(body).not.toHaveProperty("errors")
  }
})

describe("bad requests", () => {
  const list = (count: number): string => Array.from({ length: count }, (_, index) => String(index + 1)).join(",")
  const notInPattern = (name: string, value: string): string =>
    `The \`${name}\` query parameter value [${value}] does not match ^[0-9]{1,19}$`
  const notAnId = (name: string, value: string): string =>
    `The \`${name}\` query parameter value [${value}] is not valid`
  const malformed = ["foo", "-1", "+1", "1e3", "0x1", "1.0", "12345678901234567890", "١٢", "１２", " 1", "1;2", "%00"]

  /** Path, and what is wrong. */
  const cases: (readonly [string, readonly string[]])[] = [
    [paths.postsById, ["The `ids` query parameter can not be empty"]],
    [many(""), ["The `ids` query parameter can not be empty"]],
    [
      `${paths.postsById}?id=1`,
      ["The query parameter [id] is not one of [ids,", "The `ids` query parameter can not be empty"],
    ],
    [many(list(101)), ["The number of values in the `ids` query parameter list [101] is not between 1 and 100"]],
    [
      many(`${list(50)},${list(51)}`),
      ["The number of values in the `ids` query parameter list [101] is not between 1 and 100"],
    ],
    [many(list(1_000)), ["The number of values in the `ids` query parameter list [1000] is not between 1 and 100"]],
    [
      `${many(list(60))}&ids=${list(60)}`,
      ["The number of values in the `ids` query parameter list [120] is not between 1 and 100"],
    ],
    [many("1,"), [notInPattern("ids", "")]],
    [many(",1"), [notInPattern("ids", "")]],
    [many("1,,2"), [notInPattern("ids", "")]],
    [many("1,foo,2,bar"), [notInPattern("ids", "foo"), notInPattern("ids", "bar")]],
    [many("9223372036854775808"), [notAnId("ids", "9223372036854775808")]],
    [one("9999999999999999999"), [notAnId("id", "9999999999999999999")]],
    [
      `${paths.postsById}?ids[]=1`,
      ["The query parameter [ids[]] is not one of [ids,", "The `ids` query parameter can not be empty"],
    ],
    [many("%zz"), ["The `ids` query parameter value [%zz] is not valid"]],
    [`${many("1")}&dummy=value`, ["The query parameter [dummy] is not one of [ids,tweet.fields,post.fields,"]],
    [`${one("1")}?dummy=value`, ["The query parameter [dummy] is not one of [id,tweet.fields,post.fields,"]],
    [`${one("1")}?ids=1`, ["The query parameter [ids] is not one of [id,"]],
    [`${one("1")}?max_results=5`, ["The query parameter [max_results] is not one of [id,"]],
    [one("1,2"), [notInPattern("id", "1,2")]],
    ...malformed.flatMap((id) => [
      [many(`1,${encodeURIComponent(decodeURIComponent(id))}`), [notInPattern("ids", decodeURIComponent(id))]] as const,
      [one(encodeURIComponent(decodeURIComponent(id))), [notInPattern("id", decodeURIComponent(id))]] as const,
    ]),
    ...Object.entries(selectableNames).flatMap(([name, { listed }]) => {
      const known = listed[0] ?? ""
      const notOneOf = (value: string): string =>
        `The \`${name}\` query parameter value [${value}] is not one of [${listed.join(",")}]`
      return [
        [`${many("1")}&${name}=dummy`, [notOneOf("dummy")]] as const,
        [`${one("1")}?${name}=${known},geo.coordinates`, [notOneOf("geo.coordinates")]] as const,
        [`${one("1")}?${name}=`, [`The \`${name}\` query parameter can not be empty`]] as const,
        [`${many("1")}&${name}=${known},`, [notOneOf("")]] as const,
        [
          `${many("1")}&${name}=${known},${known}`,
          [`The \`${name}\` query parameter value [${known}] is not valid`],
        ] as const,
        [
          `${one("1")}?${name}=${known}&${name}=${known}`,
          [`The \`${name}\` query parameter value [${known}] is not valid`],
        ] as const,
      ]
    }),
    // In the other vocabulary: fields of users and posts that no parameter has under such a name.
    [
      `${one("1")}?tweet.fields=note_tweets`,
      ["The `tweet.fields` query parameter value [note_tweets] is not one of ["],
    ],
    [
      `${one("1")}?user.fields=repost_count`,
      ["The `user.fields` query parameter value [repost_count] is not one of ["],
    ],
    [
      `${one("1")}?expansions=pinned_post_id`,
      ["The `expansions` query parameter value [pinned_post_id] is not one of ["],
    ],
    [
      `${one("1")}?expansions=referenced_posts.id`,
      ["The `expansions` query parameter value [referenced_posts.id] is not one of ["],
    ],
  ]

  test("there are at least forty", () => {
    expect(cases.length).toBeGreaterThanOrEqual(40)
  })

  const named = cases.map(([path, messages]) => ({ what: path.slice(0, 80), path, messages }))

  test.each(named)("$what is refused", async ({ path, messages }) => {
    const { status, body } = await at.call(path)
    expect(status).toBe(400)
    expect(body).toMatchObject({ title: "Invalid Request", type: "https://api.x.com/2/problems/invalid-request" })
    expect(body).not.toHaveProperty("data")
    const found = (body.errors as { message: string }[]).map(({ message }) => message)
    expect(found).toEqual(messages.map((message) => expect.stringContaining(message) as string))
  })

  test("the answer to HEAD counts no posts as used", async () => {
    const used = async (): Promise<unknown> => (await server.call(paths.usage)).body.data.project_usage
    const before = await used()
    expect((await server.call(one("1"), { method: "HEAD" })).status).toBe(200)
    expect(await used()).toEqual(before)
  })

  test("a method that a path with a name does not have is refused by the methods that it has", async () => {
    for (const [method, path, allow] of [
      ["GET", "/sluice/v1/sources/feed/pause", "POST"],
      ["POST", "/2/users/by/username/wren", "GET, HEAD"],
    ] as const) {
      const { status, headers } = await server.call(path, { method })
      expect([status, headers.get("allow")], path).toEqual([405, allow])
    }
  })

  test.each(["PUT", "PATCH"])("%s is no method of a look-up", async (method) => {
    const refusals = await Promise.all([paths.postsById, one("1")].map((path) => server.call(path, { method })))
    expect(refusals.map(({ status, headers }) => [status, headers.get("allow")])).toEqual([
      [405, "GET, HEAD, POST"],
      [405, "DELETE, GET, HEAD"],
    ])
  })
})
