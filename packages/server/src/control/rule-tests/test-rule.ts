/**
 * A test of a rule on posts, with bounds on the work and on the result: at a bound it stops, and returns how many posts
 * it has tested. Stored posts since a time are tested from the newest on, and another test can go on where one stopped.
 */
import { snowflakeAtMs, type Envelope } from "@sluice/api"
import {
  explain,
  explainSteps,
  parseLocatedRule,
  printRule,
  ruleCost,
  RuleTrial,
  whyNot,
  type ClauseOutcome,
  type Mode,
  type PostFacts,
  type Rule,
  type RuleWarning,
  type Span,
} from "@sluice/rules"
import { firstIdAt, type PostId } from "../../model/ids.ts"
import { lastScanned } from "../../store/posts-scan.ts"
import type { StoreReads } from "../../store/store.ts"
import { readPosts, type PostReading } from "./read-posts.ts"

/** Stored posts since a time. */
interface PastSpan {
  /** Unix ms, by the time in their ids. */
  readonly sinceMs: number
  /** Only posts below this id: a test goes on where another one stopped. */
  readonly untilId?: PostId | undefined
}

/** A rule, and the posts to test it on. */
export interface RuleTestRequest {
  /** A rule that parses. */
  readonly value: string
  /** Posts, or so many of the newest stored ones, or those since a time. */
  readonly posts: readonly Envelope[] | number | PastSpan
  readonly mode: Mode
  /** True to name the clauses that failed for each post that does not match. */
  readonly isExplained?: boolean
}

/** Which posts a rule matched and why, and how many it was tested on. */
export interface RuleTest {
  /** Fewer than requested when there were no more, or when a bound was reached, which a warning reports. */
  readonly tested: number
  readonly matched: number
  /** Those of the matches that are shown, in the order of the posts: of stored posts since a time, the newest hundred. */
  readonly matches: readonly { readonly id: string; readonly spans: readonly Span[] }[]
  /** The other posts tested, with the operators that failed, at most 100 of each. Empty unless asked for. */
  readonly unmatched: readonly { readonly id: string; readonly failed: readonly ClauseOutcome[] }[]
  /** Steps that the rule costs the matcher. */
  readonly cost: number
  /** Times of the oldest and the newest stored post that was tested, Unix ms. Absent without any. */
  readonly times?: { readonly fromMs: number; readonly toMs: number }
  /** At the rate of these posts. Absent for the caller's own posts, and when all have one time. */
  readonly matchesPerDay?: number
  /** The oldest post that was tested, when older ones since the time were not. */
  readonly stoppedAt?: PostId
  readonly warnings: readonly RuleWarning[]
}

/** Bounds of a test. */
interface RuleTestBounds {
  /** Steps of the matcher, of explaining and of reading. */
  readonly stepsMax: number
  /** Characters of what is said of matches. */
  readonly resultCharactersMax: number
}

/**
 * Bounds of a test. Ours: about a second of the thread, measured as 1 to 3 nanoseconds a step, and a response of a few
 * megabytes.
 */
const defaultBounds: RuleTestBounds = { stepsMax: 400_000_000, resultCharactersMax: 2_000_000 }

/** Dependencies of a test. */
export interface RuleTestDeps extends Pick<PostReading, "embeddings" | "pause"> {
  readonly store: Pick<StoreReads, "recentPosts" | "posts">
  /** Absent: the bounds of this server. */
  readonly bounds?: RuleTestBounds
}

/** Most bytes of recent posts that a rule is tested on; of large posts, fewer than requested. Ours. */
const recentBytesMax = 4_194_304

/** Most stored posts since a time that one test looks at. Ours: less than a second. */
const pastPostsMax = 20_000

/** Most of them that are read at a time, and most bytes of them but for the last one's. Ours. */
const partPostsMax = 500
const partBytesMax = 2_097_152

/** Matches of stored posts since a time that are shown. Ours. */
const pastShownMax = 100

/** Steps for a character of a post that is read and cut into words. Measured against the steps of the matcher. */
const readingSteps = 8

/**
 * Tests the rule. Places and links that one of the posts describes count for all that are read with it. Throws
 * `EmbeddingsUnavailable` when similarities are not available.
 */
