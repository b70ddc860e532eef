/**
 * X's recorded answers to look-ups of posts: what each shows is ingested into a server without other posts of the request,
 * the same request is sent, and the answers are compared. A line that is not compared stands in `notCompared` with its reason.
 */
import { afterAll, describe, expect, test } from "vitest"
import { hasSharedData, sharedLines } from "./support/shared-data.testing.ts"
import { startTestServer, type TestResponse, type TestServer } from "./support/test-server.testing.ts"
import { differencesFromX } from "./support/x-document.testing.ts"

type Json = Readonly<Record<string, unknown>>

interface Recorded {
  readonly name: string
  /** Path and query. */
  readonly path: string
  readonly status: number
  readonly body: Json
}

/** Lines that are left out, by a part of their name. */
const notCompared: readonly { readonly line: string; readonly reason: string }[] = [
  { line: "429 Rate Limit Exceeded", reason: "Sluice has no rate limits of look-ups, and the answer is plain text" },
  {
    line: "field-not-authorized",
    reason: "the request is cut short in the recording, and Sluice has no private metrics",
  },
  { line: "duplicate-post", reason: "a request that writes" },
  { line: "test_client_create_tweet", reason: "a request that writes" },
]

/** Members in which every answer of Sluice differs from X's on purpose. */
const ofOurOwn = {
  /** The row `error-members`. */
  error: ["status", "message"],
  /** The row `kept-bytes`: Sluice adds what clients read, which X did not send before 2022. */
  post: ["edit_history_tweet_ids"],
}

describe.runIf(hasSharedData)("recorded look-ups of posts", () => {
  const lines = hasSharedData ? recordedLookUps() : []
  /** Servers, and the posts that each has, as they were sent. */
  const servers: { readonly server: TestServer; readonly sent: Map<string, string> }[] = []
  afterAll(async () => {
    for (const { server } of servers) await server[Symbol.asyncDispose]()
  })

  /** A server that has no post of the line's request but those of its answer, and none of these in another form. */
  async function serverFor(line: Recorded, envelopes: readonly { readonly data: Json }[]): Promise<TestServer> {
    const own = new Map(envelopes.map((one) => [String(one.data["id"]), JSON.stringify(one)]))
    const fits = ({ sent }: (typeof servers)[number]): boolean =>
      [...sent].every(([id, text]) => (own.get(id) ?? text) === text && (own.has(id) || !line.path.includes(id)))
    let found = servers.find(fits)
    if (found === undefined) {
      found = { server: await startTestServer({ "post-bytes-max": "1048576", search: "off" }), sent: new Map() }
      servers.push(found)
    }
    for (const [id, text] of own) found.sent.set(id, text)
    return found.server
  }

  test("there are recordings of both routes", () => {
    expect(lines.filter(({ path }) => path.startsWith("/2/tweets?")).length).toBeGreaterThan(25)
    expect(lines.filter(({ path }) => path.startsWith("/2/tweets/")).length).toBeGreaterThan(8)
  })

  test.each(lines)("$name", async (line) => {
    const posts = postsOf(line.body)
    const envelopes = posts.map((data) => envelopeOf(data, line.body))
    const server = await serverFor(line, envelopes)
    if (envelopes.length > 0) expect((await server.ingest(...envelopes)).body).toMatchObject({ rejected_count: 0 })
    const answer = await server.call(line.path)
    expect(differencesFromX("GET", line.path, answer)).toEqual([])
    expect(answer.status).toBe(line.status)
    if (line.status === 400) compareRefusals(answer, line)
    else compareAnswers(answer, line, posts)
  })
})

/** The recorded answers of the three files to `GET /2/tweets` and `/2/tweets/:id`. */
function recordedLookUps(): readonly Recorded[] {
  const exchanges = ["data/x/lookup-search-exchanges.ndjson", "data/x/http-exchanges.ndjson"].flatMap((file) =>
    sharedLines(file).map((line) => {
      const { source, name, method, url, status, body } = JSON.parse(line) as Record<string, string> & {
        status: number
        body: Json
      }
      const { pathname, search } = new URL(url ?? "")
      return { name: `${name ?? source} ${pathname}`, method, path: pathname + search, status, body }
    }),
  )
  const outcomes = sharedLines("data/x/request-outcomes.ndjson").map((line) => {
    const outcome = JSON.parse(line) as { case: string; request: string; status: number; body: Json }
    const [method, path = ""] = outcome.request.split(" ")
    return { name: outcome.case, method, path: path.replace(":id", "20"), status: outcome.status, body: outcome.body }
  })
  return [...exchanges, ...outcomes]
    .filter(({ method, path }) => method === "GET" && /^\/2\/tweets(\/\d+)?(\?|$)/.test(path))
    .filter(({ name }) => !notCompared.some(({ line }) => name.includes(line)))
}

