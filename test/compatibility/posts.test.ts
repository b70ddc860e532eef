/** Posts as pages, streams and deliveries show them. Each test bears the id of its row of docs/compatibility.md. */
import { newNames, paths, selectableNames, type Envelope } from "@sluice/api"
import { expect } from "vitest"
import { openStream } from "../support/open-stream.testing.ts"
import { type TestResponse } from "../support/test-server.testing.ts"
import {
  addRules,
  appWithReceiver,
  errorMembers,
  idsIn,
  ingestNew,
  link,
  newId,
  newIds,
  newUser,
  postBy,
  postsPath,
  test,
} from "./support.testing.ts"

test("absent-values: the server leaves out absent values, and never sends null", async ({ server, refusals }) => {
  await using linked = await appWithReceiver(server)
  const user = newUser()
  const id = newId()
  await addRules(linked, { value: "cat" })
  const everything = "tweet.fields=lang,source,geo,created_at&expansions=author_id&user.fields=url,location,verified"
  await link(linked, await linked.webhook(), `?${everything}`)
  await using stream = await openStream(linked, `?${everything}`)
  await ingestNew(server, {
    data: { id, text: "a cat", author_id: user, lang: null, source: null },
    includes: { users: [{ id: user, username: "wren", name: "Wren", url: null, location: null }] },
  })
  await linked.receiver.arrived(1)
  const delivered = JSON.parse(linked.receiver.received[0]?.body ?? "") as Envelope
  const streamed = await stream.next()
  const page = (await linked.call(postsPath(user, `?${everything}`))).body as Envelope & { meta: object }
  for (const { includes } of [delivered, streamed, page]) {
    expect(includes).toStrictEqual({ users: [{ id: user, username: "wren", name: "Wren" }] })
  }
  for (const { data } of [delivered, streamed]) {
    expect(data).toStrictEqual({
      id,
      text: "a cat",
      author_id: user,
      created_at: expect.any(String) as string,
      edit_history_tweet_ids: [id],
    })
  }
  expect(page.meta).toStrictEqual({ result_count: 1, newest_id: id, oldest_id: id })
  const responses = [delivered, streamed, page]
  for (const path of [paths.rules, paths.ruleCounts, paths.webhooks, paths.links, paths.linkDetails]) {
    responses.push((await linked.call(path)).body as Envelope)
  }
  for (const { body } of refusals.responses.values()) responses.push(body as Envelope)
  expect(responses.filter((response) => JSON.stringify(response).includes("null"))).toEqual([])
  expect((await linked.call(paths.rules)).body.data[0]).not.toHaveProperty("tag")
})

test("kept-bytes: the server sends a post byte for byte as it came in, on one line, or rejects it", async ({
  server,
}) => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  const query = "?tweet.fields=public_metrics,geo,entities,source"
  const user = newUser()
  const ingest = (line: string): Promise<TestResponse> =>
    server.call(paths.posts, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: line,
    })
  const leave = new AbortController()
  const stream = await fetch(app.url + paths.stream + query, {
    headers: { Authorization: `Bearer ${app.app.bearer_token}` },
    signal: leave.signal,
  })
  const members = String.raw`"public_metrics":{"like_count":12345678901234567890,"x":1.10},"source":"\u00e9\/"`
  const id = newId()
  const post = `{"id":"${id}","author_id":"${user}","text":"cat",${members},"geo":{\r"place_id":\r"1"}}`
  const said = await ingest(`{"data":${post}}`)
  expect(said.body).toMatchObject({ accepted: 1 })
  const kept = `${members},"geo":{ "place_id": "1"}`
  let received = ""
  for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    received += chunk
    if (received.trimStart().endsWith("\r\n")) break
  }
  leave.abort()
  expect(received.trim()).toContain(kept)
  expect(received.trim()).not.toMatch(/[\r\n]/)
  expect((await server.call(postsPath(user, query))).text).toContain(kept)
  for (const doubtful of [
    `"geo":{"id":"1","id":"2"}`,
    `"geo":{"x":1e999}`,
    `"geo":${"[".repeat(63)}${"]".repeat(63)}`,
    `"lang":"en"},"includes":{"users":{}`,
  ]) {
    const refused = await ingest(`{"data":{"id":"${newId()}","text":"cat",${doubtful}}}`)
    expect(refused.body).toMatchObject({ accepted: 0, rejected: [{ line: 1, title: "Invalid Envelope" }] })
  }
})

