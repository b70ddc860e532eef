/** Posts as pages, streams and deliveries show them. Each test bears the id of its row of docs/compatibility.md. */
import { expansionAliases, paths, postFieldAliases, type Envelope } from "@sluice/api"
import { expect } from "vitest"
import { openStream } from "../support/open-stream.testing.ts"
import { type TestResponse } from "../support/test-server.testing.ts"
import {
  addRules,
  appWithReceiver,
  ingestNew,
  link,
  newId,
  newIds,
  newUser,
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

test("field-names: tweet.fields and post.fields, with old and new field names, mean the same", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  const user = newUser()
  const [referred, edited, id] = newIds(3).toReversed() as [string, string, string]
  await ingestNew(server, {
    data: {
      id,
      text: "hello @robin",
      author_id: user,
      lang: "en",
      created_at: "2026-03-14T09:26:53.000Z",
      edit_history_tweet_ids: [edited, id],
      note_tweet: { text: "a long hello" },
      entities: { mentions: [{ username: "robin", start: 6, end: 12 }] },
      referenced_tweets: [{ type: "quoted", id: referred }],
    },
    includes: {
      users: [{ id: "8", username: "robin", name: "Robin" }],
      tweets: [
        { id: referred, text: "quoted" },
        { id: edited, text: "before the edit" },
      ],
    },
  })
  const shown = async (query: string): Promise<string> => {
    const response = await linked.call(postsPath(user, `?${query}`))
    expect(response.status, query).toBe(200)
    return response.text
  }
  const chosen = await shown("tweet.fields=lang,created_at")
  expect(chosen).toContain('"lang":"en"')
  expect(chosen).toContain('"created_at":"2026-03-14T09:26:53.000Z"')
  expect(await shown("post.fields=lang,created_at")).toBe(chosen)
  expect(await shown("tweet.fields=lang&post.fields=created_at")).toBe(chosen)

  const bare = await shown("max_results=10")
  for (const [newer, older] of Object.entries(postFieldAliases)) {
    const response = await shown(`tweet.fields=${older}`)
    if (!["edit_history_tweet_ids", "id"].includes(older)) expect(response).not.toBe(bare)
    expect(response).toContain(`"${older}":`)
    for (const query of [`tweet.fields=${newer}`, `post.fields=${newer}`, `post.fields=${older}`]) {
      expect(await shown(query)).toBe(response)
    }
  }
  for (const [newer, older] of Object.entries(expansionAliases)) {
    const response = await shown(`expansions=${older}`)
    expect(response).toContain('"includes":')
    expect(await shown(`expansions=${newer}`)).toBe(response)
  }
  await link(linked, await linked.webhook(), "?post.fields=lang&expansions=referenced_posts")
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
