/**
 * Servers on PostgreSQL: 1, 2 and 3 processes on one database of this machine, each compared with one process on the
 * embedded store in the same run. They measure in turn:
 *
 * - ingest of real posts against 10,000 rules, two bodies at a time to each process,
 * - pending deliveries, to one endpoint and to several,
 * - the time from acceptance to handler at 1,000 posts a second, fed to all processes alike,
 * - for one process, the cost of a post and of a delivery in PostgreSQL: statements, commits, bytes.
 *
 * Each measurement has a new database, which is dropped afterwards. PostgreSQL, processes, feeder and endpoints share
 * this machine, so a further process adds throughput and takes processor time.
 *
 * Source of the goals, for one process: 0.5 of the embedded store's ingest, 0.7 of its deliveries, and 25 ms.
 */
import { randomBytes } from "node:crypto"
import { addRules, linkWebhooks } from "./app-client.ts"
import { startChild } from "./child.ts"
import { feedAtRate } from "./constant-feed.ts"
import { startEndpoints } from "./endpoints.ts"
import { Envelopes } from "./envelopes.ts"
import { figure, median, quantile, type Figure } from "./figure.ts"
import { HandledPosts } from "./handled-posts.ts"
import { timeDeliveries, type TimedDeliveries } from "./timed-deliveries.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import type { RelayCounts, RelayMessage } from "./postgres-relay.ts"
import { newDatabase, psql, urlOf, type BenchDatabase } from "./psql.ts"
import { bodiesOf, sentPerSecond, someRules, type RoundOfPosts } from "./real-ingest.ts"
import { startSluice, type MeasuredSluice } from "./servers.ts"

type Print = (figure: Figure) => void

/** How much to measure. */
interface Extent {
  readonly rounds: number
  /** A round sends every post whose number is a multiple of this. */
  readonly postStep: number
  /** Deliveries of a round. */
  readonly deliveries: number
}

const whole: Extent = { rounds: 7, postStep: 1, deliveries: 30_000 }
const quick: Extent = { rounds: 3, postStep: 4, deliveries: 8_000 }

/** Posts of a body: small enough that each of three processes receives several. */
const perBody = 500

const endpointCounts = [1, 20] as const
const rate = 1_000
const rateSeconds = 4
const allowedMs = 25
const processCounts = [1, 2, 3] as const

type Servers = readonly [MeasuredSluice, ...MeasuredSluice[]]

/** Prints the figures of servers on PostgreSQL. */
export async function cluster(print: Print, { isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const envelopes = Envelopes.read()
  const extent = isQuick ? quick : whole
  const rules = someRules(envelopes)
  await measurePostCost(print, { envelopes, rules, extent })
  await measureDeliveryCost(print, extent)
  for (const count of processCounts) print(await measureIngest({ envelopes, rules, extent }, count))
  for (const count of processCounts) {
    for (const endpoints of endpointCounts) print(await measureDeliveries(extent, count, endpoints))
  }
  for (const count of processCounts) await measureLatency(print, extent, count)
}

/** The rules and posts that ingest is measured with. */
interface IngestDeps {
  readonly envelopes: Envelopes
  readonly rules: readonly string[]
  readonly extent: Extent
}

async function measureIngest({ envelopes, rules, extent }: IngestDeps, count: number): Promise<Figure> {
  await using both = await startBoth(count)
  for (const [first] of both.all) await addRules(first, rules)
  const rounds = await inRounds(both, extent, (servers, round) =>
    sentPerSecond(servers, bodiesOf(envelopes, { round, perBody, step: extent.postStep }).bodies),
  )
  return figure(
    { name: `cluster-ingest-${count}`, unit: "posts/s", ...againstEmbedded(rounds, (perSecond) => perSecond) },
    count === 1 ? { atLeast: 0.5 } : undefined,
  )
}

async function measureDeliveries(extent: Extent, count: number, endpoints: number): Promise<Figure> {
  await using resources = new AsyncDisposableStack()
  const both = resources.use(await startBoth(count))
  const set = { endpoints, posts: extent.deliveries / endpoints }
  const held = new Map<Servers, TimedDeliveries>()
  for (const servers of both.all) held.set(servers, resources.use(await timeDeliveries(servers, set)))
  const rounds = await inRounds(both, extent, async (servers) => (await held.get(servers)?.perSecond()) ?? Number.NaN)
  return figure(
    {
      name: `cluster-deliver-${count}-to-${endpoints}`,
      unit: "deliveries/s",
      ...againstEmbedded(rounds, (perSecond) => perSecond),
    },
    count === 1 ? { atLeast: 0.7 } : undefined,
  )
}

async function measureLatency(print: Print, extent: Extent, count: number): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const both = resources.use(await startBoth(count))
  const handled = new Map<Servers, readonly HandledPosts[]>()
  for (const servers of both.all) {
    const endpoints = resources.use(
      await startEndpoints(1, servers[0].consumerSecret, (_, body) => {
        for (const each of handled.get(servers) ?? []) each.noteHandled(body)
      }),
    )
    await addRules(servers[0], [madeWord])
    await linkWebhooks(servers[0], endpoints.urls)
  }
  const posts = new MadePosts()
  const rounds = await inRounds(both, extent, async (servers) => {
    const fed = servers.map((server) => ({ server, handled: new HandledPosts(1) }))
    handled.set(
      servers,
      fed.map((each) => each.handled),
    )
    const perSecond = Math.round(rate / servers.length)
    await Promise.all(
      fed.map((each) => feedAtRate(each.server, { posts, handled: each.handled, perSecond, seconds: rateSeconds })),
    )
    const sinceAcceptedMs = fed.flatMap((each) => each.handled.sinceAcceptedMs())
    return { p50: quantile(sinceAcceptedMs, 0.5), p99: quantile(sinceAcceptedMs, 0.99) }
  })
  const name = `cluster-end-to-end-${count}`
  const p99 = againstEmbedded(rounds, (seen) => seen.p99)
  print(figure({ name: `${name}-p50`, unit: "ms", ...againstEmbedded(rounds, (seen) => seen.p50) }))
  print(figure({ name: `${name}-p99`, unit: "ms", ...p99 }))
  const allowed = { value: p99.value, unit: "ms", limit: allowedMs, limitIs: "allowed" }
  print(figure({ name: `${name}-p99-allowed`, ...allowed }, count === 1 ? { atMost: 1 } : undefined))
}

