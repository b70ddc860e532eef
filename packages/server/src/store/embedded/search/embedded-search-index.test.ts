import { hash } from "node:crypto"
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { indexQueryHolds, type IndexQuery } from "@sluice/rules"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { PostId } from "../../../model/ids.ts"
import { addTo, at, idOfDay, searchIndexContract } from "../../contract/search-index-contract.ts"
import type { SearchIndex, SearchIndexSettings } from "../../search-index.ts"
import { StoreUnavailable } from "../../store-faults.ts"
import { storeFile } from "../connection/database.ts"
import { embeddedEngine, opener } from "../engine.ts"
import { openEmbeddedSearchIndex } from "./embedded-search-index.ts"
import { seededRandom } from "../../../../../../test/oracle/seeded-random.ts"
import {
  temporaryDirectory,
  type TemporaryDirectory,
} from "../../../../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory

beforeEach(async () => {
  directory = await temporaryDirectory()
})

afterEach(async () => {
  await directory.remove()
})

const settings: SearchIndexSettings = { termsVersion: 1, partitionPostsMin: 3 }
const everything = { kind: "everything" } as const
const all = { above: -1n, upTo: 9_223_372_036_854_775_807n, direction: "older", limit: 500 } as const

searchIndexContract("the search index of the embedded store", async () => {
  const file = join(await mkdtemp(join(directory.path, "one-")), "search.db")
  return {
    open: () => openEmbeddedSearchIndex(file, settings),
    module: `
      import { openEmbeddedSearchIndex } from ${JSON.stringify(import.meta.resolve("./embedded-search-index.ts"))}
      const index = await openEmbeddedSearchIndex(${JSON.stringify(file)}, ${JSON.stringify(settings)})`,
    [Symbol.asyncDispose]: async () => undefined,
  }
})

test("a query that is nested deeper than FTS5 reads finds the posts of many windows, either way and within bounds", async () => {
  await using index = await openEmbeddedSearchIndex(join(directory.path, "search.db"), { termsVersion: 1 })
  const ids = Array.from({ length: 2_000 }, (_, number) => idOfDay(0) + BigInt(number))
  const posts = ids.map((id, number) => ({ id: String(id) as PostId, terms: [`t:${number % 7}`, `t:${number % 11}b`] }))
  await addTo(index, posts, at(1))
  const nested = Array.from({ length: 201 }, (_, level) => level).reduce<IndexQuery>(
    (within, level) => ({
      kind: level % 2 === 0 ? "any" : "all",
      of: [{ kind: "term", term: level % 2 === 0 ? `t:${level % 5}` : `t:${level % 10}b` }, within],
    }),
    { kind: "term", term: "t:6" },
  )
  const expected = posts.filter(({ terms }) => indexQueryHolds(nested, new Set(terms))).map(({ id }) => id)
  expect(expected.length).toBeGreaterThan(50)
  expect(await index.find(nested, { ...all, direction: "newer" })).toEqual(expected.slice(0, 500))
  expect(await index.find(nested, all)).toEqual(expected.toReversed().slice(0, 500))
  const [from = 0n, to = 0n] = [ids[700], ids[1_900]]
  const within = expected.filter((id) => BigInt(id) >= from && BigInt(id) < to)
  expect(await index.find(nested, { ...all, above: from - 1n, upTo: to - 1n })).toEqual(within.toReversed())
  expect(await index.count(nested, [from, to])).toEqual([within.length])
})

test("more posts than one statement counts are each counted once, in the interval of their ids", async () => {
  await using index = await openEmbeddedSearchIndex(join(directory.path, "search.db"), { termsVersion: 1 })
  const ids = Array.from({ length: 25_000 }, (_, number) => idOfDay(0) + BigInt(number))
  await addTo(
    index,
    ids.map((id) => ({ id: String(id) as PostId, terms: [id % 5n === 0n ? "t:a" : "t:b"] })),
    at(1),
  )
  const edges = [0n, 9_000n, 19_000n, 29_000n].map((number) => idOfDay(0) + number)
  expect(await index.count(everything, edges)).toEqual([9_000, 10_000, 6_000])
  expect(await index.count(everything, [0n, ...edges])).toEqual([0, 9_000, 10_000, 6_000])
  const every5th = ids.filter((id) => id % 5n === 0n)
  const within = (from: bigint, to: bigint) => every5th.filter((id) => id >= from && id < to).length
  const expected = edges.slice(1).map((to, interval) => within(edges[interval] ?? 0n, to))
  expect(await index.count({ kind: "term", term: "t:a" }, edges)).toEqual(expected)
})

