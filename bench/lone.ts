/**
 * Posts alone, one in each request, as most people send them: processor time, bytes written to the disk, waits and latency of
 * a post that no rule matches, of one that goes to a stream, and of one that is delivered to an endpoint. First each post
 * waits for the acknowledgement of the one before it; then they come at constant rates, whether or not the server keeps up.
 *
 * The limit is a server that parses each post, has a thread insert it in a transaction of its own, and responds; then it
 * writes the post to the stream, or posts it to the endpoint, signed. Brokers and databases that are at hand are further
 * lines: a message alone, acknowledged as durable.
 *
 * Source of the goals: ours.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { addRules, linkWebhooks } from "./app-client.ts"
import { startEndpoints } from "./endpoints.ts"
import { figure, median, quantile, type Figure } from "./figure.ts"
import { HandledPosts } from "./handled-posts.ts"
import { readStream, sendAtRate, sendInTurn, type LoneTarget } from "./lone-client.ts"
import { lonePeers } from "./lone-peers.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import { processUsage, totalUs, usedBetween, type ProcessUsage } from "./process-usage.ts"
import { startBareLone, startSluice, type MeasuredServer } from "./servers.ts"

/** The ways of a post, and the goals of each. */
const ways = [
  { name: "unmatched", goals: { cpu: 1.6, written: 1, p50: 1.3 } },
  { name: "stream", goals: {} },
  { name: "link", goals: { cpu: 2, written: 1.5 } },
] as const

type Way = (typeof ways)[number]

/** Posts a second of the constant rates. */
const rates = [50, 500, 2_000] as const

/** Time after a round until its use is read. */
const settleMs = 1_000

const limitIs = "a bare server with a thread that writes"

/** Prints the figures of posts alone. */
export async function lone(print: (figure: Figure) => void, { isQuick }: { readonly isQuick: boolean }): Promise<void> {
  for (const way of ways) await measureWay(way, print, isQuick)
  for (const { name, cpuUs, writtenBytes } of await lonePeers(isQuick ? 500 : 2_000)) {
    const itself = (unit: string, value: number): Figure =>
      figure({ name: `lone-${name}-${unit}`, value, unit: `${unit} a message`, limit: value, limitIs: "none" })
    print(itself("µs", cpuUs))
    print(itself("bytes", writtenBytes))
  }
}

/** A server, and what a post to it has to reach until it counts as handled. */
interface Measured {
  readonly target: LoneTarget
  readonly pid: number
  /** For the posts of the next round; those of the one before are forgotten. */
  next(): HandledPosts
}

type Servers = { readonly sluice: Measured; readonly bare: Measured }

async function measureWay(way: Way, print: (figure: Figure) => void, isQuick: boolean): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const servers: Servers = {
    sluice: await start("sluice", way, resources),
    bare: await start("bare", way, resources),
  }
  // Most authors come again unchanged.
  const posts = new MadePosts({ profile: "An author." })
  await measureInTurn(servers, way, posts, { print, rounds: isQuick ? 3 : 7, count: 2_000 })
  for (const perSecond of rates) {
    await measureAtRate(servers, way, posts, { print, rounds: isQuick ? 1 : 3, seconds: isQuick ? 4 : 10, perSecond })
  }
}

async function start(kind: keyof Servers, way: Way, resources: AsyncDisposableStack): Promise<Measured> {
  const newRound = (): HandledPosts => new HandledPosts(way.name === "unmatched" ? 0 : 1)
  let handled = newRound()
  const sluice = kind === "sluice" ? resources.use(await startSluice()) : undefined
  const endpoints = resources.use(
    await startEndpoints(1, sluice?.consumerSecret ?? "", (_, body) => handled.noteHandled(body)),
  )
  const url = endpoints.urls[0] as string
  const { port, pid }: MeasuredServer =
    sluice ?? resources.use(await startBareLone(way.name === "link" ? url : undefined))
  const target = { port, token: sluice?.token ?? "none" }
  if (sluice !== undefined) {
    await addRules(sluice, [way.name === "unmatched" ? "unmatched" : madeWord])
    if (way.name === "link") await linkWebhooks(sluice, [url])
  }
  if (way.name === "stream") resources.use(readStream(target, (id) => handled.noteHandledId(id)))
  return { target, pid, next: () => (handled = newRound()) }
}

/** The use of a round, and how long each post took, in ms. */
interface Round {
  readonly used: ProcessUsage
  readonly tookMs: readonly number[]
}

