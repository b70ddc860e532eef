/**
 * A thread that matches: measures one set of rules, or takes a share of the posts.
 *
 *     workerData { kind: "set" }      figures, then the end
 *     workerData { kind: "share" }    "ready"; then for each number of milliseconds, what was done in them
 */
import { parentPort, workerData } from "node:worker_threads"
import { postReader, RuleMatcher } from "../packages/rules/src/index.ts"
import { Envelopes, forEachLine } from "./envelopes.ts"
import { measureRuleSet, type RuleSet } from "./rule-set.ts"
import { mixAbout, rulesOf, type Selectivity } from "./rules-about.ts"

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
if (job.kind === "set") measureRuleSet(envelopes, job.set, (figure) => parentPort?.postMessage(figure))
else takeShare(job)

function takeShare({ rules: count, selectivity, threads, thread }: ShareJob): void {
  const matcher = new RuleMatcher()
  const rules = rulesOf(mixAbout(envelopes, selectivity))
  for (let added = 0; added < count; added++) matcher.add(rules.next().value)
  const bytes = envelopes.every(threads, thread)
  parentPort?.on("message", (ms: number) => parentPort?.postMessage(matchFor(ms, bytes, matcher)))
  parentPort?.postMessage("ready")
}

/** Reads and matches the NDJSON again and again, for so long. */
function matchFor(ms: number, bytes: Buffer, matcher: RuleMatcher): Done {
  const read = postReader(matcher.asks)
  const startMs = performance.now()
  let posts = 0
  let tookMs: number
  do {
    forEachLine(bytes, (text) => {
      matcher.match(read(text))
      posts += 1
    })
    tookMs = performance.now() - startMs
  } while (tookMs < ms)
  return { posts, tookMs }
}
