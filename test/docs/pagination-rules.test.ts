/**
 * The pagination convention, rule by rule as section 4.3 of the specification counts them, over HTTP and while
 * posts are being inserted between the requests.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { SharedClock } from "../../packages/server/src/runtime/shared-clock.ts"
import { startTestServer, type TestServer } from "../support/test-server.testing.ts"

const author = "7"
const timeline = `/2/users/${author}/tweets`

/** Most posts that a filtered page reads; the least that the setting takes. */
const scanMax = 100

interface Page {
  readonly data: readonly { readonly id: string; readonly text: string }[]
  readonly meta: {
    readonly result_count: number
    readonly newest_id?: string
    readonly oldest_id?: string
    readonly next_token?: string
    readonly previous_token?: string
  }
}

let server: TestServer
let inserted: number

beforeEach(async () => {
  server = await startTestServer({ "page-scan-max": String(scanMax), search: "off" })
  inserted = 0
})

afterEach(async () => {
  vi.restoreAllMocks()
  await server[Symbol.asyncDispose]()
})

/** Ids rise with `n`, and between two of them there is room for others. */
const idOf = (n: number): string => String(2_000_000_000_000_000_000n + BigInt(n) * 1_000n)

/** A post of the author, made in the `n`th second. */
function aPost(n: number, more: Readonly<Record<string, unknown>> = {}) {
  return {
    data: {
      id: idOf(n),
      text: `post ${n}`,
      author_id: author,
      created_at: new Date(1_700_000_000_000 + n * 1_000).toISOString(),
      ...more,
    },
  }
}

async function ingest(...posts: readonly unknown[]): Promise<void> {
  const { status, body } = await server.ingest(...posts)
  expect({ status, accepted: body.accepted }).toEqual({ status: 200, accepted: posts.length })
}

/** Posts 1 to `count`, the last one the newest. */
async function start(count: number): Promise<void> {
  await ingest(...Array.from({ length: count }, (_, n) => aPost(n + 1)))
  inserted = count
}

/** Between two requests, the author and another user post again. */
async function insertMore(): Promise<void> {
  inserted += 1
  const id = String(BigInt(idOf(inserted)) + 1n)
  await ingest(aPost(inserted), aPost(inserted, { id, author_id: "8" }))
}

/** Sets the server's time of day: the machine's clock and, where processes share a database, the clock set by the database. */
function setTimeOfDay(nowMs: number): void {
  vi.spyOn(Date, "now").mockReturnValue(nowMs)
  vi.spyOn(SharedClock.prototype, "nowMs").mockReturnValue(nowMs)
}

type Query = Readonly<Record<string, string | number>>