export async function testRule(
  { value, posts, mode, isExplained = false }: RuleTestRequest,
  { store, embeddings, bounds = defaultBounds, pause }: RuleTestDeps,
): Promise<RuleTest> {
  const { rule, sources } = ruleOf(value, mode)
  const isGiven = Array.isArray(posts)
  const isPast = !isGiven && typeof posts === "object"
  const shownMax = isPast ? pastShownMax : Number.POSITIVE_INFINITY
  const trial = new RuleTrial(rule)
  const matches: RuleTest["matches"][number][] = []
  const unmatched: RuleTest["unmatched"][number][] = []
  const times: number[] = []
  let [matched, steps, characters, read] = [0, 0, 0, 0]
  /** The last post that was tested, while older ones were not. */
  let stoppedAt: PostId | undefined
  const isSpent = (): boolean => steps + trial.steps >= bounds.stepsMax || characters >= bounds.resultCharactersMax
  for await (const { envelopes, next } of partsOf(posts, store, pause)) {
    const { tested: before } = trial
    read += envelopes.length
    stoppedAt = next
    for await (const post of readPosts([rule], envelopes, { mode, embeddings, pause })) {
      const isMatch = trial.holds(post)
      steps += readingSteps * textLengthOf(post)
      if (isMatch) matched += 1
      if (isMatch && matches.length < shownMax) {
        steps += explainSteps(rule, post)
        const { spans } = explain(rule, post)
        matches.push({ id: post.id, spans })
        characters += charactersOf(spans)
      } else if (!isMatch && isExplained) {
        steps += explainSteps(rule, post)
        const failed = whyNot(rule, sources, post).failed.slice(0, failedMax)
        unmatched.push({ id: post.id, failed })
        characters += charactersOf(failed)
      }
      if (!isSpent()) continue
      if (trial.tested < read) stoppedAt = post.id as PostId
      break
    }
    times.push(...envelopes.slice(0, trial.tested - before).flatMap(({ data }) => createdAtMs(data) ?? []))
    if (isSpent()) break
  }
  const { tested } = trial
  return {
    tested,
    matched,
    matches,
    unmatched,
    cost: ruleCost(rule),
    ...(!isGiven && ratesOf(matched, times)),
    ...(isPast && stoppedAt !== undefined && { stoppedAt }),
    warnings: [...(!isPast && tested < read ? [partial(rule, tested, read)] : []), ...trial.warnings],
  }
}

/** Posts that are read together. */
interface Part {
  readonly envelopes: readonly Envelope[]
  /** The last post of the part, when there may be more after it. */
  readonly next?: PostId | undefined
}

async function* partsOf(
  posts: RuleTestRequest["posts"],
  store: RuleTestDeps["store"],
  pause: RuleTestDeps["pause"],
): AsyncGenerator<Part, void, void> {
  if (typeof posts === "number") yield { envelopes: await recentEnvelopes(store, posts, pause) }
  else if ("sinceMs" in posts) yield* pastParts(posts, store)
  else yield { envelopes: posts }
}

/** The stored posts of a span, the newest first: as many as one test looks at, but for those of the last part. */
async function* pastParts(
  { sinceMs, untilId }: PastSpan,
  store: RuleTestDeps["store"],
): AsyncGenerator<Part, void, void> {
  const firstId = firstIdAt(sinceMs)
  let from = untilId
  for (let read = 0; read < pastPostsMax;) {
    const range = {
      direction: "older",
      ...(from !== undefined && { from }),
      limit: partPostsMax,
      bytesMax: partBytesMax,
    } as const
    const scan = await store.posts(range)
    const within = scan.posts.filter(({ id }) => BigInt(id) >= firstId)
    const last = lastScanned(scan, range)
    const next = last !== undefined && BigInt(last) > firstId ? last : undefined
    yield { envelopes: within.map(({ json }) => JSON.parse(json) as Envelope), next }
    if (next === undefined) return
    from = next
    read += within.length
  }
}

/** Characters that were cut into words for the post. */
function textLengthOf(post: PostFacts): number {
  return post.passages("text").reduce((sum, { tokens }) => sum + (tokens.at(-1)?.end ?? 0), 1)
}

/** Operators that are named of a post that does not match. Ours. */
const failedMax = 100

/** Characters of a span in addition to its operator. */
const spanCharacters = 64

function charactersOf(spans: readonly { readonly operator: string }[]): number {
  return spans.reduce((sum, { operator }) => sum + operator.length + spanCharacters, spanCharacters)
}

function partial(rule: Rule, tested: number, requested: number): RuleWarning {
  const message = `The rule was tried on ${tested} of ${requested} posts: trying it on more is more than one request may cost`
  return { message, part: printRule(rule) }
}

/** The rule was parsed before, with the options of the caller. */
function ruleOf(value: string, mode: Mode): Extract<ReturnType<typeof parseLocatedRule>, { ok: true }> {
  const parsed = parseLocatedRule(value, { lengthMax: Number.POSITIVE_INFINITY, mode, embeddings: true })
  if (!parsed.ok) throw new Error(`The rule does not parse: ${parsed.problems[0]?.message}`)
  return parsed
}

async function recentEnvelopes(
  store: RuleTestDeps["store"],
  limit: number,
  pause: RuleTestDeps["pause"],
): Promise<readonly Envelope[]> {
  const envelopes: Envelope[] = []
  for await (const { json } of store.recentPosts({ limit, bytesMax: recentBytesMax })) {
    await pause()
    envelopes.push(JSON.parse(json) as Envelope)
  }
  return envelopes
}

const dayMs = 86_400_000

/** When the posts were made, and the rate of matches meanwhile, to three digits. */
function ratesOf(matched: number, times: readonly number[]): Pick<RuleTest, "times" | "matchesPerDay"> {
  if (times.length === 0) return {}
  const [fromMs, toMs] = times.reduce(
    ([least, most], atMs) => [Math.min(least, atMs), Math.max(most, atMs)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  )
  const matchesPerDay = Number(((matched * dayMs) / (toMs - fromMs)).toPrecision(3))
  return { times: { fromMs, toMs }, ...(toMs > fromMs && { matchesPerDay }) }
}

function createdAtMs({ id, created_at: createdAt }: Envelope["data"]): number | undefined {
  return createdAt === undefined ? snowflakeAtMs(id) : Date.parse(createdAt)
}
