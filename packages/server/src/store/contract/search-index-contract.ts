/** The required behaviour of every search index, compared with the definition of a query over plain sets of terms. */
import { cutTerm, indexQueryHolds, type IndexQuery } from "@sluice/rules"
import fc from "fast-check"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { PostId } from "../../model/ids.ts"
import type { ArrivalPosition } from "../port/arrival-store.ts"
import type { IndexedPost, SearchIndex } from "../search-index.ts"
import { IndexMoved, StoreUnavailable } from "../store-faults.ts"

/** A way to an index that is empty at first and keeps what it was given. Its partitions have few posts. */
export interface IndexUnderTest extends AsyncDisposable {
  /** Opens the index: the same one each time. One is closed before the next is opened. */
  open(): Promise<SearchIndex>
  /** A module that opens it in another process, as `index`. Absent for an index that ends with its process. */
  readonly module?: string
}

const greatest = 9_223_372_036_854_775_807n
const everything = { kind: "everything" } as const
const all = { above: -1n, upTo: greatest, limit: 500 } as const

/** The position of a number. */
export const at = (position: number): ArrivalPosition => String(position) as ArrivalPosition
const term = (text: string): IndexQuery => ({ kind: "term", term: text })
const post = (id: bigint | number, ...terms: string[]): IndexedPost => ({ id: String(id) as PostId, terms })
const not = (of: IndexQuery): IndexQuery => ({ kind: "not", of })

/** Terms that mean something in the languages of indexes, or differ by little. */
const hostileTerms = [
  ...'t:or t:OR OR AND NOT NEAR near not and t:near( * t:* ^t t:^a "t" t:" t:"a"* \' \'\' t:\' \\ t:\\ ( ) () + - -t:a'.split(
    " ",
  ),
  ..."& | ! <-> t:a:* a&b !a {t}:a tokens:a rowid: rank =every = == =0 : :: t: t:é t:e\u0301 t:É t:ａ t:a t:A t:ß t:ss".split(
    " ",
  ),
  ..."t:кот t:КОТ t:猫 t:👍🏽 t:👍 t:\u200d t:\ud800 t:\ud801 t:\ufffd t:\0 t:\0a t:\n t:a_b t:a.b t:a-b t:a/b t:a+b".split(
    " ",
  ),
  "",
  " ",
  "t:a b",
  "t:a  b",
  "t:ab ",
  " t:ab",
  "t:a\tb",
  `t:${"a".repeat(61)}`,
  `t:${"a".repeat(62)}`,
  `t:${"a".repeat(63)}`,
  `t:${"a".repeat(5_000)}`,
  `t:${"a".repeat(5_000)}b`,
  "all",
  "everything",
  "SELECT 1",
  "'; DROP TABLE posts; --",
]

/** Adds posts to an index wherever it is. */
export async function addTo(
  index: SearchIndex,
  posts: readonly IndexedPost[],
  position: ArrivalPosition,
): Promise<void> {
  await index.add(posts, { after: await index.position(), position })
}

