/** Posts that apps write, and their edits. Each test bears the id of its row of docs/compatibility.md. */
import { paths, snowflakeAtMs, snowflakeEpochMs } from "@sluice/api"
import { expect } from "vitest"
import { openStream } from "../support/open-stream.testing.ts"
import { startTestServer, type TestApp, type TestResponse, type TestServer } from "../support/test-server.testing.ts"
import {
  addRules,
  appWithReceiver,
  idsIn,
  ingestNew,
  link,
  minuteMs,
  newId,
  newUser,
  postBy,
  problem,
  test,
} from "./support.testing.ts"

const blank = "about:blank"

let words = 0

/** A word that no other post has. */
function newWord(): string {
  words += 1
  return `written${words}`
}

let sequence = 0

/** An unused id of a moment. */
function idAt(ms: number): string {
  sequence += 1
  return String((BigInt(ms - snowflakeEpochMs) << 22n) + 4_000_000n + BigInt(sequence))
}

/** A request of a user of the app, or of the app itself. */
async function write(app: TestApp, body: unknown, token?: string): Promise<TestResponse> {
  return app.send("POST", paths.postsById, body, token)
}

/** Writes a post; returns its id. */
async function written(app: TestApp, body: unknown, token?: string): Promise<string> {
  const { status, body: created, text } = await write(app, body, token)
  expect(status, text).toBe(201)
  return created.data.id as string
}

async function userToken(server: TestServer, app: TestApp, user: string): Promise<string> {
  return (await server.running.apps.createUserToken(app.app.application_id, user)) ?? ""
}

async function stored(app: TestApp, id: string, query = ""): Promise<TestResponse["body"]> {
  return (await app.call(`${paths.postById.replace(":id", id)}${query}`)).body
}

test("written-posts: a post is written by a user of an app or by its business user, and goes the way of every other", async ({
  server,
}) => {
  await using reader = await appWithReceiver(server)
  const word = newWord()
  const [mentioned, name] = [newUser(), `wren_${word}`]
  await addRules(reader, { value: `${word} #Heron @${name} has:links`, tag: "own" })
  await link(reader, await reader.webhook())
  await using stream = await openStream(reader, "?expansions=author_id&user.fields=username")
  const app = await server.newApp()
  const user = newUser()
  await ingestNew(server, {
    ...(postBy(user, newId()) as object),
    includes: {
      users: [
        { id: user, username: "writer", name: "Writer" },
        { id: mentioned, username: name, name: "Wren" },
      ],
    },
  })
  const text = `${word} a #Heron 鷺 for @${name} $HRN https://www.example.com/a`
  const token = await userToken(server, app, user)
  const before = Date.now()
  const created = await write(app, { text }, token)
  expect(created.status, created.text).toBe(201)
  const { id } = created.body.data
  expect(created.body).toEqual({ data: { id, text, edit_history_tweet_ids: [id] } })
  expect(await stream.next()).toMatchObject({
    data: { id, text, author_id: user },
    includes: { users: [{ id: user, username: "writer", name: "Writer" }] },
    matching_rules: [{ tag: "own" }],
  })
  await reader.receiver.arrived(1)
  const madeAt = snowflakeAtMs(id as string) ?? 0
  expect(madeAt).toBeGreaterThanOrEqual(before - minuteMs)
  const { data } = await stored(
    app,
    id as string,
    "?tweet.fields=created_at,conversation_id,entities,lang,edit_controls,reply_settings,public_metrics,author_id",
  )
  expect(data).toMatchObject({
    author_id: user,
    created_at: new Date(madeAt).toISOString(),
    conversation_id: id,
    lang: "und",
    edit_controls: {
      edits_remaining: 5,
      is_edit_eligible: true,
      editable_until: new Date(madeAt + 30 * minuteMs).toISOString(),
    },
    entities: {
      hashtags: [{ start: word.length + 3, end: word.length + 9, tag: "Heron" }],
      cashtags: [{ tag: "HRN" }],
      mentions: [{ username: name, id: mentioned }],
      urls: [
        { url: "https://www.example.com/a", expanded_url: "https://www.example.com/a", display_url: "example.com/a" },
      ],
    },
  })
  const search = await app.call(`${paths.searchRecent}?query=${word}`)
  expect(idsIn(search.body.data)).toEqual([id])
  expect(idsIn((await app.call(`${paths.userPosts.replace(":id", user)}?max_results=5`)).body.data)[0]).toBe(id)

  const own = await written(app, { text: newWord() })
  const business = app.app.business_user_id
  const { includes } = await stored(app, own, "?expansions=author_id")
  expect(includes.users).toEqual([{ id: business, name: "test", username: `u${BigInt(business).toString(36)}` }])
  expect((await app.call(paths.user.replace(":id", business))).body.data).toMatchObject({ id: business, name: "test" })
  for (const kind of ["ingest", "operator"] as const) {
    expect((await write(app, { text: newWord() }, await server.running.apps.createToken(kind))).status).toBe(403)
  }
})

