/**
 * Responses against X's own OpenAPI document, where it and docs/compatibility.md agree, and the server's description
 * of itself.
 *
 * X's schemas require hardly any member, so the objects of lists are also compared by the names of their members.
 */
import { gzipSync } from "node:zlib"
import {
  consolePath,
  docsPath,
  expansions,
  mediaFields,
  paths,
  placeFields,
  pollFields,
  postFields,
  userFields,
  type Envelope,
} from "@sluice/api"
import type { AnySchema, ValidateFunction } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openStream } from "../support/open-stream.testing.ts"
import { envelope, startTestServer, type TestResponse, type TestServer } from "../support/test-server.testing.ts"
import { hasSharedData, sharedLines } from "../support/shared-data.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { faultsByX, faultsOf, openApiFormats, xDocument } from "../support/x-document.testing.ts"

let server: TestServer
let receiver: WebhookReceiver

beforeAll(async () => {
  server = await startTestServer()
  receiver = await WebhookReceiver.start(server.app.consumer_secret)
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

describe.runIf(hasSharedData)("X's document", () => {
  function membersOf(name: string): readonly string[] {
    return Object.keys(xDocument().components.schemas[name]?.properties ?? {}).toSorted()
  }

  test("X's document describes rules that are added, listed, counted and deleted", async () => {
    const added = await server.send("POST", paths.rules, {
      add: [{ value: "cat", tag: "pets" }, { value: "dog" }],
    })
    expect(added.status).toBe(201)
    expect(faultsByX("UpdateRulesResponse", added.body)).toEqual([])
    const listed = await server.call(paths.rules)
    expect(faultsByX("GetRulesResponse", listed.body)).toEqual([])
    expect(listed.body.data).toHaveLength(2)
    const [dog, cat] = listed.body.data as [{ id: string }, object]
    expect(Object.keys(cat).toSorted()).toEqual(membersOf("GetRulesResponseData"))
    expect(Object.keys(dog).toSorted()).toEqual(["id", "value"])
    const counts = await server.call(paths.ruleCounts)
    expect(faultsByX("GetRuleCountsResponse", counts.body)).toEqual([])
    expect(Object.keys(counts.body.data as object).toSorted()).toEqual(membersOf("GetRuleCountsResponseData"))
    const deleted = await server.send("POST", paths.rules, { delete: { ids: [dog.id] } })
    expect(faultsByX("UpdateRulesResponse", deleted.body)).toEqual([])
  })

  test("X's document describes webhooks, links and deliveries", async () => {
    const made = await server.send("POST", paths.webhooks, { url: receiver.url })
    expect(faultsByX("CreateWebhooksResponse", made.body)).toEqual([])
    const { id } = made.body.data as { id: string }
    expect(faultsByX("WebhookConfigId", id)).toEqual([])
    const linkPath = paths.link.replace(":webhook_id", id)
    const webhookPath = paths.webhook.replace(":webhook_id", id)
    const linked = await server.send("POST", `${linkPath}?tweet.fields=created_at&expansions=author_id`)
    expect(faultsByX("CreateWebhooksStreamLinkResponse", linked.body)).toEqual([])

    const webhooks = await server.call(paths.webhooks)
    expect(faultsByX("GetWebhooksResponse", webhooks.body)).toEqual([])
    expect(Object.keys(webhooks.body.data[0] as object).toSorted()).toEqual(membersOf("WebhookConfig"))
    // The list itself has another form here: its objects are X's.
    const links = (await server.call(paths.links)).body.data.links as object[]
    expect(links).toHaveLength(1)
    for (const link of links) {
      expect(faultsByX("GetWebhooksStreamLinksResponseData", link)).toEqual([])
      expect(Object.keys(link).toSorted()).toEqual(membersOf("GetWebhooksStreamLinksResponseData"))
    }

    await using stream = await openStream(server, "?tweet.fields=created_at&expansions=author_id")
    await server.ingest(envelope(1, "a cat"))
    await receiver.arrived(1)
    for (const delivered of [JSON.parse(receiver.received[0]?.body ?? "") as Envelope, await stream.next()]) {
      expect(delivered.data.id).toBe("1")
      expect(faultsByX("StreamPostsResponse", delivered)).toEqual([])
    }

    const replay = await server.send("POST", paths.webhookReplay, replayTo(id))
    expect(replay.status).toBe(200)
    expect(faultsByX("CreateWebhookReplayJobResponse", replay.body)).toEqual([])
    expect(Object.keys(replay.body.data as object).toSorted()).toEqual(membersOf("CreateWebhookReplayJobResponseData"))
    const validated = await server.send("PUT", webhookPath)
    expect(faultsByX("ValidateWebhooksResponse", validated.body)).toEqual([])
    const unlinked = await server.send("DELETE", linkPath)
    expect(faultsByX("DeleteWebhooksStreamLinkResponse", unlinked.body)).toEqual([])
    const deleted = await server.send("DELETE", webhookPath)
    expect(faultsByX("DeleteWebhooksResponse", deleted.body)).toEqual([])
    expect([validated, unlinked, deleted].map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test("X's document describes a page of a user's posts, recorded ones with every field and every expansion", async () => {
    const lines = sharedLines("data/x/posts-full.ndjson.gz").slice(0, 2_000)
    await server.call(paths.posts, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", "content-encoding": "gzip" },
      body: Buffer.from(gzipSync(lines.join("\n"))),
    })
    const everything = [
      `tweet.fields=${postFields.join(",")}`,
      `user.fields=${userFields.join(",")}`,
      `media.fields=${mediaFields.join(",")}`,
      `place.fields=${placeFields.join(",")}`,
      `poll.fields=${pollFields.join(",")}`,
      `expansions=${expansions.join(",")}`,
    ].join("&")
    const authors = new Set(lines.map((line) => (JSON.parse(line) as Envelope).data.author_id ?? ""))
    const included = new Set<string>()
    let count = 0
    for (const author of [...authors].slice(0, 150)) {
      const path = paths.userPosts.replace(":id", author)
      for (const query of ["", `?max_results=100&${everything}`]) {
        const { status, body } = await server.call(path + query)
        expect(status).toBe(200)
        const found = faultsByX("GetUsersPostsResponse", body)
        expect(found.filter((fault) => !isOlderThanDocument(fault))).toEqual([])
        count += (body.data as unknown[]).length
        for (const kind of Object.keys((body.includes as object | undefined) ?? {})) included.add(kind)
      }
    }
    expect(count).toBeGreaterThan(300)
    expect([...included]).toEqual(expect.arrayContaining(["users", "tweets", "media"]))
  })

  test("X's document describes users, recorded ones with every field, with pinned posts and without", async () => {
    const lines = sharedLines("data/x/posts-full.ndjson.gz").slice(0, 2_000)
    const envelopes = lines.map((line) => JSON.parse(line) as Envelope)
    await server.ingest(...envelopes)
    const users = envelopes.flatMap(({ includes }) => (includes?.users ?? []) as { id: string; username: string }[])
    const known = [...new Map(users.map((user) => [user.id, user])).values()].slice(0, 100)
    const everything = `user.fields=${userFields.join(",")}&tweet.fields=${postFields.join(",")}&expansions=pinned_tweet_id`
    const ids = `ids=${known.map(({ id }) => id).join(",")}`
    const usernames = `usernames=${known.map(({ username }) => username).join(",")}`
    const [{ id, username } = { id: "1", username: "none" }] = known
    const token = (await server.running.apps.createUserToken(server.app.application_id, id)) ?? ""
    for (const [schema, path] of [
      ["GetUsersByIdsResponse", `${paths.users}?${ids}`],
      ["GetUsersByIdsResponse", `${paths.users}?ids=404404`],
      ["GetUsersByUsernamesResponse", `${paths.usersBy}?${usernames}`],
      ["GetUsersByIdResponse", `${paths.user.replace(":id", id)}?`],
      ["GetUsersByUsernameResponse", `${paths.userByUsername.replace(":username", username)}?`],
      ["GetUsersMeResponse", `${paths.me}?`],
      ["SearchUsersResponse", `${paths.userSearch}?query=the&max_results=5`],
    ] as const) {
      for (const query of ["", `&${everything}`]) {
        const answer = await server.call(path + query, path.startsWith(paths.me) ? { token } : {})
        expect(answer.status, path).toBe(200)
        expect(
          faultsByX(schema, answer.body).filter((fault) => !isOlderThanDocument(fault)),
          path,
        ).toEqual([])
      }
    }
  })

  test("X's document describes errors of the kinds that it has", async () => {
    const unknownUser = await server.call(paths.userPosts.replace(":id", "404404"))
    expect(faultsByX("GetUsersPostsResponse", unknownUser.body)).toEqual([])
    const unknownRule = await server.call(`${paths.rules}?ids=1`)
    expect(faultsByX("GetRulesResponse", unknownRule.body)).toEqual([])
    const unknownWebhook = await server.send("PUT", paths.webhook.replace(":webhook_id", "1"))
    expect(faultsByX("ResourceNotFoundProblem", unknownWebhook.body)).toEqual([])
    const wrong = await server.call(`${paths.links}?colour=blue`)
    expect(faultsByX("InvalidRequestProblem", wrong.body)).toEqual([])
    for (const { body } of [unknownUser, unknownRule, unknownWebhook, wrong]) {
      expect(body.errors).toHaveLength(1)
      expect(faultsByX("Problem", body.errors[0])).toEqual([])
    }
  })

  test("X's document describes no body of another form", () => {
    expect(faultsByX("GetWebhooksStreamLinksResponseData", { created_at: 1 })).not.toEqual([])
    expect(faultsByX("GetWebhooksResponse", { data: {} })).not.toEqual([])
    expect(faultsByX("GetUsersPostsResponse", { data: [{ id: "1", created_at: "today" }] })).not.toEqual([])
    expect(faultsByX("Problem", { type: "about:blank", title: "", detail: "" })).not.toEqual([])
  })
})

describe("the server's description of itself", () => {
  let description: Description

  beforeAll(async () => {
    description = (await server.call(paths.openapi)).body as Description
  })

  test("the server's description is a valid document of OpenAPI 3.1", () => {
    expect(faultsOfDescription(description)).toEqual([])
  })

  test("the server's description lists every route with its methods, and no other", () => {
    const expected = Object.entries(methodsOfRoutes).map(([name, methods]) => [
      paths[name as keyof typeof paths].replaceAll(/:(\w+)/g, "{$1}"),
      methods,
    ])
    const described = Object.entries(description.paths).map(([path, item]) => [path, Object.keys(item).toSorted()])
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries(expected))
  })

  test("the methods that the server's description lists are accepted, and no others", async () => {
    const { apps } = server.running
    const tokens = [await apps.createToken("operator"), await apps.createUserToken(server.app.application_id, "7")]
    for (const [path, item] of Object.entries(description.paths)) {
      for (const method of ["get", "post", "put", "patch", "delete"]) {
        // An unknown parameter is refused wherever there is a route, before anything is done.
        const url = `${path.replaceAll(/\{\w+\}/g, "1")}?colour=blue`
        let { status } = await server.call(url, { method: method.toUpperCase() })
        for (const token of tokens) {
          if (status === 403)
            ({ status } = await server.call(url, { method: method.toUpperCase(), token: token ?? "" }))
        }
        if (Object.hasOwn(item, method)) expect([400, 415], `${method} ${path}`).toContain(status)
        else expect(status, `${method} ${path}`).toBe(405)
      }
    }
  })

  test("the server's description is also at the path of X's own", async () => {
    const elsewhere = await server.call(paths.dialectOpenapi, { headers: { Authorization: "" } })
    expect(elsewhere.status).toBe(200)
    expect(elsewhere.body).toEqual(description)
  })

  test("requests without credentials are accepted only where the server's description says so", async () => {
    for (const [path, item] of Object.entries(description.paths)) {
      for (const [method, { security }] of Object.entries(item)) {
        const url = path.replaceAll(/\{\w+\}/g, "1")
        const init = { method: method.toUpperCase(), headers: { Authorization: "" } }
        const { status } = await server.call(url, init)
        if (path === paths.session && method === "post") expect([security, status]).toEqual([[], 400])
        else if (path === paths.oauthToken) expect(security).toEqual([{ consumer: [] }])
        else expect(status, `${method} ${path}`).toBe(security?.length === 0 ? 200 : 401)
      }
    }
  })

  test("every operation of the server's description has an id, a summary and a tag", () => {
    expect(description.servers).toEqual([{ url: "/", description: expect.any(String) as string }])
    const tagNames = description.tags?.map(({ name }) => name)
    const operations = Object.values(description.paths).flatMap((item) => Object.values(item))
    for (const { operationId, tags, security, summary, responses } of operations) {
      expect(operationId).toMatch(/^[a-z][A-Za-z0-9]+$/)
      expect(tags).toHaveLength(1)
      expect(tagNames).toContain(tags?.[0])
      expect(security, operationId).toBeDefined()
      expect(summary, operationId).toMatch(/\S/)
      const statuses = Object.keys(responses)
      expect(statuses, operationId).toEqual(expect.arrayContaining([expect.stringMatching(/^2\d\d$/)]))
      expect(statuses, operationId).toEqual(expect.arrayContaining([expect.stringMatching(/^4(?:\d\d|XX)$/)]))
    }
    const used = new Set(operations.flatMap(({ tags = [] }) => tags))
    expect([...used].toSorted()).toEqual(tagNames?.toSorted())
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  })

  test.runIf(hasSharedData)("the server's description gives an operation the id that X gives it", () => {
    const { paths: xPaths } = xDocument()
    const shared = Object.entries(description.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]) => {
        const theirs = xPaths[path]?.[method]
        return theirs === undefined ? [] : [{ path, ours: operation.operationId, theirs: theirs.operationId }]
      }),
    )
    expect(shared.length).toBeGreaterThan(12)
    for (const { path, ours, theirs } of shared) expect(ours, path).toBe(theirs)
  })

  test("a page at the root links to the server's description, runs nothing and says nothing of this server", async () => {
    const page = await server.call(paths.home, { headers: { Authorization: "" } })
    expect(page.status).toBe(200)
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'")
    expect(page.text).not.toMatch(/<script|<style|style=|\bon\w+=|\d+\.\d+\.\d+/i)
    const links = page.text.matchAll(/href="([^"]+)"/g).map(([, link = ""]) => link)
    const targets = [...links]
    expect(targets).toContain(paths.openapi)
    // These are there once the console is built; until then they say so.
    for (const link of targets.filter((target) => target !== consolePath && target !== docsPath))
      expect((await server.call(link, { headers: {} })).status, link).toBe(200)
  })

  test("responses are as the server's description says", async () => {
    const made = await server.send("POST", paths.webhooks, { url: receiver.url })
    const { id } = made.body.data as { id: string }
    await server.send("POST", paths.rules, { add: [{ value: "heron", tag: "birds" }] })
    await server.ingest(envelope(77, "a heron"))
    const link = paths.link.replace(":webhook_id", id)
    const ruleId = async (): Promise<string> => (await server.call(paths.ruleDetails)).body.data[0].id as string
    const received: readonly (readonly [string, keyof typeof paths, TestResponse])[] = [
      ["post", "webhooks", made],
      ["post", "link", await server.send("POST", link)],
      ["get", "links", await server.call(paths.links)],
      ["get", "links", await server.call(`${paths.links}?max_results=1`)],
      ["get", "linkDetails", await server.call(paths.linkDetails)],
      ["get", "linkDetail", await server.call(paths.linkDetail.replace(":webhook_id", id))],
      [
        "patch",
        "linkDetail",
        await server.send("PATCH", paths.linkDetail.replace(":webhook_id", id), { ordered: true }),
      ],
      ["get", "attempts", await server.call(paths.attempts.replace(":webhook_id", id))],
      ["get", "deadLetters", await server.call(paths.deadLetters)],
      ["post", "redeliver", await server.send("POST", paths.redeliver, { all: true })],
      ["post", "webhookReplay", await server.send("POST", paths.webhookReplay, replayTo(id))],
      ["get", "replays", await server.call(paths.replays)],
      ["get", "signingKey", await server.call(paths.signingKey.replace(":webhook_id", id))],
      ["post", "signingKey", await server.send("POST", paths.signingKey.replace(":webhook_id", id))],
      ["get", "webhooks", await server.call(paths.webhooks)],
      ["put", "webhook", await server.send("PUT", paths.webhook.replace(":webhook_id", id))],
      ["get", "rules", await server.call(paths.rules)],
      ["post", "rules", await server.send("POST", paths.rules, { add: [{ value: "egret" }] })],
      ["post", "rules", await server.send("POST", paths.rules, { add: [{ value: "egret" }] })],
      ["get", "ruleCounts", await server.call(paths.ruleCounts)],
      ["get", "ruleCost", await server.call(paths.ruleCost)],
      ["post", "ruleTest", await server.send("POST", paths.ruleTest, { value: "heron", recent: 10 })],
      ["get", "userPosts", await server.call(paths.userPosts.replace(":id", "7"))],
      ["get", "postsById", await server.call(`${paths.postsById}?ids=77,404`)],
      ["get", "postsById", await server.call(paths.postsById)],
      ["get", "postById", await server.call(paths.postById.replace(":id", "77"))],
      ["get", "postById", await server.call(paths.postById.replace(":id", "404"))],
      ["post", "posts", await server.ingest(envelope(78, "an egret"), "not an envelope")],
      ["get", "posts", await server.call(`${paths.posts}?max_results=1`)],
      ["get", "post", await server.call(paths.post.replace(":post_id", "77"))],
      ["get", "post", await server.call(paths.post.replace(":post_id", "404"))],
      ["get", "ruleDetails", await server.call(paths.ruleDetails)],
      [
        "patch",
        "ruleDetail",
        await server.send("PATCH", paths.ruleDetail.replace(":rule_id", await ruleId()), { tag: "b" }),
      ],
      ["get", "healthz", await server.call(paths.healthz)],
      ["get", "readyz", await server.call(paths.readyz)],
      ["delete", "link", await server.send("DELETE", link)],
      ["delete", "link", await server.send("DELETE", link)],
      ["get", "rules", await server.call(`${paths.rules}?max_results=0`)],
      ["get", "rules", await server.call(paths.rules, { token: null })],
      ["get", "apps", await server.call(paths.apps)],
      ["post", "rules", await server.send("POST", paths.rules, { add: ["x".repeat(1_100_000)] })],
      ["post", "posts", await server.call(paths.posts, { method: "POST", body: "x" })],
      ["post", "oauthToken", await server.call(paths.oauthToken, { method: "POST", token: null })],
      ["post", "session", await server.send("POST", paths.session, { token: server.app.bearer_token })],
      ["post", "session", await server.send("POST", paths.session, {})],
      ["post", "session", await server.send("POST", paths.session, { token: "x", code: "y" })],
      ["post", "session", await server.send("POST", paths.session, { token: "x" })],
    ]
    for (const [method, name, { status, headers, body }] of received) {
      const path = paths[name].replaceAll(/:(\w+)/g, "{$1}")
      const responses = description.paths[path]?.[method]?.responses
      const { content = {} } = responses?.[String(status)] ?? (status < 400 ? {} : responses?.["default"]) ?? {}
      const sent = headers.get("content-type")?.replace(/;.*/, "") ?? ""
      expect(Object.keys(content), `${method} ${path} ${status}`).toContain(sent)
      expect(sent).toBe(status < 400 ? "application/json" : "application/problem+json")
      const { schema = false } = content[sent] ?? {}
      expect(faultsOf(validatorOf(schema, description), body), `${method} ${path} ${status}`).toEqual([])
    }
    const statuses = [200, 201, 400, 401, 403, 404, 413, 415]
    expect(received.map(([, , { status }]) => status)).toEqual(expect.arrayContaining(statuses))
  })

  test("the server's description declares the lines of ack=batch, and that a session needs a token or a code", async () => {
    const lines = await server.call(`${paths.posts}?ack=batch`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: JSON.stringify(envelope(79, "an egret")),
    })
    const sent = lines.headers.get("content-type")?.replace(/;.*/, "") ?? ""
    expect(sent).toBe("application/x-ndjson")
    const { content = {} } = description.paths[paths.posts]?.["post"]?.responses["200"] ?? {}
    expect(Object.keys(content)).toEqual(["application/json", sent])
    expect(faultsOf(validatorOf(content[sent]?.schema ?? false, description), lines.text)).toEqual([])
    const whole = validatorOf(content["application/json"]?.schema ?? false, description)
    for (const line of lines.text.trimEnd().split("\n")) expect(faultsOf(whole, JSON.parse(line))).toEqual([])

    const session = description.paths[paths.session]?.["post"]?.requestBody?.content["application/json"]?.schema
    const validate = validatorOf(session ?? false, description)
    expect([{ token: "x" }, { code: "x" }].map((body) => validate(body))).toEqual([true, true])
    expect([{}, { token: "x", code: "x" }].map((body) => validate(body))).toEqual([false, false])
  })

  test("every error of the server's description is declared by its status or as the default, and none as a range", () => {
    for (const { operationId, responses } of operationsOf(description)) {
      const errors = Object.keys(responses).filter((status) => !status.startsWith("2"))
      expect(errors, operationId).toContain("default")
      expect(errors.filter((status) => status !== "default" && !/^[45]\d\d$/.test(status))).toEqual([])
      for (const status of errors) {
        expect(Object.keys(responses[status]?.content ?? {}), operationId).toEqual(["application/problem+json"])
      }
    }
  })

  test("schemas of the server's description have names, stand once, and all are used", () => {
    const { schemas } = description.components
    const text = JSON.stringify(description)
    for (const name of ["Rule", "RulesBody", "LinkDetail", "ProblemBody"]) expect(Object.keys(schemas)).toContain(name)
    for (const [name, schema] of Object.entries(schemas)) {
      expect(name).toMatch(/^[A-Z][A-Za-z]+$/)
      expect(text, name).toContain(`"$ref":"#/components/schemas/${name}"`)
      expect(text.split(JSON.stringify(schema)).length, name).toBe(2)
    }
    for (const { operationId, responses, requestBody } of operationsOf(description)) {
      for (const { content } of [requestBody, ...Object.values(responses)].filter((one) => one !== undefined)) {
        const schema = content?.["application/json"]?.schema
        if (schema !== undefined) expect(schema, operationId).toEqual({ $ref: expect.any(String) as string })
      }
    }
  })

  test("every operation of the server's description shows an example of each body, which its schema allows", () => {
    for (const { operationId, responses, requestBody } of operationsOf(description)) {
      const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"))
      const contents = [requestBody, ...successes.map(([, response]) => response)].map((body) => body?.content ?? {})
      for (const [type, { schema, example }] of contents.flatMap((content) => Object.entries(content))) {
        if (isOwnFormat(type, schema)) continue
        expect(example, `${operationId} ${type}`).toBeDefined()
        if (type !== "application/json") continue
        expect(faultsOf(validatorOf(schema ?? false, description), example), operationId).toEqual([])
      }
    }
  })

  test("a response that the server's description does not allow is found", () => {
    const operation = description.paths["/2/webhooks"]?.["get"]
    const broken = (change: Partial<Operation>, path = "/2/webhooks"): readonly string[] =>
      faultsOfDescription({
        ...description,
        paths: { [path]: { get: { ...operation, ...change } as Operation } },
      })
    expect(broken({})).toEqual([])
    expect(broken({ responses: {} })).toHaveLength(1)
    expect(broken({ responses: { "4xx": { description: "" } } })).toHaveLength(1)
    expect(broken({ responses: { 200: {} } as unknown as Operation["responses"] })).toHaveLength(1)
    expect(broken({ security: [{ nobody: [] }] })).toHaveLength(1)
    expect(broken({}, "/2/webhooks/{id}")).toHaveLength(1)
    expect(broken({ parameters: [{ name: "id", in: "path", required: true, schema: {} }] })).toHaveLength(1)
    expect(broken({ parameters: [{ name: "id", in: "query", schema: { type: "words" } }] })).toHaveLength(1)
    expect(broken({ parameters: [{ name: "id", in: "query" }] })).toHaveLength(1)
  })
})

