/**
 * One set of rules, measured: the cost of finding the rules that match a post, of keeping rules, and of changing them.
 *
 * Runs in a separate thread, so that neither the code that was compiled for one set nor its garbage disturbs the next.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { readPost, RuleMatcher } from "../packages/rules/src/index.ts"
import type { PostFacts, RuleEnvelope } from "../packages/rules/src/index.ts"
import { WalkedPost } from "../packages/rules/src/walk/index.ts"
import { forEachLine, type Envelopes } from "./envelopes.ts"
import { figure, type Figure } from "./figure.ts"
import { measureFirstPosts } from "./first-posts.ts"
import { MatchedBytes } from "./matched-bytes.ts"
import { compiledMatcher, evaluatingMatcher, type NaiveMatcher } from "./naive-matcher.ts"
import { inTurn, warmUp, type Work } from "./rounds.ts"
import { measureChanges, type Built } from "./rule-changes.ts"
import { ruleTexts, type RuleMix } from "./rule-mix.ts"
import { clausesOf, mixAbout, ruleOf, rulesOf, type Selectivity } from "./rules-about.ts"
import { threadUs } from "./thread-time.ts"

/** A set of rules, and its measurements. */
export type RuleSet = {
  /** The suffix of its figures' names. */
  readonly name: string
  readonly count: number
  readonly selectivity: Selectivity
  /** Goals; a figure without one is printed all the same. */
  readonly ofParsingAtMost?: number
  readonly ofNaiveAtLeast?: number
  /** Measures bytes, build and changes as well, which mean something for many rules only. */
  readonly isWhole?: boolean
}

const warmUpSeconds = 5
const rounds = 7
const roundMs = 400

/** Posts of one call of a piece of work. */
const sliceSize = 500

/** Goals that are no ratio. */
const allowed = {
  bytesPerRule: 120,
  buildSeconds: 6,
  buildFromTextSeconds: 12,
} as const

/** Measures the set, and prints each figure at once. */
export async function measureRuleSet(
  envelopes: Envelopes,
  set: RuleSet,
  print: (figure: Figure) => void,
): Promise<void> {
  const mix = mixAbout(envelopes, set.selectivity)
  await measureIngest(envelopes, mix, set, print)
  const { matcher, clauses } = build(mix, set, print)
  const indexes = spread(envelopes.count)
  const posts = indexes.map((index) => parsed(envelopes, index))
  measureCandidates(posts, matcher, set, print)
  const lines = indexes.map((index) => Buffer.from(envelopes.text(index)))
  if (set.ofNaiveAtLeast !== undefined) await measureNaive(posts, lines, mix, matcher, set, print)
  if (set.isWhole) measureChanges(posts, mix, { matcher, clauses }, set.name, print)
}

/** Parses and adds the rules, in batches of a client's maximum. Counts the thread's own time only. */
function build(mix: RuleMix, set: RuleSet, print: (figure: Figure) => void): Built {
  const matcher = new RuleMatcher()
  const texts = ruleTexts(mix)
  // One more than the rules of the set: a change adds a rule before it removes another.
  const clauses = new Uint16Array(set.count + 1)
  const bytesBefore = heapBytes()
  const took = { parseUs: 0, addUs: 0 }
  for (let left = set.count; left > 0; left -= 1000) {
    const batch = Array.from({ length: Math.min(left, 1000) }, () => texts.next().value)
    const startUs = threadUs()
    const rules = batch.map(ruleOf)
    const parsedUs = threadUs()
    for (const rule of rules) matcher.add(rule)
    took.parseUs += parsedUs - startUs
    took.addUs += threadUs() - parsedUs
    for (const [at, rule] of rules.entries()) clauses[set.count - left + at] = clausesOf(rule)
  }
  if (matcher.size !== set.count) throw new Error("not every rule was added")
  if (!set.isWhole) return { matcher, clauses }
  const printOne = (name: string, value: number, unit: string, limit: number, limitIs: string): void =>
    print(figure({ name: `match-${name}-${set.name}`, value, unit, limit, limitIs }, { atMost: 1 }))
  // The integers of the matcher are outside the heap.
  const bytes = heapBytes() - bytesBefore + matcher.usage.capacity * 4
  printOne("bytes-per-rule", bytes / set.count, "bytes", allowed.bytesPerRule, "allowed")
  const fromParsed = "adding rules that are parsed; allowed"
  printOne("build", took.addUs / 1e6, "s", allowed.buildSeconds, fromParsed)
  const fromText = "parsing their texts included; allowed"
  printOne("build-from-text", (took.parseUs + took.addUs) / 1e6, "s", allowed.buildFromTextSeconds, fromText)
  return { matcher, clauses }
}

/** Measures the way from the bytes of posts to their matches in ingest, and `JSON.parse` of the same lines. */
async function measureIngest(
  envelopes: Envelopes,
  mix: RuleMix,
  set: RuleSet,
  print: (figure: Figure) => void,
): Promise<void> {
  const source = ruleTexts(mix)
  const texts = Array.from({ length: set.count }, () => source.next().value)
  const ingest = await MatchedBytes.load(texts)
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
        limitIs: "decoding and JSON.parse alone; measured: PostAcceptor.write and its RuleIndex.matchNow",
      },
      set.ofParsingAtMost === undefined ? undefined : { atMost: set.ofParsingAtMost },
    ),
  )
  // With more rules, several indexes at once do not fit into memory.
  if (set.isWhole !== true) await measureFirstPosts(envelopes, indexes, { name: set.name, texts }, print)
}

function measureCandidates(
  posts: readonly RuleEnvelope[],
  matcher: RuleMatcher,
  { name, count }: RuleSet,
  print: (figure: Figure) => void,
): void {
  const before = { candidates: matcher.candidatesTotal, asked: matcher.askedTotal }
  let matches = 0
  for (const post of posts) matches += matcher.match(readPost(post)).length
  print(
    figure({
      name: `match-candidates-${name}`,
      value: (matcher.candidatesTotal - before.candidates) / posts.length,
      unit: "rules/post",
      limit: matches / posts.length,
      limitIs: "matches",
    }),
  )
  print(
    figure({
      name: `match-evaluated-${name}`,
      value: (matcher.askedTotal - before.asked) / posts.length,
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

/**
 * Measures the way from the bytes of a line to the rules, as the server calls it, and both naive loops over the same
 * rules, which get parsed posts. Fails where they find different rules.
 */
async function measureNaive(
  posts: readonly RuleEnvelope[],
  lines: readonly Buffer[],
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
  const walked = new WalkedPost()
  const work = {
    matched: slices(lines, (line) => {
      if (!walked.read(line)) throw new Error("a real post cannot be walked")
      matcher.matchWalked(walked)
    }),
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
          limitIs: `${limitIs}; measured: WalkedPost.read and RuleMatcher.matchWalked`,
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

/**
 * The numbers below `count` in an order in which each stretch is like the whole: neighbouring posts of the file share a
 * subject.
 */
function spread(count: number): readonly number[] {
  const prime = 7_919
  return Array.from({ length: count }, (_, index) => (index * prime) % count)
}

/** Takes a slice of the items at each call, and continues after it at the next. */
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

/** Bytes in use on this thread's heap after a collection. */
function heapBytes(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}
