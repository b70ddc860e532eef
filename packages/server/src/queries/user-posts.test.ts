import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { defaultSelection, parseSelection } from "../model/field-selection.ts"
import type { AppId, PostId, UserId } from "../model/ids.ts"
import type { AcceptedPost } from "../model/post.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { openTestedStore } from "../store/tested-store.testing.ts"
import type { Store } from "../store/store.ts"
import type { UserPostsRange, UserPostsScan } from "../store/port/post-store.ts"
import { createPageTokens } from "../paging/page-token.ts"
import { presentPostsPage } from "../http/present/user-posts.ts"
import { HeldPages } from "./held-pages.ts"
import { createUserPosts, type UserPosts, type UserPostsRequest } from "./user-posts.ts"
import { createRecordedEvents } from "../delivery/links/link-harness.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

const user = "1001" as UserId
const app = "5" as AppId
const { signal: always } = new AbortController()

interface Body {
  readonly data: readonly { readonly id: string; readonly [member: string]: unknown }[]
  readonly includes?: unknown
  readonly meta: {
    readonly next_token?: string
    readonly previous_token?: string
    readonly [member: string]: unknown
  }
}

let directory: TemporaryDirectory
let store: Store
let timelines: UserPosts

beforeEach(async () => {
  directory = await temporaryDirectory()
  store = await openTestedStore(directory.path)
  timelines = withScan(1_000)
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await directory.remove()
})

function withScan(scanMax: number): UserPosts {
  const tokens = createPageTokens({ key: new Uint8Array(32), lifetimeMs: 0, clock: createManualClock() })
  return createUserPosts({ store, tokens, heldPages: new HeldPages(), scanMax, events: createRecordedEvents() })
}

function aPost(id: number, more: Partial<AcceptedPost> = {}): AcceptedPost {
  return {
    id: String(id) as PostId,
    authorId: user,
    createdAtMs: id * 1_000,
    isReply: false,
    isRepost: false,
    core: Buffer.from(`{"id":"${id}","text":"post ${id}","edit_history_tweet_ids":["${id}"]}`),
    envelope: Buffer.from(
      JSON.stringify({
        data: { id: String(id), text: `post ${id}`, author_id: user, lang: "en" },
        includes: { users: [{ id: user, username: "ann", name: `Ann ${id}` }] },
      }),
    ),
    userIds: [user],
    users: [],
    includedIds: [],
    ...more,
  }
}

