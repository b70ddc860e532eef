/*
 * Sixteen times the text may cost at most 64 times the time: linear work stays near 16, also with
 * garbage to collect, and quadratic work takes 256 times as long. A rule that is accepted is printed, too.
 */

import { expect, test } from "vitest"
import { cpuMs } from "../testing/cpu-time.testing.ts"
import { parseRule, printRule } from "../index.ts"
import { endsWithin } from "../testing/time-limit.testing.ts"

type Shape = readonly [name: string, make: (length: number) => string]

/** The piece over and over. */
const filled = (piece: string, length: number) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)

const repeated = (piece: string): Shape => [
  `${JSON.stringify(piece)} again and again`,
  (length) => filled(piece, length),
]

const shapes: readonly Shape[] = [
  ...["(", ")", "()", "(()", "(cat ", "-(cat ", "cat OR ", "OR ", '"', 'a"', '"a" ', "[", "]", "a:[", "a:"].map(
    repeated,
  ),
  ...["-", "- ", "-a ", "'", ":", "a.", "or ", "the OR ", '"a"~', "#", "\\", "\u200b", "\ud83d"].map(repeated),
  ...["a", "東", "1", " ", "\u0301", "👩‍💻", "🇫", "1\ufe0f\u20e3"].map(repeated),
  ["a quotation never closed, full of escapes", (length) => `"${filled(String.raw`\"`, length)}`],
  ["a bracket never closed", (length) => `from:[${filled("1 ", length)}`],
  ["one emoji of many parts", (length) => `👩${filled("\u200d👩", length)}`],
  ["a letter with many marks", (length) => `a${filled("\u0301", length)}`],
  ["a name that nearly is one", (length) => `@${filled("a.", length)}-`],
  ["a distance of many digits", (length) => `"a b"~${filled("1", length)}`],
  [
    "groups closed again, as deep as the text is long",
    (length) => "-(".repeat(length / 3) + "a" + ")".repeat(length / 3),
  ],
  [
    "many idle words below 200 groups that have one each",
    (length) => `${"(".repeat(200)}${filled("the OR ", length)}the${") OR the".repeat(200)}`,
  ],
]

const names =
  `from to retweets_of from_affiliate_of conversation_id url url_contains url_title lang is has sample source context
  entity bio place place_country point_radius bounding_box min_likes followers_count embedding embedding_threshold
  form`.split(/\s+/)
const values: readonly Shape[] = [
  ...["a", "a-", "1.", "..", "*.", "http://"].map(repeated),
  ["numbers in brackets", (length) => `[${filled("1 ", length)}]`],
  ["digits in brackets", (length) => `[${filled("1", length)} 1 1km]`],
  ["words in quotes", (length) => `"${filled("a ", length)}"`],
]

/** Quadratic time would grow 256 times. */
const growthMax = 96

/** The least of three, since noise only adds; fails when one takes a minute. */
function millisecondsFor(text: string): number {
  let least = Infinity
  const read = (): void => {
    const parsed = parseRule(text, { lengthMax: Infinity, embeddings: true })
    if (parsed.ok) printRule(parsed.rule)
  }
  for (let time = 0; time < 3; time++) {
    let hasEnded = false
    const took = cpuMs(() => (hasEnded = endsWithin(60_000, read)))
    expect(hasEnded, `${text.length} characters within a minute`).toBe(true)
    least = Math.min(least, took)
    // The large ones take long and hardly vary.
    if (least > 100) break
  }
  return least
}

/**
 * The factor by which sixteen times as much text takes longer. Below half a millisecond the clock is inaccurate. A collection of
 * garbage or a compilation may fall into one measurement, and not into three.
 */
function growth(make: (length: number) => string, length: number): number {
  let least = Infinity
  for (let time = 0; time < 3 && least >= growthMax; time++) {
    millisecondsFor(make(length))
    least = Math.min(least, millisecondsFor(make(16 * length)) / Math.max(0.5, millisecondsFor(make(length))))
  }
  return least
}

test.each(shapes)("%s: reading takes time in proportion", (_, make) => {
  expect(growth(make, 2048)).toBeLessThan(growthMax)
})

test.each(["(", "cat OR ", "a"].map(repeated))(
  "%s: a megabyte is read in linear time too",
  { timeout: 120_000 },
  (_, make) => {
    expect(growth(make, 65_536)).toBeLessThan(growthMax)
  },
)

test.each(names)("%s: with a long value: reading takes time in proportion", (name) => {
  for (const [value, make] of values)
    expect(
      growth((length) => `cat ${name}:${make(length)}`, 1024),
      value,
    ).toBeLessThan(growthMax)
})
