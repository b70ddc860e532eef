import {
  EarlierPosts,
  evaluate,
  parseRule,
  printRule,
  readPost,
  withoutReposts,
  type RuleEnvelope,
} from "@sluice/rules"
import fc from "fast-check"
import { expect, test } from "vitest"
import { anyEnvelope, anySearch } from "../../../rules/src/testing/any-rule.testing.ts"
import { chainOf } from "../model/edit-chain.ts"
import type { PostId } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { aPost } from "../store/contract/fixtures.ts"
import { MemorySearchIndex } from "../store/memory/memory-search-index.testing.ts"
import { MemoryState, MemoryStore } from "../store/memory/memory-store.testing.ts"
import type { ArrivalPosition } from "../store/port/arrival-store.ts"
import { countPosts } from "./count-posts.ts"
import { findPosts, readTail, tailPostsMax, type SearchBudget, type SearchDeps } from "./find-posts.ts"
import { IndexFiller } from "./index-filler.ts"
import { PostSearch } from "./post-search.ts"

const ample: SearchBudget = { postsMax: 10_000, msMax: 60_000 }
const pause = () => undefined

/** The text of a query that parses. */
const anyQuery = anySearch
  .map((rule) => [printRule(rule), `(cat OR 猫 OR dog) (${printRule(rule)})`])
  .map((texts) => texts.find((text) => parseRule(text, { mode: "search" }).ok) ?? "cat -dog")

const manyWords = Array.from({ length: 5_001 }, (_, number) => `w${number}`).join(" ")

const places = new Map<unknown, string>([
  ["p1", "FR"],
  ["p2", "US"],
])

/** The post with one description of each place: those of the generator contradict each other. */
function withOnePlaceOfAnId(post: RuleEnvelope): RuleEnvelope {
  const { places: some } = (post.includes ?? {}) as { readonly places?: readonly { readonly id: unknown }[] }
  if (some === undefined) return post
  const described = some.map(({ id }) => ({ id, name: `name of ${String(id)}`, country_code: places.get(id) }))
  return { ...post, includes: { ...(post.includes as object), places: described } }
}

/** Posts in the order in which they arrive. */
const anyPosts = fc
  .array(fc.tuple(anyEnvelope, fc.boolean()), { minLength: 1, maxLength: 20 })
  .chain((some) =>
    fc
      .shuffledSubarray(
        some.map((_, at) => at),
        { minLength: some.length },
      )
      .map((order) =>
        order.map((at) => {
          const [{ data, includes }, isSpaced] = some[at] ?? [{ data: { id: "", text: "" }, includes: {} }, false]
          return { data: { ...data, id: String(100 + at * (isSpaced ? 7 : 1) * 10 + at) }, includes }
        }),
      ),
  )
  .map((posts) => [...new Map(posts.map((post) => [post.data.id, withOnePlaceOfAnId(post)])).values()])

function historyOf({ data }: RuleEnvelope): readonly string[] {
  return (data as { readonly edit_history_tweet_ids?: readonly string[] }).edit_history_tweet_ids ?? []
}

/** The posts with histories: of two posts of a pair, the newer one is an edit of the other. */
function withEdits(
  posts: readonly RuleEnvelope[],
  pairs: readonly (readonly [number, number])[],
): readonly RuleEnvelope[] {
  const histories = new Map<string, string[]>()
  for (const pair of pairs) {
    const ids = pair.flatMap((at) => posts[at]?.data.id ?? []).toSorted((a, b) => Number(a) - Number(b))
    const [first, newer] = ids
    if (first === undefined || newer === undefined || first === newer) continue
    histories.set(newer, [...(histories.get(newer) ?? []), first])
  }
  return posts.map((post) => {
    const { edit_history_tweet_ids: _history, ...data } = post.data as RuleEnvelope["data"] & Record<string, unknown>
    const earlier = histories.get(post.data.id)
    return { ...post, data: { ...data, ...(earlier && { edit_history_tweet_ids: [...earlier, post.data.id] }) } }
  }) as readonly RuleEnvelope[]
}

/** The posts of which a newer version is stored: those in one history, or in histories with the same first id. */
function supersededOf(posts: readonly RuleEnvelope[], gone: string | undefined): ReadonlySet<string> {
  const chains = new Map<number, Set<number>>()
  for (const post of posts) {
    const ids = historyOf(post).map(Number)
    const first = Math.min(...ids)
    for (const id of ids) chains.set(first, (chains.get(first) ?? new Set()).add(id))
  }
  const superseded = new Set<string>()
  for (const chain of chains.values()) {
    const stored = [...chain].filter((id) => String(id) !== gone).toSorted((a, b) => a - b)
    for (const id of stored.slice(0, -1)) superseded.add(String(id))
  }
  return superseded
}

