/**
 * Requests: parameters, bodies and their sizes, and the headers of every response. Each test bears the id of its row of
 * docs/compatibility.md.
 */
import { bodyBytesMax, notOffered, paths, selectableNames } from "@sluice/api"
import { expect } from "vitest"
import { openStream } from "../support/open-stream.testing.ts"
import { rawResponses, type RawResponse } from "../support/raw-http.testing.ts"
import { envelope, type TestResponse, type TestApp } from "../support/test-server.testing.ts"
import {
  addRules,
  allOperations,
  appWithReceiver,
  bearer,
  errorMembers,
  ingestPosts,
  link,
  linkPath,
  linksOf,
  newId,
  newUser,
  postsPath,
  problem,
  test,
} from "./support.testing.ts"

test("unknown-parameter: every route refuses an unknown parameter and names it", async ({ server }) => {
  const app = await server.newApp()
  const { apps } = server.running
  const tokens = {
    app: app.app.bearer_token,
    user: (await apps.createUserToken(app.app.application_id, "7")) ?? "",
    operator: await apps.createToken("operator"),
  }
  for (const { method, path, init, isFor } of await allOperations(server)) {
    const query = path.includes("?") ? "&colour=blue" : "?colour=blue"
    const refused = await app.call(path + query, { ...init, token: tokens[isFor] })
    expect.soft(refused.status, `${method} ${path}`).toBe(400)
    // Required parameters are missing too, and all faults are named.
    expect.soft(refused.body.errors[0], `${method} ${path}`).toMatchObject({
      ...errorMembers,
      title: "Invalid Request",
      parameters: { colour: ["blue"] },
      message: expect.stringMatching(/^The query parameter \[colour\] is not one of \[/) as string,
    })
  }
})

test("unknown-names: an unknown field or expansion is refused with the names that its parameter has", async ({
  server,
}) => {
  const routes = [
    `${paths.postsById}?ids=1&`,
    `${paths.postById.replace(":id", "1")}?`,
    `${postsPath("1")}?`,
    `${paths.stream}?`,
  ]
  for (const [parameter, { listed }] of Object.entries(selectableNames)) {
    const known = listed[0] ?? ""
    const list = `${known},colour,${known.toUpperCase()}`
    for (const path of routes) {
      const refused = await server.call(`${path}${parameter}=${list}`)
      expect(refused.status, path).toBe(400)
      expect(refused.body.errors, path).toMatchObject(
        ["colour", known.toUpperCase()].map((value) => ({
          parameters: { [parameter]: [list] },
          message: `The \`${parameter}\` query parameter value [${value}] is not one of [${listed.join(",")}]`,
        })),
      )
    }
  }
  const { listed: older } = selectableNames["tweet.fields"]
  const { listed: newer } = selectableNames["post.fields"]
  expect([older.includes("note_tweet"), older.includes("note_post")]).toEqual([true, false])
  expect([newer.includes("note_tweet"), newer.includes("note_post")]).toEqual([false, true])
})

test("refused-lists: a refusal repeats a whole list of up to 2,100 characters, and names the value that is wrong", async ({
  server,
}) => {
  const refusedWith = async (list: string): Promise<unknown> =>
    (await server.call(`${paths.postsById}?ids=${list}`)).body.errors
  const ids = Array.from({ length: 99 }, (_, at) => String(10n ** 18n + BigInt(at)))
  const list = [...ids, "foo"].join(",")
  expect(await refusedWith(list)).toMatchObject([
    { parameters: { ids: [list] }, message: "The `ids` query parameter value [foo] does not match ^[0-9]{1,19}$" },
  ])
  const tooLong = [...ids, ...ids].join(",")
  expect(await refusedWith(tooLong)).toMatchObject([{ parameters: { ids: [`${tooLong.slice(0, 2_099)}…`] } }])
})

test("required-parameters: an absent or empty parameter that a route needs is refused in X's words", async ({
  server,
}) => {
  for (const [query, given] of [
    ["", []],
    ["?ids=", [""]],
  ] as const) {
    const refused = await server.call(paths.postsById + query)
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toMatchObject([
      { parameters: { ids: given }, message: "The `ids` query parameter can not be empty" },
    ])
  }
})

test("not-offered: a path of X that Sluice does not offer gets a 404 that says why and what there is", async ({
  server,
}) => {
  for (const { matter, reason, paths: patterns } of notOffered) {
    for (const pattern of patterns) {
      const path = pattern.replaceAll(/:\w+/g, "12").replace("/*", "")
      for (const [method, url] of [
        ["GET", path],
        ["POST", `${path}?ids=1`],
        ...(pattern.endsWith("/*") ? [["DELETE", `${path}/5/6`] as const] : []),
      ] as const) {
        const refused = await server.call(url, { method })
        expect([url, refused.status]).toEqual([url, 404])
        expect(refused.body).toEqual(
          problem(
            404,
            "Not Found",
            `Sluice does not offer ${matter}. ${reason} It has the posts that it received, and the users that came with ` +
              "them. GET /openapi.json describes what there is.",
          ),
        )
      }
    }
  }
})

test("repeated-lists: a repeated list parameter is one list, also as the fields of a link", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  const user = newUser()
  await ingestPosts(server, user, 1)
  const joined = await linked.call(postsPath(user, "?tweet.fields=lang,created_at&expansions=author_id"))
  const apart = await linked.call(postsPath(user, "?tweet.fields=lang&expansions=author_id&tweet.fields=created_at"))
  expect(apart.status).toBe(200)
  expect(apart.text).toBe(joined.text)
  const ids = await addRules(linked, { value: "cat" }, { value: "dog" })
  const byId = await linked.call(`${paths.rules}?ids=${ids[0]}&ids=${ids[1]}`)
  expect(byId.body.data).toHaveLength(2)
  const id = await linked.webhook()
  await link(linked, id, "?tweet.fields=lang&expansions=author_id&tweet.fields=created_at")
  expect((await linksOf(linked))[0]?.fields).toEqual(["tweet.fields=lang", "created_at", "expansions=author_id"])
  await link(linked, id, "?tweet.fields=lang,created_at&expansions=author_id")
  expect((await linked.call(postsPath(user, "?max_results=5&max_results=6"))).status).toBe(400)
})

