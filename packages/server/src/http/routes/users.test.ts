import { paths, pathOf, usersLookedUpMax } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestApp, type TestServer } from "../../../../../test/support/test-server.testing.ts"

let server: TestServer
let other: TestApp
let userToken: string

const wren = {
  id: "7",
  name: "Wren",
  username: "Wren_W",
  description: "Likes herons",
  pinned_tweet_id: "11",
  verified: true,
}
const hawk = { id: "9007199254740993", name: "Hawk", username: "hawk", pinned_tweet_id: "404" }
const many = Array.from({ length: 25 }, (_, index) => ({
  id: String(100 + index),
  name: `Heron ${index}`,
  username: `bird${index}`,
}))

function post(id: string, ...users: readonly object[]) {
  const data = { id, text: `post ${id}`, author_id: "7", created_at: "2026-03-14T09:26:53.000Z", lang: "en" }
  return { data, includes: { users } }
}

beforeAll(async () => {
  server = await startTestServer()
  other = await server.newApp()
  userToken = (await server.running.apps.createUserToken(server.app.application_id, "7")) ?? ""
  await server.ingest(post("11", wren, hawk), post("12", ...many))
})

afterAll(() => server[Symbol.asyncDispose]())

const short = ({ id, name, username }: typeof hawk) => ({ id, name, username })
const notFound = (parameter: string, value: string) => ({
  title: "Not Found Error",
  detail: `Could not find user with ${parameter}: [${value}].`,
  resource_type: "user",
  parameter,
  resource_id: value,
  value,
  type: expect.stringMatching(/resource-not-found$/) as string,
})

test("users are looked up by their ids, in the order of the request, and who is missing is an error in that order", async () => {
  const found = await server.call(`${paths.users}?ids=8,${hawk.id},5,7`)
  expect(found.status).toBe(200)
  expect(found.body).toMatchObject({
    data: [short(hawk), short(wren)],
    errors: [notFound("ids", "8"), notFound("ids", "5")],
  })
  expect(Object.keys(found.body.data[0])).toEqual(["id", "name", "username"])
  const missing = await server.call(`${paths.users}?ids=8,5`)
  expect(missing.body).toMatchObject({ errors: [notFound("ids", "8"), notFound("ids", "5")] })
  expect(Object.keys(missing.body)).toEqual(["errors"])
  expect((await server.call(`${paths.users}?ids=7,7`)).body).toEqual({ data: [short(wren)] })
})

test("users are looked up by their names without regard to case, and answer in their own writing", async () => {
  const found = await server.call(`${paths.usersBy}?usernames=HAWK,nobody,wren_w`)
  expect(found.body).toMatchObject({ data: [short(hawk), short(wren)], errors: [notFound("usernames", "nobody")] })
  const one = await server.call(pathOf(paths.userByUsername, { username: "WREN_w" }))
  expect(one.body).toEqual({ data: short(wren) })
  const missing = await server.call(pathOf(paths.userByUsername, { username: "Nobody" }))
  expect([missing.status, missing.body]).toMatchObject([200, { errors: [notFound("username", "Nobody")] }])
  expect(missing.body).not.toHaveProperty("data")
})

test("users of other networks are looked up by their whole names, without regard to case", async () => {
  const longest = `${"a.".repeat(126)}a`
  const users = [
    { id: "201", name: "Alice", username: "Alice.bsky.social" },
    { id: "202", name: "Bob", username: "bob-b@Social.example" },
    { id: "203", name: "Long", username: `${longest}@${longest}` },
  ] as const
  await server.ingest(post("13", ...users))
  const names = users.map(({ username }) => username)
  const found = await server.call(`${paths.usersBy}?usernames=${names.join(",").toLowerCase()},alice`)
  expect(found.body).toMatchObject({ data: users, errors: [notFound("usernames", "alice")] })
  for (const user of users) {
    const path = pathOf(paths.userByUsername, { username: user.username.toUpperCase() })
    expect((await server.call(path)).body).toEqual({ data: user })
  }
  expect((await server.call("/2/users/by/username/bob-b@social.example")).body).toEqual({ data: users[1] })
})

