/**
 * Errors: their members, where they appear, and errors within a 200. Each test bears the id of its row of
 * docs/compatibility.md.
 */
import { paths } from "@sluice/api"
import { expect } from "vitest"
import { bareDeps } from "../../packages/server/src/http/bare-deps.testing.ts"
import type { HttpDeps } from "../../packages/server/src/http/deps.ts"
import { createHttpServer } from "../../packages/server/src/http/server.ts"
import { systemClock } from "../../packages/server/src/runtime/clock.ts"
import { openStream } from "../support/open-stream.testing.ts"
import { envelope, startTestServer, type TestResponse } from "../support/test-server.testing.ts"
import {
  addRules,
  appWithReceiver,
  bearer,
  errorMembers,
  ingestNew,
  ingestPosts,
  link,
  linkPath,
  minuteMs,
  newId,
  newIds,
  newUser,
  postsPath,
  problem,
  test,
  webhookPath,
} from "./support.testing.ts"

test("error-media-type: errors are application/problem+json, and the description declares no other type", async ({
  server,
}) => {
  const app = await server.newApp()
  const refusals = [
    await app.call(paths.rules, { token: null }),
    await app.call(`${paths.rules}?max_results=0`),
    await app.call("/2/nowhere"),
  ]
  for (const { headers } of refusals)
    expect(headers.get("content-type")).toBe("application/problem+json; charset=utf-8")
  const description = (await app.call(paths.openapi)).body as {
    readonly paths: Record<
      string,
      Record<string, { readonly responses: Record<string, { readonly content?: object }> }>
    >
  }
  const responses = description.paths[paths.rules]?.["get"]?.responses ?? {}
  for (const status of ["400", "401", "default"]) {
    expect(Object.keys(responses[status]?.content ?? {})).toEqual(["application/problem+json"])
  }
})

test("error-members: every error has X's four members and message, and X's further members where X has them", async ({
  server,
  refusals,
}) => {
  const app = await server.newApp()
  const [known] = await addRules(app, { value: "cat" })
  const responses = [
    ...refusals.responses.values(),
    await app.call(postsPath("1")),
    await app.call(`${paths.rules}?ids=1`),
    await app.send("POST", paths.rules, { add: [{ value: "cat" }, { value: "a AND b" }] }),
    await app.send("POST", paths.rules, { delete: { ids: ["1"] } }),
  ]
  for (const { body } of responses) {
    for (const error of body.errors) expect(error).toMatchObject(errorMembers)
  }
  expect(refusals.responses.get("unknown parameter")?.body.errors[0]).toMatchObject({
    parameters: { colour: ["blue"] },
    message: expect.stringContaining("[colour]") as string,
  })
  expect(refusals.responses.get("unknown webhook")?.body.errors[0]).toMatchObject({
    resource_type: "webhook",
    parameter: "id",
    resource_id: "1",
    value: "1",
  })
  expect(refusals.responses.get("stream without rules")?.body.errors[0]).toMatchObject({
    connection_issue: "RuleConfigurationIssue",
  })
  expect(responses.at(-2)?.body.errors).toMatchObject([
    { title: "DuplicateRule", value: "cat", id: known },
    { title: "UnprocessableEntity", value: "a AND b", details: [expect.stringContaining("Ambiguous")] },
  ])
  expect(await disconnectMessage()).toMatchObject({
    errors: [{ ...errorMembers, disconnect_type: "OperationalDisconnect" }],
  })
})

test("missing-rule: the error for a missing rule names the resource, its parameter and its value", async ({
  server,
}) => {
  const app = await server.newApp()
  const missing = (parameter: string, name: string): unknown => ({
    ...(parameter === "ids" && { id: name }),
    title: "Not Found Error",
    type: "https://api.x.com/2/problems/resource-not-found",
    detail: "Rule does not exist",
    status: 404,
    message: "Rule does not exist",
    resource_type: "rule",
    parameter,
    resource_id: name,
    value: name,
  })
  const byId = await app.send("POST", paths.rules, { delete: { ids: ["12"] } })
  expect(byId.body.errors).toEqual([missing("ids", "12")])
  const byValue = await app.send("POST", paths.rules, { delete: { values: ["cat"] } })
  expect(byValue.body.errors).toEqual([missing("values", "cat")])
})