test("user-names: a user without a name gets the user name as the name", async ({ server }) => {
  const user = newUser()
  // A recorded response of X's archive, where an account had no name.
  const recorded = {
    id: user,
    username: "oiman_yu",
    verified: false,
    public_metrics: { followers_count: 18 },
  }
  await ingestNew(server, {
    data: { id: newId(), text: "cat", author_id: user },
    includes: { users: [recorded] },
  })
  const page = await server.call(postsPath(user, "?expansions=author_id&user.fields=verified"))
  expect(page.body.includes.users).toEqual([{ id: user, username: "oiman_yu", name: "oiman_yu", verified: false }])
})

/** A post with all that has two names. Its author is of this id. */
function twoNamed(user: string): { readonly id: string; readonly quoted: string; readonly envelope: unknown } {
  const [quoted, edited, id] = newIds(3).toReversed() as [string, string, string]
  return {
    id,
    quoted,
    envelope: {
      data: {
        id,
        text: "hello @robin",
        author_id: user,
        lang: "en",
        created_at: "2026-03-14T09:26:53.000Z",
        edit_history_tweet_ids: [edited, id],
        note_tweet: { text: "a long hello" },
        entities: { mentions: [{ username: "robin", start: 6, end: 12 }] },
        referenced_tweets: [{ type: "quoted", id: quoted }],
        public_metrics: { retweet_count: 3, like_count: 1 },
      },
      includes: {
        users: [
          { id: "8", username: "robin", name: "Robin", public_metrics: { tweet_count: 9 }, pinned_tweet_id: "1" },
        ],
        tweets: [
          { id: quoted, text: "quoted", public_metrics: { retweet_count: 2 } },
          { id: edited, text: "before the edit" },
        ],
      },
    },
  }
}

test("field-names: the server accepts the names of both vocabularies in every parameter", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  const user = newUser()
  await ingestNew(server, twoNamed(user).envelope)
  const shown = async (query: string): Promise<string> => {
    const response = await linked.call(postsPath(user, `?${query}`))
    expect(response.status, query).toBe(200)
    return response.text
  }
  const chosen = await shown("tweet.fields=lang,created_at")
  expect(chosen).toContain('"lang":"en"')
  expect(chosen).toContain('"created_at":"2026-03-14T09:26:53.000Z"')
  const chosenAnew = await shown("post.fields=lang,created_at")
  expect(chosenAnew).toBe(chosen.replace("edit_history_tweet_ids", "edit_history_post_ids"))
  expect(await shown("tweet.fields=lang&post.fields=created_at")).toBe(chosenAnew)

  const bare = await shown("max_results=10")
  for (const [name, older] of Object.entries(selectableNames["post.fields"].meanings)) {
    const response = await shown(`tweet.fields=${older}`)
    if (name !== older && older !== "id" && older !== "edit_history_tweet_ids") expect(response).not.toBe(bare)
    expect(await shown(`tweet.fields=${name}`)).toBe(response)
    expect(await shown(`post.fields=${name}`)).toBe(await shown(`post.fields=${older}`))
  }
  for (const [name, older] of Object.entries(selectableNames.expansions.meanings)) {
    const response = await shown(`post.fields=id&expansions=${older}`)
    if (name !== older) expect(response).toContain('"includes":')
    expect(await shown(`post.fields=id&expansions=${name}`)).toBe(response)
  }
  expect(await shown("expansions=referenced_tweets")).toBe(await shown("expansions=referenced_tweets.id"))
  await link(linked, await linked.webhook(), "?post.fields=lang&expansions=referenced_posts")
})

