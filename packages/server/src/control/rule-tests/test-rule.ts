/**
 * A test of a rule on posts, with bounds on the work and on the result: at a bound it stops, and returns how many posts
 * it has tested.
 */
import type { Envelope } from "@sluice/api"
import { snowflakeAtMs } from "@sluice/api"
import {
  EarlierPosts,
  explain,
  explainSteps,
  parseLocatedRule,
  printRule,
  readPost,
  RuleTrial,
  whyNot,
  type ClauseOutcome,
  type Mode,
  type PostFacts,
  type Rule,
  type RuleWarning,
  type Span,
} from "@sluice/rules"
import { embeddingsIn, Similarities } from "../../matching/similarities.ts"
import type { Embeddings } from "../../runtime/embeddings.ts"
import type { StoreReads } from "../../store/store.ts"

/** A rule, and the posts to test it on. */
export interface RuleTestRequest {
  /** A rule that parses. */
  readonly value: string
  /** Posts, or so many of the newest stored ones. */
  readonly posts: readonly Envelope[] | number
  readonly mode: Mode
  /** True to name the clauses that failed for each post that does not match. */
  readonly isExplained?: boolean
}

/** Which posts a rule matched and why, and how many it was tested on. */
export interface RuleTest {
  /** Fewer than requested when there were no more, or when a bound was reached, which a warning reports. */
  readonly tested: number
  readonly matches: readonly { readonly id: string; readonly spans: readonly Span[] }[]
  /** The other posts tested, with the operators that failed, at most 100 of each. Empty unless asked for. */
  readonly unmatched: readonly { readonly id: string; readonly failed: readonly ClauseOutcome[] }[]
  /** At the rate of the recent posts. Absent for the caller's own posts, and when all have one time. */
  readonly matchesPerDay?: number
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
export interface RuleTestDeps {
  readonly store: Pick<StoreReads, "recentPosts">
  readonly embeddings?: Embeddings | undefined
  /** Absent: the bounds of this server. */
  readonly bounds?: RuleTestBounds
  /** Called before each post. When it rejects, the test rejects with its error. */
  readonly pause: () => Promise<void> | undefined
}

/** Most bytes of recent posts that a rule is tested on; of large posts, fewer than requested. Ours. */
const recentBytesMax = 4_194_304

/** Steps for a character of a post that is read and cut into words. Measured against the steps of the matcher. */
const readingSteps = 8

/**
 * Tests the rule. Places and links that one of the posts describes count for all of them. Throws
 * `EmbeddingsUnavailable` when similarities are not available.
 */
export async function testRule(
  { value, posts, mode, isExplained = false }: RuleTestRequest,
  { store, embeddings, bounds = defaultBounds, pause }: RuleTestDeps,
): Promise<RuleTest> {
  const { rule, sources } = ruleOf(value, mode)
  const isRecent = typeof posts === "number"
  const envelopes = isRecent ? await recentEnvelopes(store, posts, pause) : posts
  const trial = new RuleTrial(rule)
  const matches: RuleTest["matches"][number][] = []
  const unmatched: RuleTest["unmatched"][number][] = []
  let steps = 0
  let characters = 0
  for await (const post of read(rule, envelopes, { mode, embeddings, pause })) {
    const isMatch = trial.holds(post)
    steps += readingSteps * textLengthOf(post)
    if (isMatch) {
      steps += explainSteps(rule, post)
      const { spans } = explain(rule, post)
      matches.push({ id: post.id, spans })
      characters += charactersOf(spans)
    } else if (isExplained) {
      steps += explainSteps(rule, post)
      const failed = whyNot(rule, sources, post).failed.slice(0, failedMax)
      unmatched.push({ id: post.id, failed })
      characters += charactersOf(failed)
    }
    if (steps + trial.steps >= bounds.stepsMax || characters >= bounds.resultCharactersMax) break
  }
  const { tested } = trial
  const matchesPerDay = isRecent ? perDay(matches.length, envelopes.slice(0, tested)) : undefined
  return {
    tested,
    matches,
    unmatched,
    ...(matchesPerDay !== undefined && { matchesPerDay }),
    warnings: [...(tested < envelopes.length ? [partial(rule, tested, envelopes.length)] : []), ...trial.warnings],
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

async function* read(
  rule: Rule,
  envelopes: readonly Envelope[],
  { mode, embeddings, pause }: Pick<RuleTestDeps, "embeddings" | "pause"> & { readonly mode: Mode },
): AsyncGenerator<PostFacts> {
  const earlier = new EarlierPosts()
  for (const envelope of envelopes) earlier.learn(envelope)
  const texts = embeddingsIn(rule).map(({ value }) => value)
  const compared =
    embeddings === undefined || texts.length === 0 ? undefined : await similaritiesOf(envelopes, texts, embeddings)
  for (const [at, envelope] of envelopes.entries()) {
    await pause()
    const similarity = compared?.[at]
    yield readPost(envelope, { mode, earlier, ...(similarity && { similarity }) })
  }
}

async function similaritiesOf(
  envelopes: readonly Envelope[],
  texts: readonly string[],
  embeddings: Embeddings,
): Promise<ReturnType<Similarities["compare"]>> {
  const similarities = new Similarities(embeddings)
  for (const text of texts) similarities.add(text)
  return similarities.compare(await similarities.fetch(envelopes))
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

/** The rate between the oldest and the newest of the posts, rounded to three digits: it is an estimate. */
function perDay(matched: number, envelopes: readonly Envelope[]): number | undefined {
  const times = envelopes.flatMap(({ data }) => createdAtMs(data) ?? [])
  const spanMs = Math.max(...times) - Math.min(...times)
  return spanMs > 0 ? Number(((matched * dayMs) / spanMs).toPrecision(3)) : undefined
}

function createdAtMs({ id, created_at: createdAt }: Envelope["data"]): number | undefined {
  return createdAt === undefined ? snowflakeAtMs(id) : Date.parse(createdAt)
}
