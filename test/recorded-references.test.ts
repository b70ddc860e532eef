/**
 * X's recorded answers about the quotes and reposts of a post, and about the users who reposted it: what each shows is
 * ingested, the same request is sent, and the answers are compared.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { hasSharedData, sharedLines } from "./support/shared-data.testing.ts"
import { startTestServer, type TestServer } from "./support/test-server.testing.ts"
import { differencesFromX } from "./support/x-document.testing.ts"

type Json = Readonly<Record<string, unknown>>

interface Recorded {
  readonly name: string
  /** Path and query. */
  readonly path: string
  readonly status: number
  readonly data: readonly Json[]
  /** Absent where the recording leaves out a part of the data. */
  readonly count: number | undefined
}

/** Lines that are left out, by a part of their path. */
const notCompared: readonly { readonly path: string; readonly reason: string }[] = [
  { path: "pagination_token=", reason: "the page belongs to a token of X" },
]

const lists = /^\/2\/tweets\/(\d+)\/(quote_tweets|retweets|retweeted_by)(?:\?|$)/

function recorded(): readonly Recorded[] {
  return ["http-exchanges.ndjson", "client-test-bodies.ndjson"].flatMap((file) =>
    sharedLines(`data/x/${file}`).flatMap((line, index) => {
      const { url, method, status, body } = JSON.parse(line) as {
        url: string
        method: string
        status: number
        body: { data?: readonly Json[]; meta?: { result_count?: number } }
      }
      const { pathname, search } = new URL(url, "https://api.twitter.com")
      const path = pathname + search
      if (method !== "GET" || !lists.test(path) || notCompared.some((one) => path.includes(one.path))) return []
      const data = body.data ?? []
      const isWhole = body.meta?.result_count === data.length
      return [{ name: `${file}:${index + 1}`, path, status, data, count: isWhole ? data.length : undefined }]
    }),
  )
}

let lastId = 1_000

/** An id of a post that no recording has, less than every one before. */
function newId(): string {
  lastId -= 1
  return String(lastId)
}

/** An envelope that makes the recorded user or post one of the list. */
function envelopeFor(list: string, subject: string, object: Json): unknown {
  const refers = (type: string, id: string) => ({ referenced_tweets: [{ type, id }] })
  switch (list) {
    case "retweeted_by":
      return {
        data: { id: newId(), text: "RT", author_id: object["id"], ...refers("retweeted", subject) },
        includes: { users: [object] },
      }
    case "retweets":
      return { data: { ...object, ...refers("retweeted", subject) } }
    default: {
      // The quotes that were recorded are reposts of a quote.
      const quote = { id: newId(), text: "look", ...refers("quoted", subject) }
      return { data: { ...object, ...refers("retweeted", quote.id) }, includes: { tweets: [quote] } }
    }
  }
}

describe.runIf(hasSharedData)("recorded lists of quotes and reposts", () => {
  const lines = hasSharedData ? recorded() : []
  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer()
  })

  afterAll(() => server[Symbol.asyncDispose]())

  test("there are recordings of each list", () => {
    const found = lines.map(({ path }) => lists.exec(path)?.[2])
    expect(new Set(found)).toEqual(new Set(["retweeted_by", "quote_tweets", "retweets"]))
    expect(lines.length).toBeGreaterThanOrEqual(6)
  })

  test.each(lines)("$name", async ({ path, status, data, count }) => {
    const [, subject = "", list = ""] = lists.exec(path) ?? []
    const envelopes = data.map((object) => envelopeFor(list, subject, object))
    const sent = await server.ingest({ data: { id: subject, text: "the original" } }, ...envelopes)
    expect(sent.body).toMatchObject({ rejected_count: 0, accepted: data.length + 1 })
    const answer = await server.call(path)
    expect(differencesFromX("GET", path, answer)).toEqual([])
    expect(answer.status).toBe(status)
    expect(answer.body.data).toEqual(data)
    if (count !== undefined) expect(answer.body.meta.result_count).toBe(count)
  })
})