test("two-vocabularies: post.fields or a new expansion name is answered in the new names, all else in the old", async ({
  server,
}) => {
  const user = newUser()
  const { id, envelope: sent } = twoNamed(user)
  await ingestNew(server, sent)
  const groups: readonly Readonly<Record<string, string>>[] = Object.values(newNames)
  // `username` is also a member of users, in both.
  const newer = groups.flatMap((group) => Object.keys(group)).filter((name) => name !== "username")
  const older = groups.flatMap((group) => Object.values(group))
  const namesOf = (text: string): string => {
    const [hasNewer, hasOlder] = [newer, older].map((names) => names.some((name) => text.includes(`"${name}":`)))
    return hasNewer === hasOlder ? "both or none" : hasNewer === true ? "newer" : "older"
  }
  const answers = async (query: string): Promise<ReadonlySet<string>> => {
    const routes = [`${paths.postById.replace(":id", id)}?`, `${paths.postsById}?ids=${id}&`, `${postsPath(user)}?`]
    return new Set(await Promise.all(routes.map(async (path) => namesOf((await server.call(path + query)).text))))
  }
  const everything = "user.fields=public_metrics,pinned_tweet_id"
  const fields = "edit_history_tweet_ids,note_tweet,referenced_tweets,public_metrics"
  for (const query of [
    everything,
    `tweet.fields=${fields}&${everything}`,
    `tweet.fields=note_post,referenced_posts&expansions=referenced_tweets.id,entities.mentions.username&${everything}`,
    `expansions=referenced_tweets,referenced_tweets.id.author_id,edit_history_tweet_ids&${everything}`,
  ]) {
    expect(await answers(query), query).toEqual(new Set(["older"]))
  }
  for (const query of [
    "post.fields=id",
    `post.fields=${fields}&expansions=referenced_tweets.id,entities.mentions.username&${everything}`,
    `tweet.fields=${fields}&expansions=referenced_posts&${everything}`,
    `tweet.fields=${fields}&post.fields=id&expansions=author_id,edit_history_post_ids&${everything}`,
    `expansions=username&${everything}`,
  ]) {
    expect(await answers(query), query).toEqual(new Set(["newer"]))
  }

  await using linked = await appWithReceiver(server)
  const word = `word${newId()}`
  await addRules(linked, { value: word })
  const query = "?post.fields=public_metrics,referenced_posts&expansions=referenced_posts"
  await link(linked, await linked.webhook(), query)
  await using stream = await openStream(linked, query)
  const { id: streamedId, envelope: match } = twoNamed(newUser())
  const { data, ...rest } = match as { data: object }
  await ingestNew(server, { ...rest, data: { ...data, text: word } })
  await linked.receiver.arrived(1)
  for (const delivered of [await stream.next(), JSON.parse(linked.receiver.received[0]?.body ?? "") as Envelope]) {
    expect(delivered.data).toMatchObject({ id: streamedId, public_metrics: { retweet_count: 3, like_count: 1 } })
    expect(delivered.data).toHaveProperty("referenced_tweets")
    expect(Object.keys(delivered.includes ?? {})).toEqual(["tweets"])
  }
})