test("written-members: a text alone is due, and members that mean nothing here are refused by name", async ({
  server,
}) => {
  const word = newWord()
  for (const [name, value] of [
    ["poll", { options: ["a", "b"], duration_minutes: 5 }],
    ["media", { media_ids: ["1"] }],
    ["geo", { place_id: "1" }],
    ["community_id", "1"],
    ["reply_settings", "following"],
    ["nullcast", true],
    ["colour", "blue"],
  ] as const) {
    const { status, body } = await write(server, { text: word, [name]: value })
    expect(status, name).toBe(400)
    expect(body.errors).toMatchObject([{ parameters: { [name]: [] }, message: "JSON doesn't match expected schema" }])
  }
  for (const body of [
    {},
    { text: null },
    { text: 5 },
    { text: word, reply: {} },
    { text: word, quote_tweet_id: "x" },
  ]) {
    expect((await write(server, body)).status, JSON.stringify(body)).toBe(400)
  }
  expect((await server.call(`${paths.searchRecent}?query=${word}`)).body.meta.result_count).toBe(0)
  expect((await write(server, { text: word, reply: null })).status).toBe(201)
})

test("written-texts: a text has at most 280 characters as X counts them, and is stored as it is written", async ({
  server,
}) => {
  const word = newWord()
  const heavy = (count: number) => `${word}${"鷺".repeat((count - word.length) / 2)}`
  const address = `https://example.com/${"a".repeat(300)}`
  const even = word.length % 2 === 0 ? 0 : 1
  await written(server, { text: heavy(280 - even) })
  await written(server, { text: `${word} ${address}` })
  await written(server, { text: ` ${word}\n\u{1F468}‍\u{1F469}‍\u{1F467} & <b> "\\" \u0000` })
  for (const text of ["", "  \n", heavy(282 - even), "a".repeat(281), `${word} ${"a.com ".repeat(800)}`]) {
    const { status, body } = await write(server, { text })
    expect(status, text.slice(0, 20)).toBe(400)
    expect(Object.keys(body.errors[0].parameters as object)).toEqual(["text"])
  }
  expect((await write(server, { text: `${word}\ud800` })).status).toBe(400)
  expect((await write(server, { text: "a".repeat(1_048_576) })).status).toBe(413)
  expect((await server.call(`${paths.searchRecent}?query=${word}`)).body.meta.result_count).toBe(3)
})

/** A post has the included objects for which the server has room, and one without room is refused. */
async function expectRoomForIncluded(): Promise<void> {
  await using small = await startTestServer({ "post-bytes-max": "16384", search: "off" })
  const ids = [newId(), newId()]
  const long = "long ".repeat(1_600)
  await ingestNew(
    small,
    ...ids.map((id) => ({
      data: { id, text: long, author_id: "5" },
      includes: { users: [{ id: "5", username: "writer", name: "Writer" }] },
    })),
  )
  const [answered = "", quoted = ""] = ids
  const id = await written(small, {
    text: newWord(),
    reply: { in_reply_to_tweet_id: answered },
    quote_tweet_id: quoted,
  })
  const { data, includes } = await stored(small, id, "?expansions=author_id&tweet.fields=referenced_tweets")
  expect(data.referenced_tweets).toHaveLength(2)
  expect(includes.users).toMatchObject([{ id: small.app.business_user_id }])

  await using least = await startTestServer({ "post-bytes-max": "1024", search: "off" })
  await written(least, { text: "short" })
  const { status, body } = await write(least, { text: "#a ".repeat(90) })
  expect([status, body.errors]).toMatchObject([400, [{ message: expect.stringContaining("1024 bytes") }]])
}