/** The cost of a post in PostgreSQL, with one process and no links. */
async function measurePostCost(print: Print, { envelopes, rules, extent }: IngestDeps): Promise<void> {
  await using counted = await startCounted()
  await addRules(counted.sluice, rules)
  const send = async (round: number): Promise<RoundOfPosts> => {
    const posts = bodiesOf(envelopes, { round, perBody, step: extent.postStep })
    await sentPerSecond([counted.sluice], posts.bodies)
    return posts
  }
  // The first round fills caches, and writes whole pages after a checkpoint.
  await send(0)
  const before = await counted.passed()
  const { bodies, count } = await send(1)
  const bytes = bodies.reduce((sum, { length }) => sum + length, 0) / count
  await printCost(print, { name: "post", count, bytes, counted, before })
}

/** The cost of a delivery to one endpoint in PostgreSQL, with one process. */
async function measureDeliveryCost(print: Print, { deliveries: count }: Extent): Promise<void> {
  await using counted = await startCounted()
  await using held = await timeDeliveries([counted.sluice], { endpoints: 1, posts: count })
  await held.perSecond()
  const passed = Promise.withResolvers<Passed>()
  await held.perSecond(async () => passed.resolve(await counted.passed()))
  const before = await passed.promise
  const bodies = await held.bodies()
  const bytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0) / bodies.length
  await printCost(print, { name: "delivery", count, bytes, counted, before })
}

/** The traffic between a server and its database, and the end of the write-ahead log. */
interface Passed extends RelayCounts {
  readonly lsn: string
  readonly bytesStored: number
}

/** A server with a new database, and a counting relay between the two. */
interface CountedServer extends AsyncDisposable {
  readonly sluice: MeasuredSluice
  readonly database: BenchDatabase
  passed(): Promise<Passed>
}

