/**
 * A post that a rule matches, made of the rule itself.
 *
 *     rule ─► a branch ─► a post in one style after the other ─► evaluate ─► the first that holds
 *               ▲                                                   │ none
 *               └──────────────── the next branch ──────────────────┘
 *
 * Nothing is trusted: a post is returned only when `evaluate` says that the rule holds of it. So the making may be simple,
 * and what it cannot do (two areas that barely meet) is reported and never wrong.
 */

import { printRule } from "../language/print-rule.ts"
import type { Rule } from "../language/rule.ts"
import { evaluate, holds } from "../meaning/evaluate.ts"
import { readPost } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import type { Mode } from "../text/mode.ts"
import { Branches, type Literal } from "./branches.ts"
import { draftPost } from "./draft-post.ts"
import type { Style } from "./draft.ts"

/** A post that the rule matches, or why none was made, as a sentence. */
type ExamplePost =
  | { readonly ok: true; readonly envelope: RuleEnvelope }
  | { readonly ok: false; readonly reason: string }

/** Most posts that are made for one rule. Ours: about a second. */
const postsMax = 2_000

/** Short words that few rules exclude. Ours. */
const fillers = ["sluice", "heron", "kestrel", "willow", "otter", "wren"]

/**
 * A post that matches. `id` is the post's, or with `sample:` the first one after it that is in the sample. The envelope
 * has no `created_at`: an id says it too.
 */
export function examplePost(
  rule: Rule,
  { id, mode = "stream" }: { readonly id: string; readonly mode?: Mode },
): ExamplePost {
  const branches = new Branches(rule)
  let made = 0
  let failing: string | undefined
  let hasEmbedding = false
  for (const literals of branches) {
    if (literals.some(({ operator, isPositive }) => isPositive && operator.kind === "embedding")) {
      hasEmbedding = true
      continue
    }
    for (const style of stylesOf(id, mode)) {
      const envelope = draftPost(literals, style)
      if (evaluate(rule, readPost(envelope, { mode }))) return { ok: true, envelope }
      failing ??= failingIn(literals, envelope, mode)
      made += 1
    }
    if (made >= postsMax) break
  }
  return { ok: false, reason: reasonOf({ failing, hasEmbedding, contradiction: branches.contradiction }) }
}

/** From the one that a person would write to those that only avoid what a rule excludes. */
function* stylesOf(id: string, mode: Mode): Generator<Style, void, void> {
  for (const isMarked of [true, false]) {
    for (const order of ["forward", "backward", "apart"] as const) {
      for (const filler of fillers) yield { mode, id, filler, order, isMarked }
    }
  }
}

/** The first part of the branch that the post does not fulfil. */
function failingIn(literals: readonly Literal[], envelope: RuleEnvelope, mode: Mode): string | undefined {
  const post = readPost(envelope, { mode })
  const failing = literals.find(({ operator, isPositive }) => holds(operator, post) !== isPositive)
  return failing && (failing.isPositive ? "" : "-") + printRule(failing.operator)
}

function reasonOf(found: {
  failing: string | undefined
  hasEmbedding: boolean
  contradiction: string | undefined
}): string {
  const { failing, hasEmbedding, contradiction } = found
  if (failing !== undefined) return `No post was found that fulfils ${failing} together with the rest of the rule.`
  if (hasEmbedding) return "embedding: compares meanings, so no post can be made of it. Give a text of your own."
  if (contradiction !== undefined) return `The rule requires ${contradiction} and excludes it, so it matches no post.`
  return "The rule has too many branches that exclude each other to find a post that it matches."
}
