import { beforeEach, describe, expect, test } from "vitest"
import { defaultSelection, parseSelection } from "../model/field-selection.ts"
import { asId, compareIds, firstIdAt, type AppId, type PostId } from "../model/ids.ts"
import { createPageTokens } from "../paging/page-token.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import type { FoundPosts, FoundRange } from "../search/find-posts.ts"
import type { RankedSpan, Ranking } from "../search/rank-posts.ts"
import type { Searches } from "../search/searches.ts"
import { aPost } from "../store/contract/fixtures.ts"
import { MemoryState, MemoryStore } from "../store/memory/memory-store.testing.ts"
import { HeldPages } from "./held-pages.ts"
import { createPostSearches, type PostSearches, type PostSearchRequest } from "./post-searches.ts"

const app = "5" as AppId
const { signal } = new AbortController()
const everything = { above: -1n, upTo: 9_223_372_036_854_775_807n }

let store: MemoryStore
let state: MemoryState
let clock: ManualClock
let heldPages: HeldPages
/** The posts that match, newest first. */
let matching: readonly string[]
/** The ranges that were searched. */
let ranges: FoundRange[]
/** Most posts that a search evaluates. */
let evaluatedMax: number
/** Posts up to this id are beyond the budget of a ranking. */
let rankedAbove: bigint
let searches: PostSearches

beforeEach(() => {
  state = new MemoryState()
  store = new MemoryStore(state)
  clock = createManualClock()
  heldPages = new HeldPages()
  matching = []
  ranges = []
  evaluatedMax = Infinity
  rankedAbove = -1n
  searches = searchesWith({})
})

function searchesWith(other: Partial<Pick<Searches, "find" | "rank">>): PostSearches {
  const tokens = createPageTokens({ key: new Uint8Array(32), lifetimeMs: 0, clock })
  return createPostSearches({ store, searches: { find, rank, ...other }, tokens, heldPages, clock })
}

async function find(_app: AppId, _rule: unknown, range: FoundRange): Promise<FoundPosts> {
  ranges.push(range)
  const within = matching.filter((id) => BigInt(id) > range.above && BigInt(id) <= range.upTo)
  const inOrder = range.direction === "older" ? within : within.toReversed()
  const found = inOrder.slice(0, Math.min(range.limit, evaluatedMax)) as PostId[]
  const last = found.length < within.length ? found.at(-1) : undefined
  return {
    ids: range.direction === "older" ? found : found.toReversed(),
    damaged: [],
    ...(last !== undefined && { stoppedAt: last }),
  }
}

/** An order of relevancy of its own: the least id first. A span that need not be whole is ranked from `rankedAbove` on. */
async function rank(_app: AppId, _rule: unknown, span: RankedSpan): Promise<Ranking> {
  const above = span.isWhole || rankedAbove < span.above ? span.above : rankedAbove
  const ids = matching.filter((id) => BigInt(id) > above && BigInt(id) <= span.upTo)
  return { posts: ids.map((id) => ({ id: asId<PostId>(id), clauses: 1, reactions: -Number(id) })).toReversed(), above }
}

async function append(ids: readonly string[], bytes = 1): Promise<void> {
  const text = "x".repeat(bytes)
  for (const id of ids) {
    const core = `{"id":"${id}","text":"${text}"}`
    const envelope = `{"data":{"id":"${id}","text":"${text}","lang":"en"}}`
    await store.append([{ post: aPost(id, "7", { core, envelope }), matches: [] }], 0)
  }
  matching = ids.toSorted((a, b) => compareIds(b, a))
}

const aRequest = (more: Partial<PostSearchRequest> = {}): PostSearchRequest => ({
  endpoint: "/search",
  rule: { value: "cat", withReposts: true },
  span: everything,
  isRanked: false,
  leadsBack: true,
  limit: 2,
  token: undefined,
  selection: defaultSelection,
  parameters: "query=cat",
  ...more,
})

async function page(more: Partial<PostSearchRequest> = {}, by = searches) {
  const found = await by.page(app, aRequest(more), signal)
  found.release()
  return { ...found, ids: (JSON.parse(found.posts.dataJson) as { id: string }[]).map(({ id }) => id) }
}