test("posts that come late, more than there is room for between others, are found, counted and removed as all", async () => {
  await using index = await openEmbeddedSearchIndex(join(directory.path, "search.db"), { termsVersion: 1 })
  const random = seededRandom(5)
  const posts = Array.from({ length: 3_000 }, (_, number) => ({
    id: String(idOfDay(0) + BigInt(number)) as PostId,
    terms: [`t:${number % 7}`, "t:a"],
  }))
  // The ends first, so that all others come between two numbers, in a random order.
  const ends = [posts[0], posts.at(-1)].filter((post) => post !== undefined)
  await addTo(index, ends, at(1))
  const others = posts.slice(1, -1).toSorted(() => random() - 0.5)
  for (let begin = 0; begin < others.length; begin += 100) {
    await addTo(index, others.slice(begin, begin + 100), at(begin + 2))
  }
  // A repetition of some of them changes nothing.
  await addTo(index, others.slice(0, 200), at(5_000))

  const term = { kind: "term", term: "t:3" } as const
  const expect_ = async (expected: readonly PostId[]): Promise<void> => {
    expect(await index.find(term, { ...all, direction: "newer" })).toEqual(expected)
    expect(await index.find(term, all)).toEqual(expected.toReversed())
    expect(await index.find(term, { ...all, limit: 7 })).toEqual(expected.toReversed().slice(0, 7))
    const [above, upTo] = [idOfDay(0) + 700n, idOfDay(0) + 1_900n]
    const within = expected.filter((id) => BigInt(id) > above && BigInt(id) <= upTo)
    expect(await index.find(term, { above, upTo, direction: "newer", limit: 500 })).toEqual(within)
    const edges = [0n, 1_000n, 2_000n, 3_000n].map((number) => idOfDay(0) + number)
    const between = (from: bigint, to: bigint) => expected.filter((id) => BigInt(id) >= from && BigInt(id) < to).length
    const counts = edges.slice(1).map((to, interval) => between(edges[interval] ?? 0n, to))
    expect(await index.count(term, edges)).toEqual(counts)
  }
  const ofTerm = posts.filter(({ terms }) => terms[0] === "t:3").map(({ id }) => id)
  await expect_(ofTerm)

  const removed = new Set(ofTerm.filter((_, number) => number % 3 === 0))
  await index.remove([...removed])
  await expect_(ofTerm.filter((id) => !removed.has(id)))

  const replaced = new Set(ofTerm.filter((_, number) => number % 3 === 1))
  await index.replace([...replaced].map((id) => ({ id, terms: ["t:b"] })))
  const left = ofTerm.filter((id) => !removed.has(id) && !replaced.has(id))
  await expect_(left)
  expect(await index.find({ kind: "term", term: "t:b" }, { ...all, direction: "newer" })).toEqual([...replaced])

  await index.removeBelow(idOfDay(0) + 1_500n)
  await expect_(left.filter((id) => BigInt(id) >= idOfDay(0) + 1_500n))
})

test("a post whose number has lost its id is damage, and not a post that is missing", async () => {
  const file = join(directory.path, "search.db")
  await using index = await openEmbeddedSearchIndex(file, { termsVersion: 1 })
  const posts = ["5", "9"].map((id) => ({ id: id as PostId, terms: ["t:a"] }))
  await addTo(index, posts, at(1))
  const db = new DatabaseSync(file)
  db.exec("DELETE FROM numbers_0 WHERE id = 5")
  db.close()
  await expect(index.find({ kind: "term", term: "t:a" }, all)).rejects.toThrow(StoreUnavailable)
  expect(await index.position()).toBeUndefined()
})

test("a thread opens the index of the store that it was granted access to", async () => {
  await using index = await opener.openSearchIndex({ file: storeFile(directory.path) }, settings)
  await addTo(index, [{ id: "5" as PostId, terms: ["t:a"] }], at(1))
  expect(statSync(join(directory.path, "search.db")).isFile()).toBe(true)
  const names = new Set(embeddedEngine(directory.path).files.all.map(({ name }) => name))
  expect(readdirSync(directory.path).filter((name) => !names.has(name))).toEqual([])
})

