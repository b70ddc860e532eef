/** Users: which are kept, and how look-ups answer. Each test bears the id of its row of docs/compatibility.md. */
import { paths, pathOf } from "@sluice/api"
import { expect } from "vitest"
import type { TestApp } from "../support/test-server.testing.ts"
import { bearer, test } from "./support.testing.ts"

let lastPost = 700_000

/** Sends a post of the time that includes the users. */
async function come(app: TestApp, createdAt: string, ...users: readonly object[]): Promise<string> {
  lastPost += 1
  const data = { id: String(lastPost), text: "a note", created_at: createdAt }
  const sent = await app.ingest({ data, includes: { users } })
  expect(sent.body).toMatchObject({ accepted: 1 })
  return data.id
}

const nameOf = async (app: TestApp, id: string): Promise<unknown> =>
  (await app.call(pathOf(paths.user, { id }))).body.data?.name

test("kept-users: the newest object of each user counts by the time of its post, and a name is its last owner's", async ({
  server,
}) => {
  const user = { id: "88001", username: "Kept", name: "second" }
  await come(server, "2026-01-02T00:00:00.000Z", user)
  await come(server, "2026-01-01T00:00:00.000Z", { ...user, name: "first" })
  expect(await nameOf(server, user.id)).toBe("second")
  await come(server, "2026-01-02T00:00:00.000Z", { ...user, name: "third" })
  expect(await nameOf(server, user.id)).toBe("third")
  await come(server, "2026-01-03T00:00:00.000Z", { id: "88002", username: "KEPT", name: "heir" })
  const { body } = await server.call(pathOf(paths.userByUsername, { username: "kept" }))
  expect(body.data).toMatchObject({ id: "88002", username: "KEPT" })
  expect(await nameOf(server, user.id)).toBe("third")
})

test("users-without-object: a user who only wrote posts, and came with no object, is not found", async ({ server }) => {
  lastPost += 1
  await server.ingest({ data: { id: String(lastPost), text: "a note", author_id: "88010" } })
  const { status, body } = await server.call(pathOf(paths.user, { id: "88010" }))
  expect([status, body.errors[0].title, body.data]).toEqual([200, "Not Found Error", undefined])
  expect((await server.call(paths.userPosts.replace(":id", "88010"))).body.data).toHaveLength(1)
})

test("missing-users: a single user who is not there is an error within a 200, and two writings of a name are one user", async ({
  server,
}) => {
  await come(server, "2026-01-02T00:00:00.000Z", { id: "88020", username: "Twice", name: "T" })
  const missing = await server.call(pathOf(paths.userByUsername, { username: "not_there" }))
  expect([missing.status, Object.keys(missing.body)]).toEqual([200, ["errors"]])
  expect(missing.body.errors).toMatchObject([{ parameter: "username", value: "not_there", resource_id: "not_there" }])
  const { body } = await server.call(`${paths.usersBy}?usernames=twice,TWICE,not_there`)
  expect(body.data).toEqual([{ id: "88020", username: "Twice", name: "T" }])
  expect(body.errors).toHaveLength(1)
})

test("user-expansions: the pinned and the most recent post and affiliated users are included when they are stored, else they are errors", async ({
  server,
}) => {
  const user = { id: "88030", username: "pinner", name: "P" }
  const pinned = await come(server, "2026-01-02T00:00:00.000Z", user)
  const path = (query: string): string => `${pathOf(paths.user, { id: user.id })}?${query}`
  const all = "expansions=affiliation.user_id,most_recent_tweet_id,pinned_tweet_id"
  expect((await server.call(path(all))).body).toEqual({ data: user })
  const club = { id: "88031", username: "club", name: "Club", verified: true }
  const named = {
    pinned_tweet_id: pinned,
    most_recent_tweet_id: pinned,
    affiliation: { user_id: ["88031", "88032"] },
    public_metrics: { tweet_count: 9 },
  }
  await come(server, "2026-01-03T00:00:00.000Z", { ...user, ...named }, club)
  const post = { id: pinned, text: "a note", edit_history_tweet_ids: [pinned] }
  const old = await server.call(path(`${all}&user.fields=public_metrics`))
  expect(old.body).toMatchObject({
    data: { ...user, ...named },
    includes: { users: [{ id: "88031", username: "club", name: "Club" }], tweets: [post] },
    errors: [{ parameter: "affiliation.user_id", resource_type: "user", resource_id: "88032" }],
  })
  const { affiliation } = named
  const newer = await server.call(path("expansions=affiliation,pinned_post_id&user.fields=public_metrics,verified"))
  expect(newer.body).toMatchObject({
    data: { ...user, affiliation, pinned_post_id: pinned, public_metrics: { post_count: 9, listed_count: 0 } },
    includes: { users: [club], posts: [{ id: pinned, text: "a note", edit_history_post_ids: [pinned] }] },
    errors: [{ parameter: "affiliation", resource_id: "88032" }],
  })
  const byFields = await server.call(path("post.fields=id&user.fields=pinned_tweet_id,most_recent_post_id"))
  expect(byFields.body).toEqual({ data: { ...user, pinned_post_id: pinned, most_recent_post_id: pinned } })

  await come(server, "2026-01-04T00:00:00.000Z", { ...user, pinned_tweet_id: "1", affiliation: { user_id: "88031" } })
  const { body } = await server.call(path(all))
  expect(body.includes.users).toHaveLength(1)
  expect(body.errors).toMatchObject([{ parameter: "pinned_tweet_id", resource_type: "tweet", resource_id: "1" }])
})