/** A store, an index of its first posts, and what a search does with both. */
class Searched {
  readonly state = new MemoryState()
  readonly store = new MemoryStore(this.state)
  readonly index = new MemorySearchIndex()
  readonly earlier = new EarlierPosts()
  readonly filler = new IndexFiller({
    postRetentionMs: 0,
    isBehindOthers: false,
    store: this.store,
    index: this.index,
    clock: createManualClock(),
    earlier: this.earlier,
    pause,
    failed: (error) => expect.fail(String(error)),
  })

  async append(posts: readonly RuleEnvelope[]): Promise<void> {
    const accepted = posts.map((post) => {
      const chain = chainOf(post.data.id as PostId, historyOf(post))
      return aPost(post.data.id, "7", { envelope: JSON.stringify(post), ...(chain !== undefined && { chain }) })
    })
    await this.store.append(
      accepted.map((post) => ({ post, matches: [] })),
      0,
    )
  }

  /** Dependencies of a search, with an event before each call of the index. */
  deps({
    isBehind = false,
    before = async () => {},
  }: { isBehind?: boolean; before?: () => Promise<void> } = {}): SearchDeps {
    const { store, index } = this
    return {
      pause,
      clock: createManualClock(),
      store: {
        posts: (range) => store.posts(range),
        postsById: (range) => store.postsById(range),
        supersededOf: (ids) => store.supersededOf(ids),
        supersededWithin: (range) => store.supersededWithin(range),
        arrivedPosts: async (range) => {
          if (!isBehind) return store.arrivedPosts(range)
          const posts = Array.from({ length: tailPostsMax }, (_, at) => ({
            id: String(10_000 + at) as PostId,
            json: "{}",
          }))
          return { posts, damaged: [], position: "1" as ArrivalPosition }
        },
      },
      index: {
        position: async () => (await before(), index.position()),
        find: async (...args) => (await before(), index.find(...args)),
        count: async (...args) => (await before(), index.count(...args)),
        hasCutPosts: async (range) => (await before(), index.hasCutPosts(range)),
      },
    }
  }
}

test("large posts that wait for the index are read up to 8 MB, and not at all once the client has left", async () => {
  const json = JSON.stringify({ data: { text: "c".repeat(1_000_000) } })
  let reads = 0
  const store = {
    ...new Searched().deps().store,
    async arrivedPosts() {
      reads += 1
      return { posts: [{ id: String(reads) as PostId, json }], damaged: [], position: String(reads) as ArrivalPosition }
    },
  }
  const { index } = new Searched().deps()
  expect(await readTail({ store, index, pause })).toBeUndefined()
  expect(reads).toBe(9)
  const left = (): Promise<void> => Promise.reject(new Error("left"))
  await expect(readTail({ store, index, pause: left })).rejects.toThrow("left")
  expect(reads).toBe(9)
})

/** Ids of all pages of a direction, in their order. */
async function pagesOf(
  search: PostSearch,
  deps: SearchDeps,
  { direction, limit, budget }: { direction: "older" | "newer"; limit: number; budget: SearchBudget },
): Promise<readonly string[]> {
  const ids: string[] = []
  let [above, upTo] = [-1n, 9_223_372_036_854_775_807n]
  for (let pages = 0; pages < 1_000; pages += 1) {
    const found = await findPosts(search, { direction, above, upTo, limit }, budget, deps)
    expect(found.ids.length).toBeLessThanOrEqual(limit)
    ids.push(...(direction === "older" ? found.ids : found.ids.toReversed()))
    if (found.stoppedAt === undefined) return ids
    if (direction === "older") upTo = BigInt(found.stoppedAt) - 1n
    else above = BigInt(found.stoppedAt)
  }
  throw new Error("The pages have no end.")
}

async function countsOf(search: PostSearch, edges: readonly bigint[], budget: SearchBudget, deps: SearchDeps) {
  const counts: number[] = []
  for (let rest = edges; rest.length > 1;) {
    const { counts: newest, firstCounted } = await countPosts(search, rest, budget, deps)
    counts.unshift(...newest)
    rest = rest.slice(0, firstCounted + 1)
  }
  return counts
}