describe("the file of the index", () => {
  let file: string

  beforeEach(() => {
    file = join(directory.path, "search.db")
  })

  const open = (more: Partial<SearchIndexSettings> = {}) => openEmbeddedSearchIndex(file, { ...settings, ...more })

  /** An index with a few thousand posts of several days. */
  async function filled(): Promise<void> {
    await using index = await open()
    for (let day = 0; day < 4; day += 1) {
      const ids = Array.from({ length: 1_000 }, (_, number) => idOfDay(day) + BigInt(number))
      const posts = ids.map((id) => ({ id: String(id) as PostId, terms: [`t:${id}`, "t:a"] }))
      await addTo(index, posts, at(day + 1))
    }
  }

  /** The position and the posts of an index, before and after a post was added. */
  async function beginningOf(index: SearchIndex): Promise<unknown> {
    const before = [await index.position(), await index.find(everything, all)]
    await addTo(index, [{ id: "5" as PostId, terms: ["t:a"] }], at(1))
    return [...before, await index.position(), await index.find({ kind: "term", term: "t:a" }, all)]
  }
  const ofEmptyIndex = [undefined, [], at(1), ["5"]]

  test("only its owner may read it, nor what SQLite adds to it", async () => {
    await using index = await open()
    await addTo(index, [{ id: "5" as PostId, terms: ["t:a"] }], at(1))
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(file + suffix).mode & 0o777).toBe(0o600)
  })

  test("one with terms of another version is begun anew", async () => {
    await filled()
    await using index = await open({ termsVersion: 2 })
    expect(await beginningOf(index)).toEqual(ofEmptyIndex)
  })

  const foreign: readonly (readonly [what: string, make: () => void])[] = [
    ["a text", () => writeFileSync(file, "Not a database. ".repeat(1_000))],
    ["an empty file", () => writeFileSync(file, "")],
    [
      "a database of another program",
      () => {
        const db = new DatabaseSync(file)
        db.exec("CREATE TABLE search_index (terms_version, position); INSERT INTO search_index VALUES (1, '7')")
        db.close()
      },
    ],
    [
      "an index of an earlier version",
      () => {
        const db = new DatabaseSync(file)
        db.exec(`CREATE TABLE search_index (terms_version, position); INSERT INTO search_index VALUES (1, '7');
          CREATE TABLE partitions (from_id INTEGER PRIMARY KEY, posts, last_id);
          PRAGMA user_version = 1; PRAGMA application_id = 0x534c5349`)
        db.close()
      },
    ],
    [
      "a log without its database",
      () => {
        writeFileSync(`${file}-wal`, "log")
      },
    ],
  ]
  for (const [what, make] of foreign) {
    test(`${what} in its place is removed`, async () => {
      make()
      await using index = await open()
      expect(await beginningOf(index)).toEqual(ofEmptyIndex)
    })
  }

  test("something that is no file in its place is left there", async () => {
    mkdirSync(file)
    await expect(open()).rejects.toThrow("unable to open database file")
    expect(statSync(file).isDirectory()).toBe(true)
  })

  const damages: readonly (readonly [what: string, damage: () => void])[] = [
    ["its header", () => overwrite(0, 100)],
    ["its schema", () => overwrite(100, 3_900)],
    ["all after its schema", () => overwrite(8_192, statSync(file).size - 8_192)],
    ["its end, which is cut off", () => truncateSync(file, Math.floor(statSync(file).size / 2))],
    [
      "a table that is missing",
      () => {
        const db = new DatabaseSync(file, { defensive: false })
        db.exec("PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name LIKE 'posts_%_data'")
        db.close()
      },
    ],
  ]
  for (const [what, damage] of damages) {
    test(`damage is found at the latest when it is read, and the index is begun anew: ${what}`, async () => {
      await filled()
      damage()
      await using index = await open()
      const reading = index.find({ kind: "term", term: "t:a" }, all)
      const outcome = await reading.then(
        (ids) => ids.length,
        (error: unknown) => error,
      )
      // Either it was found when the file was opened, or now.
      if (outcome !== 0) expect(outcome).toBeInstanceOf(StoreUnavailable)
      expect(await beginningOf(index)).toEqual(ofEmptyIndex)
    })
  }

  function overwrite(from: number, length: number): void {
    const descriptor = openSync(file, "r+")
    writeSync(descriptor, Buffer.alloc(length, 0x5a), 0, length, from)
    closeSync(descriptor)
  }

  test("an addition that fails on its way leaves the index as it was", async () => {
    await using index = await open()
    await addTo(index, [{ id: "5" as PostId, terms: ["t:a"] }], at(1))
    const posts = [
      { id: "6" as PostId, terms: ["t:a"] },
      { id: "6.5" as PostId, terms: [] },
    ]
    await expect(addTo(index, posts, at(2))).rejects.toThrow(SyntaxError)
    expect(await index.position()).toBe(at(1))
    expect(await index.find(everything, all)).toEqual(["5"])
  })
})

