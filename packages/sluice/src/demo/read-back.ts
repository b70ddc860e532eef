/** Reads back the link and its state, a user's pages, and the stream. */
import type { Client, Operations } from "@sluice/client"
import type { AppCredentials } from "@sluice/server"
import { visibleLines } from "../terminal/terminal.ts"
import type { DemoReporter } from "./demo-reporter.ts"
import { checkSame, isAsExpected, listed, type Expected } from "./expected-matches.ts"
import { newestFirst, type Sample } from "./sample.ts"
import { surplusMs, waitUntil, type Waiting } from "./waiting.ts"

type PostsPage = Operations["userPosts"]["GET"]["response"]

/** Posts of a page of the demo. */
export const pageSize = 20

/** Waits until the link has nothing left to send. Returns how many matches the log holds. */
export async function checkLinkState(
  client: Client,
  expectedCount: number,
  reporter: DemoReporter,
  waiting: Waiting,
): Promise<number> {
  let state: Operations["linkDetails"]["GET"]["response"]["data"][number] | undefined
  await waitUntil(async () => {
    const { data } = await client.request("GET", "linkDetails")
    state = data[0]
    return state?.lag === 0
  }, waiting)
  const { head = 0, lag } = state ?? {}
  await reporter.check(
    head === expectedCount && lag === 0,
    `${String(expectedCount)} matches in the log, all delivered`,
    `${String(head)} in the log, ${String(lag ?? "?")} not delivered`,
  )
  return head
}

/** Shows the links, of which there must be one. */
export async function showLinks(client: Client, app: AppCredentials, reporter: DemoReporter): Promise<void> {
  const body = await client.request("GET", "links")
  for (const line of visibleLines(JSON.stringify(body, undefined, 2)).split("\n")) await reporter.show(line)
  const [link, ...others] = body.data.links
  const isOurs =
    others.length === 0 &&
    link?.application_id === app.application_id &&
    link.business_user_id === app.business_user_id &&
    link.instance_id === app.instance_id
  await reporter.check(isOurs, "one link, of this app")
}

/** Follows a user's pages to the end and back. Returns how many there are. */
export async function checkPages(client: Client, sample: Sample, reporter: DemoReporter): Promise<number> {
  const { id, postIds } = sample.mostActive
  const options = { parameters: { id }, query: { max_results: pageSize } }
  const forward = await Array.fromAsync(client.pages("userPosts", options))
  await reporter.show(`forward  ${sizesOf(forward)}`)

  const back: PostsPage[] = []
  for (let token = forward.at(-1)?.meta?.previous_token; token !== undefined && back.length < forward.length;) {
    const query = { ...options.query, pagination_token: token }
    const page = await client.request("GET", "userPosts", { ...options, query })
    back.push(page)
    token = page.meta?.previous_token
  }
  await reporter.show(`back     ${sizesOf(back)}`)

  const found = forward.flatMap((page) => (page.data ?? []).map((post) => post.id))
  const isWhole =
    JSON.stringify(found) === JSON.stringify(postIds) &&
    JSON.stringify(found) === JSON.stringify(found.toSorted(newestFirst))
  await reporter.check(isWhole, `all ${String(postIds.length)} posts, newest first`, `${String(found.length)} posts`)
  const there = forward.slice(0, -1).map(({ data }) => data)
  const andBack = back.toReversed().map(({ data }) => data)
  await reporter.check(JSON.stringify(there) === JSON.stringify(andBack), "paging back shows the same pages")
  return forward.length
}

function sizesOf(list: readonly PostsPage[]): string {
  return list.map(({ data = [] }) => String(data.length)).join(" · ")
}

/** Reads the last minutes down a stream connection. Returns how many posts came. */
export async function checkStream(
  client: Client,
  expected: Expected,
  reporter: DemoReporter,
  { arrivalMsMax, signal }: Waiting,
): Promise<number> {
  const tooLong = AbortSignal.timeout(arrivalMsMax)
  const complete = new AbortController()
  const ids = new Set<string>()
  const wrong = new Set<string>()
  const stream = client.stream({
    query: { backfill_minutes: 5 },
    signal: AbortSignal.any([signal, tooLong, complete.signal]),
    reconnect: false,
  })
  for await (const { body } of stream) {
    const id = body?.data?.id ?? "?"
    ids.add(id)
    if (body === undefined || !isAsExpected(body, expected)) wrong.add(id)
    // All expected posts have arrived: wait a moment for unexpected ones.
    if (ids.size === expected.size) setTimeout(() => complete.abort(), surplusMs)
  }
  await checkSame([...ids], expected, `${String(expected.size)} posts streamed, the same as delivered`, reporter)
  await reporter.check(wrong.size === 0, "each post has the expected rules", listed(wrong))
  return ids.size
}
