/*
 * A million texts, of which `npm test` takes a part: random ones, and mutations of rules. Each must satisfy
 * rule-invariants.testing.ts. Every input is made from the seed and its number alone, so a failure names all that it takes
 * to make it again.
 */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import fc from "fast-check"
import { expect, test } from "vitest"
import { share } from "../../../../test/support/extent.testing.ts"
import { Draw } from "../testing/draw.testing.ts"
import { hostileRule, mutated, rulePieces } from "../testing/hostile-rules.testing.ts"
import { parseRule, type RuleOptions } from "../index.ts"
import { matchingFault, ruleFault } from "../testing/rule-invariants.testing.ts"
import { findWithin } from "../testing/time-limit.testing.ts"
import { writtenPosts } from "../testing/written-posts.testing.ts"
import { writtenRules } from "../testing/written-rules.testing.ts"

const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../../../shared", import.meta.url))
const realFile = join(shared, "data/rules/rules.ndjson")
const isThere = existsSync(realFile)
if (!isThere && process.env["CI"] !== undefined) throw new Error(`no real rules in ${shared}`)
if (!isThere) console.warn(`no real rules in ${shared}, so only rules of ours are mutated; see SLUICE_SHARED`)

const rules = isThere ? [...writtenRules, ...realRules()] : writtenRules

function realRules(): readonly string[] {
  const lines = readFileSync(realFile, "utf8").trim().split("\n")
  return lines.map((line) => (JSON.parse(line) as { value: string }).value)
}

const modes = ["stream", "search"] as const

/** Far more than any of these texts takes on a machine that does ten other things. */
const inputMsMax = 2000

const seed = Number(process.env["SLUICE_FUZZ_SEED"] ?? 1)

/** The first fault, with its input, among the inputs made from the numbers up to `count`. */
function faultAmong(
  count: number,
  make: (draw: Draw) => string,
  faultOf: (text: string, draw: Draw) => unknown,
): string | undefined {
  const found = findWithin(inputMsMax, count, (index) => {
    const draw = new Draw(seed, index)
    return faultOf(make(draw), draw) !== undefined
  })
  if (found === undefined) return undefined
  const draw = new Draw(seed, found.index)
  const text = make(draw)
  const fault = found.isOverrun ? `takes longer than ${inputMsMax} ms` : faultOf(text, draw)
  return `${JSON.stringify({ fault, text }, null, 2)}\nseed ${seed}, input ${found.index}`
}

/** A length limit that the text may exceed, negated groups rejected or not, and every other option. */
function someOptions(draw: Draw): RuleOptions {
  if (!draw.isOneIn(4)) return {}
  return {
    ...(draw.isOneIn(3) && { lengthMax: draw.below(40) }),
    strict: draw.isOneIn(2),
    mode: draw.isOneIn(2) ? "search" : "stream",
    embeddings: !draw.isOneIn(3),
  }
}

test("hostile texts are parsed or rejected as the invariants require", { timeout: 900_000 }, () => {
  let accepted = 0
  const make = (draw: Draw) => hostileRule(draw, rules)
  expect(faultAmong(1_000_000 * share(20), make, (text, draw) => ruleFault(text, someOptions(draw)))).toBeUndefined()
  for (let index = 0; index < 10_000; index++) if (parseRule(hostileRule(new Draw(seed, index), rules)).ok) accepted++
  // Both ways must be gone, and often.
  expect(accepted).toBeGreaterThan(700)
  expect(accepted).toBeLessThan(7000)
})

test(
  "hostile texts of up to 20,000 characters are parsed or rejected as the invariants require",
  { timeout: 60_000 },
  () => {
    const long = (draw: Draw) => {
      const length = 1 + draw.below(20_000)
      let text = hostileRule(draw, rules)
      while (text.length < length) text += draw.isOneIn(2) ? hostileRule(draw, rules) : text
      return text.slice(0, length)
    }
    expect(
      faultAmong(300, long, (text, draw) => ruleFault(text, { lengthMax: draw.oneOf([2048, 8000, Infinity]) })),
    ).toBeUndefined()
  },
)

test("evaluation, explanation and matcher agree on mutated rules", { timeout: 300_000 }, () => {
  const make = (draw: Draw) => mutated(draw.oneOf(rules), draw.oneOf(rules), draw)
  expect(
    faultAmong(
      100_000 * share(20),
      make,
      (text, draw) => ruleFault(text) ?? matchingFault(text, draw.oneOf(writtenPosts), draw.oneOf(modes)),
    ),
  ).toBeUndefined()
})

test("texts that fast-check makes of parts of the language are parsed or rejected as the invariants require", () => {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...rulePieces, " ", " ", " OR ") },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
  )
  const text = fc.array(piece, { maxLength: 12 }).map((all) => all.join(""))
  const options = fc.record(
    {
      lengthMax: fc.nat(40),
      strict: fc.boolean(),
      mode: fc.constantFrom(...modes),
      embeddings: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(text, options, (rule, how) => {
      expect(ruleFault(rule, how)).toBeUndefined()
    }),
    { numRuns: 2_500 },
  )
})
