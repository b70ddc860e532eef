import { paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"

let at: TestServer
let operator: string
beforeAll(async () => {
  at = await startTestServer()
  operator = await at.running.apps.createToken("operator")
})
afterAll(() => at[Symbol.asyncDispose]())

const asOperator = (method: string, path: string, body?: unknown) => at.send(method, path, body, operator)

test("an app is made, listed without its secrets, given new ones, and revoked", async () => {
  const { status, body } = await asOperator("POST", paths.apps, { name: " birds " })
  expect(status).toBe(200)
  const { application_id: id, bearer_token: token, consumer_secret: secret } = body.data as Record<string, string>
  expect((await at.call(paths.rules, { token: token ?? "" })).status).toBe(200)
  const listed = await at.call(paths.apps, { token: operator })
  expect(listed.body.data[0]).toMatchObject({ id, name: "birds", revoked: false })
  for (const one of [secret, token]) expect(listed.text).not.toContain(one)

  const rotated = await asOperator("POST", paths.rotateApp.replace(":id", id ?? ""))
  expect(rotated.body.data.bearer_token).not.toBe(token)
  expect((await at.call(paths.rules, { token: token ?? "" })).status).toBe(401)
  expect((await at.call(paths.rules, { token: rotated.body.data.bearer_token as string })).status).toBe(200)

  const path = paths.app.replace(":id", id ?? "")
  expect((await asOperator("DELETE", path)).body).toEqual({ data: { revoked: true } })
  expect((await at.call(paths.rules, { token: rotated.body.data.bearer_token as string })).status).toBe(401)
  expect((await asOperator("DELETE", path)).body).toEqual({ data: { revoked: false } })
  expect((await asOperator("POST", paths.rotateApp.replace(":id", id ?? ""))).status).toBe(409)
})

test("a token is made, listed by an id that reveals nothing of it, and revoked", async () => {
  const named = { kind: "ingest", name: " CI of the zoo " }
  const { token } = (await asOperator("POST", paths.tokens, named)).body.data as { token: string }
  const before = await at.call(paths.tokens, { token: operator })
  expect(before.text).not.toContain(token)
  const ingest = (before.body.data as { id: string; kind: string }[]).filter(({ kind }) => kind === "ingest")
  expect(ingest).toEqual([expect.objectContaining({ name: "CI of the zoo" })])
  expect(ingest[0]).not.toHaveProperty("last_used_at")
  expect(token).not.toContain(ingest[0]?.id)
  const ndjson = { "content-type": "application/x-ndjson" }
  const send = () => at.call(paths.posts, { method: "POST", token, headers: ndjson, body: "" })
  expect((await send()).status).toBe(200)
  const after = await at.call(paths.tokens, { token: operator })
  expect(after.body.data).toContainEqual({ ...ingest[0], last_used_at: expect.any(String) as string })
  expect((await asOperator("POST", paths.tokens, { kind: "ingest", name: " " })).status).toBe(400)
  const path = paths.token.replace(":token_id", ingest[0]?.id ?? "")
  expect((await asOperator("DELETE", path)).body).toEqual({ data: { revoked: true } })
  expect((await send()).status).toBe(401)
  expect((await asOperator("DELETE", path)).status).toBe(404)
})

test("a token of a user is made for an app, acts for that user of that app alone, and is revoked", async () => {
  const { application_id: appId } = at.app
  const request = { kind: "user", application_id: appId, user_id: "2244994945" }
  const made = await asOperator("POST", paths.tokens, request)
  expect([made.status, made.body]).toEqual([
    200,
    { data: { kind: "user", token: expect.stringMatching(/^sluice_user_[\w-]{43}$/) as string } },
  ])
  const { token } = made.body.data as { token: string }
  expect((await at.call(paths.me, { token })).body.data).toMatchObject({ id: "2244994945" })
  expect((await at.call(paths.rules, { token })).status).toBe(403)
  const listed = await at.call(paths.tokens, { token: operator })
  expect(listed.text).not.toContain(token)
  const ofUser = (listed.body.data as { id: string; kind: string }[]).find(({ kind }) => kind === "user")
  expect(ofUser).toMatchObject({ application_id: appId, user_id: "2244994945" })
  const path = paths.token.replace(":token_id", ofUser?.id ?? "")
  expect((await asOperator("DELETE", path)).body).toEqual({ data: { revoked: true } })
  expect((await at.call(paths.me, { token })).status).toBe(401)
})

test("a token of a user needs a user and an active app, and no other token has them", async () => {
  const other = await at.newApp()
  const { application_id: id } = other.app
  for (const [body, status, sentence] of [
    [{ kind: "user" }, 400, "A token of a user needs application_id and user_id"],
    [{ kind: "user", application_id: id }, 400, "A token of a user needs application_id and user_id"],
    [{ kind: "user", user_id: "1" }, 400, "A token of a user needs application_id and user_id"],
    [{ kind: "user", application_id: id, user_id: "@wren" }, 400, "user_id"],
    [{ kind: "user", application_id: id, user_id: "9223372036854775808" }, 400, "user_id"],
    [{ kind: "user", application_id: "1e3", user_id: "1" }, 400, "application_id"],
    [{ kind: "user", application_id: id, user_id: "1", label: "x" }, 400, "label"],
    [{ kind: "ingest", application_id: id }, 400, "are for the kind user, not for ingest"],
    [{ kind: "operator", user_id: "1" }, 400, "are for the kind user, not for operator"],
    [{ kind: "user", application_id: "1", user_id: "1" }, 404, "Could not find app with application_id: [1]."],
  ] as const) {
    const refused = await asOperator("POST", paths.tokens, body)
    expect([refused.status, refused.text], JSON.stringify(body)).toEqual([status, expect.stringContaining(sentence)])
  }
  expect((await asOperator("DELETE", paths.app.replace(":id", id))).status).toBe(200)
  const revoked = await asOperator("POST", paths.tokens, { kind: "user", application_id: id, user_id: "1" })
  expect([revoked.status, revoked.text]).toEqual([409, expect.stringContaining(`App [${id}] is revoked`)])
  const listed = await at.call(paths.tokens, { token: operator })
  expect((listed.body.data as { kind: string }[]).filter(({ kind }) => kind === "user")).toEqual([])
})

test("an app's token is not revoked apart from its app", async () => {
  const { body } = await at.call(paths.tokens, { token: operator })
  const token = (body.data as { id: string; application_id?: string }[]).find(
    (one) => one.application_id === at.app.application_id,
  )
  const { status } = await asOperator("DELETE", paths.token.replace(":token_id", token?.id ?? ""))
  expect(status).toBe(409)
  expect((await at.call(paths.rules)).status).toBe(200)
})

test("only an operator sees or changes apps and tokens", async () => {
  for (const [method, path, body] of [
    ["GET", paths.apps],
    ["POST", paths.apps, { name: "x" }],
    ["DELETE", paths.app.replace(":id", at.app.application_id)],
    ["POST", paths.rotateApp.replace(":id", at.app.application_id)],
    ["GET", paths.tokens],
    ["POST", paths.tokens, { kind: "operator" }],
    ["POST", paths.tokens, { kind: "user", application_id: at.app.application_id, user_id: "1" }],
    ["DELETE", paths.token.replace(":token_id", "0".repeat(16))],
  ] as const) {
    expect((await at.send(method, path, body)).status, `${method} ${path}`).toBe(403)
  }
})

test("a name that is blank or too long is refused, and so is a kind of token that is an app's", async () => {
  for (const name of ["", "   ", "x".repeat(101)])
    expect((await asOperator("POST", paths.apps, { name })).status).toBe(400)
  expect((await asOperator("POST", paths.tokens, { kind: "app" })).status).toBe(400)
  expect((await asOperator("POST", paths.rotateApp.replace(":id", "1"))).status).toBe(404)
})
