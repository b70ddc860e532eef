/** Pieces of work that are measured in turn, so that what disturbs one disturbs all. */
import { median } from "./figure.ts"

/** Does some of the work, from where it stopped, and answers how many items that were. */
export type Work = () => number

/** Runs the work in turn for so long, unmeasured: cold code is up to ten times as slow. */
export function warmUp(work: readonly Work[], seconds: number): void {
  const endMs = performance.now() + seconds * 1000
  while (performance.now() < endMs) for (const one of work) one()
}

/** Microseconds per item of each piece of work: the median of so many rounds of at least so long. */
export function inTurn<Name extends string>(
  work: Readonly<Record<Name, Work>>,
  { rounds, roundMs }: { readonly rounds: number; readonly roundMs: number },
): Record<Name, number> {
  const names = Object.keys(work) as Name[]
  const seen = new Map<Name, number[]>(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++)
    for (const name of names) seen.get(name)?.push(microsecondsPerItem(work[name], roundMs))
  return Object.fromEntries(names.map((name) => [name, median(seen.get(name) ?? [])])) as Record<Name, number>
}

function microsecondsPerItem(work: Work, roundMs: number): number {
  const startMs = performance.now()
  let items = 0
  let tookMs: number
  do {
    items += work()
    tookMs = performance.now() - startMs
  } while (tookMs < roundMs)
  return (tookMs * 1000) / items
}
