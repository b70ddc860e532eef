/** Pieces of work that are measured in turn, so that a disturbance of one disturbs all. */
import { median } from "./figure.ts"

/** Does some of the work, from where it stopped, and returns the number of items. */
export type Work = () => number | Promise<number>

/** Runs the work in turn for this long, unmeasured: cold code is up to ten times as slow. */
export async function warmUp(work: readonly Work[], seconds: number): Promise<void> {
  const endMs = performance.now() + seconds * 1000
  while (performance.now() < endMs) for (const one of work) await one()
}

/** Microseconds per item of each piece of work: the median of this many rounds of at least this long. */
export async function inTurn<Name extends string>(
  work: Readonly<Record<Name, Work>>,
  { rounds, roundMs }: { readonly rounds: number; readonly roundMs: number },
): Promise<Record<Name, number>> {
  const names = Object.keys(work) as Name[]
  const seen = new Map<Name, number[]>(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++)
    for (const name of names) seen.get(name)?.push(await microsecondsPerItem(work[name], roundMs))
  return Object.fromEntries(names.map((name) => [name, median(seen.get(name) ?? [])])) as Record<Name, number>
}

async function microsecondsPerItem(work: Work, roundMs: number): Promise<number> {
  const startMs = performance.now()
  let items = 0
  let tookMs: number
  do {
    items += await work()
    tookMs = performance.now() - startMs
  } while (tookMs < roundMs)
  return (tookMs * 1000) / items
}
