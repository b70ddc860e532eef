/**
 * Search and counts over 1,000,000 posts of a week (100,000 with `--quick`), over HTTP, on either store.
 *
 * The limit of what an index decides is a bare server over the same rows: an index of their words finds the ids, and the
 * rows are parsed. Both must return the same posts. The limit of what needs evaluation is the time allowed. The bench
 * also weighs the index, and what is kept of users.
 *
 * Source of the goals, ours: 2 ms and three times the bare server for a selective query, twice page 1 for a deep page,
 * 5 ms for the most frequent word, 20 ms for a phrase, 250 ms for a page that meets its budget; three times the bare
 * server and 10 ms for counts; 150 bytes a post each.
 */
import { randomBytes } from "node:crypto"
import { DatabaseSync } from "node:sqlite"
import { paths } from "../packages/api/src/paths.ts"
import { figure, type Figure } from "./figure.ts"
import { indexed, indexOf, type IndexProgress } from "./index-progress.ts"
import { inTurnOver, type Target } from "./latencies.ts"
import { newDatabase, psql, urlOf, type BenchDatabase } from "./psql.ts"
import { boundTo, frequentWord, marks, SearchedPosts, sendAll } from "./searched-posts.ts"
import { startBareSearch, startSluice, storeFileOf, type MeasuredServer, type MeasuredSluice } from "./servers.ts"

const pagePosts = 100
const bytesAllowed = 150
const msAllowed = { selective: 2, frequent: 5, phrase: 20, nothing: 250, counts: 10 } as const

/** A query of the bench, and the same one for the bare server where an index decides. */
interface Query {
  readonly query: string
  readonly bare?: string
}

const queries = {
  selective: {
    query: `${marks.selective} lang:en -is:retweet`,
    bare: `words=${marks.selective},langen&without=isretweet`,
  },
  many: { query: `${marks.frequent} lang:en -is:retweet`, bare: `words=${marks.frequent},langen&without=isretweet` },
  rare: { query: marks.rare, bare: `words=${marks.rare}&without=isretweet` },
  frequent: { query: frequentWord(0) },
  phrase: { query: `"${frequentWord(5)} ${frequentWord(boundTo(5))}" -${frequentWord(20)}` },
  nothing: { query: `"${[0, 1, 0, 1, 0, 1].map(frequentWord).join(" ")}"` },
} as const satisfies Readonly<Record<string, Query>>

interface SearchOptions {
  readonly isQuick: boolean
  /** The store of the server. */
  readonly store?: "embedded" | "postgres" | undefined
}

/** Prints the figures of search. */
export async function search(
  print: (figure: Figure) => void,
  { isQuick, store = "embedded" }: SearchOptions,
): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const database = store === "postgres" ? resources.use(await newDatabase()) : undefined
  const settings = { SLUICE_SEARCH: "on" }
  const url = database && urlOf(database)
  const shared = url === undefined ? undefined : { url, masterKey: randomBytes(32).toString("hex") }
  const sluice = resources.use(await startSluice({ settings, database: shared }))
  const index = resources.use(indexOf(sluice, database))
  const posts = new SearchedPosts({ count: isQuick ? 100_000 : 1_000_000, endMs: Date.now() - 60_000 })
  const sentSeconds = await seconds(() => sendAll(sluice, posts))
  const indexedSeconds = await seconds(() => indexed(index, posts.count))
  const bare = resources.use(await startBareSearch(sluice, url))
  process.stderr.write(
    `(sent ${posts.count} posts in ${sentSeconds.toFixed(0)} s; the index had them ${indexedSeconds.toFixed(0)} s later)\n`,
  )

  const name = store === "postgres" ? "search-postgres" : "search"
  const rounds = isQuick ? 3 : 5
  await measurePages(print, { name, sluice, bare, posts, rounds })
  await measureCounts(print, { name, sluice, bare, posts, rounds })
  await weigh(print, { name, sluice, index, database, posts })
}

