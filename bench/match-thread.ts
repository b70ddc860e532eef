/**
 * A thread that matches: measures one set of rules, or matches a share of the posts.
 *
 *     workerData { kind: "set" }      figures, then the end
 *     workerData { kind: "share" }    "ready"; then for each number of milliseconds, the posts matched in that time
 */
import { parentPort, workerData } from "node:worker_threads"
import { Envelopes } from "./envelopes.ts"
import { measureRuleSet, type RuleSet } from "./rule-set.ts"
import { MatchedBytes } from "./matched-bytes.ts"
import { ruleTexts } from "./rule-mix.ts"
import { mixAbout, type Selectivity } from "./rules-about.ts"

/** The job of a thread. */
export type MatchJob = { readonly kind: "set"; readonly set: RuleSet } | ShareJob

type ShareJob = {
  readonly kind: "share"
  readonly rules: number
  readonly selectivity: Selectivity
  /** The thread matches one post in this many, */
  readonly threads: number
  /** beginning with this one. */
  readonly thread: number
}

/** The posts that a share has matched, and the time it took. */
export type Done = { readonly posts: number; readonly tookMs: number }

const job = workerData as MatchJob
const envelopes = Envelopes.read()
if (job.kind === "set") await measureRuleSet(envelopes, job.set, (figure) => parentPort?.postMessage(figure))
else await takeShare(job)

async function takeShare({ rules: count, selectivity, threads, thread }: ShareJob): Promise<void> {
  const texts = ruleTexts(mixAbout(envelopes, selectivity))
  const ingest = await MatchedBytes.load(Array.from({ length: count }, () => texts.next().value))
  const bytes = envelopes.every(threads, thread)
  parentPort?.on("message", (ms: number) => {
    void (async () => parentPort?.postMessage(await matchFor(ms, bytes, ingest)))()
  })
  parentPort?.postMessage("ready")
}

/** Matches the NDJSON again and again, for this many milliseconds. */
async function matchFor(ms: number, bytes: Buffer, ingest: MatchedBytes): Promise<Done> {
  const startMs = performance.now()
  let posts = 0
  let tookMs: number
  do {
    posts += await ingest.take(bytes)
    tookMs = performance.now() - startMs
  } while (tookMs < ms)
  return { posts, tookMs }
}
