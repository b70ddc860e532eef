import { expect, test } from "vitest"
import { createClient } from "./client.ts"
import { listening } from "../../../test/support/listening.testing.ts"

/** A server whose pages lead on as the map says; the first page has the token "". */
function pagesThat(lead: Readonly<Record<string, string>>) {
  return listening((request, response) => {
    const token = new URL(request.url ?? "/", "http://x").searchParams.get("pagination_token") ?? ""
    response.end(JSON.stringify({ meta: { result_count: 1, next_token: lead[token] } }))
  })
}

test("pages follow their tokens to the last, each with the query of the first", async () => {
  const urls: (string | undefined)[] = []
  await using server = await listening((request, response) => {
    urls.push(request.url)
    const next = urls.length < 3 ? `t${String(urls.length)}` : undefined
    response.end(JSON.stringify({ data: [{ id: String(urls.length) }], meta: { next_token: next } }))
  })
  const client = createClient({ url: server.url, token: "t" })
  const found = await Array.fromAsync(client.pages("rules", { query: { max_results: 1 } }))
  expect(found.flatMap(({ data = [] }) => data.map(({ id }) => id))).toEqual(["1", "2", "3"])
  const path = "/2/tweets/search/stream/rules?max_results=1"
  expect(urls).toEqual([path, `${path}&pagination_token=t1`, `${path}&pagination_token=t2`])
})

test.each([
  ["a page that leads to itself", { "": "a", a: "a" }],
  ["two pages that lead to each other", { "": "a", a: "b", b: "a" }],
  ["a circle that begins late", { "": "a", a: "b", b: "c", c: "d", d: "e", e: "c" }],
])("%s ends the iteration with an error", async (_, lead) => {
  await using server = await pagesThat(lead)
  const client = createClient({ url: server.url, token: "t" })
  let count = 0
  const read = async (): Promise<void> => {
    for await (const _page of client.pages("links")) if (++count > 100) return
  }
  await expect(read()).rejects.toMatchObject({ name: "ApiError", kind: "response", status: undefined })
  expect(count).toBeLessThan(20)
})