async function startCounted(): Promise<CountedServer> {
  await using starting = new AsyncDisposableStack()
  const database = starting.use(await newDatabase())
  const relay = starting.use(startChild<RelayMessage>("postgres-relay.ts"))
  const url = urlOf(database, (await relay.request({ kind: "port" })) as { port: number })
  const sluice = starting.use(await startSluice({ database: { url, masterKey: newMasterKey() } }))
  const owned = starting.move()
  return {
    sluice,
    database,
    async passed() {
      const counts = (await relay.request({ kind: "counts" })) as RelayCounts
      return { ...counts, lsn: await walPosition(database), bytesStored: await sizeOf(database) }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Events since `before`, and the bytes of each. */
interface Cost {
  readonly name: "post" | "delivery"
  readonly count: number
  readonly bytes: number
  readonly counted: CountedServer
  readonly before: Passed
}

async function printCost(print: Print, { name, count, bytes, counted, before }: Cost): Promise<void> {
  const after = await counted.passed()
  const wal = await walBytes(counted.database, before.lsn, after.lsn).catch((error: Error) => {
    process.stderr.write(`the cost of a ${name} in the write-ahead log is left out: ${error.message}\n`)
    return undefined
  })
  const ofStatements = { unit: `a ${name}`, limit: 1, limitIs: `one for each ${name}` }
  const ofBytes = { unit: "bytes", limit: bytes, limitIs: `a ${name} as it was sent` }
  const costs = [
    { of: "statements", value: after.statements - before.statements, ...ofStatements },
    { of: "commits", value: after.commits - before.commits, ...ofStatements },
    { of: "bytes-sent", value: after.bytesSent - before.bytesSent, ...ofBytes },
    { of: "bytes-stored", value: after.bytesStored - before.bytesStored, ...ofBytes },
    ...(wal === undefined
      ? []
      : [
          { of: "wal", value: wal.all, ...ofBytes },
          { of: "wal-without-page-images", value: wal.all - wal.images, ...ofBytes },
        ]),
  ]
  for (const { of, value, ...rest } of costs) {
    print(figure({ name: `cluster-${name}-${of}`, value: value / count, ...rest }))
  }
}

/** An embedded server, and processes on one database. */
interface Both extends AsyncDisposable {
  readonly embedded: Servers
  readonly processes: Servers
  readonly all: readonly [Servers, Servers]
}

async function startBoth(count: number): Promise<Both> {
  await using starting = new AsyncDisposableStack()
  const embedded: Servers = [starting.use(await startSluice())]
  const database = starting.use(await newDatabase())
  const settings = { url: urlOf(database), masterKey: newMasterKey() }
  const start = async (): Promise<MeasuredSluice> => starting.use(await startSluice({ database: settings }))
  // Starts them one after the other: the first creates the app.
  const [first, others] = [await start(), [] as MeasuredSluice[]]
  while (others.length < count - 1) others.push(await start())
  const processes: Servers = [first, ...others]
  const owned = starting.move()
  return { embedded, processes, all: [embedded, processes], [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Measurements of a round. */
interface Round<Seen> {
  readonly ofProcesses: Seen
  readonly ofEmbedded: Seen
}

/** Measures both in each round; the first round warms up. */
async function inRounds<Seen>(
  { embedded, processes }: Both,
  { rounds }: Extent,
  measure: (servers: Servers, round: number) => Promise<Seen>,
): Promise<readonly Round<Seen>[]> {
  const seen: Round<Seen>[] = []
  for (let round = 0; round <= rounds; round++) {
    const ofEmbedded = await measure(embedded, round)
    const ofProcesses = await measure(processes, round)
    if (round > 0) seen.push({ ofProcesses, ofEmbedded })
  }
  return seen
}

/** The medians of a value over the rounds, of the processes on PostgreSQL and of the embedded store. */
function againstEmbedded<Seen>(rounds: readonly Round<Seen>[], value: (seen: Seen) => number) {
  return {
    value: median(rounds.map(({ ofProcesses }) => value(ofProcesses))),
    limit: median(rounds.map(({ ofEmbedded }) => value(ofEmbedded))),
    limitIs: "the embedded store",
  }
}

function newMasterKey(): string {
  return randomBytes(32).toString("hex")
}

/** The end of the write-ahead log on disk. */
async function walPosition({ name }: BenchDatabase): Promise<string> {
  return (await psql(name, "SELECT pg_current_wal_flush_lsn()")).trim()
}

/**
 * Bytes of a range of the write-ahead log that belong to this database's transactions, without those of other
 * databases, and how many of these bytes are the images of whole pages that follow a checkpoint. Rejects when a
 * checkpoint has removed a part of the range meanwhile.
 */
async function walBytes(
  { name }: BenchDatabase,
  from: string,
  to: string,
): Promise<{ readonly all: number; readonly images: number }> {
  const [all, images] = (
    await psql(
      name,
      "CREATE EXTENSION IF NOT EXISTS pg_walinspect",
      `WITH records AS (
         SELECT *, coalesce(block_ref LIKE '%/' || (SELECT oid FROM pg_database WHERE datname = '${name}') || '/%', false)
           AS is_ours
         FROM pg_get_wal_records_info('${from}', '${to}')),
       ours AS MATERIALIZED (SELECT DISTINCT xid FROM records WHERE is_ours AND xid <> '0')
       SELECT sum(record_length) || ' ' || sum(fpi_length) FROM records WHERE is_ours OR xid IN (SELECT xid FROM ours)`,
    )
  )
    .trim()
    .split(" ")
    .map(Number)
  return { all: all ?? Number.NaN, images: images ?? Number.NaN }
}

async function sizeOf({ name }: BenchDatabase): Promise<number> {
  return Number(await psql(name, `SELECT pg_database_size('${name}')`))
}
