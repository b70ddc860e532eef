/**
 * Finds the stored posts that came before rules and that they match, as the stream would have matched them: for backfills.
 *
 * A post that was matched by a rule when it came, as one with an old id that arrived after the rule was added, is in the
 * match log under the rule, and is left out. So is a post that was made after a rule was added.
 */
import { snowflakeAtMs, type Envelope } from "@sluice/api"
import { EarlierPosts, evaluate, parseRule, type Rule } from "@sluice/rules"
import { firstIdAt, type AppId, type PostId } from "../../model/ids.ts"
import {
  backfillGraceMs,
  type BackfillMatch,
  type BackfillPart,
  type BackfillRule,
  type FoundInPast,
} from "../../model/replay.ts"
import { lastScanned } from "../../store/posts-scan.ts"
import type { StoreReads } from "../../store/store.ts"
import { readPosts, type PostReading } from "./read-posts.ts"

/** Most posts that are looked at in one part, and most bytes of them but for the last one's. Ours: some tens of milliseconds. */
const partPostsMax = 1_000
const partBytesMax = 2_097_152

/** Dependencies of a search. */
export interface FindInPastDeps extends Omit<PostReading, "mode" | "earlier"> {
  readonly store: Pick<StoreReads, "posts" | "matchesOfPost">
}

interface ParsedRule {
  readonly of: BackfillRule
  readonly rule: Rule
  /** The last id that a post may have which the rule is to find. */
  readonly lastId: bigint
}

/** Looks at the next posts. Throws `EmbeddingsUnavailable` when similarities are not available. */
export async function findInPast(part: BackfillPart, deps: FindInPastDeps): Promise<FoundInPast> {
  const { appId, after, lastId, limit } = part
  const rules = part.rules.map(parsed)
  const range = { direction: "newer", from: after, limit: partPostsMax, bytesMax: partBytesMax } as const
  const scan = await deps.store.posts(range)
  const posts = scan.posts.toReversed().filter(({ id }) => BigInt(id) <= BigInt(lastId))
  const matches: BackfillMatch[] = []
  const envelopes = posts.map(({ json }) => JSON.parse(json) as Envelope)
  const facts = readPosts(
    rules.map(({ rule }) => rule),
    envelopes,
    { ...deps, mode: "stream", earlier: new EarlierPosts() },
  )
  for await (const post of facts) {
    const id = post.id as PostId
    const held = rules.filter((one) => BigInt(id) <= one.lastId && evaluate(one.rule, post)).map(({ of }) => of)
    const found = held.length === 0 ? [] : await notMatchedBefore(appId, id, held, deps)
    if (found.length > 0) matches.push({ postId: id, rules: found.map(({ id: ruleId, tag }) => ({ id: ruleId, tag })) })
    if (matches.length === limit) return { matches, searchedId: id }
  }
  const last = lastScanned(scan, range)
  const isOver = last === undefined || BigInt(last) >= BigInt(lastId)
  return { matches, searchedId: isOver ? lastId : last }
}

function parsed(of: BackfillRule): ParsedRule {
  const read = parseRule(of.value, { lengthMax: Number.POSITIVE_INFINITY, embeddings: true })
  if (!read.ok) throw new Error(`The rule ${of.id} does not parse: ${read.problems[0]?.message}`)
  return { of, rule: read.rule, lastId: firstIdAt((snowflakeAtMs(of.id) ?? 0) + backfillGraceMs + 1) - 1n }
}

/** Those of the rules that have not matched the post yet, by the match log of the app. */
async function notMatchedBefore(
  appId: AppId,
  id: PostId,
  rules: readonly BackfillRule[],
  { store }: FindInPastDeps,
): Promise<readonly BackfillRule[]> {
  const entries = await store.matchesOfPost(id, appId)
  const matched = new Set(
    entries
      .flatMap(({ rulesJson }) => JSON.parse(rulesJson) as readonly { readonly id: string }[])
      .map((rule) => rule.id),
  )
  return rules.filter((rule) => !matched.has(rule.id))
}
