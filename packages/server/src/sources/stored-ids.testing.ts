import { paths } from "@sluice/api"
import { envelope, type TestApp } from "../../../../test/support/test-server.testing.ts"

/** Requests to a server. */
export type Calls = Pick<TestApp, "call">

/** Requests to the server at `url` with a token. */
export function callsWith(url: string, token: string): Calls {
  return {
    async call(path, { headers, ...init } = {}) {
      const response = await fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...headers } })
      const text = await response.text()
      const isJson = response.headers.get("content-type")?.includes("json") === true
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
    },
  }
}

/** Ids of the posts that a server has stored, lowest first. */
export async function storedIds(server: Calls): Promise<readonly number[]> {
  const ids: number[] = []
  let token: string | undefined
  do {
    const query: string = token === undefined ? "" : `&pagination_token=${token}`
    const { body } = await server.call(`${paths.posts}?max_results=100${query}`)
    ids.push(...(body.data as { data: { id: string } }[]).map(({ data }) => Number(data.id)))
    token = body.meta.next_token as string | undefined
  } while (token !== undefined)
  return ids.toSorted((a, b) => a - b)
}

/** The value of a metric, by its name with its labels; `undefined` when it has none. */
export async function metric(server: Calls, name: string): Promise<number | undefined> {
  const { text } = await server.call(paths.metrics)
  const line = text.split("\n").find((each) => each.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

/** The numbers from `from` to `to`. */
export const idsOf = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** A post with each of these ids. */
export const posts = (from: number, to: number): readonly unknown[] =>
  idsOf(from, to).map((id) => envelope(id, `a heron, number ${id}`))