test("required-members: under the new names metrics have every member that X's document requires, 0 where unknown", async ({
  server,
}) => {
  const user = newUser()
  const { id, quoted, envelope: sent } = twoNamed(user)
  await ingestNew(server, sent)
  const query = "public_metrics&user.fields=public_metrics&expansions=referenced_tweets.id,entities.mentions.username"
  const path = paths.postById.replace(":id", id)
  const old = (await server.call(`${path}?tweet.fields=${query}`)).body
  expect(old.data.public_metrics).toEqual({ retweet_count: 3, like_count: 1 })
  expect(old.includes.users[0].public_metrics).toEqual({ tweet_count: 9 })
  const { body } = await server.call(`${path}?post.fields=${query}`)
  const zeros = { reply_count: 0, quote_count: 0, bookmark_count: 0, impression_count: 0 }
  expect(body.data.public_metrics).toEqual({ repost_count: 3, like_count: 1, ...zeros })
  expect(body.includes.posts).toMatchObject([
    { id: quoted, public_metrics: { repost_count: 2, like_count: 0, ...zeros } },
  ])
  expect(body.includes.users[0].public_metrics).toEqual({
    post_count: 9,
    followers_count: 0,
    following_count: 0,
    listed_count: 0,
  })
  // A post whose metrics the source did not send has none.
  const bare = newId()
  await ingestNew(server, { data: { id: bare, text: "bare" } })
  const shown = await server.call(`${paths.postById.replace(":id", bare)}?post.fields=public_metrics`)
  expect(shown.body.data).toEqual({ id: bare, text: "bare", edit_history_post_ids: [bare] })
})

test("missing-posts: posts that are not there are errors within a 200, in the order of the request", async ({
  server,
}) => {
  const [first = "", second = "", missing = "", alsoMissing = ""] = newIds(4)
  await ingestNew(server, postBy(newUser(), first), postBy(newUser(), second))
  const notFound = (parameter: string, id: string): unknown => ({
    ...errorMembers,
    title: "Not Found Error",
    type: "https://api.x.com/2/problems/resource-not-found",
    detail: `Could not find tweet with ${parameter}: [${id}].`,
    resource_type: "tweet",
    resource_id: id,
    parameter,
    value: id,
  })
  const some = await server.call(`${paths.postsById}?ids=${[alsoMissing, second, missing, first].join(",")}`)
  expect(some.status).toBe(200)
  expect(idsIn(some.body.data)).toEqual([second, first])
  expect(some.body.errors).toEqual([notFound("ids", alsoMissing), notFound("ids", missing)])
  const none = await server.call(`${paths.postsById}?ids=${missing}`)
  expect([none.status, none.body]).toEqual([200, { errors: [notFound("ids", missing)] }])
  const one = await server.call(paths.postById.replace(":id", missing))
  expect([one.status, one.body]).toEqual([200, { errors: [notFound("id", missing)] }])
})

test("repeated-ids: an id that a look-up names again is shown once, at its first place, and counts twice", async ({
  server,
}) => {
  const [first = "", second = "", missing = ""] = newIds(3)
  await ingestNew(server, postBy(newUser(), first), postBy(newUser(), second))
  const ids = [second, missing, first, second, `0${first}`, missing]
  const { body } = await server.call(`${paths.postsById}?ids=${ids.join(",")}`)
  expect(idsIn(body.data)).toEqual([second, first])
  expect(body.errors).toHaveLength(1)
  const many = (count: number): Promise<TestResponse> =>
    server.call(`${paths.postsById}?ids=${Array.from({ length: count }, () => first).join(",")}`)
  expect((await many(100)).body.data).toHaveLength(1)
  const refused = await many(101)
  expect(refused.status).toBe(400)
  expect(refused.body.errors[0].message).toBe(
    "The number of values in the `ids` query parameter list [101] is not between 1 and 100",
  )
})