/** The tests that an index passes. */
export function searchIndexContract(name: string, make: () => Promise<IndexUnderTest>, { runs = 100 } = {}): void {
  describe(`${name} keeps the contract of a search index`, () => {
    let under: IndexUnderTest
    let index: SearchIndex

    beforeEach(async () => {
      under = await make()
      index = await under.open()
    })

    afterEach(async () => {
      await index[Symbol.asyncDispose]()
      await under[Symbol.asyncDispose]()
    })

    async function reopen(): Promise<void> {
      await index[Symbol.asyncDispose]()
      index = await under.open()
    }

    const found = (query: IndexQuery, range: Partial<Parameters<SearchIndex["find"]>[1]> = {}) =>
      index.find(query, { ...all, direction: "older", ...range })

    test("it is empty and without a position at first, and has both after posts were added and it was opened again", async () => {
      expect(await index.position()).toBeUndefined()
      expect(await found(everything)).toEqual([])
      expect(await index.count(everything, [0n, 10n, greatest])).toEqual([0, 0])
      await addTo(index, [post(7, "t:a"), post(5, "t:b")], at(2))
      await addTo(index, [], at(3))
      await reopen()
      expect(await index.position()).toBe(at(3))
      expect(await found(everything)).toEqual(["7", "5"])
      expect(await found(term("t:b"))).toEqual(["5"])
    })

    test("a step that begins elsewhere than where the index is adds nothing and moves nothing", async () => {
      await expect(index.add([post(1, "t:a")], { after: at(1), position: at(2) })).rejects.toThrow(IndexMoved)
      await index.add([post(1, "t:a")], { after: undefined, position: at(2) })
      await expect(index.add([post(2, "t:a")], { after: undefined, position: at(1) })).rejects.toThrow(IndexMoved)
      await expect(index.add([post(2, "t:a")], { after: at(1), position: at(3) })).rejects.toThrow(IndexMoved)
      expect(await index.position()).toBe(at(2))
      expect(await found(everything)).toEqual(["1"])
      await index.clear()
      await expect(index.add([post(2, "t:a")], { after: at(2), position: at(3) })).rejects.toThrow(IndexMoved)
      expect(await index.position()).toBeUndefined()
    })

    test("a post is kept once and as it first was", async () => {
      await addTo(index, [post(5, "t:a"), post(5, "t:b"), post(9, "t:a")], at(1))
      await addTo(index, [post(9, "t:b"), post(5, "t:b")], at(2))
      expect(await found(term("t:a"))).toEqual(["9", "5"])
      expect(await found(term("t:b"))).toEqual([])
      expect(await index.count(everything, [0n, greatest])).toEqual([2])
    })

    test("a range leaves its lower end out and takes its upper end in, either way, up to its limit", async () => {
      await addTo(
        index,
        [1n, 2n, 3n, greatest - 1n, greatest].map((id) => post(id, "t:a")),
        at(1),
      )
      const ids = ["1", "2", "3", String(greatest - 1n), String(greatest)]
      expect(await found(term("t:a"))).toEqual(ids.toReversed())
      expect(await found(term("t:a"), { direction: "newer" })).toEqual(ids)
      expect(await found(term("t:a"), { above: 1n, upTo: 3n })).toEqual(["3", "2"])
      expect(await found(term("t:a"), { above: 1n, direction: "newer", limit: 1 })).toEqual(["2"])
      expect(await found(term("t:a"), { upTo: greatest - 1n, limit: 2 })).toEqual([String(greatest - 1n), "3"])
      expect(await found(term("t:a"), { above: 3n, upTo: 3n })).toEqual([])
      expect(await index.count(term("t:a"), [2n, 3n, greatest])).toEqual([1, 2])
    })

    test("posts that are removed are found no more, and may come again", async () => {
      await addTo(index, [post(1, "t:a"), post(2, "t:a"), post(3, "t:a")], at(1))
      await index.remove(["2", "8"] as PostId[])
      expect(await found(everything)).toEqual(["3", "1"])
      await reopen()
      expect(await found(term("t:a"))).toEqual(["3", "1"])
      await addTo(index, [post(2, "t:b")], at(2))
      expect(await found(term("t:a"))).toEqual(["3", "1"])
      expect(await found(term("t:b"))).toEqual(["2"])
      expect(await index.count(everything, [0n, 2n, 9n])).toEqual([1, 2])
    })

    test("all below an id is removed, whole partitions and a part of one, and what is older may come again", async () => {
      const ids = [0, 0, 0, 1, 1, 2, 2, 2, 3].map((day, number) => idOfDay(day) + BigInt(number))
      await addTo(
        index,
        ids.map((id) => post(id, "t:a")),
        at(1),
      )
      await index.removeBelow(0n)
      expect(await found(term("t:a"))).toHaveLength(9)
      await index.removeBelow(ids[6] ?? 0n)
      const left = ids.slice(6).map(String)
      expect(await found(term("t:a"), { direction: "newer" })).toEqual(left)
      await reopen()
      expect(await found(everything, { direction: "newer" })).toEqual(left)
      await addTo(index, [post(3, "t:a"), post(ids[4] ?? 0n, "t:a"), post(ids[0] ?? 0n, "t:b")], at(2))
      expect(await found(everything, { direction: "newer" })).toEqual(["3", String(ids[0]), String(ids[4]), ...left])
      await index.removeBelow(greatest)
      expect(await found(everything)).toEqual([])
      expect(await index.position()).toBe(at(2))
      await addTo(index, [post(4, "t:a")], at(3))
      expect(await found(term("t:a"))).toEqual(["4"])
    })

    test("posts of too many terms are known by their range, as they come, change and go", async () => {
      const ranges = [
        { above: -1n, upTo: greatest },
        { above: 1n, upTo: 2n },
        { above: 2n, upTo: 3n },
        { above: 2n, upTo: idOfDay(3) },
      ]
      const seen = (): Promise<readonly boolean[]> => Promise.all(ranges.map((range) => index.hasCutPosts(range)))
      await addTo(index, [post(1, "t:a"), post(3, "t:a"), post(idOfDay(2), "t:a")], at(1))
      expect(await seen()).toEqual([false, false, false, false])
      await addTo(index, [post(2, cutTerm)], at(2))
      expect(await seen()).toEqual([true, true, false, false])
      await index.replace([post(3, cutTerm), post(2, "t:b")])
      expect(await seen()).toEqual([true, false, true, true])
      await index.remove(["3" as PostId])
      expect(await seen()).toEqual([false, false, false, false])
      await addTo(index, [post(idOfDay(2) + 1n, cutTerm)], at(3))
      await reopen()
      expect(await seen()).toEqual([true, false, false, true])
      await index.clear()
      expect(await seen()).toEqual([false, false, false, false])
      await addTo(index, [post(3, cutTerm)], at(1))
      expect(await seen()).toEqual([true, false, true, true])
    })

    test("an index that was emptied has no position, and is filled again", async () => {
      await addTo(index, [post(idOfDay(1), "t:a"), post(idOfDay(2), "t:a"), post(idOfDay(3), "t:a")], at(1))
      await index.clear()
      expect(await index.position()).toBeUndefined()
      expect(await found(everything)).toEqual([])
      await addTo(index, [post(idOfDay(1), "t:b")], at(1))
      await reopen()
      expect(await index.position()).toBe(at(1))
      expect(await found(everything)).toEqual([String(idOfDay(1))])
    })

    test("a search fails when the index is emptied meanwhile, and does not end early", async () => {
      const ids = [1, 2, 3, 4].flatMap((day) => [0n, 1n, 2n].map((number) => idOfDay(day) + number))
      await addTo(
        index,
        ids.map((id) => post(id, "t:a")),
        at(1),
      )
      const expected = ids.toReversed().map(String)
      const [outcome] = await Promise.allSettled([found(term("t:a")), index.clear()])
      // It may have begun before or after that.
      if (outcome.status === "fulfilled") expect([expected, []]).toContainEqual(outcome.value)
      else expect(outcome.reason).toBeInstanceOf(StoreUnavailable)
    })

    test("terms that mean something to the index's own language are texts as any other, and no two are the same", async () => {
      const terms = [...new Set(hostileTerms)]
      await addTo(
        index,
        terms.map((text, number) => post(number + 1, text)),
        at(1),
      )
      for (const [number, text] of terms.entries()) {
        expect(await found(term(text)), JSON.stringify(text)).toEqual([String(number + 1)])
        expect(await index.count(not(term(text)), [0n, greatest])).toEqual([terms.length - 1])
      }
    })

    test("a query of a thousand parts, and one of a thousand groups within one another, find what they say", async () => {
      const names = Array.from({ length: 1_300 }, (_, number) => `t:word${number}`)
      await addTo(
        index,
        [post(1, ...names), post(2, ...names.slice(1)), post(3, names[7] ?? ""), post(4, "t:b")],
        at(1),
      )
      const any = { kind: "any", of: names.map(term) } as const
      const every = { kind: "all", of: names.map(term) } as const
      expect(await found(any)).toEqual(["3", "2", "1"])
      expect(await found(every)).toEqual(["1"])
      expect(
        await found({ kind: "all", of: [term("t:word7"), ...names.slice(8).map((text) => not(term(text)))] }),
      ).toEqual(["3"])
      const nested = names.reduce<IndexQuery>(
        (within, text, level) => ({ kind: level % 2 === 0 ? "all" : "any", of: [term(text), within] }),
        term("t:word7"),
      )
      const negated = names.reduce<IndexQuery>(
        (within, text, level) => not({ kind: level % 2 === 0 ? "all" : "any", of: [term(text), within] }),
        term("t:word7"),
      )
      const sets = [new Set(names), new Set(names.slice(1)), new Set(["t:word7"]), new Set(["t:b"])]
      for (const query of [nested, negated]) {
        const expected = sets.flatMap((set, number) => (indexQueryHolds(query, set) ? [String(number + 1)] : []))
        expect(await found(query, { direction: "newer" })).toEqual(expected)
        expect(await index.count(query, [0n, greatest])).toEqual([expected.length])
      }
    })

    test("a process that is killed while it adds posts leaves a position and posts that agree", async () => {
      const { module } = under
      if (module === undefined) return
      for (let kill = 1; kill <= 5; kill += 1) {
        await index[Symbol.asyncDispose]()
        const reported = await addUntilKilled(module, { additions: 7 * kill })
        index = await under.open()
        const position = Number(await index.position())
        expect(position).toBeGreaterThanOrEqual(reported)
        expect(await index.count(everything, [0n, greatest])).toEqual([postsOfAddition * position])
        for (let number = 1; number <= position + 1; number += 1) {
          const expected = number <= position ? postsOfAddition : 0
          expect(await found(term(`t:addition${number}`))).toHaveLength(expected)
        }
      }
    })

    test("whatever is added and removed, pages either way and counts are those of the definition", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 8 }), anyQueries, async (steps, queries) => {
          await index.clear()
          const posts = new Map<bigint, ReadonlySet<string>>()
          for (const [number, step] of steps.entries()) {
            await take(step, at(number))
            for (const query of queries) expect(await resultsOf(query)).toEqual(definitionOf(query, posts))
          }

          async function take(step: Step, position: ArrivalPosition): Promise<void> {
            if (step.kind === "add") {
              for (const { id, terms } of step.posts) if (!posts.has(id)) posts.set(id, new Set(terms))
              await addTo(
                index,
                step.posts.map(({ id, terms }) => post(id, ...terms)),
                position,
              )
            } else if (step.kind === "remove") {
              for (const id of step.ids) posts.delete(id)
              await index.remove(step.ids.map((id) => String(id) as PostId))
            } else if (step.kind === "remove below") {
              for (const id of posts.keys()) if (id < step.id) posts.delete(id)
              await index.removeBelow(step.id)
            } else {
              await reopen()
            }
          }
        }),
        { numRuns: runs },
      )
    })

    async function resultsOf(query: IndexQuery): Promise<unknown> {
      return {
        newer: await pages(query, "newer"),
        older: await pages(query, "older"),
        counts: await Promise.all(edgesOfCounts.map((edges) => index.count(query, edges))),
      }
    }

    function definitionOf(query: IndexQuery, posts: ReadonlyMap<bigint, ReadonlySet<string>>): unknown {
      const ids = [...posts].filter(([, terms]) => indexQueryHolds(query, terms)).map(([id]) => id)
      const newer = ids.toSorted((a, b) => (a < b ? -1 : 1)).map(String)
      const counts = edgesOfCounts.map((edges) =>
        edges.slice(1).map((end, number) => ids.filter((id) => id >= (edges[number] ?? end) && id < end).length),
      )
      return { newer, older: newer.toReversed(), counts }
    }

    async function pages(query: IndexQuery, direction: "older" | "newer"): Promise<readonly string[]> {
      const ids: string[] = []
      let { above, upTo } = { above: -1n, upTo: greatest }
      for (;;) {
        const page = await index.find(query, { above, upTo, direction, limit: 3 })
        ids.push(...page)
        const last = page.at(-1)
        if (last === undefined) return ids
        expect(page.length).toBeLessThanOrEqual(3)
        if (direction === "newer") above = BigInt(last)
        else upTo = BigInt(last) - 1n
      }
    }
  })
}

