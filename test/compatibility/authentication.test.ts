/**
 * Tokens: how an app obtains its token, the token's scope, and the refusal of a wrong one. Each test bears the id of
 * its row of docs/compatibility.md.
 */
import { paths } from "@sluice/api"
import { expect } from "vitest"
import { asId, type AppId } from "../../packages/server/src/model/ids.ts"
import { run as runSluice } from "../../packages/sluice/src/command.testing.ts"
import { storeSettings } from "../../packages/server/src/store/tested-store.testing.ts"
import { type TestResponse } from "../support/test-server.testing.ts"
import {
  addRules,
  allOperations,
  appWithReceiver,
  bearer,
  idsIn,
  link,
  linkPath,
  linkedIds,
  masterKey,
  problem,
  test,
  webhookPath,
} from "./support.testing.ts"

test("obtaining-a-token: the consumer key and secret give the app's token, and so does the command", async ({
  server,
}) => {
  const { app } = await server.newApp()
  const basic = (secret: string): string => `Basic ${Buffer.from(`${app.consumer_key}:${secret}`).toString("base64")}`
  const ask = (authorization: string, body = "grant_type=client_credentials"): Promise<TestResponse> =>
    server.call(paths.oauthToken, {
      method: "POST",
      headers: { Authorization: authorization, "content-type": "application/x-www-form-urlencoded" },
      body,
    })
  const given = await ask(basic(app.consumer_secret))
  expect(given.status).toBe(200)
  expect(given.body).toEqual({ token_type: "bearer", access_token: app.bearer_token })
  for (const refused of [
    await ask(basic("wrong")),
    await ask(`Bearer ${app.bearer_token}`),
    await ask(basic(app.consumer_secret), "grant_type=password"),
  ]) {
    expect(refused.status).toBe(403)
    expect(refused.text).not.toContain(app.bearer_token)
  }

  const { flags, env } = await storeSettings(server.data)
  const place = flags["data"] === undefined ? [] : ["--data", flags["data"]]
  const made = await runSluice(["app", "create", "by hand", "--json", ...place], {
    env: { ...env, SLUICE_MASTER_KEY: masterKey },
  })
  expect(made).toMatchObject({ status: 0, stderr: "" })
  const { bearer_token: token } = JSON.parse(made.stdout) as { bearer_token: string }
  expect((await server.call(paths.webhooks, bearer(token))).status).toBe(200)
})

test("token-scope: a token lasts until its revocation or rotation, and reaches only its own app", async ({
  server,
}) => {
  await using owner = await appWithReceiver(server)
  const stranger = await server.newApp()
  const id = await owner.webhook()
  await link(owner, id)
  const [rule] = await addRules(owner, { value: "cat" })
  expect((await stranger.call(paths.webhooks)).body.data).toEqual([])
  expect((await stranger.call(paths.links)).body).toEqual({ data: { links: [] } })
  expect((await stranger.call(paths.rules)).body.data ?? []).toEqual([])
  expect((await stranger.call(paths.linkDetails)).body).toEqual({ data: [] })
  for (const [method, path] of [
    ["PUT", webhookPath],
    ["DELETE", webhookPath],
    ["POST", linkPath],
    ["DELETE", linkPath],
  ] as const) {
    const [anothers, nobodys] = [await stranger.send(method, path(id)), await stranger.send(method, path("1"))]
    expect(anothers.status).toBe(404)
    expect(anothers.text).toBe(nobodys.text.replaceAll("[1]", `[${id}]`).replaceAll('"1"', `"${id}"`))
  }
  const deleted = await stranger.send("POST", paths.rules, { delete: { ids: [rule] } })
  expect(deleted.body.meta.summary).toEqual({ deleted: 0, not_deleted: 1 })
  expect(await linkedIds(owner)).toEqual([id])
  expect(idsIn((await owner.call(paths.rules)).body.data)).toEqual([rule])

  const { apps } = server.running
  const operator = bearer(await apps.createToken("operator"))
  const ingest = bearer(await apps.createToken("ingest"))
  const states = (await server.call(paths.linkDetails, operator)).body.data as { webhook_id: string }[]
  expect(states.map((state) => state.webhook_id)).toContain(id)
  expect((await server.call(paths.links, operator)).status).toBe(403)
  expect((await server.call(paths.links, ingest)).status).toBe(403)
  expect((await server.call(paths.linkDetails, ingest)).status).toBe(403)
  const posts = { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: "\n" }
  for (const token of [operator, ingest]) {
    const ingested = await server.call(paths.posts, {
      ...posts,
      headers: { ...posts.headers, ...token.headers },
    })
    expect(ingested.status).toBe(200)
  }

  const rotated = await apps.rotate(asId<AppId>(owner.app.application_id))
  expect((await owner.call(paths.links)).status).toBe(401)
  const renewed = bearer(rotated?.bearer_token ?? "")
  expect((await server.call(paths.links, renewed)).body.data.links).toMatchObject([{ webhook_id: id }])
  await apps.revoke(asId<AppId>(owner.app.application_id))
  expect((await server.call(paths.links, renewed)).status).toBe(401)
})