test("boolean-parameters: the server accepts true and false in any case", async ({ server }) => {
  const app = await server.newApp()
  const add = { add: [{ value: "cat" }] }
  for (const word of ["True", "TRUE", "true"]) {
    expect((await app.send("POST", `${paths.rules}?dry_run=${word}`, add)).status).toBe(201)
  }
  expect((await app.call(paths.rules)).body.meta.result_count).toBe(0)
  expect((await app.send("POST", `${paths.rules}?dry_run=False&delete_all=FALSE`, add)).status).toBe(201)
  const all = await app.send("POST", `${paths.rules}?delete_all=True`)
  expect(all.body.meta.summary).toEqual({ deleted: 1, not_deleted: 0 })
  for (const word of ["1", "yes", "t", "null"]) {
    expect((await app.send("POST", `${paths.rules}?dry_run=${word}`, add)).status).toBe(400)
  }
})

test("null-members: a null member of a body counts as absent", async ({ server }) => {
  const app = await server.newApp()
  const added = await app.send("POST", paths.rules, { add: [{ value: "cat", tag: null }], delete: null })
  expect(added.status).toBe(201)
  expect(added.body.data).toEqual([{ id: expect.any(String) as string, value: "cat" }])
  const deleted = await app.send("POST", paths.rules, { add: null, delete: { ids: null, values: ["cat"] } })
  expect(deleted.body.meta.summary).toEqual({ deleted: 1, not_deleted: 0 })
  const needed = await app.send("POST", paths.rules, { add: [{ value: null, tag: "pets" }] })
  expect(needed.status).toBe(400)
  expect(needed.body.errors).toMatchObject([{ message: "field is required", parameters: { "add.value": [] } }])
  expect((await app.send("POST", paths.rules, { add: [{ value: "cat", id: null }] })).status).toBe(400)
})

test("empty-bodies: an empty body has no type, regardless of its header", async ({ server }) => {
  for (const { method, path, init } of await allOperations(server)) {
    if (method === "GET" || path === paths.stream) continue
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "application/json"]) {
      const { status } = await server.call(path, {
        ...init,
        headers: { ...init.headers, "content-type": type },
        body: "",
      })
      expect.soft(status, `${method} ${path} ${type}`).not.toBe(415)
    }
  }
})

test("unexpected-bodies: the server refuses fields in the body of a link, and does not ignore them", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const id = await linked.webhook()
  const refused = await linked.send("POST", linkPath(id), {
    "tweet.fields": ["lang"],
    expansions: "author_id",
  })
  expect(refused.status).toBe(400)
  expect(refused.body.errors).toMatchObject([{ ...errorMembers, message: "This route takes no body" }])
  expect(await linksOf(linked)).toEqual([])
  for (const nothing of [{}, null]) {
    expect((await linked.send("POST", linkPath(id), nothing)).status).toBe(200)
    expect((await linked.send("DELETE", linkPath(id), nothing)).status).toBe(200)
  }
})

