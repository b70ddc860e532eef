import type { Clock } from "./clock.ts"
import { waitedForOutside } from "./outside-work.testing.ts"

/** A clock for tests: time stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves time on, ending the sleeps that are due on the way, each at its own moment and in order. */
  advance(ms: number): Promise<void>
  /** Number of sleeps in progress. */
  readonly sleepers: number
}

interface Sleeper {
  readonly dueAtMs: number
  readonly end: () => void
}

/** A clock that stands at `startMs`. */
export function createManualClock(startMs = 1_800_000_000_000): ManualClock {
  let atMs = startMs
  const sleepers = new Set<Sleeper>()
  const nextDue = (untilMs: number): Sleeper | undefined =>
    [...sleepers].filter(({ dueAtMs }) => dueAtMs <= untilMs).toSorted((a, b) => a.dueAtMs - b.dueAtMs)[0]
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const sleeper: Sleeper = {
        dueAtMs: atMs + ms,
        end() {
          sleepers.delete(sleeper)
          signal?.removeEventListener("abort", sleeper.end)
          resolve()
        },
      }
      sleepers.add(sleeper)
      signal?.addEventListener("abort", sleeper.end)
      if (signal?.aborted === true) sleeper.end()
    })
  return {
    nowMs: () => atMs,
    monotonicMs: () => atMs - startMs,
    sleep,
    pause: sleep,
    async advance(ms) {
      const untilMs = atMs + ms
      await settled()
      for (let due = nextDue(untilMs); due !== undefined; due = nextDue(untilMs)) {
        atMs = due.dueAtMs
        due.end()
        await settled()
      }
      atMs = untilMs
    },
    get sleepers() {
      return sleepers.size
    },
  }
}

/** Lets what was woken run on, as far as it needs no time of the real clock but that of a database. */
async function settled(): Promise<void> {
  do {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
  } while (await waitedForOutside())
}