test("edited-posts: every version is found by its own id, and names all that are known, whenever they came", async ({
  server,
}) => {
  const user = newUser()
  const [last = "", first = ""] = newIds(2)
  const controls = { is_edit_eligible: true, editable_until: "2026-03-14T09:56:53.000Z" }
  const version = (id: string, text: string, ...history: string[]) =>
    postBy(user, id, {
      text,
      edit_history_tweet_ids: history,
      edit_controls: { edits_remaining: text === "first" ? "5" : 4, ...controls },
    })
  await ingestNew(server, version(first, "first", first))
  const alone = await server.call(`${paths.postById.replace(":id", first)}?tweet.fields=edit_controls`)
  expect(alone.body.data).toMatchObject({ edit_history_tweet_ids: [first], edit_controls: { edits_remaining: "5" } })
  await ingestNew(server, version(last, "last", first, last))
  const { body } = await server.call(`${paths.postsById}?ids=${first},${last}`)
  expect(body).toEqual({
    data: [
      { id: first, text: "first", edit_history_tweet_ids: [first, last] },
      { id: last, text: "last", edit_history_tweet_ids: [first, last] },
    ],
  })
  const query = "?tweet.fields=edit_controls&expansions=edit_history_tweet_ids,author_id"
  const whole = await server.call(`${paths.postById.replace(":id", first)}${query}`)
  expect(whole.body).toEqual({
    data: {
      id: first,
      text: "first",
      author_id: user,
      edit_history_tweet_ids: [first, last],
      edit_controls: { edits_remaining: "4", ...controls },
    },
    includes: {
      tweets: [
        {
          id: last,
          text: "last",
          author_id: user,
          edit_history_tweet_ids: [first, last],
          edit_controls: { edits_remaining: 4, ...controls },
        },
      ],
    },
    errors: [expect.objectContaining({ parameter: "author_id" })],
  })
  const underNewNames = await server.call(`${paths.postById.replace(":id", first)}?post.fields=text`)
  expect(underNewNames.body.data).toMatchObject({ edit_history_post_ids: [first, last] })
  expect(idsIn((await server.call(postsPath(user))).body.data)).toEqual([last])
})

test("look-up-room: posts beyond 2 MiB of a response are named as errors, and are shown when asked for again", async ({
  otherServer,
}) => {
  const user = newUser()
  const ids = newIds(6)
  const entities = {
    urls: Array.from({ length: 2_000 }, (_, at) => ({ start: at, end: at + 1, url: "x".repeat(250) })),
  }
  for (const id of ids) await ingestNew(otherServer, postBy(user, id, { entities }))
  const shown: string[] = []
  let requests = 0
  for (let rest = ids; rest.length > 0; requests += 1) {
    const { status, body } = await otherServer.call(`${paths.postsById}?tweet.fields=entities&ids=${rest.join(",")}`)
    expect(status).toBe(200)
    shown.push(...idsIn(body.data))
    const errors = (body.errors ?? []) as readonly { readonly resource_id: string }[]
    for (const error of errors) {
      expect(error).toMatchObject({ type: "https://api.x.com/2/problems/resource-unavailable", status: 503 })
    }
    rest = errors.map(({ resource_id }) => resource_id)
  }
  expect(shown).toEqual(ids)
  expect(requests).toBe(2)
})

test("member-fields: the server accepts X's names of members, and always shows every member", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  await linked.webhook()
  const webhooks = await linked.call(paths.webhooks)
  const counts = await linked.call(paths.ruleCounts)
  expect(Object.keys(webhooks.body.data[0]).toSorted()).toEqual(["created_at", "id", "url", "valid"])
  for (const query of [
    "?webhook_config.fields=created_at,id,url,valid",
    "?webhook_config.fields=id&webhook_config.fields=url",
  ]) {
    expect((await linked.call(paths.webhooks + query)).body).toEqual(webhooks.body)
  }
  for (const query of [
    "?rules_count.fields=all_project_client_apps,cap_per_client_app,cap_per_project,client_app_rules_count,project_rules_count",
    "?rules_count.fields=cap_per_project&rules_count.fields=project_rules_count",
  ]) {
    expect((await linked.call(paths.ruleCounts + query)).body).toEqual(counts.body)
  }
  expect((await linked.call(`${paths.webhooks}?webhook_config.fields=secret`)).status).toBe(400)
  expect((await linked.call(`${paths.ruleCounts}?rules_count.fields=colour`)).status).toBe(400)
})