/** A replay of the last hour but one. */
function replayTo(webhook_id: string): Readonly<Record<string, string>> {
  const minuteAgo = (minutes: number): string =>
    new Date(Date.now() - minutes * 60_000).toISOString().slice(0, 16).replaceAll(/\D/g, "")
  return { webhook_id, from_date: minuteAgo(120), to_date: minuteAgo(60) }
}

/** Methods of every route, in the order of the alphabet. */
const methodsOfRoutes = {
  home: ["get"],
  oauthToken: ["post"],
  rules: ["get", "post"],
  ruleCounts: ["get"],
  stream: ["get"],
  sample: ["get"],
  sample10: ["get"],
  postsCompliance: ["get"],
  usersCompliance: ["get"],
  connections: ["delete", "get"],
  allConnections: ["delete"],
  endpointConnections: ["delete"],
  links: ["get"],
  link: ["delete", "post"],
  webhooks: ["get", "post"],
  webhook: ["delete", "put"],
  postsById: ["get", "post"],
  postById: ["delete", "get"],
  deletions: ["post"],
  users: ["get"],
  user: ["get"],
  usersBy: ["get"],
  userByUsername: ["get"],
  userSearch: ["get"],
  me: ["get"],
  userPosts: ["get"],
  posts: ["get", "post"],
  post: ["get"],
  ruleDetails: ["get"],
  ruleDetail: ["patch"],
  matches: ["get"],
  linkDetails: ["get"],
  webhookDetails: ["get"],
  webhookDetail: ["get", "patch"],
  webhookTest: ["post"],
  linkDetail: ["get", "patch"],
  attempts: ["get"],
  attempt: ["get"],
  deadLetters: ["get"],
  redeliver: ["post"],
  redeliverMatches: ["post"],
  replays: ["get", "post"],
  replay: ["delete"],
  webhookReplay: ["post"],
  signingKey: ["get", "post"],
  ruleCost: ["get"],
  ruleTest: ["post"],
  searchRecent: ["get"],
  searchAll: ["get"],
  countsRecent: ["get"],
  countsAll: ["get"],
  usage: ["get"],
  quotes: ["get"],
  reposts: ["get"],
  reposters: ["get"],
  mentions: ["get"],
  troubles: ["delete", "get", "post"],
  trouble: ["delete"],
  troubleDisconnect: ["post"],
  overview: ["get"],
  apps: ["get", "post"],
  app: ["delete"],
  rotateApp: ["post"],
  appLimits: ["get", "put"],
  limits: ["get"],
  tokens: ["get", "post"],
  token: ["delete"],
  session: ["delete", "get", "post"],
  sources: ["get"],
  source: ["get"],
  pauseSource: ["post"],
  resumeSource: ["post"],
  rewindSource: ["post"],
  sourceDeadLetters: ["get"],
  repeatSourceDeadLetters: ["post"],
  discardSourceDeadLetters: ["post"],
  openapi: ["get"],
  dialectOpenapi: ["get"],
  healthz: ["get"],
  readyz: ["get"],
  metrics: ["get"],
} as const satisfies Record<keyof typeof paths, readonly string[]>

