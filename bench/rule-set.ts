/**
 * One set of rules, measured: what it costs to find those that hold of a post, to keep them, and to change them.
 *
 * Runs in a thread of its own, so that neither the code that was compiled for one set nor its garbage is in the way
 * of the next.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { readPost, RuleMatcher } from "../packages/rules/src/index.ts"
import type { PostFacts, RuleEnvelope } from "../packages/rules/src/index.ts"
import { forEachLine, type Envelopes } from "./envelopes.ts"
import { figure, quantile, type Figure } from "./figure.ts"
import { MatchedBytes } from "./matched-bytes.ts"
import { compiledMatcher, evaluatingMatcher, type NaiveMatcher } from "./naive-matcher.ts"
import { inTurn, warmUp, type Work } from "./rounds.ts"
import { ruleTexts, type RuleMix } from "./rule-mix.ts"
import { mixAbout, rulesOf, type Selectivity } from "./rules-about.ts"

/** A set of rules, and what is measured of it. */
export type RuleSet = {
  /** Ends the names of its figures. */
  readonly name: string
  readonly count: number
  readonly selectivity: Selectivity
  /** Goals; what has none is printed without. */
  readonly ofParsingAtMost?: number
  readonly ofNaiveAtLeast?: number
  /** Bytes, build and changes as well, which mean something for many rules only. */
  readonly isWhole?: boolean
}

const warmUpSeconds = 5
const rounds = 7
const roundMs = 400

/** Posts that a piece of work takes at a time. */
const sliceSize = 500

/** Goals that are no ratio. */
const allowed = { bytesPerRule: 100, buildSeconds: 6, changeP99Us: 10, changeMaxMs: 5 } as const

/** Measures the set; the figures come as they are had. */
export async function measureRuleSet(
  envelopes: Envelopes,
  set: RuleSet,
  print: (figure: Figure) => void,
): Promise<void> {
  const mix = mixAbout(envelopes, set.selectivity)
  await measureIngest(envelopes, mix, set, print)
  const matcher = build(mix, set, print)
  const posts = spread(envelopes.count).map((index) => parsed(envelopes, index))
  measureCandidates(posts, matcher, set, print)
  if (set.ofNaiveAtLeast !== undefined) await measureNaive(posts, mix, matcher, set, print)
  if (set.isWhole) measureChanges(posts, mix, matcher, set, print)
}

/** Adds the rules, as many parsed at a time as a client may send, so that parsing and adding are timed apart. */
function build(mix: RuleMix, set: RuleSet, print: (figure: Figure) => void): RuleMatcher {
  const matcher = new RuleMatcher()
  const rules = rulesOf(mix)
  const bytesBefore = bytesInUse()
  const startMs = performance.now()
  let addMs = 0
  let last = -1
  for (let left = set.count; left > 0; left -= 1000) {
    const batch = Array.from({ length: Math.min(left, 1000) }, () => rules.next().value)
    const beforeMs = performance.now()
    for (const rule of batch) last = matcher.add(rule)
    addMs += performance.now() - beforeMs
  }
  const wholeMs = performance.now() - startMs
  if (last !== set.count - 1) throw new Error("rules are not numbered in their order")
  if (!set.isWhole) return matcher
  print(
    figure(
      {
        name: `match-bytes-per-rule-${set.name}`,
        value: (bytesInUse() - bytesBefore) / set.count,
        unit: "bytes",
        limit: allowed.bytesPerRule,
        limitIs: "allowed",
      },
      { atMost: 1 },
    ),
  )
  print(
    figure(
      {
        name: `match-build-${set.name}`,
        value: addMs / 1000,
        unit: "s",
        limit: allowed.buildSeconds,
        limitIs: "adding rules that are parsed; allowed",
      },
      { atMost: 1 },
    ),
  )
  print(
    figure({
      name: `match-build-from-text-${set.name}`,
      value: wholeMs / 1000,
      unit: "s",
      limit: addMs / 1000,
      limitIs: "making the texts and parsing them included; adding alone",
    }),
  )
  return matcher
}

/** From the bytes of posts to their matches as ingest does it, beside `JSON.parse` of the same lines. */
async function measureIngest(
  envelopes: Envelopes,
  mix: RuleMix,
  set: RuleSet,
  print: (figure: Figure) => void,
): Promise<void> {
  const texts = ruleTexts(mix)
  const ingest = await MatchedBytes.load(Array.from({ length: set.count }, () => texts.next().value))
  const indexes = spread(envelopes.count)
  const work = {
    matched: batches(indexes, (batch) => ingest.take(envelopes.lines(batch))),
    parsed: batches(indexes, (batch) => {
      forEachLine(envelopes.lines(batch), (text) => {
        JSON.parse(text)
      })
    }),
  }
  await warmUp([work.matched, work.parsed], warmUpSeconds)
  const perPost = await inTurn(work, { rounds, roundMs })
  print(
    figure(
      {
        name: `match-from-bytes-${set.name}`,
        value: perPost.matched,
        unit: "µs/post",
        limit: perPost.parsed,
        limitIs: "decoding and JSON.parse alone",
      },
      set.ofParsingAtMost === undefined ? undefined : { atMost: set.ofParsingAtMost },
    ),
  )
}

function measureCandidates(
  posts: readonly RuleEnvelope[],
  matcher: RuleMatcher,
  { name, count }: RuleSet,
  print: (figure: Figure) => void,
): void {
  const before = matcher.candidatesTotal
  let matches = 0
  for (const post of posts) matches += matcher.match(readPost(post)).length
  print(
    figure({
      name: `match-candidates-${name}`,
      value: (matcher.candidatesTotal - before) / posts.length,
      unit: "rules/post",
      limit: matches / posts.length,
      limitIs: "matches",
    }),
  )
  print(
    figure({
      name: `match-scan-list-${name}`,
      value: matcher.scanListLength,
      unit: "rules",
      limit: count,
      limitIs: "all",
    }),
  )
}