test("request-size: JSON may have 1 MiB, and NDJSON any length with lines of 256 KiB or the operator's setting", async ({
  server,
  otherServer,
}) => {
  const app = await server.newApp()
  const padded = (bytes: number): string => `{"add":[{"value":"cat"}]`.padEnd(bytes - 1) + "}"
  const post = (body: string): Promise<TestResponse> =>
    app.call(paths.rules, { method: "POST", headers: { "content-type": "application/json" }, body })
  const tooLarge = await post(padded(bodyBytesMax + 1))
  expect(tooLarge.status).toBe(413)
  expect(tooLarge.body).toEqual(problem(413, "Payload Too Large", "The body is larger than 1048576 bytes."))
  expect((await post(padded(bodyBytesMax))).status).toBe(201)

  const ofBytes = (bytes: number): string => {
    const line = JSON.stringify(envelope(newId(), "long", { padding: "" }))
    return line.replace('"padding":""', `"padding":"${"x".repeat(bytes - line.length)}"`)
  }
  for (const [target, lineBytesMax] of [
    [server, 262_144],
    [otherServer, bodyBytesMax],
  ] as const) {
    const lines = [lineBytesMax, lineBytesMax + 1, lineBytesMax, lineBytesMax].map(ofBytes)
    const ingested = await target.call(paths.posts, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: lines.join("\n"),
    })
    expect(ingested.status).toBe(200)
    const detail = `The line has ${lineBytesMax + 1} bytes, and may have at most ${lineBytesMax}.`
    expect(ingested.body).toEqual({
      lines: 4,
      accepted: 3,
      duplicates: 0,
      rejected: [{ line: 2, title: "Line Too Long", detail }],
      rejected_count: 1,
    })
  }
})

test("rejected-lines: the server counts and names rejected lines, and stops at 10,000 more than it accepted", async ({
  server,
}) => {
  const good = (): string => JSON.stringify(envelope(newId(), "good"))
  const ingest = (...lines: readonly string[]): Promise<TestResponse> =>
    server.call(paths.posts, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: lines.join("\n"),
    })
  const bad = (count: number): readonly string[] => Array.from({ length: count }, () => "{}")
  const taken = await ingest(good(), ...bad(150), good())
  expect(taken.status).toBe(200)
  expect(taken.body).toMatchObject({ lines: 152, accepted: 2, rejected_count: 150 })
  expect(taken.body.rejected).toHaveLength(100)
  expect(taken.body.rejected[0]).toMatchObject({ line: 2, title: "Invalid Envelope" })
  const refused = await ingest(good(), ...bad(12_000), good())
  expect(refused.status).toBe(400)
  expect(refused.body).toMatchObject({
    title: "Too Many Rejected Lines",
    errors: [{ lines: 10_001, accepted: 1, duplicates: 0, rejected_count: 10_000 }],
  })
})

test("rate-limit-headers: every response but a 401 has rate limit headers, and the limit never runs out", async ({
  server,
  refusals,
}) => {
  const beforeS = Date.now() / 1000
  const refused = [...refusals.responses.values()]
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  await using stream = await openStream(app)
  const responses = [
    ...refused.map(({ status, headers }) => ({ status, headers })),
    stream.response,
    await app.call(paths.links),
    await app.call(postsPath(newUser())),
    await app.call(paths.links, { method: "HEAD" }),
    await app.send("POST", paths.rules, { add: [{ value: "dog" }] }),
    await server.call(paths.healthz),
    await server.call(paths.metrics),
    await rawRequest(server, "GET /2/webhooks HTTP/1.1\r\nno colon\r\n\r\n"),
    await rawRequest(server, `GET /2/webhooks HTTP/1.1\r\nhost: a\r\nlong: ${"x".repeat(20_000)}\r\n\r\n`),
  ]
  const nowS = Date.now() / 1000
  for (const [index, { status, headers }] of responses.entries()) {
    const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) => headers.get(`x-rate-limit-${name}`))
    if (status === 401) {
      expect([limit, remaining, reset]).toEqual([null, null, null])
    } else {
      expect(Number(limit)).toBeGreaterThan(0)
      expect(remaining).toBe(limit)
      // The refusals may be those of an earlier test, and of a window that is over since.
      expect(Number(reset)).toBeGreaterThan((index < refused.length ? refusals.startedAtS : beforeS) - 1)
      expect(Number(reset)).toBeLessThanOrEqual(nowS + 900)
    }
  }
  expect(responses.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 201, 400, 401, 404, 429, 431]))
})

test("access-level: every response but a 401 has the access level read", async ({ server }) => {
  const responses = [
    await server.call(paths.rules),
    await server.call(paths.webhooks, bearer("nonsense")),
    await server.call("/2/nothing"),
    await server.call(`${paths.rules}?colour=blue`),
    await rawRequest(server, "GET /2/webhooks HTTP/1.1\r\nno colon\r\n\r\n"),
  ]
  const levels = responses.map(({ status, headers }) => [status, headers.get("x-access-level")])
  expect(levels).toEqual([
    [200, "read"],
    [401, null],
    [404, "read"],
    [400, "read"],
    [400, "read"],
  ])
})