function postsOf({ data }: Json): readonly Json[] {
  if (data === undefined) return []
  return (Array.isArray(data) ? data : [data]) as readonly Json[]
}

/** The post with the objects that the recording includes; some recordings say only how many they are. */
function envelopeOf(data: Json, body: Json): { readonly data: Json } {
  const lists = Object.entries((body["includes"] ?? {}) as Json).filter(([, list]) => Array.isArray(list))
  return { data, ...(lists.length > 0 && { includes: Object.fromEntries(lists) }) }
}

function compareAnswers({ body }: TestResponse, line: Recorded, posts: readonly Json[]): void {
  const answer = body as Json
  expect(postsOf(answer).map((post) => without(post, ofOurOwn.post))).toEqual(
    posts.map((post) => without(post, ofOurOwn.post)),
  )
  expect(Array.isArray(answer["data"])).toBe(Array.isArray(line.body["data"]))
  expect(Object.hasOwn(answer, "data")).toBe(Object.hasOwn(line.body, "data"))
  const includes = (line.body["includes"] ?? {}) as Json
  for (const [kind, list] of Object.entries(includes)) {
    if (!Array.isArray(list)) continue
    expect(sortedById((answer["includes"] as Json)[kind])).toEqual(sortedById(list))
  }
  // Errors of the ids, in the order of the request. Long lists were cut when they were recorded.
  const ofIds = (errors: unknown): readonly Json[] =>
    ((errors ?? []) as readonly Json[]).filter(({ parameter }) => parameter === "ids" || parameter === "id")
  const [theirs, ours] = [ofIds(line.body["errors"]), ofIds(answer["errors"])]
  const isCut = Object.hasOwn(line.body, "_errors_total") || (line.body["_data_total"] ?? posts.length) !== posts.length
  if (!isCut) expect(ours).toHaveLength(theirs.length)
  for (const [at, error] of theirs.entries()) {
    const { resource_id, ...older } = without(ours[at] ?? {}, ofOurOwn.error)
    // X's type had another host, and before 2021 no resource_id.
    const host = String(error["type"]).replace("api.twitter.com", "api.x.com")
    expect({ ...older, ...(Object.hasOwn(error, "resource_id") && { resource_id }) }).toEqual({ ...error, type: host })
  }
}

/** The faults: what was sent and what is said of it, but for the lists of names, which were shorter then. */
function compareRefusals({ body }: TestResponse, line: Recorded): void {
  const faultOf = ({ parameters, message }: Json): unknown => [
    parameters,
    String(message)
      .replace(/ is not one of \[.*\]$/, " is not one of […]")
      // The wording of 2020; that of 2022 is asserted by a live test.
      .replace(/^The number of values in the `ids` query parameter list/, "size"),
  ]
  const errorsOf = ({ errors }: Json): readonly unknown[] => (errors as readonly Json[]).map(faultOf)
  const recorded = errorsOf(line.body).map((fault) =>
    JSON.parse(JSON.stringify(fault, (_key, value: unknown) => (typeof value === "string" ? cut(value) : value))),
  )
  expect(errorsOf(body as Json)).toEqual(recorded)
  expect((body as Json)["title"]).toBe(line.body["title"])
  expect(String((body as Json)["detail"])).toContain(String(line.body["detail"]))
}

/** As much of a text as a refusal repeats. */
function cut(text: string): string {
  return text.length <= 2_100 ? text : `${text.slice(0, 2_099)}…`
}

function without(object: Json, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

function sortedById(list: unknown): readonly unknown[] {
  const keyOf = (object: Json): string => String(object["id"] ?? object["media_key"])
  return ((list ?? []) as readonly Json[])
    .map((object) => without(object, ofOurOwn.post))
    .toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)))
}