test("user-search: usernames that begin with the query by name, then users with all its words by id", async ({
  server,
}) => {
  const users = [
    { id: "88041", username: "zebrafan", name: "Someone" },
    { id: "88042", username: "Zebra", name: "Zebra" },
    { id: "88043", username: "other_a", name: "A zébra" },
    { id: "88044", username: "other_b", name: "B, of zebra's kind" },
    { id: "88045", username: "other_c", name: "zebras", description: "a zebra" },
  ]
  await come(server, "2026-01-02T00:00:00.000Z", ...users)
  const find = async (query: string, app: TestApp = server) =>
    ((await app.call(`${paths.userSearch}?query=${query}`)).body.data as { id: string }[]).map(({ id }) => id)
  expect(await find("zebra")).toEqual(["88042", "88041", "88044", "88043"])
  expect(await find("kind+zebra")).toEqual(["88044"])
  expect(await find("ZEBRA", await server.newApp())).toHaveLength(4)
})

test("users-me: a token of a user names its user, as stored, else by what is known; another token is refused", async ({
  server,
}) => {
  const { apps } = server.running
  const { application_id: id, business_user_id: business } = server.app
  await come(server, "2026-01-02T00:00:00.000Z", { id: "88050", username: "me_me", name: "Me" })
  const me = async (user: string) =>
    (await server.call(paths.me, bearer((await apps.createUserToken(id, user)) ?? ""))).body.data as object
  expect(await me("88050")).toEqual({ id: "88050", username: "me_me", name: "Me" })
  const made = `u${BigInt(business).toString(36)}`
  expect(await me(business)).toEqual({ id: business, name: "test", username: made })
  expect(await me("88051")).toEqual({ id: "88051", name: "u1vxv", username: "u1vxv" })
  for (const token of [server.app.bearer_token, await apps.createToken("operator"), await apps.createToken("ingest")]) {
    expect((await server.call(paths.me, bearer(token))).status).toBe(403)
  }
  expect(await apps.createUserToken("1", "88050")).toBeUndefined()
})

test("user-tokens: a token of a user reads posts and users, and nothing that belongs to the app", async ({
  server,
}) => {
  const { apps } = server.running
  const owner = await server.newApp()
  const token = bearer((await apps.createUserToken(owner.app.application_id, "88060")) ?? "")
  const readable = [paths.userPosts.replace(":id", "7"), `${paths.users}?ids=7`, `${paths.userSearch}?query=a`]
  for (const path of readable) expect((await server.call(path, token)).status, path).toBe(200)
  for (const path of [paths.stream, paths.rules, paths.webhooks, paths.links, paths.ruleCounts]) {
    const refused = await server.call(path, token)
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      "Authenticating with OAuth 2.0 User Context is forbidden for this endpoint.  Supported authentication types are [OAuth 2.0 Application-Only].",
    ])
  }
  expect((await server.call(paths.apps, token)).status).toBe(403)
  expect((await server.call(paths.posts, token)).status).toBe(403)
  const listed = (await apps.listTokens()).find(({ userId }) => userId === "88060")
  expect(listed).toMatchObject({ kind: "user", appId: owner.app.application_id })
  expect(await apps.revokeToken(listed?.id ?? "")).toBe(true)
  expect((await server.call(`${paths.users}?ids=7`, token)).status).toBe(401)
  const second = bearer((await apps.createUserToken(owner.app.application_id, "88060")) ?? "")
  await apps.rotate(owner.app.application_id as Parameters<typeof apps.rotate>[0])
  expect((await server.call(`${paths.users}?ids=7`, second)).status).toBe(401)
})
