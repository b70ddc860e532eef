/** X's recorded answers about users, against Sluice's for the same requests over users made of these answers. */
import { afterAll, describe, expect, test } from "vitest"
import { hasSharedData, sharedLines } from "./support/shared-data.testing.ts"
import { startTestServer, type TestServer } from "./support/test-server.testing.ts"

interface RecordedError {
  readonly message?: string
  readonly parameters?: unknown
  readonly [member: string]: unknown
}

interface Exchange {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: {
    readonly data?: unknown
    readonly includes?: { readonly tweets?: readonly { readonly id: string }[] }
    readonly errors?: readonly RecordedError[]
    /** Present where the recording leaves out a part of the data. */
    readonly _data_total?: number
  }
}

const files = ["lookup-search-exchanges.ndjson", "http-exchanges.ndjson"] as const
const lookUp = /^https:\/\/api\.twitter\.com(\/2\/users(?:\/by\b[^?]*|\/me|\/[0-9]*)?(?:\?.*)?)$/

/** Lines that are not reproduced, by file and number, with the reason. */
const notReproduced: Readonly<Record<string, string>> = {
  "lookup-search-exchanges.ndjson:14": "the collection left the id out of the URL",
  "lookup-search-exchanges.ndjson:16":
    "names the list's size in words of 2020, and has empty parameters, which Sluice refuses too",
  "lookup-search-exchanges.ndjson:18": "has empty parameters, which Sluice refuses",
  "lookup-search-exchanges.ndjson:24": "names the list's size in words of 2020",
}

interface User {
  readonly id: string
  readonly username?: string
}

/** Servers, and what each has: ids and usernames of users, and ids of posts. */
const servers: { readonly server: TestServer; readonly known: Set<string> }[] = []
afterAll(async () => {
  for (const { server } of servers) await server[Symbol.asyncDispose]()
})

let lastPost = 1_000

/**
 * A server with these users and the posts that they have pinned, and with no other user or post that the request or these
 * users name. The users replace those who came before.
 */
async function serverWith(
  request: string,
  users: readonly User[],
  posts: readonly { readonly id: string }[] = [],
): Promise<TestServer> {
  const own = new Set(
    [...users.flatMap(({ id, username = id }) => [id, username]), ...posts.map(({ id }) => id)].map((name) =>
      name.toLowerCase(),
    ),
  )
  const named = (request + JSON.stringify(users)).toLowerCase()
  let found = servers.find(({ known }) => [...known].every((name) => own.has(name) || !named.includes(name)))
  if (found === undefined) {
    found = { server: await startTestServer({ search: "off" }), known: new Set() }
    servers.push(found)
  }
  const { server, known } = found
  for (const name of own) known.add(name)
  lastPost += 1
  const created = new Date(Date.UTC(2026, 0, 1) + lastPost * 1_000).toISOString()
  const post = { id: String(lastPost), text: "a note", created_at: created }
  const envelopes = [{ data: post, includes: { users } }, ...posts.map((data) => ({ data }))]
  expect((await server.ingest(...envelopes)).body).toMatchObject({ rejected_count: 0 })
  return server
}

describe.runIf(hasSharedData)("recorded look-ups of users", () => {
  const lines = hasSharedData
    ? files.flatMap((file) =>
        sharedLines(`data/x/${file}`).flatMap((line, index) => {
          const exchange = JSON.parse(line) as Exchange
          const path = lookUp.exec(exchange.url)?.[1]
          return path === undefined ? [] : [{ name: `${file}:${index + 1}`, path, exchange }]
        }),
      )
    : []
  const reproduced = lines.filter(({ name }) => notReproduced[name] === undefined)

  test("every line is reproduced or stands in the list with its reason", () => {
    expect(reproduced.length).toBeGreaterThanOrEqual(17)
    expect(lines.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(notReproduced)))
  })

  test.each(reproduced)("$name: $path", async ({ path, exchange: { status, headers, body } }) => {
    const users = [body.data ?? []].flat() as User[]
    // The host in a problem's type is another one since.
    const errors = body.errors?.map(({ type: _type, ...error }) => error)
    const server = await serverWith(path, users, body.includes?.tweets)
    const token = path.startsWith("/2/users/me")
      ? ((await server.running.apps.createUserToken(server.app.application_id, users[0]?.id ?? "")) ?? "")
      : server.app.bearer_token
    const answer = await server.call(path, { token })
    expect(answer.status).toBe(status)
    expect(answer.headers.get("content-type")).toBe(headers["content-type"])
    expect(answer.body.data).toEqual(body.data)
    expect(answer.body.includes?.tweets.map(({ id }: { id: string }) => id).toSorted()).toEqual(
      body.includes?.tweets?.map(({ id }) => id).toSorted(),
    )
    const isCut = body._data_total !== undefined && body._data_total !== users.length
    // Sluice knows nothing of users whom the recording leaves out.
    if (isCut)
      for (const error of errors ?? []) expect(answer.body.errors).toContainEqual(expect.objectContaining(error))
    else if (errors === undefined) expect(answer.body).not.toHaveProperty("errors")
    else expect(answer.body.errors).toMatchObject(errors)
  })
})

interface Outcome {
  readonly case: string
  readonly request: string
  readonly status: number
  readonly body: {
    readonly title?: string
    readonly detail?: string
    readonly errors?: readonly RecordedError[]
    readonly data?: object
  }
}

/** The request of an outcome whose line does not spell it out. */
const spelledOut: Readonly<Record<string, string>> = {
  "malformed-id-in-path": "/2/users/asdf/tweets",
  "too-many-ids": `/2/users?ids=${Array.from({ length: 110 }, (_, index) => index).join(",")}`,
}

const outcomesNotReproduced: Readonly<Record<string, string>> = {
  "user-not-found-404": "every capture has 200",
  "user-suspended": "Sluice knows of no suspensions",
  "forbidden-user-context": "a token without the permission to read users, which Sluice does not have",
}

describe.runIf(hasSharedData)("recorded outcomes of requests for users", () => {
  const outcomes = hasSharedData
    ? sharedLines("data/x/request-outcomes.ndjson")
        .map((line) => JSON.parse(line) as Outcome)
        .filter(({ request }) => /^GET \/2\/users(?:[/? ]|$)/.test(request))
    : []
  const reproduced = outcomes.filter((one) => outcomesNotReproduced[one.case] === undefined)

  test("every case is reproduced or stands in the list with its reason", () => {
    expect(reproduced.length).toBeGreaterThanOrEqual(7)
    expect(outcomes.map((one) => one.case)).toEqual(expect.arrayContaining(Object.keys(outcomesNotReproduced)))
  })

  test.each(reproduced)("$case", async ({ case: name, request, status, body }) => {
    const users = ([body.data ?? []].flat() as User[]).map((user) => ({ ...user, name: "n", username: `u${user.id}` }))
    const server = await serverWith(spelledOut[name] ?? request, users)
    const answer = await server.call(spelledOut[name] ?? request.replace("GET ", ""))
    expect(answer.status).toBe(status)
    if (body.title !== undefined) expect(answer.body.title).toBe(body.title)
    if (body.data !== undefined) expect(answer.body.data).toMatchObject(body.data)
    if (status === 403) expect(answer.body.detail).toBe(body.detail)
    const isSent = (error: RecordedError): boolean => !JSON.stringify(error.parameters ?? "").includes("as sent")
    const errors = body.errors?.map(({ type: _type, parameters, ...error }) =>
      isSent({ parameters }) && parameters !== undefined ? { ...error, parameters } : error,
    )
    if (errors !== undefined) expect(answer.body.errors).toMatchObject(errors)
  })
})
