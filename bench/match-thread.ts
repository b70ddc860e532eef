/**
 * A thread that matches: measures one set of rules, or takes a share of the posts.
 *
 *     workerData { kind: "set" }      figures, then the end
 *     workerData { kind: "share" }    "ready"; then for each number of milliseconds, what was done in them
 */
import { parentPort, workerData } from "node:worker_threads"
import { Envelopes } from "./envelopes.ts"
import { measureRuleSet, type RuleSet } from "./rule-set.ts"
import { MatchedBytes } from "./matched-bytes.ts"
import { ruleTexts } from "./rule-mix.ts"
import { mixAbout, type Selectivity } from "./rules-about.ts"

/** What a thread is started for. */
export type MatchJob = { readonly kind: "set"; readonly set: RuleSet } | ShareJob

type ShareJob = {
  readonly kind: "share"
  readonly rules: number
  readonly selectivity: Selectivity
  /** Every so many posts are its own, */
  readonly threads: number
  /** from this one on. */
  readonly thread: number
}

/** What a share has done. */
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

/** Takes the NDJSON in again and again, for so long. */
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