const circumstances = fc.record({
  value: anyQuery,
  withReposts: fc.boolean(),
  posts: anyPosts,
  indexed: fc.nat(20),
  isBehind: fc.boolean(),
  movesOn: fc.boolean(),
  longAt: fc.option(fc.nat(19), { freq: 8 }),
  limit: fc.integer({ min: 1, max: 6 }),
  budget: fc.oneof(
    fc.constant(ample),
    fc.record({ postsMax: fc.integer({ min: 1, max: 4 }), msMax: fc.constant(60_000) }),
    fc.constant({ postsMax: 9, msMax: 0 }),
  ),
  edges: fc.uniqueArray(fc.bigInt({ min: 0n, max: 1_700n }), { minLength: 2, maxLength: 6 }),
  deleted: fc.option(fc.nat(19)),
  edits: fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { maxLength: 4 }),
})

test("the pages of a search and its counts have the posts that the evaluator takes, whatever the index has yet", async () => {
  let [matches, edited] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      circumstances,
      async ({
        value,
        withReposts,
        posts,
        indexed,
        isBehind,
        movesOn,
        longAt,
        limit,
        budget,
        edges,
        deleted,
        edits,
      }) => {
        const searched = new Searched()
        const all = withEdits(
          posts.map((post, at) =>
            at === longAt ? { ...post, data: { ...post.data, text: `${manyWords} ${post.data.text}` } } : post,
          ),
          edits,
        )
        await searched.append(all.slice(0, indexed))
        await searched.filler.catchUp()
        await searched.append(all.slice(indexed))
        for (const post of all) searched.earlier.learnPlacesOf(post)
        const parsed = parseRule(value, { mode: "search" })
        if (!parsed.ok) throw new Error(value)
        const rule = withReposts ? parsed.rule : withoutReposts(parsed.rule)
        const gone = deleted === null ? undefined : all[deleted]?.data.id
        const superseded = supersededOf(all, gone)
        edited += superseded.size
        const taken = all
          .filter((post) => post.data.id !== gone && !superseded.has(post.data.id))
          .filter((post) => evaluate(rule, readPost(post, { mode: "search", earlier: searched.earlier })))
          .map(({ data }) => BigInt(data.id))
          .toSorted((a, b) => (a < b ? 1 : -1))
        matches += taken.length
        let calls = 0
        const before = async () => {
          calls += 1
          if (movesOn && calls % 3 === 0) await searched.filler.catchUp()
        }
        const search = new PostSearch({ value, withReposts }, searched.earlier)
        const deps = searched.deps({ isBehind, before })
        if (gone !== undefined) {
          searched.state.posts.delete(gone as PostId)
          await searched.index.remove([gone as PostId])
        }
        const order = edges.toSorted((a, b) => (a < b ? -1 : 1))
        const expected = order
          .slice(1)
          .map((end, at) => taken.filter((id) => id >= (order[at] ?? 0n) && id < end).length)
        expect(await pagesOf(search, deps, { direction: "older", limit, budget })).toEqual(taken.map(String))
        expect(await pagesOf(search, deps, { direction: "newer", limit, budget })).toEqual(
          taken.toReversed().map(String),
        )
        if (budget.msMax > 0) expect(await countsOf(search, order, budget, deps)).toEqual(expected)
      },
    ),
    { numRuns: 400 },
  )
  expect(matches).toBeGreaterThan(200)
  expect(edited).toBeGreaterThan(100)
})

test("a count has each post once: those of the index, and those that it does not have yet", async () => {
  const searched = new Searched()
  await searched.append([{ data: { id: "1", text: "cat" } }, { data: { id: "11", text: "dog" } }])
  await searched.filler.catchUp()
  await searched.append(["2", "12", "21"].map((id) => ({ data: { id, text: "a cat" } })))
  const search = new PostSearch({ value: "cat", withReposts: true }, searched.earlier)
  expect(search.isExact).toBe(true)
  const edges = [0n, 10n, 20n]
  for (const isIndexed of [false, true]) {
    if (isIndexed) await searched.filler.catchUp()
    expect(await countPosts(search, edges, ample, searched.deps())).toEqual({ counts: [2, 1], firstCounted: 0 })
  }
})