/** The recordings are of 2021 and 2022: some metrics were not counted yet, or had names that speak of tweets. */
function isOlderThanDocument(fault: string): boolean {
  return /^\/(data|(data|includes\/(users|tweets))\/\d+)\/public_metrics must have required property '(repost|post|bookmark|impression)_count'/.test(
    fault,
  )
}

/** As much of a description as is looked at. */
interface Description {
  readonly openapi: string
  readonly info: { readonly title?: string; readonly version?: string }
  readonly servers?: readonly unknown[]
  readonly tags?: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, { readonly type: string }>>
    readonly schemas: Readonly<Record<string, AnySchema>>
  }
}

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema?: AnySchema
}

type Content = Readonly<Record<string, { readonly schema?: AnySchema; readonly example?: unknown }>>

function operationsOf({ paths: items }: Description): readonly Operation[] {
  return Object.values(items).flatMap((item) => Object.values(item))
}

/** Bodies whose form has a home of its own: pages, metrics, and this description. */
function isOwnFormat(type: string, schema: AnySchema | undefined): boolean {
  return type.startsWith("text/") || JSON.stringify(schema).includes("DescriptionBody")
}

/** A validator of a schema that may refer to others of the description. */
function validatorOf(schema: AnySchema, document: Description): ValidateFunction {
  return schemasOf(document).compile(wherever(schema))
}