function pathOf(query: Query): string {
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${timeline}?${parameters.join("&")}`
}

async function get(query: Query): Promise<Page> {
  const { status, body } = await server.call(pathOf(query))
  expect({ status, ...(status === 200 ? {} : { body }) }).toEqual({ status: 200 })
  return body as Page
}

/** The response to a request that is refused. */
async function refused(query: Query): Promise<string> {
  const { status, body } = await server.call(pathOf(query))
  expect({ status, title: body.title, data: body.data }).toEqual({
    status: 400,
    title: "Invalid Request",
    data: undefined,
  })
  return String(body.detail)
}

/** All pages from a first request on, with posts inserted before each further one. */
async function walk(query: Query, way: "next_token" | "previous_token" = "next_token", from?: Page): Promise<Page[]> {
  const pages = from === undefined ? [await get(query)] : [from]
  for (let token = pages[0]?.meta[way]; token !== undefined; token = pages.at(-1)?.meta[way]) {
    await insertMore()
    pages.push(await get({ ...query, pagination_token: token }))
  }
  return pages
}

const numbersOf = (...pages: readonly Page[]): number[] =>
  pages.flatMap((page) => page.data.map(({ id }) => Number((BigInt(id) - BigInt(idOf(0))) / 1_000n)))

/** From the newest down to the oldest. */
const down = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, n) => from - n)

test("4.3 rule 1: the first request has max_results and no pagination_token", async () => {
  await start(12)
  const page = await get({ max_results: 5 })
  expect(numbersOf(page)).toEqual(down(12, 8))
  expect(page.meta).toEqual({
    result_count: 5,
    newest_id: idOf(12),
    oldest_id: idOf(8),
    next_token: expect.any(String) as string,
  })
  await insertMore()
  expect(numbersOf(await get({ max_results: 5 })), "a first request starts at the newest again").toEqual(down(13, 9))
  expect((await get({})).meta.result_count, "the default is 10").toBe(10)
})

test("4.3 rule 2: next_token as pagination_token, with the other parameters unchanged, is the next page", async () => {
  await start(12)
  const query = { max_results: 5, "tweet.fields": "created_at" }
  const first = await get(query)
  await insertMore()
  const pagination_token = String(first.meta.next_token)
  expect(numbersOf(await get({ ...query, pagination_token }))).toEqual(down(7, 3))
  await insertMore()
  expect(numbersOf(await get({ ...query, pagination_token })), "however often it is asked for").toEqual(down(7, 3))
  expect(numbersOf(await get({ ...query, max_results: 6, pagination_token }))).toEqual(down(7, 2))
  expect(await refused({ ...query, "tweet.fields": "lang", pagination_token })).toContain("must be unchanged")
  expect(await refused({ max_results: 5, pagination_token })).toContain("must be unchanged")
  expect(await refused({ ...query, exclude: "replies", pagination_token })).toContain("must be unchanged")
})

test("4.3 rule 3: repeated until there is no next_token, the requests show every post once", async () => {
  await start(33)
  const pages = await walk({ max_results: 5 })
  expect(numbersOf(...pages)).toEqual(down(33, 1))
  expect(pages).toHaveLength(7)
  expect(pages.map(({ meta }) => meta.next_token !== undefined)).toEqual([...Array<boolean>(6).fill(true), false])
})

test("4.3 rule 4: previous_token as pagination_token goes back a page", async () => {
  await start(15)
  const forward = await walk({ max_results: 5 })
  const back = await walk({ max_results: 5 }, "previous_token", forward.at(-1))
  expect(back.slice(0, 3).map((page) => numbersOf(page))).toEqual([down(5, 1), down(10, 6), down(15, 11)])
  const newest = inserted
  expect(numbersOf(...back.toReversed()), "and on, to what was inserted meanwhile").toEqual(down(newest, 1))
  expect(back.map(({ meta }) => meta.previous_token !== undefined)).toEqual([
    ...Array<boolean>(back.length - 1).fill(true),
    false,
  ])
  expect(forward[0]?.meta, "nothing precedes the first page").not.toHaveProperty("previous_token")
})

test("4.3 rule 5: tokens are opaque, and a changed one is refused", async () => {
  await start(12)
  const token = String((await get({ max_results: 5 })).meta.next_token)
  expect(token).toMatch(/^[0-9a-v]{45,64}$/)
  expect(token).not.toContain(idOf(8))
  await insertMore()
  for (const at of [0, 1, 17, 31, 32, 62, 63]) {
    const changed = token.slice(0, at) + (token.charAt(at) === "0" ? "1" : "0") + token.slice(at + 1)
    expect(await refused({ max_results: 5, pagination_token: changed })).toContain(
      `The \`pagination_token\` query parameter value [${changed}] is not a valid token.`,
    )
  }
  for (const wrong of [token.slice(1), `${token}0`, token.toUpperCase(), "meta.next_token", "__proto__", idOf(8)]) {
    expect(await refused({ max_results: 5, pagination_token: wrong })).toContain("is not a valid token.")
  }
  expect(numbersOf(await get({ max_results: 5, pagination_token: token }))).toEqual(down(7, 3))
})

