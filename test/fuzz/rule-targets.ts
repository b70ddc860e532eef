/**
 * The subjects of fuzzing: the parser, the whole way from a rule and a post to a match, and the walk over the bytes of
 * a line.
 */
import type { Draw } from "../../packages/rules/src/testing/draw.testing.ts"
import { mutated, rulePieces } from "../../packages/rules/src/testing/hostile-rules.testing.ts"
import { matchingFault, ruleFault } from "../../packages/rules/src/testing/rule-invariants.testing.ts"
import { writtenPosts } from "../../packages/rules/src/testing/written-posts.testing.ts"
import { writtenRules } from "../../packages/rules/src/testing/written-rules.testing.ts"
import {
  asBytes,
  changedLine,
  lineOf,
  walkFault,
  writtenLines,
} from "../../packages/rules/src/testing/walked-lines.testing.ts"
import { hasSharedData, sharedLines } from "../support/shared-data.testing.ts"
import type { Target } from "./guided-run.ts"
import type { Json } from "./simpler-json.ts"

/** A rule and an envelope, either of which may have become any JSON. */
export type RuleAndPost = { readonly rule: string; readonly envelope: Json }

/** Longer than any rule that a server accepts, so that the parser refuses the length too. */
const unitsMax = 4096

const realRules: readonly string[] = hasSharedData
  ? sharedLines("data/rules/rules.ndjson").map((line) => (JSON.parse(line) as { value: string }).value)
  : []

/** Every eighth of them: enough of each kind, since reading them all takes a while. */
const realPosts: readonly Json[] = hasSharedData
  ? sharedLines("data/x/posts.ndjson")
      .filter((_, index) => index % 8 === 0)
      .map((line) => JSON.parse(line) as Json)
  : []

const rules = [...writtenRules, ...realRules]
const posts = [...(writtenPosts as readonly Json[]), ...realPosts]

/** Parsing, refusing and printing: `ruleFault`, with the usual options, with narrow ones and for a search. */
export const parserTarget: Target<string> = {
  name: "parser",
  seeds: rules,
  mutate: changedText,
  fault: (text) =>
    ruleFault(text, { embeddings: true }) ??
    ruleFault(text, { lengthMax: 24, strict: true }) ??
    ruleFault(text, { mode: "search" }),
}

/** Reading a post and evaluating the rule on it: `matchingFault`. */
export const matchingTarget: Target<RuleAndPost> = {
  name: "matching",
  seeds: Array.from({ length: Math.max(rules.length, posts.length) }, (_, index) => ({
    rule: rules[index % rules.length] ?? "",
    envelope: posts[index % posts.length] ?? null,
  })),
  mutate(input, other, draw) {
    const rule = draw.isOneIn(2) ? changedText(input.rule, other.rule, draw) : input.rule
    const envelope = rule === input.rule ? changedJson(input.envelope, other.envelope, draw) : input.envelope
    return { rule, envelope }
  },
  fault: ({ rule, envelope }) => matchingFault(rule, envelope) ?? matchingFault(rule, envelope, "search"),
}

/** Longest generated line, and longest real one that is a seed: longer lines contain nothing else and take longer. */
const lineBytesMax = 8192
const realLineBytesMax = 1500

/** Bytes of a line, each as a character: `walkFault`. */
export const walkTarget: Target<string> = {
  name: "walk",
  seeds: [
    ...writtenLines,
    ...realPosts.map((post) => asBytes(JSON.stringify(post))).filter(({ length }) => length <= realLineBytesMax),
  ],
  mutate: (line, other, draw) => changedLine(line, other, draw).slice(0, lineBytesMax),
  fault: (line) => walkFault(lineOf(line)),
}

function changedText(text: string, other: string, draw: Draw): string {
  return mutated(text, other, draw).slice(0, unitsMax)
}

/** Values of a wrong type for a member. */
const nonsense: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "1",
  [],
  [null],
  [[]],
  {},
  { id: "1" },
  { id: 1, text: [] },
  "99999999999999999999",
  "2026-02-30T25:61:61Z",
]

/** The value with one change, somewhere inside it. */
function changedJson(value: Json, other: Json, draw: Draw): Json {
  if (draw.isOneIn(24)) return draw.isOneIn(2) ? draw.oneOf(nonsense) : anyPartOf(other, draw)
  if (typeof value === "string")
    return draw.isOneIn(3) ? draw.oneOf(rulePieces) : changedText(value, draw.oneOf(rulePieces), draw)
  if (typeof value === "number")
    return draw.oneOf([0, -value, value + 1, value / 2, value * 1000, 181, Number.MAX_SAFE_INTEGER])
  if (Array.isArray(value)) return changedList(value as readonly Json[], other, draw)
  if (typeof value === "object" && value !== null)
    return changedObject(value as { readonly [member: string]: Json }, other, draw)
  return draw.oneOf(nonsense)
}

function changedList(list: readonly Json[], other: Json, draw: Draw): Json {
  const index = draw.below(list.length)
  const item = list[index]
  if (item === undefined || draw.isOneIn(8)) return [...list, anyPartOf(other, draw)]
  if (draw.isOneIn(8)) return list.toSpliced(index, 1)
  return draw.isOneIn(8) ? [...list, item] : list.with(index, changedJson(item, other, draw))
}

function changedObject(value: { readonly [member: string]: Json }, other: Json, draw: Draw): Json {
  const members = Object.entries(value)
  const index = draw.below(members.length)
  const member = members[index]
  if (member === undefined || draw.isOneIn(12)) {
    const taken = anyPartOf(other, draw)
    return isObject(taken) ? { ...value, ...taken } : { ...value, __proto__: null, text: taken }
  }
  const [name, held] = member
  if (draw.isOneIn(12)) return Object.fromEntries(members.toSpliced(index, 1))
  return Object.fromEntries(members.with(index, [name, changedJson(held, other, draw)]))
}

function anyPartOf(value: Json, draw: Draw): Json {
  if (typeof value !== "object" || value === null || draw.isOneIn(5)) return value
  const parts = Object.values(value)
  return parts.length === 0 ? value : anyPartOf(draw.oneOf(parts), draw)
}

function isObject(value: Json): value is { readonly [member: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