/** The validator of a description's schemas, with its extensions as keywords. One for each, as it compiles each once. */
function schemasOf(document: Description): Ajv2020 {
  const known = validators.get(document.components)
  if (known !== undefined) return known
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    formats: openApiFormats,
    logger: false,
  })
  const extensions = JSON.stringify(document).match(/"x-[\w-]+"(?=:)/g) ?? []
  ajv.addKeyword("components")
  for (const name of new Set(extensions)) ajv.addKeyword(name.slice(1, -1))
  ajv.addSchema({ components: wherever(document.components) }, descriptionName, undefined, false)
  validators.set(document.components, ajv)
  return ajv
}

const validators = new WeakMap<object, Ajv2020>()

const descriptionName = "description"

/** With references that hold outside of the description too. */
function wherever<Schema>(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${descriptionName}#/`)) as Schema
}

/**
 * Violations of OpenAPI 3.1 by a description, in the parts of it that this server uses.
 * Source: OpenAPI Specification 3.1.1, section 4.8.
 */
function faultsOfDescription(document: Description): readonly string[] {
  const faults: string[] = []
  const demand = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault)
  }
  demand(/^3\.1\.\d+$/.test(document.openapi), `openapi is ${document.openapi}`)
  demand(typeof document.info.title === "string", "info has no title")
  demand(typeof document.info.version === "string", "info has no version")
  for (const [name, { type }] of Object.entries(document.components.securitySchemes)) {
    demand(["apiKey", "http", "mutualTLS", "oauth2", "openIdConnect"].includes(type), `security ${name} is ${type}`)
  }
  const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, "{}"))
  demand(new Set(shapes).size === shapes.length, "two paths differ only in the names of their parameters")
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )
  for (const { path, method, operation } of operations) {
    demand(path.startsWith("/"), `${path} does not begin with /`)
    demand(methodNames.has(method), `${path} has the method ${method}`)
    for (const fault of faultsOfOperation(path, operation, document)) faults.push(`${method} ${path}: ${fault}`)
  }
  const ids = operations.flatMap(({ operation }) => operation.operationId ?? [])
  demand(new Set(ids).size === ids.length, "an operationId stands twice")
  return faults
}