describe("pages by id", () => {
  test("lead from the newest post to the oldest and back, each beginning where its neighbour ends", async () => {
    await append(["1", "2", "3", "10", "11"])
    const first = await page()
    const second = await page({ token: first.meta.next_token })
    const third = await page({ token: second.meta.next_token })
    expect([first.ids, second.ids, third.ids]).toEqual([["11", "10"], ["3", "2"], ["1"]])
    expect(first.meta).toEqual({
      result_count: 2,
      newest_id: "11",
      oldest_id: "10",
      next_token: expect.any(String) as string,
    })
    expect(third.meta).not.toHaveProperty("next_token")
    expect((await page({ token: third.meta.previous_token })).ids).toEqual(["3", "2"])
    const back = await page({ token: second.meta.previous_token })
    expect(back.ids).toEqual(["11", "10"])
    expect(back.meta).not.toHaveProperty("previous_token")
  })

  test("have no way back where a list does not lead back", async () => {
    await append(["1", "2", "3"])
    const first = await page({ leadsBack: false })
    expect((await page({ leadsBack: false, token: first.meta.next_token })).meta).not.toHaveProperty("previous_token")
  })

  test("stay within the span, in both directions", async () => {
    await append(["1", "2", "3", "4", "5"])
    const span = { above: 1n, upTo: 4n }
    const first = await page({ span })
    const second = await page({ span, token: first.meta.next_token })
    expect([first.ids, second.ids]).toEqual([["4", "3"], ["2"]])
    expect((await page({ span, token: second.meta.previous_token })).ids).toEqual(["4", "3"])
    for (const { above, upTo } of ranges) expect([above >= 1n, upTo <= 4n]).toEqual([true, true])
  })

  test("are short or empty, with a token, when a search ends early", async () => {
    await append(["1", "2", "3"])
    evaluatedMax = 1
    const first = await page()
    expect(first.ids).toEqual(["3"])
    evaluatedMax = Infinity
    expect((await page({ token: first.meta.next_token })).ids).toEqual(["2", "1"])
    const empty = await page(
      {},
      searchesWith({ find: async () => ({ ids: [], damaged: [], stoppedAt: "3" as PostId }) }),
    )
    expect([empty.ids, empty.meta]).toEqual([[], { result_count: 0, next_token: expect.any(String) as string }])
    expect((await page({ token: empty.meta.next_token })).ids).toEqual(["2", "1"])
  })

  test("end where their bytes are full, and the next one begins there, in both directions", async () => {
    await append(["1", "2", "3", "4"], 1_100_000)
    const first = await page({ limit: 4 })
    expect(first.ids).toEqual(["4", "3"])
    const second = await page({ limit: 4, token: first.meta.next_token })
    expect(second.ids).toEqual(["2", "1"])
    expect((await page({ limit: 4, token: second.meta.previous_token })).ids).toEqual(["4", "3"])
  })

  test("name damaged posts, of the search or of the page, and leave out those that are gone", async () => {
    await append(["1", "2", "3", "4"])
    state.posts.delete("3" as PostId)
    const damaged = ["9" as PostId]
    const found = await page(
      { limit: 4 },
      searchesWith({ find: async (by, rule, range) => ({ ...(await find(by, rule, range)), damaged }) }),
    )
    expect([found.ids, found.damaged]).toEqual([["4", "2", "1"], damaged])
  })
})

