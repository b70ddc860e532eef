import { expect, test } from "vitest"
import type { AppId, PostId } from "../model/ids.ts"
import { SearchTooCostly } from "./find-posts.ts"
import type { SearchThread } from "./search-thread.ts"
import { noSearches, searchesThrough, type Searches } from "./searches.ts"

const { signal } = new AbortController()
const rule = { value: "cat", withReposts: true }
const range = { direction: "older", above: -1n, upTo: 9n, limit: 1 } as const

type Functions = Pick<SearchThread, "find" | "rank" | "count" | "including">

/** Searches in a thread that has these functions, and none of the others. */
function searchesWith(functions: Partial<Functions>): Searches {
  const none = (): never => expect.fail("no such call")
  return searchesThrough({ find: none, rank: none, count: none, including: none, ...functions })
}

test("what is too costly is a 503 that says what to do, and any other error stays as it is", async () => {
  const countWith = (fault: Error) =>
    searchesWith({ count: () => Promise.reject(fault) }).count("1" as AppId, rule, [0n, 9n], signal)
  await expect(countWith(new SearchTooCostly())).rejects.toMatchObject({
    status: 503,
    detail: expect.stringContaining("choose a finer granularity") as string,
  })
  await expect(countWith(new Error("gone"))).rejects.toThrow("gone")
  const rank = () => Promise.reject(new SearchTooCostly())
  const span = { above: -1n, upTo: 9n, isWhole: true }
  await expect(searchesWith({ rank }).rank("1" as AppId, rule, span, signal)).rejects.toMatchObject({
    status: 503,
    detail: expect.stringContaining("Repeat the request") as string,
  })
})

test("searches of an app wait for each other, twenty at most, and those of another app do not wait for them", async () => {
  const begun: { readonly app: string; readonly end: () => void }[] = []
  const found = { ids: [], damaged: [] }
  const searches = searchesWith({
    find: ({ value }) => new Promise((resolve) => begun.push({ app: value, end: () => resolve(found) })),
  })
  const find = (app: string) => searches.find(app as AppId, { value: app, withReposts: true }, range, signal)
  const unfinished = Array.from({ length: 20 }, () => find("1"))
  await expect(find("1")).rejects.toMatchObject({ status: 429 })
  const other = find("2")
  await expect.poll(() => begun.map(({ app }) => app)).toEqual(["1", "2"])
  begun[1]?.end()
  expect(await other).toBe(found)
  for (const at of [0, ...Array.from({ length: 19 }, (_, index) => index + 2)]) {
    await expect.poll(() => begun.length).toBe(Math.max(2, at + 1))
    begun[at]?.end()
  }
  expect(await Promise.all(unfinished)).toEqual(Array.from({ length: 20 }, () => found))
})

test("where the search is off, searches are a 404, and look-ups find nothing in the includes of others", async () => {
  await expect(noSearches.find("1" as AppId, rule, range, signal)).rejects.toMatchObject({ status: 404 })
  expect(await noSearches.including(["1" as PostId], signal)).toEqual(new Map())
})