/** Tokenise and match, beside both naive loops over the same rules. Fails where they find different rules. */
async function measureNaive(
  posts: readonly RuleEnvelope[],
  mix: RuleMix,
  matcher: RuleMatcher,
  set: RuleSet,
  print: (figure: Figure) => void,
): Promise<void> {
  const source = rulesOf(mix)
  const rules = Array.from({ length: set.count }, () => source.next().value)
  const loops = { evaluated: evaluatingMatcher(rules), compiled: compiledMatcher(rules) }
  // A post costs a loop 10 to 100 ns a rule. The sample is as large as time allows, at least three.
  const sample = posts.slice(0, Math.max(3, Math.min(1000, 2_000_000 / set.count)))
  for (const post of sample.slice(0, 40)) checkAgreement(readPost(post), matcher, loops)
  const work = {
    matched: slices(posts, (post) => void matcher.match(readPost(post))),
    evaluated: slices(sample, (post) => void loops.evaluated(readPost(post)), 1),
    compiled: slices(sample, (post) => void loops.compiled(readPost(post)), 1),
  }
  await warmUp([work.matched, work.evaluated, work.compiled], warmUpSeconds / 2)
  const perPost = await inTurn(work, { rounds: 3, roundMs: 700 })
  const isCompiledFaster = perPost.compiled < perPost.evaluated
  const printOne = (name: string, limitUs: number, limitIs: string, goal: boolean): void => {
    print(
      figure(
        {
          name: `match-against-${name}-${set.name}`,
          value: 1e6 / perPost.matched,
          unit: "posts/s",
          limit: 1e6 / limitUs,
          limitIs,
        },
        goal ? { atLeast: set.ofNaiveAtLeast ?? 0 } : undefined,
      ),
    )
  }
  printOne("evaluate", perPost.evaluated, "evaluate for every rule", !isCompiledFaster)
  printOne("closures", perPost.compiled, "a closure for every rule", isCompiledFaster)
}

function checkAgreement(post: PostFacts, matcher: RuleMatcher, loops: Readonly<Record<string, NaiveMatcher>>): void {
  const found = matcher
    .match(post)
    .toSorted((a, b) => a - b)
    .join()
  for (const [name, loop] of Object.entries(loops)) {
    if (loop(post).join() !== found)
      throw new Error(`post ${post.id}: the matcher finds other rules than the loop "${name}"`)
  }
}

/** Adds and removes by turns, each timed alone, with a post now and then as in a server. */
function measureChanges(
  posts: readonly RuleEnvelope[],
  mix: RuleMix,
  matcher: RuleMatcher,
  set: RuleSet,
  print: (figure: Figure) => void,
): void {
  const changes = 100_000
  const changesUnmeasured = 10_000
  const rules = rulesOf({ ...mix, seed: mix.seed + 1 })
  const facts = posts.slice(0, 1000)
  const tookUs = { add: [] as number[], remove: [] as number[] }
  for (let change = 0; change < changes + changesUnmeasured; change += 2) {
    const rule = rules.next().value
    const addMs = performance.now()
    matcher.add(rule)
    const addedMs = performance.now()
    // Spread over all that there are, so that memory is as far away as it is in a server.
    const number = (change * 7_919) % set.count
    const removeMs = performance.now()
    const isRemoved = matcher.remove(number)
    const removedMs = performance.now()
    if (change % 10 === 0) matcher.match(readPost(facts[(change / 10) % facts.length] as RuleEnvelope))
    if (change < changesUnmeasured) continue
    tookUs.add.push((addedMs - addMs) * 1000)
    if (isRemoved) tookUs.remove.push((removedMs - removeMs) * 1000)
  }
  for (const [name, values] of Object.entries(tookUs)) {
    const limitIs = "allowed"
    print(
      figure(
        {
          name: `match-${name}-p99-${set.name}`,
          value: quantile(values, 0.99),
          unit: "µs",
          limit: allowed.changeP99Us,
          limitIs,
        },
        { atMost: 1 },
      ),
    )
    print(
      figure(
        {
          name: `match-${name}-max-${set.name}`,
          value: quantile(values, 1) / 1000,
          unit: "ms",
          limit: allowed.changeMaxMs,
          limitIs,
        },
        { atMost: 1 },
      ),
    )
  }
}

/** The numbers below `count` in an order in which each stretch is like the whole: the file goes from subject to subject. */
function spread(count: number): readonly number[] {
  const prime = 7_919
  return Array.from({ length: count }, (_, index) => (index * prime) % count)
}

/** Takes a slice of the items at each call, and goes on behind it at the next. */
function slices<Item>(items: readonly Item[], take: (item: Item) => void, size = sliceSize): Work {
  let next = 0
  return () => {
    for (let taken = 0; taken < size; taken++) {
      take(items[next] as Item)
      next = (next + 1) % items.length
    }
    return size
  }
}

/** Takes the next items, all of them at once, at each call. */
function batches<Item>(items: readonly Item[], take: (batch: readonly Item[]) => unknown): Work {
  let next = 0
  return async () => {
    const batch = Array.from({ length: sliceSize }, (_, at) => items[(next + at) % items.length] as Item)
    next = (next + sliceSize) % items.length
    await take(batch)
    return sliceSize
  }
}

function parsed(envelopes: Envelopes, index: number): RuleEnvelope {
  return JSON.parse(envelopes.text(index)) as RuleEnvelope
}

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

/** Of this thread, after all garbage is gone. */
function bytesInUse(): number {
  collectGarbage()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