test("unauthorized: a missing, malformed, wrong or revoked token gets the same 401", async ({ server }) => {
  const revoked = await server.newApp()
  await server.running.apps.revoke(asId<AppId>(revoked.app.application_id))
  const token = server.app.bearer_token
  const wrong = token.slice(0, -2) + (token.endsWith("AA") ? "BB" : "AA")
  const headers: readonly Record<string, string>[] = [
    {},
    { Authorization: "" },
    { Authorization: token },
    { Authorization: "Bearer" },
    { Authorization: `Basic ${token}` },
    { Authorization: `Bearer ${token} ${token}` },
    { Authorization: "Bearer nonsense" },
    { Authorization: `Bearer${token}` },
    { Authorization: `Bearer ${wrong}` },
    { Authorization: `Bearer ${revoked.app.bearer_token}` },
  ]
  const expected = problem(401, "Unauthorized", "Unauthorized")
  const guarded = (await allOperations(server)).filter(({ isGuarded }) => isGuarded)
  expect(guarded.length).toBeGreaterThan(10)
  for (const { path, init } of guarded) {
    for (const header of headers) {
      const response = await fetch(server.url + path, { ...init, headers: { ...init.headers, ...header } })
      expect(response.status).toBe(401)
      expect(response.headers.get("www-authenticate")).toBe("Bearer")
      expect(await response.json()).toEqual(expected)
    }
  }
})

test("unsupported-authentication: an OAuth 1.0a signature gets a 403 that names the kinds of authentication the route takes", async ({
  server,
}) => {
  const signature = 'OAuth oauth_consumer_key="k", oauth_nonce="n", oauth_signature="s", oauth_version="1.0"'
  const guarded = (await allOperations(server)).filter(({ isGuarded }) => isGuarded)
  for (const { path, init } of guarded) {
    const headers = { ...init.headers, Authorization: signature }
    const response = await fetch(server.url + path, { ...init, headers })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({
      title: "Unsupported Authentication",
      type: "https://api.x.com/2/problems/unsupported-authentication",
      detail: expect.stringMatching(
        /^Authenticating with OAuth 1\.0a User Context is forbidden for this endpoint\. {2}Supported authentication types are \[(?:OAuth 2\.0 Application-Only|OAuth 2\.0 User Context|Ingest Token|Operator Token)[A-Za-z0-9., -]*\]\.$/,
      ) as string,
    })
  }
  const operator = await server.running.apps.createToken("operator")
  expect((await server.call(paths.rules, bearer(operator))).body.detail).toBe(
    "Authenticating with Operator Token is forbidden for this endpoint.  " +
      "Supported authentication types are [OAuth 2.0 Application-Only].",
  )
})