test("versioning: X's API is under /2, and Sluice's additions are under /sluice/v1", async ({ server }) => {
  const described = Object.keys((await server.call(paths.openapi)).body.paths as object)
  const under = (prefix: string): string[] => described.filter((path) => path.startsWith(prefix)).toSorted()
  expect(under("/2/")).toEqual([
    "/2/connections",
    "/2/connections/all",
    "/2/connections/{endpoint_id}",
    "/2/openapi.json",
    "/2/tweets",
    "/2/tweets/compliance/stream",
    "/2/tweets/counts/all",
    "/2/tweets/counts/recent",
    "/2/tweets/sample/stream",
    "/2/tweets/sample10/stream",
    "/2/tweets/search/all",
    "/2/tweets/search/recent",
    "/2/tweets/search/stream",
    "/2/tweets/search/stream/rules",
    "/2/tweets/search/stream/rules/counts",
    "/2/tweets/search/webhooks",
    "/2/tweets/search/webhooks/{webhook_id}",
    "/2/tweets/{id}",
    "/2/tweets/{id}/quote_tweets",
    "/2/tweets/{id}/retweeted_by",
    "/2/tweets/{id}/retweets",
    "/2/usage/tweets",
    "/2/users",
    "/2/users/by",
    "/2/users/by/username/{username}",
    "/2/users/compliance/stream",
    "/2/users/me",
    "/2/users/search",
    "/2/users/{id}",
    "/2/users/{id}/mentions",
    "/2/users/{id}/tweets",
    "/2/webhooks",
    "/2/webhooks/replay",
    "/2/webhooks/{webhook_id}",
  ])
  expect(under("/sluice/v1/")).toEqual([
    "/sluice/v1/apps",
    "/sluice/v1/apps/{id}",
    "/sluice/v1/apps/{id}/limits",
    "/sluice/v1/apps/{id}/rotate",
    "/sluice/v1/dead-letters",
    "/sluice/v1/dead-letters/redeliver",
    "/sluice/v1/deletions",
    "/sluice/v1/deliveries/redeliver",
    "/sluice/v1/limits",
    "/sluice/v1/links",
    "/sluice/v1/links/{webhook_id}",
    "/sluice/v1/links/{webhook_id}/attempts",
    "/sluice/v1/links/{webhook_id}/attempts/{attempt_id}",
    "/sluice/v1/matches",
    "/sluice/v1/overview",
    "/sluice/v1/posts",
    "/sluice/v1/posts/{post_id}",
    "/sluice/v1/replays",
    "/sluice/v1/replays/{job_id}",
    "/sluice/v1/rules",
    "/sluice/v1/rules/cost",
    "/sluice/v1/rules/test",
    "/sluice/v1/rules/{rule_id}",
    "/sluice/v1/session",
    "/sluice/v1/sources",
    "/sluice/v1/sources/{name}",
    "/sluice/v1/sources/{name}/dead_letters",
    "/sluice/v1/sources/{name}/dead_letters/discard",
    "/sluice/v1/sources/{name}/dead_letters/repeat",
    "/sluice/v1/sources/{name}/pause",
    "/sluice/v1/sources/{name}/resume",
    "/sluice/v1/sources/{name}/rewind",
    "/sluice/v1/tokens",
    "/sluice/v1/tokens/{token_id}",
    "/sluice/v1/trouble",
    "/sluice/v1/trouble/disconnect",
    "/sluice/v1/trouble/{trouble_id}",
    "/sluice/v1/webhooks",
    "/sluice/v1/webhooks/{webhook_id}",
    "/sluice/v1/webhooks/{webhook_id}/signing_key",
    "/sluice/v1/webhooks/{webhook_id}/test",
  ])
  // Two groups have no version: X's own way to a token, and the routes of operation.
  expect(described.filter((path) => !/^\/(2|sluice\/v1)\//.test(path)).toSorted()).toEqual([
    "/",
    "/healthz",
    "/metrics",
    "/oauth2/token",
    "/openapi.json",
    "/readyz",
  ])
  for (const path of ["/tweets/search/webhooks", "/1.1/tweets/search/webhooks", "/2/posts", "/sluice/v2/links"]) {
    expect((await server.call(path)).status).toBe(404)
  }
})

/** Sends bytes over a socket; returns the first response. */
async function rawRequest(server: TestApp, bytes: string): Promise<RawResponse> {
  const [response] = await rawResponses(server.url, bytes)
  if (response === undefined) throw new Error("no response")
  return response
}