const methodNames = new Set(["get", "put", "post", "delete", "options", "head", "patch", "trace"])

function faultsOfOperation(path: string, operation: Operation, document: Description): readonly string[] {
  const { parameters = [], requestBody, responses, security = [] } = operation
  const faults: string[] = []
  const demand = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault)
  }
  const inPath = parameters.filter((parameter) => parameter.in === "path")
  const described = inPath.map(({ name }) => name).toSorted()
  const templated = path.matchAll(/\{(\w+)\}/g).map(([, name = ""]) => name)
  const expected = [...templated].toSorted()
  demand(
    expected.join() === described.join(),
    `the path has the parameters [${expected.join()}], described are [${described.join()}]`,
  )
  demand(
    inPath.every(({ required }) => required === true),
    "a parameter of the path is not required",
  )
  const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
  demand(new Set(keys).size === keys.length, "a parameter stands twice")
  for (const { name, in: place, schema } of parameters) {
    demand(["query", "header", "path", "cookie"].includes(place), `${name} is in ${place}`)
    demand(schema !== undefined, `${name} has no schema`)
    faults.push(...faultsOfSchema(schema, document))
  }
  if (requestBody !== undefined) {
    demand(Object.keys(requestBody.content).length > 0, "the body has no content")
    for (const { schema } of Object.values(requestBody.content)) faults.push(...faultsOfSchema(schema, document))
  }
  demand(Object.keys(responses).length > 0, "there is no response")
  for (const [status, response] of Object.entries(responses)) {
    demand(/^(?:[1-5](?:\d\d|XX)|default)$/.test(status), `${status} is no status`)
    demand(typeof response.description === "string", `${status} has no description`)
    for (const { schema } of Object.values(response.content ?? {})) faults.push(...faultsOfSchema(schema, document))
  }
  for (const name of security.flatMap((one) => Object.keys(one))) {
    demand(Object.hasOwn(document.components.securitySchemes, name), `the security ${name} is not described`)
  }
  return faults
}

/** Schemas are JSON Schema 2020-12, and have no keyword that is neither of it nor marked as an extension. */
function faultsOfSchema(schema: AnySchema = {}, document: Description): readonly string[] {
  try {
    validatorOf(schema, document)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}