test("a user is looked up by its id, with the fields of the request; another app gets the same bytes", async () => {
  const path = `${pathOf(paths.user, { id: "7" })}?user.fields=description,verified,protected`
  const one = await server.call(path)
  expect(one.text).toBe(
    '{"data":{"id":"7","name":"Wren","username":"Wren_W","description":"Likes herons","verified":true}}',
  )
  expect((await other.call(path)).text).toBe(one.text)
  expect((await server.call(path, { token: userToken })).text).toBe(one.text)
  const missing = await server.call(pathOf(paths.user, { id: "8" }))
  expect(missing.body).toMatchObject({ errors: [notFound("id", "8")] })
})

test("pinned posts are included as they are stored, with the fields of the request, or named as missing", async () => {
  const query = "expansions=pinned_tweet_id&tweet.fields=lang"
  const found = await server.call(`${paths.users}?ids=7,${hawk.id}&${query}`)
  expect(found.body).toMatchObject({
    data: [
      { ...short(wren), pinned_tweet_id: "11" },
      { ...short(hawk), pinned_tweet_id: "404" },
    ],
    includes: { tweets: [{ id: "11", text: "post 11", edit_history_tweet_ids: ["11"], lang: "en" }] },
    errors: [
      { detail: "Could not find tweet with pinned_tweet_id: [404].", resource_type: "tweet", resource_id: "404" },
    ],
  })
  expect(found.body.includes.tweets[0]).not.toHaveProperty("author_id")
})

test("a search finds names that begin with the query, then users with its words, page by page, each once", async () => {
  const seen: string[] = []
  let token = ""
  do {
    const page = await server.call(`${paths.userSearch}?query=bird&max_results=10${token}`)
    expect(page.status, page.text).toBe(200)
    seen.push(...(page.body.data as { username: string }[]).map(({ username }) => username))
    token = page.body.meta.next_token === undefined ? "" : `&next_token=${page.body.meta.next_token as string}`
  } while (token !== "")
  expect(seen).toEqual(many.map(({ username }) => username).toSorted())

  const words = await server.call(`${paths.userSearch}?query=heron&max_results=20`)
  expect((words.body.data as { id: string }[]).map(({ id }) => id)).toEqual(
    many
      .map(({ id }) => id)
      .toReversed()
      .slice(0, 20),
  )
  const rest = await server.call(
    `${paths.userSearch}?query=heron&max_results=20&pagination_token=${words.body.meta.next_token as string}`,
  )
  expect((rest.body.data as { id: string }[]).map(({ id }) => id)).toEqual(
    many
      .map(({ id }) => id)
      .toReversed()
      .slice(20),
  )
  expect(rest.body.meta).toEqual({})
  expect((await server.call(`${paths.userSearch}?query=24+heron`)).body).toEqual({ data: [many[24]], meta: {} })
  expect((await server.call(`${paths.userSearch}?query=%27+`)).body).toEqual({ data: [], meta: {} })
})

test("a user who is renamed or deleted between two pages of a search moves no other to another page", async () => {
  const edges = [
    (id: string) => server.ingest(post(`${id}1`, { id, name: "Alice", username: `alice${id}` })),
    (id: string) => server.ingest(post(`${id}1`, { id, name: "Zed", username: `zed${id}` })),
    (id: string) => server.ingest({ data: { user_delete: { user: { id } } } }),
  ]
  for (const [round, change] of edges.entries()) {
    const prefix = `tern${round}`
    const terns = Array.from({ length: 15 }, (_, at) => ({
      id: String(1_000 * (round + 1) + at),
      name: "Tern",
      username: `${prefix}_${String(at).padStart(2, "0")}`,
    }))
    await server.ingest(post(`90${round}`, ...terns))
    const first = await server.call(`${paths.userSearch}?query=${prefix}&max_results=10`)
    expect((first.body.data as { id: string }[]).at(-1)?.id).toBe(terns[9]?.id)
    await change(terns[9]?.id ?? "")
    const lookedUp = await server.call(`${paths.users}?ids=${terns[9]?.id}`)
    expect(lookedUp.body.data?.[0]?.username).not.toBe(terns[9]?.username)
    const token = first.body.meta.next_token as string
    const rest = await server.call(`${paths.userSearch}?query=${prefix}&max_results=10&next_token=${token}`)
    expect(rest.body).toMatchObject({ data: terns.slice(10), meta: {} })
  }
})

