/**
 * Matching: posts as X sent them against rules as people write them, from 1,000 to 1,000,000.
 *
 * From bytes to matches the bench runs the server's ingest without the disk (`matched-bytes.ts`); the limit is
 * `JSON.parse` alone over the same bytes. The benefit of the matcher shows against the naive loop, which evaluates
 * every rule on every post, and against PostgreSQL, a common alternative.
 *
 * Source of the goals: prototypes measured on such a machine, with posts of 1.46 KB and about 30 words.
 */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { figure, median, type Figure } from "./figure.ts"
import type { Done, MatchJob } from "./match-thread.ts"
import { measurePostgres } from "./postgres.ts"
import type { RuleSet } from "./rule-set.ts"
import { selective, usual } from "./rules-about.ts"

const sets: readonly RuleSet[] = [
  { name: "1k", count: 1_000, selectivity: usual, ofNaiveAtLeast: 4, ofParsingAtMost: 1.2 },
  { name: "10k", count: 10_000, selectivity: usual, ofNaiveAtLeast: 50 },
  { name: "100k", count: 100_000, selectivity: usual, ofNaiveAtLeast: 300, ofParsingAtMost: 1.5 },
]

const millions: readonly RuleSet[] = [
  { name: "1m-selective", count: 1_000_000, selectivity: selective, ofParsingAtMost: 2.5, isWhole: true },
  {
    name: "1m",
    count: 1_000_000,
    selectivity: usual,
    ofNaiveAtLeast: 1000,
    ofParsingAtMost: 5,
    isWhole: true,
  },
]

/** Prints the figures of matching; a quick run leaves out those of 1,000,000 rules. */
export async function match(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  for (const set of isQuick ? sets : [...sets, ...millions]) await measureAlone(set, print)
  await measureThreads(print)
  await measurePostgres(isQuick ? [100_000] : [100_000, 1_000_000], print)
}

async function measureAlone(set: RuleSet, print: (figure: Figure) => void): Promise<void> {
  const thread = startThread({ kind: "set", set })
  thread.on("message", print)
  await once(thread, "exit")
}

/** Runs two threads, each with an index and half of the posts, and then one of them alone. */
async function measureThreads(print: (figure: Figure) => void): Promise<void> {
  const threads = [0, 1].map((thread) =>
    startThread({ kind: "share", rules: 100_000, selectivity: usual, threads: 2, thread }),
  )
  const perSecond = async (working: readonly Worker[], ms: number): Promise<number> => {
    for (const thread of working) thread.postMessage(ms)
    const replies = await Promise.all(working.map((thread) => once(thread, "message")))
    return replies.map(([done]) => done as Done).reduce((sum, { posts, tookMs }) => sum + (posts * 1000) / tookMs, 0)
  }
  try {
    await Promise.all(threads.map((thread) => once(thread, "message")))
    await perSecond(threads, 5000)
    const seen = { one: [] as number[], two: [] as number[] }
    for (let round = 0; round < 5; round++) {
      seen.one.push(await perSecond(threads.slice(0, 1), 1500))
      seen.two.push(await perSecond(threads, 1500))
    }
    const unit = "posts/s"
    const value = median(seen.two)
    print(
      figure(
        { name: "match-two-threads", value, unit, limit: median(seen.one), limitIs: "one thread" },
        { atLeast: 1.8 },
      ),
    )
    // Source: Twitter's engineering blog, "New Tweets per second record, and how!", 2013.
    const limitIs = "X's record of 2013 (the prototype's envelopes had 1.46 KB, these have 2.86 KB)"
    print(figure({ name: "match-record", value, unit, limit: 143_199, limitIs }, { atLeast: 0.6 }))
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()))
  }
}

/** Starts it with enough memory for the naive loops over 1,000,000 rules. */
function startThread(job: MatchJob): Worker {
  return new Worker(new URL("match-thread.ts", import.meta.url), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: 12_000 },
  })
}