/** The server that is measured, and the one that it is measured by. */
interface Measured {
  /** The beginning of the names of figures. */
  readonly name: string
  readonly sluice: MeasuredSluice
  readonly bare: MeasuredServer
  readonly posts: SearchedPosts
  readonly rounds: number
}

async function measurePages(
  print: (figure: Figure) => void,
  { name, sluice, bare, posts, rounds }: Measured,
): Promise<void> {
  const depth = Math.min(1_000, posts.count / 10 / pagePosts)
  const first = { selective: pageOf("selective"), many: pageOf("many") }
  const headers = { Authorization: `Bearer ${sluice.token}` }
  const target = (path: string): Target => ({ port: sluice.port, path, headers })
  const bareTarget = (query: "selective" | "many"): Target => ({
    port: bare.port,
    path: `/posts?${queries[query].bare}`,
  })
  for (const query of ["selective", "many"] as const) await compare(target(first[query]), bareTarget(query), idsOf)

  const seen = await inTurnOver(
    {
      selective: target(first.selective),
      selectiveBare: bareTarget("selective"),
      many: target(first.many),
      manyBare: bareTarget("many"),
      deep: target(await pathOfPage(target(first.many), depth)),
      frequent: target(pageOf("frequent")),
      phrase: target(pageOf("phrase")),
      nothing: target(pageOf("nothing")),
    },
    { rounds, seconds: 3, warmUpSeconds: 3, connections: 1 },
  )
  const unit = "ms"
  const limitIs = "a bare index and JSON.parse"
  print(
    figure(
      { name: `${name}-selective-p50`, value: seen.selective.p50, unit, limit: seen.selectiveBare.p50, limitIs },
      { atMost: 3 },
    ),
  )
  print(figure({ name: `${name}-many-p50`, value: seen.many.p50, unit, limit: seen.manyBare.p50, limitIs }))
  print(
    figure(
      {
        name: `${name}-depth-p50`,
        value: seen.deep.p50,
        unit,
        limit: seen.many.p50,
        limitIs: `page ${depth} by page 1`,
      },
      { atMost: 2 },
    ),
  )
  for (const query of ["selective", "frequent", "phrase"] as const) {
    const allowed = { limit: msAllowed[query], limitIs: "allowed" }
    print(figure({ name: `${name}-${query}-p50-allowed`, value: seen[query].p50, unit, ...allowed }, { atMost: 1 }))
  }
  const allowed = { limit: msAllowed.nothing, limitIs: "allowed, 50 ms beyond the budget of a page" }
  print(figure({ name: `${name}-nothing-p99-allowed`, value: seen.nothing.p99, unit, ...allowed }, { atMost: 1 }))
}

async function measureCounts(
  print: (figure: Figure) => void,
  { name, sluice, bare, posts, rounds }: Measured,
): Promise<void> {
  const headers = { Authorization: `Bearer ${sluice.token}` }
  const target = (query: keyof typeof queries): Target => ({ port: sluice.port, path: countsOf(query, posts), headers })
  const bareTarget = (query: "rare" | "many"): Target => ({ port: bare.port, path: `/counts?${queries[query].bare}` })
  for (const query of ["rare", "many"] as const) await compare(target(query), bareTarget(query), totalOf)
  const seen = await inTurnOver(
    { rare: target("rare"), rareBare: bareTarget("rare"), many: target("many"), manyBare: bareTarget("many") },
    { rounds, seconds: 3, warmUpSeconds: 3, connections: 1 },
  )
  const unit = "ms"
  const limitIs = "one aggregate over a bare index"
  print(
    figure(
      { name: `${name}-counts-rare-p50`, value: seen.rare.p50, unit, limit: seen.rareBare.p50, limitIs },
      { atMost: 3 },
    ),
  )
  print(figure({ name: `${name}-counts-many-p50`, value: seen.many.p50, unit, limit: seen.manyBare.p50, limitIs }))
  const allowed = { limit: msAllowed.counts, limitIs: `allowed for ${posts.count / 10} posts` }
  print(figure({ name: `${name}-counts-many-p50-allowed`, value: seen.many.p50, unit, ...allowed }, { atMost: 1 }))
}