describe("pages by relevancy", () => {
  const ranked = { isRanked: true, leadsBack: false }
  const idAt = (ms: number): string => String(firstIdAt(clock.nowMs() + ms))

  test("go on in the order of the first page's moment, without posts that came later", async () => {
    const [one, two, three] = [idAt(-3_000), idAt(-2_000), idAt(-1_000)]
    await append([one, two, three])
    const first = await page(ranked)
    expect(first.ids).toEqual([one, two])
    expect(first.meta).toEqual({
      result_count: 2,
      newest_id: two,
      oldest_id: one,
      next_token: expect.any(String) as string,
    })
    await clock.advance(60_000)
    const later = idAt(-1_000)
    await append([one, two, three, later])
    const second = await page({ ...ranked, token: first.meta.next_token })
    expect([second.ids, second.meta]).toEqual([[three], { result_count: 1, newest_id: three, oldest_id: three }])
    expect((await page({ ...ranked, limit: 9 })).ids).toEqual([one, two, three, later])
  })

  test("have posts of later times, as pages by id have", async () => {
    const ids = [idAt(-1_000), idAt(3_600_000), "9000000000000000000"]
    await append(ids)
    const first = await page(ranked)
    expect([first.ids, (await page({ ...ranked, token: first.meta.next_token })).ids]).toEqual([
      ids.slice(0, 2),
      ids.slice(2),
    ])
  })

  test("leave out no post when others are deleted", async () => {
    const [one, two, three, four] = [idAt(-4_000), idAt(-3_000), idAt(-2_000), idAt(-1_000)]
    await append([one, two, three, four])
    const first = await page(ranked)
    expect(first.ids).toEqual([one, two])
    matching = [four, three]
    expect((await page({ ...ranked, token: first.meta.next_token })).ids).toEqual([three, four])
  })

  test("go on among the posts of the first page, whatever is ranked in its time now", async () => {
    const ids = [idAt(-4_000), idAt(-3_000), idAt(-2_000), idAt(-1_000)]
    await append(ids)
    const newestFirst: Searches["rank"] = async (appId, rule, span) => {
      const { posts, above } = await rank(appId, rule, span)
      return { posts: posts.map((post) => ({ ...post, reactions: Number(post.id) })).toReversed(), above }
    }
    searches = searchesWith({ rank: newestFirst })
    rankedAbove = BigInt(ids[0] ?? "")
    const first = await page(ranked)
    rankedAbove = -1n
    const second = await page({ ...ranked, token: first.meta.next_token })
    expect([first.ids, second.ids]).toEqual([[ids[3], ids[2]], [ids[1]]])
    const third = await page({ ...ranked, token: second.meta.next_token })
    expect(third.ids).toEqual([ids[0]])
    expect(third.meta).not.toHaveProperty("next_token")
  })

  test("go on with older posts where none of those that were looked at matched", async () => {
    const ids = [idAt(-4_000), idAt(-3_000), idAt(-2_000)]
    await append(ids)
    rankedAbove = BigInt(idAt(-1_000))
    const first = await page(ranked)
    expect([first.ids, first.meta.result_count]).toEqual([[], 0])
    rankedAbove = BigInt(ids[0] ?? "")
    const second = await page({ ...ranked, token: first.meta.next_token })
    rankedAbove = -1n
    const third = await page({ ...ranked, token: second.meta.next_token })
    expect([second.ids, third.ids]).toEqual([[ids[1], ids[2]], [ids[0]]])
    expect(third.meta).not.toHaveProperty("next_token")
  })

  test("end where their bytes are full, and the next one begins there", async () => {
    const ids = [idAt(-4_000), idAt(-3_000), idAt(-2_000), idAt(-1_000)]
    await append(ids, 1_100_000)
    const first = await page({ ...ranked, limit: 4 })
    const second = await page({ ...ranked, limit: 4, token: first.meta.next_token })
    expect([first.ids, second.ids]).toEqual([ids.slice(0, 2), ids.slice(2)])
    expect(second.meta).not.toHaveProperty("next_token")
  })
})

test("a page shows the fields of its selection, and the envelopes of a page are those of its posts", async () => {
  await append(["1", "2", "3"])
  const shown = await page({ selection: parseSelection({ "tweet.fields": "lang" }) })
  expect(shown.posts.dataJson).toContain('"lang":"en"')
  const { selection: _selection, ...request } = aRequest()
  const envelopes = await searches.envelopes(app, request, signal)
  envelopes.release()
  expect(envelopes.posts.map(({ json }) => (JSON.parse(json) as { data: { id: string } }).data.id)).toEqual(["3", "2"])
  expect(envelopes.meta).toMatchObject({ result_count: 2, next_token: expect.any(String) as string })
})

test.each(["page", "envelopes"] as const)(
  "the memory of %s is held until its release, and none after a fault",
  async (what) => {
    await append(["1"])
    const found = await searches[what](app, aRequest(), signal)
    expect(heldPages.bytes).toBeGreaterThan(0)
    found.release()
    expect(heldPages.bytes).toBe(0)
    const failing = searchesWith({ find: () => Promise.reject(new Error("the index is gone")) })
    await expect(failing[what](app, aRequest(), signal)).rejects.toThrow("gone")
    expect(heldPages.bytes).toBe(0)
  },
)

test("a token of another request, app or endpoint is refused", async () => {
  await append(["1", "2", "3"])
  const { next_token: token } = (await page()).meta
  for (const more of [{ parameters: "query=dog" }, { endpoint: "/other" }])
    await expect(page({ token, ...more })).rejects.toMatchObject({ status: 400 })
  await expect(searches.page("6" as AppId, aRequest({ token }), signal)).rejects.toMatchObject({ status: 400 })
  expect(heldPages.bytes).toBe(0)
})