test("partial-errors: a 2xx response has errors only when a part of the requested data is missing", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const user = newUser()
  await ingestPosts(server, user, 1)
  const added = await linked.send("POST", paths.rules, { add: [{ value: "cat" }, { value: "dog" }] })
  const [cat, dog] = added.body.data.map(({ id }: { id: string }) => id) as [string, string]
  const id = await linked.webhook()
  await link(linked, id)
  const whole = [
    added,
    await linked.call(paths.rules),
    await linked.call(`${paths.rules}?ids=${cat},${dog}`),
    await linked.call(paths.ruleCounts),
    await linked.call(paths.webhooks),
    await linked.call(paths.links),
    await linked.call(postsPath(user)),
    await linked.send("POST", paths.rules, { delete: { ids: [dog] } }),
    await linked.send("DELETE", linkPath(id)),
    await linked.send("DELETE", webhookPath(id)),
  ]
  for (const { status, body } of whole) {
    expect(status).toBeLessThan(300)
    expect(body).not.toHaveProperty("errors")
  }
  const found = await linked.call(`${paths.rules}?ids=${cat},${dog}`)
  expect(found.status).toBe(200)
  expect(found.body).toEqual({
    data: [{ id: cat, value: "cat" }],
    meta: { sent: expect.any(String) as string, result_count: 1 },
    errors: [notFoundError("rule", "ids", dog)],
  })
  const mixed = await linked.send("POST", paths.rules, { add: [{ value: "bird" }, { value: "cat" }] })
  expect(mixed.status).toBe(201)
  expect(mixed.body.data).toMatchObject([{ value: "bird" }])
  expect(mixed.body.errors).toMatchObject([{ value: "cat" }])
})

test("missing-objects: an expansion that finds nothing is an error on pages, streams and deliveries", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const [user, word] = [newUser(), `word${newId()}`]
  await addRules(linked, { value: word })
  const query = "?expansions=author_id,in_reply_to_user_id,referenced_tweets.id,entities.mentions.username"
  const id = await linked.webhook()
  await link(linked, id, query)
  await using stream = await openStream(linked, query)
  const [newer = "", older = ""] = newIds(2)
  for (const [postId, more] of [
    [newer, { entities: { mentions: [{ username: "gone" }, { username: "wren" }] } }],
    [older, { referenced_tweets: [{ type: "replied_to", id: "5" }] }],
  ] as const) {
    await ingestNew(server, {
      ...envelope(postId, word, { author_id: user, in_reply_to_user_id: "6", ...more }),
      includes: { users: [{ id: user, username: "wren", name: "Wren" }] },
    })
  }
  const errorsOfNewer = [
    notFoundError("user", "entities.mentions.username", "gone"),
    notFoundError("user", "in_reply_to_user_id", "6"),
  ]
  const errorsOfOlder = [
    notFoundError("user", "in_reply_to_user_id", "6"),
    notFoundError("tweet", "referenced_tweets.id", "5"),
  ]
  const page = await linked.call(postsPath(user, query))
  expect(page.status).toBe(200)
  expect(page.body.errors).toEqual([...errorsOfNewer, ...errorsOfOlder])
  expect(page.body.includes.users).toEqual([{ id: user, username: "wren", name: "Wren" }])
  expect((await linked.call(postsPath(user))).body).not.toHaveProperty("errors")

  await linked.receiver.arrived(2)
  const delivered = linked.receiver.received.map(({ body }) => body)
  for (const record of [await stream.next(), await stream.next()]) {
    const errors = record.data.id === newer ? errorsOfNewer : errorsOfOlder
    expect(record).toMatchObject({ errors })
    expect(delivered.map((body) => JSON.parse(body) as unknown)).toContainEqual(record)
  }
  const thisMinute = new Date().toISOString().slice(0, 16).replaceAll(/\D/g, "")
  const minuteBefore = new Date(Date.now() - minuteMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
  const replay = { webhook_id: id, from_date: minuteBefore, to_date: thisMinute }
  expect((await linked.send("POST", paths.webhookReplay, replay)).status).toBe(200)
  await linked.receiver.arrived(4)
  const replayed = linked.receiver.received.slice(2, 4).map(({ body }) => body)
  expect(replayed.toSorted()).toEqual(delivered.toSorted())
})

test("failure-body: a 4xx or 5xx response has errors, and no data", async ({ refusals }) => {
  const responses = [...refusals.responses.values(), ...(await serverFaults())]
  expect(new Set(responses.map(({ status }) => status))).toEqual(
    new Set([400, 401, 403, 404, 405, 409, 413, 415, 429, 500, 503]),
  )
  for (const { body } of responses) {
    expect(body.errors.length).toBeGreaterThan(0)
    expect(body).not.toHaveProperty("data")
  }
})