async function measured(server: Measured, send: (handled: HandledPosts) => Promise<readonly number[]>): Promise<Round> {
  const handled = server.next()
  const before = processUsage([server.pid])
  const acknowledgedMs = await send(handled)
  await handled.all
  // For what is saved a moment later.
  await sleep(settleMs)
  const deliveredMs = handled.sinceDueMs()
  return {
    used: usedBetween(before, processUsage([server.pid])),
    tookMs: deliveredMs.length > 0 ? deliveredMs : acknowledgedMs,
  }
}

async function measureInTurn(
  servers: Servers,
  way: Way,
  posts: MadePosts,
  { print, rounds, count }: { print: (figure: Figure) => void; rounds: number; count: number },
): Promise<void> {
  const seen = { sluice: [] as Round[], bare: [] as Round[] }
  // The first round warms up.
  for (let round = -1; round < rounds; round++) {
    for (const name of ["sluice", "bare"] as const) {
      const { target } = servers[name]
      const one = await measured(servers[name], (handled) => sendInTurn(target, { posts, handled, count }))
      if (round >= 0) seen[name].push(one)
    }
  }
  const goals: { cpu?: number; written?: number; p50?: number } = way.goals
  const prefix = `lone-${way.name}`
  for (const one of usesOf(prefix, seen, count, goals)) print(one)
  for (const one of latenciesOf(prefix, seen, goals.p50)) print(one)
  const allUs = median(seen.sluice.map(({ used }) => totalUs(used) / count))
  for (const thread of seen.sluice[0]?.used.threadsUs.keys() ?? []) {
    const value = median(seen.sluice.map(({ used }) => (used.threadsUs.get(thread) ?? 0) / count))
    if (value < 1) continue
    print(
      figure({ name: `${prefix}-cpu-${thread}`, value, unit: "µs a post", limit: allUs, limitIs: "all its threads" }),
    )
  }
}

async function measureAtRate(
  servers: Servers,
  way: Way,
  posts: MadePosts,
  {
    print,
    rounds,
    seconds,
    perSecond,
  }: { print: (figure: Figure) => void; rounds: number; seconds: number; perSecond: number },
): Promise<void> {
  const seen = { sluice: [] as Round[], bare: [] as Round[] }
  for (let round = 0; round < rounds; round++) {
    for (const name of ["sluice", "bare"] as const) {
      const { target } = servers[name]
      seen[name].push(
        await measured(servers[name], (handled) => sendAtRate(target, { posts, handled, perSecond, seconds })),
      )
    }
  }
  const prefix = `lone-${way.name}-${perSecond}`
  for (const one of usesOf(prefix, seen, perSecond * seconds)) print(one)
  for (const one of latenciesOf(prefix, seen)) print(one)
}

type Seen = Readonly<Record<keyof Servers, readonly Round[]>>

/** Processor time, bytes and waits of a post. */
function usesOf(
  prefix: string,
  seen: Seen,
  posts: number,
  goals: { readonly cpu?: number; readonly written?: number } = {},
): readonly Figure[] {
  const of = (name: string, unit: string, quantity: (used: ProcessUsage) => number, atMost?: number): Figure => {
    const mid = (rounds: readonly Round[]): number => median(rounds.map(({ used }) => quantity(used) / posts))
    const content = { name: `${prefix}-${name}`, value: mid(seen.sluice), unit, limit: mid(seen.bare), limitIs }
    return figure(content, atMost === undefined ? undefined : { atMost })
  }
  return [
    of("cpu", "µs a post", totalUs, goals.cpu),
    of("written", "bytes a post", ({ writtenBytes }) => writtenBytes, goals.written),
    of("waits", "waits a post", ({ switches }) => switches),
  ]
}

/** From when a post was due until it was acknowledged, or has arrived where it goes. */
function latenciesOf(prefix: string, seen: Seen, p50AtMost?: number): readonly Figure[] {
  return (
    [
      ["p50", 0.5],
      ["p99", 0.99],
    ] as const
  ).map(([name, share]) => {
    const mid = (rounds: readonly Round[]): number => median(rounds.map(({ tookMs }) => quantile(tookMs, share)))
    const content = { name: `${prefix}-${name}`, value: mid(seen.sluice), unit: "ms", limit: mid(seen.bare), limitIs }
    return figure(content, name === "p50" && p50AtMost !== undefined ? { atMost: p50AtMost } : undefined)
  })
}
