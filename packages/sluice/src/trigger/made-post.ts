/**
 * A post to send: generated from a rule, or with a given text, and matched against the rules before it is sent.
 *
 * The comparison is this program's: a server compares again, and may know more of a place or a link than one post says.
 */
import { randomInt } from "node:crypto"
import { evaluate, examplePost, parseRule, readPost, type Rule, type RuleEnvelope } from "@sluice/rules"
import { Failure } from "../process/failure.ts"

/** A rule of the app. */
export interface AppRule {
  readonly id: string
  readonly value: string
  readonly tag?: string
}

/** A post, and the rules that it matches. */
export interface MadePost {
  readonly envelope: RuleEnvelope
  readonly matching: readonly AppRule[]
}

/** First millisecond of a snowflake. Source: X's announcement of snowflake ids. */
const snowflakeEpochMs = 1_288_834_974_657

const idBits = 22

/** A unique id with the current time. */
function newPostId(nowMs = Date.now()): string {
  return String((BigInt(nowMs - snowflakeEpochMs) << BigInt(idBits)) | BigInt(randomInt(2 ** idBits)))
}

/** A post for the first rule for which one can be generated. Throws `Failure` when there is none. */
export function postForRules(rules: readonly AppRule[], all: readonly AppRule[], id = newPostId()): MadePost {
  const reasons: string[] = []
  for (const rule of rules) {
    const parsed = parsedRule(rule)
    const example = parsed === undefined ? undefined : examplePost(parsed, { id })
    if (example?.ok === true) return { envelope: example.envelope, matching: matchingRules(all, example.envelope) }
    reasons.push(`${rule.id}: ${example?.reason ?? unreadable}`)
  }
  throw new Failure(
    rules.length === 1
      ? "No post could be generated for the rule."
      : "No post could be generated for any rule of the app.",
    reasons.slice(0, reasonsMax),
  )
}

/** Most rules whose reasons are printed. Ours. */
const reasonsMax = 10

const unreadable = "This version does not support the rule. Use your own text with --text."

/**
 * A post with this text. Throws `Failure` when it is for a rule that does not match it, unless that rule compares
 * meanings, which only a server can.
 */
export function postWithText(
  text: string,
  wanted: AppRule | undefined,
  all: readonly AppRule[],
  id = newPostId(),
): MadePost {
  const envelope = { data: { id, text, author_id: "1001" }, includes: { users: [author] } }
  const matching = matchingRules(all, envelope)
  const isCertain = wanted === undefined || !wanted.value.includes("embedding:")
  if (wanted !== undefined && isCertain && !matching.some((rule) => rule.id === wanted.id)) {
    throw new Failure("The rule does not match a post with this text.", [
      `${wanted.id}: ${wanted.value}`,
      "Without --text, a post is generated from the rule.",
    ])
  }
  return { envelope, matching }
}

const author = { id: "1001", username: "sluice", name: "sluice" }

function matchingRules(rules: readonly AppRule[], envelope: RuleEnvelope): readonly AppRule[] {
  const post = readPost(envelope)
  return rules.filter((rule) => {
    const parsed = parsedRule(rule)
    return parsed !== undefined && evaluate(parsed, post)
  })
}

/** The server has accepted the rule, so it is parsed with all features. */
function parsedRule({ value }: AppRule): Rule | undefined {
  const parsed = parseRule(value, { embeddings: true, lengthMax: Math.max(value.length, 1) })
  return parsed.ok ? parsed.rule : undefined
}