test("of removed posts no token of their own is in the file once they are erased", async () => {
  const file = join(directory.path, "search.db")
  await using index = await openEmbeddedSearchIndex(file, { termsVersion: 1 })
  const random = seededRandom(3)
  const numbers = Array.from({ length: 6_000 }, (_, number) => number).toSorted(() => random() - 0.5)
  const termsOf = (number: number) => [
    ...Array.from({ length: 12 }, (_, term) => `t:${(number * (term + 3)) % 997}word${term}`),
    `t:${tokenOfNumber(number)}`,
  ]
  const post = (number: number) => ({
    id: String(idOfDay(0) + BigInt(number)) as PostId,
    terms: termsOf(number),
  })
  for (let begin = 0; begin < numbers.length; begin += 150) {
    await addTo(index, numbers.slice(begin, begin + 150).map(post), at(begin + 1))
  }
  const removed = numbers.filter(() => random() < 0.1)
  for (let begin = 0; begin < removed.length; begin += 50) {
    await index.remove(removed.slice(begin, begin + 50).map((number) => post(number).id))
  }
  const held = () => {
    const bytes = readFileSync(file, "latin1") + readFileSync(`${file}-wal`, "latin1")
    return removed.filter((number) => bytes.includes(tokenOfNumber(number).slice(3)))
  }
  expect(held()).not.toEqual([])
  await index.eraseRemoved()
  expect(held()).toEqual([])
  const left = numbers.find((number) => !removed.includes(number)) ?? 0
  const query = { kind: "term", term: `t:${tokenOfNumber(left)}` } as const
  expect(await index.find(query, all)).toEqual([post(left).id])
})

/** A word that shares at most its beginning with those of others: an index may keep only the rest of it. */
function tokenOfNumber(number: number): string {
  return hash("sha256", String(number), "hex").slice(0, 24)
}

describe("a partition to which no posts are added any more", () => {
  const termsOf = (number: number) => [
    "t:a",
    ...Array.from({ length: 60 }, (_, term) => `t:${(number * (term + 2)) % 997}word${term + 2}`),
  ]
  const postsOfDay = (day: number) =>
    Array.from({ length: 3_000 }, (_, number) => ({
      id: String(idOfDay(day) + BigInt(number)) as PostId,
      terms: termsOf(number),
    }))

  /** Lists of tokens of each partition. Source: SQLite's ext/fts5/fts5_index.c, "Segment b-trees". */
  function segmentsOf(file: string): readonly number[] {
    using db = new DatabaseSync(file, { readOnly: true })
    const partitions = db.prepare("SELECT CAST (from_id AS TEXT) AS name FROM partitions ORDER BY from_id").all()
    return partitions.map(({ name }) => {
      const counted = db.prepare(`SELECT count(DISTINCT segid) AS segments FROM posts_${String(name)}_idx`).get()
      return Number(counted?.["segments"])
    })
  }

  async function fill(index: SearchIndex, days: readonly number[]): Promise<void> {
    for (const day of days) {
      const posts = postsOfDay(day)
      for (let begin = 0; begin < posts.length; begin += 250) {
        await addTo(index, posts.slice(begin, begin + 250), at(day * 10_000 + begin + 1))
      }
    }
  }

  async function compactAll(index: SearchIndex): Promise<number> {
    let steps = 1
    while (await index.compact()) steps += 1
    return steps
  }

  const pages = (file: string): number => {
    using db = new DatabaseSync(file, { readOnly: true })
    const used = "SELECT page_count - freelist_count AS value FROM pragma_page_count, pragma_freelist_count"
    return Number(db.prepare(used).get()?.["value"])
  }

  test("is compacted to one list of tokens, and has the same posts, also after the next start", async () => {
    const file = join(directory.path, "search.db")
    let before = 0
    {
      await using index = await openEmbeddedSearchIndex(file, settings)
      await fill(index, [0])
      // All of them belong to the newest partition.
      expect(await compactAll(index)).toBe(1)
      await fill(index, [1])
      expect(Math.min(...segmentsOf(file))).toBeGreaterThan(1)
      before = pages(file)
      // The process ends before all is done.
      expect(await index.compact()).toBe(true)
      expect(Math.min(...segmentsOf(file))).toBeGreaterThan(1)
    }
    await using index = await openEmbeddedSearchIndex(file, settings)
    const beginning = { ...all, upTo: idOfDay(1) - 1n }
    const query = { kind: "term", term: "t:30word3" } as const
    const found = await index.find(query, beginning)
    expect(found).toEqual(
      postsOfDay(0)
        .filter(({ terms }) => terms.includes("t:30word3"))
        .map(({ id }) => id)
        .toReversed(),
    )
    await compactAll(index)
    expect(segmentsOf(file)).toEqual([1, expect.toSatisfy((count: number) => count > 1)])
    expect(pages(file)).toBeLessThan(before)
    expect(await index.find(query, beginning)).toEqual(found)
  })

  test("that is dropped meanwhile is compacted no longer", async () => {
    await using index = await openEmbeddedSearchIndex(join(directory.path, "search.db"), settings)
    await fill(index, [0, 1])
    expect(await index.compact()).toBe(true)
    await index.removeBelow(idOfDay(1))
    expect(await compactAll(index)).toBe(1)
  })
})