const postsOfAddition = 20

/** Kills a process that adds posts, after so many additions. Returns the last one that it reported. */
async function addUntilKilled(module: string, { additions }: { readonly additions: number }): Promise<number> {
  const script = `${module}
    const first = Number((await index.position()) ?? 0) + 1
    for (let number = first; ; number += 1) {
      const ids = Array.from({ length: ${postsOfAddition} }, (_, post) => {
        return ${idOfDay(0)}n + BigInt(number % 5) * ${idOfDay(1) - idOfDay(0)}n + BigInt(100 * number + post)
      })
      const after = number === 1 ? undefined : String(number - 1)
      await index.add(ids.map((id) => ({ id: String(id), terms: ["t:addition" + number] })), { after, position: String(number) })
      process.stdout.write(number + "\\n")
    }`
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] })
  const ended = once(child, "exit")
  let [seen, last] = [0, 0]
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line)
    seen += 1
    if (seen === additions) child.kill("SIGKILL")
  }
  const [, signal] = (await ended) as [number | null, string | null]
  expect(signal).toBe("SIGKILL")
  return last
}

/** An id of a day of November 2026. */
export function idOfDay(day: number): bigint {
  return BigInt(Date.UTC(2026, 10, 1 + day, 12) - 1_288_834_974_657) << 22n
}

