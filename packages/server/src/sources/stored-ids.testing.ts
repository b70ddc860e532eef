import { paths } from "@sluice/api"
import type { TestApp } from "../../../../test/support/test-server.testing.ts"

/** Ids of the posts that a server has stored, lowest first. */
export async function storedIds(server: Pick<TestApp, "call">): Promise<readonly number[]> {
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
export async function metric(server: Pick<TestApp, "call">, name: string): Promise<number | undefined> {
  const { text } = await server.call(paths.metrics)
  const line = text.split("\n").find((each) => each.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}