async function insert(...posts: readonly AcceptedPost[]): Promise<void> {
  await store.append(
    posts.map((post) => ({ post, matches: [] })),
    0,
  )
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

type RequestChanges = Partial<Omit<UserPostsRequest, "filter"> & UserPostsRequest["filter"]>

function aRequest(changes: RequestChanges = {}): UserPostsRequest {
  const { limit = 5, token, selection = defaultSelection, parameters = "", ...filter } = changes
  return {
    filter: { userId: user, excludeReplies: false, excludeReposts: false, ...filter },
    limit,
    token,
    selection,
    parameters,
  }
}

async function page(more: RequestChanges = {}, by = timelines): Promise<Body> {
  const outcome = await by.page(app, aRequest(more), always)
  if (outcome.kind !== "page") throw new Error("the user is unknown")
  outcome.release()
  return JSON.parse(presentPostsPage(outcome)) as Body
}

async function idsOf(more: RequestChanges): Promise<number[]> {
  return (await page(more)).data.map((post) => Number(post.id))
}

test("a page of default fields holds the stored texts as they are, newest first, and its meta", async () => {
  await insert(...range(1, 3).map((id) => aPost(id, { core: Buffer.from(`{"id":"${id}", "text":"as \\u0073tored"}`) })))
  const outcome = await timelines.page(app, aRequest(), always)
  expect(outcome).toMatchObject({ kind: "page", damaged: [], posts: { missing: [] } })
  expect(outcome.kind === "page" && presentPostsPage(outcome)).toBe(
    '{"data":[{"id":"3", "text":"as \\u0073tored"},{"id":"2", "text":"as \\u0073tored"},' +
      '{"id":"1", "text":"as \\u0073tored"}],"meta":{"result_count":3,"newest_id":"3","oldest_id":"1"}}',
  )
})

test("a page shows the requested fields, and each author once, as the newest post names them", async () => {
  await insert(aPost(1), aPost(2))
  const selection = parseSelection({ "tweet.fields": "lang", expansions: "author_id" })
  const { data, includes } = await page({ selection })
  expect(data[0]).toEqual({
    id: "2",
    text: "post 2",
    author_id: user,
    lang: "en",
    edit_history_tweet_ids: ["2"],
  })
  expect(includes).toEqual({ users: [{ id: user, username: "ann", name: "Ann 2" }] })
})

const megabyte = "x".repeat(1_048_576)
const largePost = (id: number, more: Partial<AcceptedPost> = {}): AcceptedPost =>
  aPost(id, { core: Buffer.from(`{"id":"${id}","text":"${megabyte}"}`), ...more })

test("a page of posts of a megabyte ends after two, and the next continues from there, either way", async () => {
  await insert(...range(1, 10).map((id) => largePost(id, { isReply: id % 3 === 0 })))
  const walk = async (more: RequestChanges): Promise<readonly number[][]> => {
    const pages: number[][] = []
    let next: string | undefined
    let previous: string | undefined
    do {
      const { data, meta } = await page({ ...more, limit: 100, token: next })
      pages.push(data.map(({ id }) => Number(id)))
      next = meta.next_token
      previous = meta.previous_token
    } while (next !== undefined)
    const back = await page({ ...more, limit: 100, token: previous })
    return [...pages, back.data.map(({ id }) => Number(id))]
  }
  expect(await walk({})).toEqual([
    [10, 9],
    [8, 7],
    [6, 5],
    [4, 3],
    [2, 1],
    [4, 3],
  ])
  expect(await walk({ excludeReplies: true })).toEqual([[10, 8], [7, 5], [4, 2], [1], [4, 2]])
})

test("an app whose clients read nothing holds 8 MiB of pages, and other apps have their own share", async () => {
  await insert(...range(1, 4).map((id) => largePost(id)))
  const leaving = new AbortController()
  const held: { release: () => void }[] = []
  const asked = Array.from({ length: 20 }, async () => {
    const outcome = await timelines.page(app, aRequest({ limit: 1 }), leaving.signal)
    if (outcome.kind === "page") held.push(outcome)
  })
  await expect.poll(() => held.length).toBe(6)
  const others = await timelines.page("6" as AppId, aRequest(), always)
  expect(others.kind).toBe("page")
  expect(held.length).toBe(6)
  held[0]?.release()
  await expect.poll(() => held.length).toBe(7)
  leaving.abort()
  const ends = await Promise.allSettled(asked)
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(13)
})

test("a user whom no post has named is unknown", async () => {
  await insert(aPost(1))
  expect(await timelines.page(app, aRequest({ userId: "9" as UserId }), always)).toEqual({
    kind: "unknown-user",
  })
})

test("a user who is known and has no posts, or none in the range, has an empty page without tokens", async () => {
  const mentioned = "1002" as UserId
  await insert(aPost(1, { userIds: [user, mentioned] }))
  const empty = { data: [], meta: { result_count: 0 } }
  expect(await page({ userId: mentioned })).toEqual(empty)
  expect(await page({ sinceId: "1" as PostId })).toEqual(empty)
})

test("ids order as numbers, not as text", async () => {
  await insert(...[9, 10, 99, 100].map((id) => aPost(id)))
  expect(await idsOf({})).toEqual([100, 99, 10, 9])
  expect(await idsOf({ sinceId: "9" as PostId, untilId: "100" as PostId })).toEqual([99, 10])
})

test("since_id and until_id are exclusive, start_time is inclusive and end_time exclusive", async () => {
  await insert(...range(1, 10).map((id) => aPost(id)))
  expect(await idsOf({ sinceId: "7" as PostId })).toEqual([10, 9, 8])
  expect(await idsOf({ untilId: "4" as PostId })).toEqual([3, 2, 1])
  expect(await idsOf({ startMs: 9_000 })).toEqual([10, 9])
  expect(await idsOf({ endMs: 3_000 })).toEqual([2, 1])
  expect(await idsOf({ sinceId: "2" as PostId, untilId: "9" as PostId, startMs: 4_000, endMs: 7_000 })).toEqual([
    6, 5, 4,
  ])
})

test("the bounds hold on every page, forward and back, while posts are inserted", async () => {
  await insert(...range(1, 40).map((id) => aPost(id * 10)))
  const bounds = { sinceId: "100" as PostId, untilId: "300" as PostId, startMs: 130_000, endMs: 280_000 }
  const down: number[] = []
  let last = await page(bounds)
  down.push(...last.data.map((post) => Number(post.id)))
  let inserted = 401
  while (last.meta.next_token !== undefined) {
    await insert(aPost(inserted++), aPost(1_000 - inserted))
    last = await page({ ...bounds, token: last.meta.next_token })
    down.push(...last.data.map((post) => Number(post.id)))
  }
  const within = range(13, 27).map((n) => n * 10)
  expect(down).toEqual(within.toReversed())
  const up = last.data.map((post) => Number(post.id))
  while (last.meta.previous_token !== undefined) {
    await insert(aPost(inserted++))
    last = await page({ ...bounds, token: last.meta.previous_token })
    up.unshift(...last.data.map((post) => Number(post.id)))
  }
  expect(up).toEqual(within.toReversed())
})

test("since_id above until_id is an empty page", async () => {
  await insert(...range(1, 9).map((id) => aPost(id)))
  expect(await page({ sinceId: "8" as PostId, untilId: "3" as PostId })).toEqual({
    data: [],
    meta: { result_count: 0 },
  })
})

describe("exclude", () => {
  beforeEach(async () => {
    await insert(
      ...range(1, 60).map((id) => aPost(id, { isReply: id % 3 !== 0, isRepost: id % 3 === 0 && id % 2 === 0 })),
    )
  })

  test("exclude leaves out replies, reposts or both", async () => {
    expect(await idsOf({ excludeReplies: true })).toEqual([60, 57, 54, 51, 48])
    expect(await idsOf({ excludeReposts: true })).toEqual([59, 58, 57, 56, 55])
    expect(await idsOf({ excludeReplies: true, excludeReposts: true })).toEqual([57, 51, 45, 39, 33])
  })

  test("a page that exhausts its scan budget is short, and paging still finds every post, both ways", async () => {
    const short = withScan(8)
    const excluding = { excludeReplies: true, excludeReposts: true }
    const pages = [await page(excluding, short)]
    for (let token = pages[0]?.meta.next_token; token !== undefined; token = pages.at(-1)?.meta.next_token) {
      pages.push(await page({ ...excluding, token }, short))
    }
    expect(pages.some((one) => one.data.length < 5 && one.meta.next_token !== undefined)).toBe(true)
    const expected = range(1, 60)
      .filter((id) => id % 3 === 0 && id % 2 === 1)
      .toReversed()
    expect(pages.flatMap((one) => one.data.map((post) => Number(post.id)))).toEqual(expected)

    const back: number[] = (pages.at(-1)?.data ?? []).map((post) => Number(post.id))
    for (let token = pages.at(-1)?.meta.previous_token; token !== undefined;) {
      const one = await page({ ...excluding, token }, short)
      back.unshift(...one.data.map((post) => Number(post.id)))
      token = one.meta.previous_token
    }
    expect(back).toEqual(expected)
  })

  test("an empty page with a next token counts nothing and names no posts", async () => {
    const { data, meta } = await page({ excludeReplies: true, excludeReposts: true }, withScan(2))
    expect(data).toEqual([])
    expect(Object.keys(meta)).toEqual(["result_count", "next_token"])
    expect(meta.result_count).toBe(0)
  })
})

test("a token of another user, another app or other parameters is refused", async () => {
  const other = "1002" as UserId
  await insert(...range(1, 9).map((id) => aPost(id)), aPost(10, { authorId: other, userIds: [other] }))
  const token = (await page()).meta.next_token
  expect(await idsOf({ token })).toEqual([4, 3, 2, 1])
  await expect(page({ token, userId: other })).rejects.toThrow("is not a valid token")
  await expect(timelines.page("6" as AppId, aRequest({ token }), always)).rejects.toThrow("is not a valid token")
  await expect(page({ token, parameters: "exclude=replies" })).rejects.toThrow("must be unchanged")
})

describe("damaged posts", () => {
  /** The same store, in which these posts are damaged. */
  function withDamaged(...ids: readonly number[]): UserPosts {
    const damagedIds = new Set(ids.map(String))
    const faulty = new Proxy(store, {
      get(target, name) {
        if (name === "userPosts") {
          return async (asked: UserPostsRange): Promise<UserPostsScan> => {
            const limit = asked.limit + damagedIds.size
            const { posts, ...scan } = await target.userPosts({ ...asked, limit })
            const fine = posts.filter(({ id }) => !damagedIds.has(id))
            const taken = asked.direction === "older" ? fine.slice(0, asked.limit) : fine.slice(-asked.limit)
            const edge = Number(asked.direction === "older" ? taken.at(-1)?.id : taken.at(0)?.id)
            const isLooked = (id: string): boolean =>
              taken.length < asked.limit || (asked.direction === "older" ? Number(id) > edge : Number(id) < edge)
            return {
              ...scan,
              posts: taken,
              damaged: posts.map(({ id }) => id).filter((id) => damagedIds.has(id) && isLooked(id)),
            }
          }
        }
        const value: unknown = Reflect.get(target, name)
        return typeof value === "function" ? value.bind(target) : value
      },
    })
    const tokens = createPageTokens({ key: new Uint8Array(32), lifetimeMs: 0, clock: createManualClock() })
    return createUserPosts({
      store: faulty,
      tokens,
      heldPages: new HeldPages(),
      scanMax: 1_000,
      events: createRecordedEvents(),
    })
  }

  test("damaged posts are left out and named, each on one page, in both directions", async () => {
    await insert(...range(1, 20).map((id) => aPost(id)))
    // The newest, the oldest, within a page, on both sides of its edge.
    const damaged = [20, 14, 13, 12, 7, 1]
    const faulty = withDamaged(...damaged)
    const shown: number[] = []
    const named: number[] = []
    const walk = async (token: string | undefined, way: "next_token" | "previous_token"): Promise<string> => {
      for (let next = token, first = true; first || next !== undefined; first = false) {
        const outcome = await faulty.page(app, aRequest({ token: next }), always)
        if (outcome.kind !== "page") throw new Error("the user is unknown")
        const body = JSON.parse(presentPostsPage(outcome)) as Body
        shown.push(...body.data.map((post) => Number(post.id)))
        named.push(...outcome.damaged.map(Number))
        token = way === "next_token" ? body.meta.previous_token : body.meta.next_token
        next = body.meta[way]
      }
      return token ?? ""
    }
    const back = await walk(undefined, "next_token")
    expect(shown).toEqual(
      range(1, 20)
        .toReversed()
        .filter((id) => !damaged.includes(id)),
    )
    expect(named.toSorted((a, b) => b - a)).toEqual(damaged)
    const lastPage = new Set(shown.slice(-4))
    shown.length = 0
    named.length = 0
    await walk(back, "previous_token")
    expect(shown.toSorted((a, b) => b - a)).toEqual(
      range(1, 20)
        .toReversed()
        .filter((id) => !damaged.includes(id) && !lastPage.has(id)),
    )
    expect(new Set(named).size).toBe(named.length)
  })

  test("a user with only damaged posts is known, and has no posts to show", async () => {
    await insert(aPost(1), aPost(2))
    expect(await withDamaged(1, 2).page(app, aRequest(), always)).toEqual({
      kind: "page",
      posts: { ids: [], dataJson: "[]", includesJson: undefined, missing: [] },
      meta: { result_count: 0 },
      damaged: ["2", "1"],
      release: expect.any(Function),
    })
  })
})