test("problem-body: a problem has an error's four members at the top level, and the error in errors", async ({
  refusals,
}) => {
  for (const [what, { status, headers, body }] of refusals.responses) {
    expect(headers.get("content-type"), what).toBe("application/problem+json; charset=utf-8")
    expect(body, what).toMatchObject({ ...errorMembers, status })
    const { title, type, detail } = body as { title: string; type: string; detail: string }
    for (const error of body.errors as { detail: string }[]) {
      expect(error, what).toMatchObject({ title, type, status })
      // Several faults of a request are several errors, and the top level names all.
      expect(detail, what).toContain(error.detail.replace(/\.$/, ""))
    }
  }
  expect(refusals.responses.get("unknown route")?.body).toEqual(
    problem(404, "Not Found", "There is nothing at [/2/nothing]. GET /openapi.json describes what there is."),
  )
})

test("problem-host: problem types are URLs at api.x.com", async ({ server, refusals }) => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  const responses = [
    ...refusals.responses.values(),
    await app.call(postsPath(newUser())),
    await app.send("POST", paths.rules, { add: [{ value: "cat" }, { value: "a AND b" }] }),
  ]
  const types = new Set<string>()
  for (const { body } of responses) {
    if (body.type !== undefined) types.add(body.type as string)
    for (const error of body.errors as { type: string }[]) types.add(error.type)
  }
  expect([...types].toSorted()).toEqual([
    "about:blank",
    ...[
      "conflict",
      "duplicate-rules",
      "invalid-request",
      "invalid-rules",
      "resource-not-found",
      "streaming-connection",
      "unsupported-authentication",
    ].map((name) => `https://api.x.com/2/problems/${name}`),
  ])
})

test("unknown-user: a request for an unknown user's posts gets an error within a 200, without data", async ({
  server,
}) => {
  const unknown = newUser()
  const response = await server.call(postsPath(unknown))
  expect(response.status).toBe(200)
  expect(response.body).toEqual({ errors: [notFoundError("user", "id", unknown)] })
  // A user who is only mentioned is known, and has no posts.
  await ingestNew(server, {
    ...envelope(newId(), "hello"),
    includes: { users: [{ id: unknown, username: "robin", name: "Robin" }] },
  })
  expect((await server.call(postsPath(unknown))).body).toEqual({ data: [], meta: { result_count: 0 } })
})

test("malformed-id: a malformed id is refused in every path that has one", async ({ server }) => {
  for (const id of ["abc", "12345678901234567890", "-1", "1.0", "0x10"]) {
    const requests = [
      ["GET", postsPath(id), "id"],
      ["PUT", webhookPath(id), "webhook_id"],
      ["DELETE", webhookPath(id), "webhook_id"],
      ["POST", linkPath(id), "webhook_id"],
      ["DELETE", linkPath(id), "webhook_id"],
    ] as const
    for (const [method, path, parameter] of requests) {
      const refused = await server.send(method, path)
      expect(refused.status).toBe(400)
      expect(refused.body.errors).toMatchObject([
        {
          parameters: { [parameter]: [id] },
          message: `The \`${parameter}\` query parameter value [${id}] does not match ^[0-9]{1,19}$`,
          detail: `The \`${parameter}\` query parameter value [${id}] does not match ^[0-9]{1,19}$: An id is 1 to 19 decimal digits, up to 9223372036854775807.`,
        },
      ])
    }
  }
})

function notFoundError(resource: string, parameter: string, id: string): unknown {
  return {
    title: "Not Found Error",
    type: "https://api.x.com/2/problems/resource-not-found",
    detail: `Could not find ${resource} with ${parameter}: [${id}].`,
    status: 404,
    message: `Could not find ${resource} with ${parameter}: [${id}].`,
    resource_type: resource,
    parameter,
    resource_id: id,
    value: id,
  }
}

/** Responses of a server with an internal fault. */
async function serverFaults(): Promise<readonly TestResponse[]> {
  const http = await createHttpServer({
    ...bareDeps(systemClock),
    apps: { principal: () => Promise.reject(new Error("the store is gone")) },
    notReady: () => "The server is starting or closing.",
  } as unknown as HttpDeps)
  const url = await http.listen({ host: "127.0.0.1", port: 0 })
  const ask = async (path: string): Promise<TestResponse> => {
    const response = await fetch(url + path, bearer(`sluice_app_${"A".repeat(43)}`))
    const said = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text: said,
      body: JSON.parse(said),
    }
  }
  const responses = [await ask(paths.readyz), await ask(paths.links)]
  await http.close()
  return responses
}

/** Returns the last record of a stream whose server closes. */
async function disconnectMessage(): Promise<unknown> {
  await using closing = await startTestServer()
  await addRules(closing, { value: "cat" })
  await using stream = await openStream(closing)
  const last = stream.next()
  await closing.running.close()
  return last
}
