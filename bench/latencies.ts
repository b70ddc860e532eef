/** Requests to several servers in turn, so that a disturbance of one disturbs all. */
import { load } from "./load.ts"
import { median, quantile } from "./figure.ts"

/** A server, and a path of it. */
export interface Target {
  readonly port: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** How long, and over how many connections at once. */
interface Extent {
  readonly rounds: number
  readonly seconds: number
  readonly warmUpSeconds: number
  readonly connections: number
}

/** Latencies in milliseconds over all rounds, and the median of the rounds' requests per second. */
export interface Seen {
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
}

/** Sends requests to each target by its name, after a round of each that is not measured. */
export async function inTurnOver<Name extends string>(
  targets: Readonly<Record<Name, Target>>,
  { rounds, seconds, warmUpSeconds, connections }: Extent,
): Promise<Readonly<Record<Name, Seen>>> {
  const names = Object.keys(targets) as Name[]
  const latenciesMs = new Map<Name, number[]>(names.map((name) => [name, []]))
  const perSecond = new Map<Name, number[]>(names.map((name) => [name, []]))
  for (const name of names) await load({ ...targets[name], connections, seconds: warmUpSeconds })
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const seen = await load({ ...targets[name], connections, seconds })
      latenciesMs.get(name)?.push(...seen.latenciesMs)
      perSecond.get(name)?.push(seen.perSecond)
    }
  }
  const seenOf = (name: Name): Seen => {
    const times = latenciesMs.get(name) ?? []
    return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), perSecond: median(perSecond.get(name) ?? []) }
  }
  return Object.fromEntries(names.map((name) => [name, seenOf(name)])) as Readonly<Record<Name, Seen>>
}