test("duplicate-posts: the text of one of a user's ten newest posts of a day is refused, unless it answers another", async ({
  server,
}) => {
  const text = newWord()
  const [app, other] = [await server.newApp(), await server.newApp()]
  const first = await written(app, { text })
  const refused = await write(app, { text })
  expect([refused.status, refused.body]).toEqual([
    403,
    problem(403, "Forbidden", "You are not allowed to create a Tweet with duplicate content.", blank),
  ])
  const reply = { text, reply: { in_reply_to_tweet_id: first } }
  await written(app, reply)
  expect((await write(app, reply)).status).toBe(403)
  const own = await written(other, { text })
  // An edit answers what the version before it answers.
  const edited = await written(other, { text: `${text}s`, reply: { in_reply_to_tweet_id: own } })
  await written(other, { text, edit_options: { previous_post_id: edited } })
  const last = await written(other, { text: `${text}es` })
  expect((await write(other, { text, edit_options: { previous_post_id: last } })).status).toBe(403)
  const [one, two] = await Promise.all([1, 2].map(() => write(other, { text: `${text} again` })))
  expect(new Set([one?.status, two?.status])).toEqual(new Set([201, 403]))
  for (let count = 0; count < 9; count += 1) await written(app, { text: newWord() })
  await written(app, { text })
})

test("written-references: a reply and a quote refer to a known post, in its conversation; an unknown one is refused", async ({
  server,
}) => {
  const [author, word] = [newUser(), newWord()]
  const [original, root] = [newId(), newId()]
  const app = await server.newApp()
  await ingestNew(server, {
    data: { id: original, text: "first", author_id: author, conversation_id: root },
    includes: { users: [{ id: author, username: `author${author}`, name: "Author" }] },
  })
  await addRules(app, { value: `(to:${author} is:reply) OR (is:quote "first")` })
  await using stream = await openStream(
    app,
    "?expansions=author_id,referenced_tweets.id,referenced_tweets.id.author_id&tweet.fields=conversation_id,in_reply_to_user_id,referenced_tweets",
  )
  const reply = await written(app, {
    text: word,
    reply: { in_reply_to_tweet_id: original, exclude_reply_user_ids: ["1"] },
  })
  expect(await stream.next()).toMatchObject({
    data: {
      id: reply,
      conversation_id: root,
      in_reply_to_user_id: author,
      referenced_tweets: [{ type: "replied_to", id: original }],
    },
    includes: { tweets: [{ id: original, text: "first" }] },
  })
  const quote = await written(app, { text: word, quote_tweet_id: original })
  expect(await stream.next()).toMatchObject({
    data: { id: quote, conversation_id: quote, referenced_tweets: [{ type: "quoted", id: original }] },
    includes: { tweets: [{ id: original }], users: expect.arrayContaining([expect.objectContaining({ id: author })]) },
  })
  expect(idsIn((await app.call(paths.quotes.replace(":id", original))).body.data)).toEqual([quote])
  const [carrier, included] = [newId(), newId()]
  await ingestNew(server, {
    data: { id: carrier, text: "a quote", author_id: newUser(), referenced_tweets: [{ type: "quoted", id: included }] },
    includes: { tweets: [{ id: included, text: "came along", author_id: author, conversation_id: root }] },
  })
  const other = await written(app, { text: newWord(), reply: { in_reply_to_tweet_id: included } })
  expect(await stream.next()).toMatchObject({
    data: { id: other, conversation_id: root, in_reply_to_user_id: author },
    includes: { tweets: [{ id: included, text: "came along" }] },
  })
  const [odd, oddOne] = [newId(), newId()]
  await ingestNew(server, {
    data: { id: odd, text: "a quote", author_id: newUser(), referenced_tweets: [{ type: "quoted", id: oddOne }] },
    includes: { tweets: [{ id: oddOne, text: "by nobody", author_id: "bob" }] },
  })
  const toNobody = await written(app, { text: newWord(), reply: { in_reply_to_tweet_id: oddOne } })
  const fields = "tweet.fields=referenced_tweets,in_reply_to_user_id"
  const { data: replied } = (await app.call(`${paths.postById.replace(":id", toNobody)}?${fields}`)).body
  expect(replied).toMatchObject({ id: toNobody, referenced_tweets: [{ type: "replied_to", id: oddOne }] })
  expect(replied).not.toHaveProperty("in_reply_to_user_id")
  const unknown = newId()
  for (const [body, act] of [
    [{ reply: { in_reply_to_tweet_id: unknown } }, "reply to"],
    [{ quote_tweet_id: unknown }, "quote"],
    [{ edit_options: { previous_post_id: unknown } }, "edit"],
  ] as const) {
    const refused = await write(app, { text: newWord(), ...body })
    const detail = `You attempted to ${act} a Tweet that is deleted or not visible to you.`
    expect([refused.status, refused.body]).toEqual([403, problem(403, "Forbidden", detail, blank)])
  }
  await expectRoomForIncluded()
})

