/**
 * Tries a rule on posts: those of a file, in this process, or, on a server, the newest that it has stored, or those since a
 * time.
 *
 * A file is read twice, first for what its posts say about places and links, since a repost may stand before the post
 * that names its place. A pipe can be read only once: there a post is matched with what came before it.
 */
import { searchQueryCharactersMax } from "@sluice/api/limits"
import {
  checkRule,
  EarlierPosts,
  explain,
  parseRule,
  readPost,
  type Mode,
  type PostFacts,
  type RuleEnvelope,
  type RuleProblem,
  type RuleWarning,
} from "@sluice/rules"
import type { Readable } from "node:stream"
import { sumOfRuleTests, type Client, type Operations } from "@sluice/client"
import type { InputLine } from "../import/input-line.ts"
import { openPostFile } from "../import/input-lines.ts"
import { neverMatchingText } from "../terminal/never-matching-text.ts"
import { postsOfLine } from "../import/post-formats.ts"
import type { RuleMatch } from "../terminal/rule-match.ts"

/** Receives the matches of a test while it runs. */
export interface RuleTestListener {
  /** A match, with the post's text where it is known. */
  print(match: RuleMatch, postText: string | undefined): Promise<void>
  /** Called for a line of the file that is no post. */
  skipped(line: number, reason: string): void
  /** Called while posts of the server are tested in several requests. */
  progressed?(tested: number, matched: number): void
}

/** The result of a test. */
export interface RuleTestSummary {
  readonly tested: number
  readonly matched: number
  /** Matching posts that were printed, the newest. */
  readonly shown: number
  /** At the rate of the server's posts; absent for those of a file. */
  readonly matchesPerDay?: number
  /** Steps that the rule costs the matcher of the server. */
  readonly cost?: number
  readonly warnings: readonly Pick<RuleWarning, "message">[]
}

/** Thrown for a rule that does not parse. */
export class RuleRefused extends Error {
  override readonly name = "RuleRefused"
  /** In the order of the rule. */
  readonly problems: readonly RuleProblem[]

  constructor(problems: readonly RuleProblem[]) {
    super("The rule does not parse.")
    this.problems = problems
  }
}

type RuleTestedBody = Operations["ruleTest"]["POST"]["response"]

/** Most stored posts that a test without a file reads. Source: contract, `"recent":1000`. */
const recentMax = 1000

/** Posts of a file that a rule's breadth is judged by: what is read of a post is kept until then. Ours. */
const judgedPostsMax = 2_000

/** Matches that a test on the posts since a time shows, the newest. Ours. */
const shownMax = 100

/**
 * Runs the test on the newest posts of a server; with `since`, on all since that time, in as many requests as it takes.
 * Throws its `ApiError`.
 */
export async function testOnServer(
  client: Client,
  value: string,
  { mode, since }: { readonly mode: Mode; readonly since?: string | undefined },
  listener: RuleTestListener,
): Promise<RuleTestSummary> {
  let shown = 0
  const ask = async (untilId?: string): Promise<RuleTestedBody> => {
    const posts =
      since === undefined ? { recent: recentMax } : { since, ...(untilId !== undefined && { until_id: untilId }) }
    const part = await client.request("POST", "ruleTest", { body: { value, mode, ...posts } })
    for (const match of since === undefined ? part.data : part.data.slice(0, shownMax - shown)) {
      await listener.print(match, undefined)
      shown += 1
    }
    return part
  }
  const parts: [RuleTestedBody, ...RuleTestedBody[]] = [await ask()]
  for (let untilId = parts[0].meta.stopped_at; untilId !== undefined;) {
    const soFar = sumOfRuleTests(parts)
    listener.progressed?.(soFar.tested, soFar.matched)
    const part = await ask(untilId)
    parts.push(part)
    untilId = part.meta.stopped_at
  }
  const { tested, matched, cost, matchesPerDay, warnings, neverMatching = [] } = sumOfRuleTests(parts)
  return {
    tested,
    matched,
    shown,
    cost,
    warnings: [...warnings, ...neverMatching.map(neverMatchingText)].map((message) => ({ message })),
    ...(matchesPerDay !== undefined && { matchesPerDay: Number(matchesPerDay.toPrecision(3)) }),
  }
}

/** Runs the test on the posts of a file, or of `stdin` for `-`. Throws `RuleRefused`, and `Failure` when the file cannot be read. */
export async function testOnFile(
  value: string,
  mode: Mode,
  file: string,
  listener: RuleTestListener,
  stdin?: Readable,
): Promise<RuleTestSummary> {
  const parsed = parseRule(value, mode === "search" ? { mode, lengthMax: searchQueryCharactersMax } : { mode })
  if (!parsed.ok) throw new RuleRefused(parsed.problems)
  const earlier = new EarlierPosts()
  const opened = await openPostFile(file, stdin && { stdin })
  const mayReadAgain = opened.byteCount !== undefined
  if (mayReadAgain) await learn(earlier, opened.lines)
  const { lines } = mayReadAgain ? await openPostFile(file) : opened
  let tested = 0
  let matched = 0
  const judged: PostFacts[] = []
  for await (const line of lines) {
    for (const envelope of envelopesOf(line)) {
      if (typeof envelope === "string") {
        listener.skipped(line.number, envelope)
        continue
      }
      if (!mayReadAgain) earlier.learn(envelope)
      const post = readPost(envelope, { mode, earlier })
      tested += 1
      if (judged.length < judgedPostsMax) judged.push(post)
      const { matches, spans } = explain(parsed.rule, post)
      if (!matches) continue
      matched += 1
      await listener.print({ id: post.id, spans }, envelope.data.text)
    }
  }
  const checked = checkRule(value, judged, { mode })
  return { tested, matched, shown: matched, warnings: checked.ok ? checked.warnings : [] }
}

/** Most lines name neither, and searching for the words is faster than parsing the line. */
async function learn(earlier: EarlierPosts, lines: AsyncIterable<InputLine>): Promise<void> {
  for await (const line of lines) {
    if (line.kind === "too-long") continue
    // As `places` and `unwound_url` of an envelope, and as `place` and `unwound` of a v1.1 post.
    if (!line.bytes.includes('"place') && !line.bytes.includes('"unwound')) continue
    for (const envelope of envelopesOf(line)) if (typeof envelope !== "string") earlier.learn(envelope)
  }
}

/** The posts of a line, or why one is none. */
function* envelopesOf(line: InputLine): Generator<RuleEnvelope | string> {
  for (const post of postsOfLine(line, "auto")) {
    if (post.kind === "post") yield envelopeOf(post.bytes)
    else if (post.kind === "refused") yield `${post.title}: ${post.detail}`
  }
}

function envelopeOf(bytes: Buffer): RuleEnvelope | string {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString("utf8"))
  } catch {
    return "The line is not JSON."
  }
  const { data } = (value ?? {}) as { data?: { id?: unknown; text?: unknown } | null }
  if (typeof data?.id !== "string" || typeof data.text !== "string") {
    return 'The line is not an envelope: {"data":{"id":"…","text":"…"}} with both as strings.'
  }
  return value as RuleEnvelope
}