test("a page token of a search is one app's and one query's, and is named as it was given", async () => {
  const { body } = await server.call(`${paths.userSearch}?query=bird&max_results=10`)
  const token = body.meta.next_token as string
  for (const [name, path] of [
    ["next_token", `${paths.userSearch}?query=birds&next_token=${token}`],
    ["pagination_token", `${paths.userSearch}?query=birds&pagination_token=${token}`],
    ["next_token", `${paths.userSearch}?query=bird&next_token=zzz`],
  ] as const) {
    const refused = await server.call(path)
    expect([refused.status, refused.body.errors[0].message]).toEqual([400, expect.stringContaining(`\`${name}\``)])
  }
  expect(await other.call(`${paths.userSearch}?query=bird&next_token=${token}`)).toMatchObject({ status: 400 })
  const both = `${paths.userSearch}?query=bird&next_token=${token}&pagination_token=${token}`
  expect(await server.call(both)).toMatchObject({ status: 400 })
})

test("the user of a token is shown to that token alone", async () => {
  expect((await server.call(paths.me, { token: userToken })).body).toEqual({ data: short(wren) })
  const refused = await server.call(paths.me)
  expect([refused.status, refused.body]).toMatchObject([
    403,
    {
      title: "Unsupported Authentication",
      detail:
        "Authenticating with OAuth 2.0 Application-Only is forbidden for this endpoint.  Supported authentication types are [OAuth 1.0a User Context, OAuth 2.0 User Context].",
    },
  ])
  expect(await server.call(`${paths.me}?ids=7`, { token: userToken })).toMatchObject({ status: 400 })
})

test.each([
  [paths.users, "The `ids` query parameter can not be empty"],
  [`${paths.users}?ids=`, "The `ids` query parameter can not be empty"],
  [`${paths.usersBy}?user.fields=name`, "The `usernames` query parameter can not be empty"],
  [`${paths.userSearch}?max_results=5`, "The `query` query parameter can not be empty"],
  [
    `${paths.users}?ids=${Array.from({ length: 110 }, (_, index) => index).join(",")}`,
    `The number of values in the \`ids\` query parameter list [110] is not between 1 and ${usersLookedUpMax}`,
  ],
  [`${paths.users}?ids=47998559,foo`, "The `ids` query parameter value [foo] does not match ^[0-9]{1,19}$"],
  [
    `${paths.users}?ids=12345678901234567890`,
    "The `ids` query parameter value [12345678901234567890] does not match ^[0-9]{1,19}$",
  ],
  ["/2/users/by/username/%20%20", "The `username` query parameter value [  ] does not match ^[A-Za-z0-9_]{1,15}$"],
  ...["-b", "c.", "d..e@", "@f", "g@h@i", "j_@k_l", "m!", "é"].map((name): [string, string] => [
    `${paths.usersBy}?usernames=a,${encodeURIComponent(name)}`,
    `The \`usernames\` query parameter value [${name}] does not match ^[A-Za-z0-9_]{1,15}$`,
  ]),
  [
    `${paths.usersBy}?usernames=${"n".repeat(254)}`,
    `The \`usernames\` query parameter value [${"n".repeat(199)}…] does not match ^[A-Za-z0-9_]{1,15}$`,
  ],
  [
    "/2/users/by/username/@alice@social.example",
    "The `username` query parameter value [@alice@social.example] does not match ^[A-Za-z0-9_]{1,15}$",
  ],
  ["/2/users/asdf", "The `id` query parameter value [asdf] does not match ^[0-9]{1,19}$"],
  [`${paths.userSearch}?query=a.b`, "The `query` query parameter value [a.b] does not match ^[A-Za-z0-9_' ]{1,50}$"],
  [
    `${paths.userSearch}?query=a&max_results=1001`,
    "The `max_results` query parameter value [1001] is not between 1 and 1000",
  ],
  [
    `${paths.users}?ids=7&expansions=author_id`,
    "The `expansions` query parameter value [author_id] is not one of [affiliation,affiliation.user_id,most_recent_post_id,most_recent_tweet_id,pinned_post_id,pinned_tweet_id]",
  ],
  [
    "/2/users/7?dummy=1",
    "The query parameter [dummy] is not one of [id,user.fields,expansions,tweet.fields,post.fields]",
  ],
])("GET %s is refused", async (path, message) => {
  const refused = await server.call(path)
  expect([refused.status, refused.body.title, refused.body.errors[0].message]).toEqual([
    400,
    "Invalid Request",
    message,
  ])
})