test("written-edits: a post is edited by its author, five times in half an hour, and each version is delivered", async ({
  server,
}) => {
  const app = await server.newApp()
  const [user, word] = [newUser(), newWord()]
  const token = await userToken(server, app, user)
  await addRules(app, { value: word })
  await using stream = await openStream(app, "?tweet.fields=edit_controls,referenced_tweets,conversation_id")
  const quoted = newId()
  await ingestNew(server, postBy("7", quoted))
  const chain = [await written(app, { text: word, quote_tweet_id: quoted }, token)]
  const until = (await stream.next()).data["edit_controls"] as { readonly editable_until: string }
  const edit = (text: string, id = chain.at(-1), by = token) =>
    write(app, { text, edit_options: { previous_post_id: id } }, by)
  const why = async (response: Promise<TestResponse>) => {
    const { status, body } = await response
    return [status, body.detail as string] as const
  }
  expect(await why(edit(word))).toEqual([403, "You are not allowed to create a Tweet with duplicate content."])
  for (let count = 1; count <= 5; count += 1) {
    const { status, body, text } = await edit(`${word} ${count}`)
    expect(status, text).toBe(201)
    const id = body.data.id as string
    chain.push(id)
    expect(body.data.edit_history_tweet_ids).toEqual(chain)
    expect((await stream.next()).data).toMatchObject({
      id,
      conversation_id: id,
      edit_history_tweet_ids: chain,
      edit_controls: { edits_remaining: 5 - count, is_edit_eligible: true, editable_until: until.editable_until },
      referenced_tweets: [{ type: "quoted", id: quoted }],
    })
  }
  const { data } = await stored(app, chain[0] ?? "", "?tweet.fields=edit_controls")
  expect(data).toMatchObject({ text: word, edit_history_tweet_ids: chain, edit_controls: { edits_remaining: 0 } })
  expect(idsIn((await app.call(`${paths.searchRecent}?query=${word}`)).body.data)).toEqual(chain.slice(-1))
  expect((await why(edit(`${word} 6`)))[1]).toMatch(/edited as often as a Tweet may be/)
  expect((await why(edit(`${word} 6`, chain[0])))[1]).toMatch(/there is a newer one/)
  expect(await why(edit(`${word} 6`, chain.at(-1), app.app.bearer_token))).toEqual([
    403,
    "You are not allowed to edit a Tweet of another user.",
  ])
  const post = (id: string, more: object = {}) => postBy(user, id, { created_at: undefined, ...more })
  const nowMs = Date.now()
  const [late, open, answer] = [idAt(nowMs - 31 * minuteMs), idAt(nowMs - 32 * minuteMs), idAt(nowMs - minuteMs)]
  const later = { editable_until: new Date(nowMs + minuteMs).toISOString() }
  const references = [{ type: "replied_to", id: quoted }]
  await ingestNew(
    server,
    post(late),
    post(open, { edit_controls: later }),
    post(answer, { referenced_tweets: references, in_reply_to_user_id: "7" }),
  )
  expect(await why(edit(newWord(), late))).toEqual([403, expect.stringContaining("its time to be edited is over")])
  expect((await edit(newWord(), open)).status).toBe(201)
  expect((await why(edit(newWord(), answer)))[1]).toMatch(/replies to others cannot be edited/)
  const both = await write(
    app,
    { text: newWord(), edit_options: { previous_post_id: open }, reply: { in_reply_to_tweet_id: quoted } },
    token,
  )
  expect([both.status, Object.keys(both.body.errors[0].parameters as object)]).toEqual([
    400,
    ["edit_options.previous_post_id"],
  ])
})
