/** twitter-api-v2, as its users have it, with the settings that docs/clients.md shows, taken from there. */
import { readFileSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { ETwitterStreamEvent, TwitterApi, type IClientSettings } from "twitter-api-v2"
import { afterAll, beforeAll, expect, test } from "vitest"
import { envelope, startTestServer, type TestServer } from "../support/test-server.testing.ts"

let server: TestServer
let client: TwitterApi

/** The page's code as a module, where it finds the client among this repository's packages. */
async function pageSettings(): Promise<(url: string) => Partial<IClientSettings>> {
  const page = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8")
  const code = /```js\n(import[^`]+twitter-api-v2[^`]+)```/.exec(page)?.[1]
  if (code === undefined) throw new Error("docs/clients.md has no code for twitter-api-v2")
  const cache = fileURLToPath(new URL("../../node_modules/.cache", import.meta.url))
  await mkdir(cache, { recursive: true })
  const directory = await mkdtemp(`${cache}clients-page-`)
  try {
    const file = `${directory}/sluice.js`
    await writeFile(`${directory}/package.json`, '{"type":"module"}')
    await writeFile(file, code)
    const { sluice } = (await import(file)) as { sluice: (url: string) => Partial<IClientSettings> }
    return sluice
  } finally {
    await rm(directory, { recursive: true })
  }
}

beforeAll(async () => {
  server = await startTestServer()
  const sluice = await pageSettings()
  const login = new TwitterApi(
    { appKey: server.app.consumer_key, appSecret: server.app.consumer_secret },
    sluice(server.url),
  )
  client = await login.appLogin()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

test("the app logs in with its consumer key and secret", () => {
  expect(client.getActiveTokens()).toEqual({ type: "oauth2", bearerToken: server.app.bearer_token })
})

test("the client adds, lists and deletes rules, and gets invalid ones as errors", async () => {
  const added = await client.v2.updateStreamRules({
    add: [{ value: "cat", tag: "pets" }, { value: "cat (" }],
  })
  expect(added.meta.summary).toEqual({ created: 1, not_created: 1, valid: 1, invalid: 1 })
  expect(added.errors?.[0]).toMatchObject({ value: "cat (", title: "UnprocessableEntity" })
  const listed = await client.v2.streamRules()
  expect(listed.data).toEqual([{ id: added.data[0]?.id, value: "cat", tag: "pets" }])
  const deleted = await client.v2.updateStreamRules({ delete: { ids: listed.data.map(({ id }) => id) } })
  expect(deleted.meta.summary).toEqual({ deleted: 1, not_deleted: 0 })
})

test("the stream delivers every match whole, characters of all scripts included", async () => {
  await client.v2.updateStreamRules({ add: [{ value: "猫 OR cat", tag: "cats" }, { value: "猫" }] })
  const stream = await client.v2.searchStream({
    "tweet.fields": ["created_at"],
    expansions: ["author_id", "in_reply_to_user_id"],
  })
  const texts: string[] = []
  stream.on(ETwitterStreamEvent.Data, (event) => {
    expect(event.matching_rules.map(({ tag }) => tag)).toEqual(["cats", ""])
    expect(event.includes?.users?.[0]?.username).toBe("wren")
    expect((event as { errors?: readonly object[] }).errors).toMatchObject([
      { parameter: "in_reply_to_user_id", value: "6" },
    ])
    texts.push(event.data.text)
  })
  const sent = Array.from({ length: 300 }, (_, index) => `猫 ${"🐈\u200D⬛ é ا".repeat(index % 40)} ${index}`)
  // The server does not know the users that they answer, so each record has an error in addition to its data.
  const replies = { in_reply_to_user_id: "6" }
  // The client reads two records as one when a read of 64 KiB ends between the two bytes of a line's end. So less than
  // that is sent at a time.
  const atOnce = 50
  for (let from = 0; from < sent.length; from += atOnce) {
    const some = sent.slice(from, from + atOnce)
    await server.ingest(...some.map((text, index) => envelope(1_000 + from + index, text, replies)))
    await expect.poll(() => texts.length).toBe(from + atOnce)
  }
  expect(texts).toEqual(sent)
  stream.close()
})

test("the timeline's paginator reaches the last page", async () => {
  await server.ingest(...Array.from({ length: 57 }, (_, index) => envelope(10_000 + index, "post", { author_id: "8" })))
  const timeline = await client.v2.userTimeline("8", { max_results: 10 })
  const ids: string[] = []
  for await (const post of timeline) ids.push(post.id)
  expect(ids).toEqual(Array.from({ length: 57 }, (_, index) => String(10_056 - index)))
  expect(timeline.meta.next_token).toBeUndefined()
})

test("a refusal reaches the caller with its status and its reason", async () => {
  const refused = client.v2.userTimeline("8", { max_results: 101 })
  await expect(refused).rejects.toMatchObject({ code: 400, data: { title: "Invalid Request" } })
})