/** Bytes of a post in the index, and of the users that came with it. */
async function weigh(
  print: (figure: Figure) => void,
  {
    name,
    sluice,
    index,
    database,
    posts: { count },
  }: Pick<Measured, "name" | "sluice" | "posts"> & {
    readonly index: IndexProgress
    readonly database: BenchDatabase | undefined
  },
): Promise<void> {
  const allowed = { unit: "bytes/post", limit: bytesAllowed, limitIs: "allowed" }
  const ofUsers = database === undefined ? userBytesIn(storeFileOf(sluice)) : await userBytesOf(database)
  print(figure({ name: `${name}-index-bytes`, value: (await index.bytes()) / count, ...allowed }, { atMost: 1 }))
  print(figure({ name: `${name}-user-bytes`, value: ofUsers / count, ...allowed }, { atMost: 1 }))
}

function userBytesIn(file: string): number {
  using db = new DatabaseSync(file, { readOnly: true })
  const bytes = db.prepare("SELECT sum(pgsize) AS value FROM dbstat WHERE name = ? AND aggregate = TRUE")
  const names = ["user_objects", "user_objects_by_name", "user_words"]
  return names.reduce((sum, name) => sum + Number(bytes.get(name)?.["value"]), 0)
}

async function userBytesOf({ name }: BenchDatabase): Promise<number> {
  const sizes = ["user_objects", "user_words"].map((table) => `pg_total_relation_size('${table}')`)
  return Number(await psql(name, `SELECT ${sizes.join(" + ")}`))
}

function pageOf(query: keyof typeof queries): string {
  return `${paths.searchAll}?query=${encodeURIComponent(queries[query].query)}&max_results=${pagePosts}`
}

/** Counts by the hour of the seven days that the posts span. */
function countsOf(query: keyof typeof queries, { startMs }: SearchedPosts): string {
  const times = `start_time=${secondOf(startMs)}&end_time=${secondOf(startMs + 7 * 86_400_000 + 1_000)}`
  return `${paths.countsAll}?query=${encodeURIComponent(queries[query].query)}&granularity=hour&${times}`
}

/** The second of this time, and not the milliseconds. */
function secondOf(atMs: number): string {
  return new Date(Math.floor(atMs / 1_000) * 1_000).toISOString()
}

/** The body of a response, as far as the bench reads it. */
interface Body {
  readonly data?: readonly { readonly id?: string; readonly posts?: number; readonly tweet_count?: number }[]
  readonly meta?: { readonly next_token?: string }
}

async function bodyOf({ port, path, headers = {} }: Target): Promise<Body> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Body
}

/** Throws unless both return the same. */
async function compare(sluice: Target, bare: Target, shown: (body: Body) => string): Promise<void> {
  const [found, expected] = [shown(await bodyOf(sluice)), shown(await bodyOf(bare))]
  if (found !== expected) throw new Error(`${sluice.path} returned ${found}, and the bare index ${expected}`)
}

function idsOf({ data = [] }: Body): string {
  return data.map(({ id }) => id).join(" ")
}

function totalOf({ data = [] }: Body): string {
  return String(data.reduce((sum, { posts = 0, tweet_count: count = posts }) => sum + count, 0))
}

/** Follows `next_token` to the page of this number. */
async function pathOfPage(first: Target, page: number): Promise<string> {
  let { path } = first
  for (let number = 1; number < page; number++) {
    const { meta } = await bodyOf({ ...first, path })
    if (meta?.next_token === undefined) throw new Error(`there are only ${number} pages`)
    path = `${first.path}&next_token=${meta.next_token}`
  }
  return path
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return (performance.now() - startMs) / 1_000
}