test("a count leaves out superseded posts, however many there are", async () => {
  for (const edits of [3, 1_001]) {
    const searched = new Searched()
    const posts = Array.from({ length: edits }, (_, at) => [String(2 * at + 1), String(2 * at + 2)]).flatMap(
      ([first = "", second = ""]) => [
        { data: { id: first, text: "cat" } },
        { data: { id: second, text: "a cat", edit_history_tweet_ids: [first, second] } },
      ],
    )
    await searched.append(posts)
    for (let step = 0; step < 10; step += 1) await searched.filler.catchUp()
    const search = new PostSearch({ value: "cat", withReposts: true }, searched.earlier)
    const edges = [0n, 3n, 9_999n]
    expect(await countPosts(search, edges, ample, searched.deps())).toMatchObject({ counts: [1, edits - 1] })
  }
})

test("a post of too many terms that is indexed during an exact search is not taken unread", async () => {
  const searched = new Searched()
  await searched.append([{ data: { id: "1", text: "cat" } }])
  await searched.filler.catchUp()
  let calls = 0
  const before = async () => {
    calls += 1
    if (calls !== 3) return
    await searched.append([{ data: { id: "2", text: manyWords } }])
    await searched.filler.catchUp()
  }
  const search = new PostSearch({ value: "cat", withReposts: true }, searched.earlier)
  expect(search.isExact).toBe(true)
  const range = { direction: "older", above: -1n, upTo: 99n, limit: 9 } as const
  for (const callsBefore of [0, 1, 2]) {
    calls = callsBefore
    const { ids } = await findPosts(search, range, ample, searched.deps({ before }))
    expect(ids).toEqual(["1"])
    searched.state.posts.delete("2" as PostId)
    await searched.index.remove(["2" as PostId])
  }
})

test("posts that only the index still has do not make a search longer than its budget", async () => {
  const searched = new Searched()
  await searched.append(Array.from({ length: 300 }, (_, at) => ({ data: { id: String(at + 1), text: "hot dog" } })))
  await searched.filler.catchUp()
  searched.state.posts.clear()
  const search = new PostSearch({ value: '"hot dog"', withReposts: true }, searched.earlier)
  const range = { direction: "older", above: -1n, upTo: 999n, limit: 9 } as const
  expect(await findPosts(search, range, { postsMax: 5, msMax: 0 }, searched.deps())).toEqual({
    ids: [],
    damaged: [],
    stoppedAt: "300",
  })
})

test("a search of an index that is emptied meanwhile reads the posts themselves", async () => {
  const searched = new Searched()
  await searched.append([{ data: { id: "1", text: "cat" } }, { data: { id: "2", text: "a cat" } }])
  await searched.filler.catchUp()
  let calls = 0
  const before = async () => {
    calls += 1
    if (calls === 4) await searched.index.clear()
  }
  const search = new PostSearch({ value: "cat", withReposts: true }, searched.earlier)
  const range = { direction: "older", above: -1n, upTo: 99n, limit: 9 } as const
  expect((await findPosts(search, range, ample, searched.deps({ before }))).ids).toEqual(["2", "1"])
})

test("a filler whose steps fail leaves the index that another leaves", async () => {
  const [failing, other] = [new Searched(), new Searched()]
  for (const searched of [failing, other])
    await searched.append([{ data: { id: "1", text: "a cat" } }, { data: { id: "2", text: "dog" } }])
  let calls = 0
  const filler = new IndexFiller({
    postRetentionMs: 0,
    isBehindOthers: false,
    store: failing.store,
    earlier: failing.earlier,
    clock: createManualClock(),
    pause,
    failed: () => undefined,
    index: {
      position: () => failing.index.position(),
      add: async (...args) => {
        calls += 1
        if (calls < 3) throw new Error("full")
        await failing.index.add(...args)
      },
      find: (...args) => failing.index.find(...args),
      remove: (ids) => failing.index.remove(ids),
      replace: (posts) => failing.index.replace(posts),
      eraseRemoved: () => failing.index.eraseRemoved(),
      compact: () => failing.index.compact(),
    },
  })
  for (const expected of [undefined, undefined, await new MemoryStore(failing.state).arrivalHead()]) {
    await filler.catchUp()
    expect(await failing.index.position()).toBe(expected)
  }
  await other.filler.catchUp()
  const everything = { direction: "older", above: -1n, upTo: 99n, limit: 9 } as const
  for (const term of ["t:cat", "t:dog", "t:a"])
    expect(await failing.index.find({ kind: "term", term }, everything)).toEqual(
      await other.index.find({ kind: "term", term }, everything),
    )
})