const hourIds = 3_600_000n << 22n
const edgesOfCounts = [
  [0n, greatest],
  [3n, idOfDay(1), idOfDay(1) + 2n, idOfDay(3), idOfDay(3)],
  Array.from({ length: 60 }, (_, hour) => idOfDay(0) + BigInt(hour) * hourIds),
]

const anyTerm = fc.constantFrom("t:a", "t:b", "t:c", "t:é", "t:OR", "*", 't:"', "t:a b")
const anyId = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.nat(6), fc.nat(4)).map(([day, number]) => idOfDay(day) + BigInt(number)) },
  { weight: 1, arbitrary: fc.nat(5).map(BigInt) },
)
const { query: anyQuery } = fc.letrec<{ query: IndexQuery }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    anyTerm.map(term),
    fc.constant<IndexQuery>(everything),
    tie("query").map(not),
    fc
      .tuple(fc.constantFrom("all" as const, "any" as const), fc.array(tie("query"), { maxLength: 3 }))
      .map(([kind, of]): IndexQuery => ({ kind, of })),
  ),
}))
const anyQueries = fc.array(anyQuery, { minLength: 1, maxLength: 4 })

type Step =
  | { readonly kind: "add"; readonly posts: readonly { readonly id: bigint; readonly terms: readonly string[] }[] }
  | { readonly kind: "remove"; readonly ids: readonly bigint[] }
  | { readonly kind: "remove below"; readonly id: bigint }
  | { readonly kind: "reopen" }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("add" as const),
      posts: fc.array(fc.record({ id: anyId, terms: fc.uniqueArray(anyTerm) }), { maxLength: 12 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), ids: fc.array(anyId, { maxLength: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove below" as const), id: anyId }) },
  { weight: 1, arbitrary: fc.constant({ kind: "reopen" as const }) },
)