test("4.3 rule 6: a token expires after its lifetime, and the response says to start again", async () => {
  await start(12)
  const pagination_token = String((await get({ max_results: 5 })).meta.next_token)
  await insertMore()
  const issuedBefore = Date.now()
  const hourMs = 3_600_000
  setTimeOfDay(issuedBefore + 24 * hourMs - 60_000)
  expect(numbersOf(await get({ max_results: 5, pagination_token }))).toEqual(down(7, 3))
  setTimeOfDay(issuedBefore + 24 * hourMs)
  const detail = await refused({ max_results: 5, pagination_token })
  expect(detail).toContain("has expired: tokens are good for 24 hours. Start again without `pagination_token`.")
  expect(numbersOf(await get({ max_results: 5 }))).toEqual(down(13, 9))
})

test("4.3 rule 7: a page may hold fewer results than max_results and still not be the last", async () => {
  const replies = Array.from({ length: 3 * scanMax }, (_, n) => aPost(n + 11, { in_reply_to_user_id: "9" }))
  await start(10)
  await ingest(...replies, aPost(311), aPost(312))
  inserted = 312
  const pages = await walk({ max_results: 5, exclude: "replies" })
  expect(numbersOf(...pages)).toEqual([312, 311, ...down(10, 1)])
  const shortOnes = pages.filter((page) => page.data.length < 5 && page.meta.next_token !== undefined)
  expect(shortOnes.map((page) => page.meta.result_count)).toEqual([2, 0, 0])
  for (const page of pages) expect(page.meta.result_count).toBe(page.data.length)

  const back = await walk({ max_results: 5, exclude: "replies" }, "previous_token", pages.at(-1))
  expect(numbersOf(...back.toReversed())).toEqual([...down(inserted, 311), ...down(10, 1)])
})

test("4.3 rule 8: the last page may be shorter than max_results", async () => {
  await start(12)
  const pages = await walk({ max_results: 5 })
  expect(pages.map(({ meta }) => meta.result_count)).toEqual([5, 5, 2])
})

test("4.3 rule 9: next_token is omitted when there is nothing beyond the page", async () => {
  await start(10)
  const first = await get({ max_results: 5 })
  await insertMore()
  const last = await get({ max_results: 5, pagination_token: String(first.meta.next_token) })
  expect(numbersOf(last), "the last page is full").toEqual(down(5, 1))
  expect(Object.keys(last.meta)).toEqual(["result_count", "newest_id", "oldest_id", "previous_token"])
  expect(Object.keys((await get({ max_results: 100 })).meta)).toEqual(["result_count", "newest_id", "oldest_id"])
  expect(await get({ until_id: idOf(1) })).toEqual({ data: [], meta: { result_count: 0 } })
})

test("4.3 rule 10: results are in reverse chronological order, within a page and across pages", async () => {
  // Ingested out of order, with ids that do not order as text.
  const shuffled = [5, 12, 1, 9, 3, 11, 7, 2, 10, 6, 4, 8]
  await ingest(...shuffled.map((n) => aPost(n)), aPost(0, { id: "99" }), aPost(0, { id: "100" }))
  inserted = 12
  const pages = await walk({ max_results: 5 })
  const ids = pages.flatMap((page) => page.data.map(({ id }) => id))
  expect(ids).toEqual([...down(12, 1).map(idOf), "100", "99"])
  for (const { data, meta } of pages) {
    expect([meta.newest_id, meta.oldest_id]).toEqual([data[0]?.id, data.at(-1)?.id])
  }
})

test("4.3 rule 11: since_id gets only newer posts", async () => {
  await start(20)
  const since_id = String((await get({ max_results: 5 })).meta.newest_id)
  expect(await get({ max_results: 5, since_id })).toEqual({ data: [], meta: { result_count: 0 } })
  for (let count = 0; count < 12; count += 1) await insertMore()
  const pages = await walk({ max_results: 5, since_id })
  expect(numbersOf(...pages), "exclusive, over all pages, and nothing twice").toEqual(down(32, 21))
  const next = await get({ max_results: 100, since_id: String(pages[0]?.meta.newest_id) })
  expect(numbersOf(next), "what was inserted during the walk").toEqual(down(inserted, 33))
})
