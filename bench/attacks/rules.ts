/** Attacks with rules: costly rules, rules that match often, changes and tests of rules. */
import { flagTermMax } from "../../packages/rules/src/matcher/flag-masks.ts"
import { paths } from "../../packages/api/src/paths.ts"
import { addRules, gzipped, lines, post, readSome, repeated, send, type Attack } from "./traffic.ts"

/** Tries a rule of many phrases on a thousand posts of the maximum length. */
export const ruleTestQueue: Attack = {
  async prepare(app) {
    const text = "lorem ipsum dolor sit amet ".repeat(925)
    await send(app, "POST", paths.posts, gzipped(lines(1_000, (at) => post(at, text))))
  },
  async run(app, signal) {
    const phrases = Array.from({ length: 150 }, (_, at) => `"lorem x${at}"`).join(" OR ")
    const test = JSON.stringify({ value: phrases, recent: 1_000 })
    await Promise.all(repeated(4, signal, () => send(app, "POST", paths.ruleTest, test, signal)))
  },
}

/**
 * Adds as many rules as an app may have, with the longest tags, all of which match, and reconnects a stream again and
 * again.
 */
export const matchingTags: Attack = {
  async prepare(app) {
    const tag = "\u{1f30a}".repeat(255)
    await addRules(app, 25_000, (at) => ({ value: `cat OR x${at}`, tag }))
  },
  async run(app, signal) {
    let next = 0
    const backfill = `${paths.stream}?backfill_minutes=5`
    await Promise.all([
      ...repeated(2, signal, () =>
        send(
          app,
          "POST",
          paths.posts,
          lines(1, () => post(next++, "a cat")),
          signal,
        ),
      ),
      ...repeated(1, signal, () => readSome(app, backfill, 20_000_000, signal)),
    ])
  },
}

/** Adds as many proximity rules as the server accepts, and sends posts that consist of their words. */
export const proximityRules: Attack = {
  async prepare(app) {
    const pairs = commonWords.flatMap((a) => commonWords.map((b) => `"${a} ${b}"`))
    const values = [6, 5, 4, 3, 2, 1].flatMap((near) => pairs.map((pair) => `${pair}~${near}`))
    await addRules(app, 25_000, (at) => ({ value: values[at] ?? "" }))
  },
  async run(app, signal) {
    let next = 0
    const texts = [280, 25_000].map((length) => `${commonWords.join(" ")} `.repeat(200).slice(0, length))
    await Promise.all(
      repeated(2, signal, () =>
        send(
          app,
          "POST",
          paths.posts,
          lines(1, () => post(next++, texts[next % 2] ?? "")),
          signal,
        ),
      ),
    )
  },
}

/** Adds and tries the largest changes of rules, many times. */
export const ruleChanges: Attack = {
  async run(app, signal) {
    let next = 0
    const long = (): string =>
      JSON.stringify({
        add: Array.from({ length: 1_000 }, () => ({ value: `w${next++} `.repeat(200).slice(0, 1_000) })),
      })
    const many = JSON.stringify({ add: Array.from({ length: 30_000 }, (_, at) => ({ value: `many${at}` })) })
    await Promise.all([
      ...repeated(3, signal, () => send(app, "POST", `${paths.rules}?dry_run=true`, long(), signal)),
      ...repeated(1, signal, () => send(app, "POST", paths.rules, many, signal)),
    ])
  },
}

/** Deletes a thousand rules by values of a thousand characters that no rule has. */
export const deleteByValues: Attack = {
  async run(app, signal) {
    const values = JSON.stringify({
      delete: { values: Array.from({ length: 1_000 }, (_, at) => `${at} ${"v".repeat(1_000)}`) },
    })
    await Promise.all(repeated(6, signal, () => send(app, "POST", paths.rules, values, signal)))
  },
}

/** Adds rules of three words whose expressions would share one bucket of the matcher's table if its hash had no key. */
export const collidingRules: Attack = {
  async run(app, signal) {
    const words = Array.from({ length: 1_100 }, (_, at) => `k${at}`)
    // The words become terms in this order, after the neighbour's word.
    await addRules(app, 11, (at) => ({ value: words.slice(at * 100, at * 100 + 100).join(" ") }))
    const values = collisions(words.length, 22_000).map((rule) => rule.map((at) => words[at]).join(" "))
    while (!signal.aborted) {
      await addRules(app, values.length, (at) => ({ value: values[at] ?? "" }))
      await send(app, "POST", `${paths.rules}?delete_all=true`, undefined, signal).catch(() => undefined)
    }
  },
}

/** Returns this many triples of words whose roots share a bucket under the hash of `expressions.ts` without its key. */
function collisions(words: number, count: number): readonly (readonly number[])[] {
  const found: (readonly number[])[] = []
  const refOf = (at: number): number => (flagTermMax + 2 + at) << 1
  const header = (3 << 3) | 4 | 1
  for (let a = 0; a < words; a += 1) {
    const first = unkeyed(header, refOf(a))
    for (let b = a + 1; b < words; b += 1) {
      const second = unkeyed(first, refOf(b))
      for (let c = b + 1; c < words; c += 1) {
        const third = unkeyed(second, refOf(c))
        const sum = Math.imul(third ^ (third >>> 16), 0x85ebca6b)
        if (((sum ^ (sum >>> 13)) & 0x7fff) !== 0) continue
        found.push([a, b, c])
        if (found.length === count) return found
      }
    }
  }
  return found
}

function unkeyed(hash: number, value: number): number {
  const product = Math.imul(hash ^ value, 0x9e3779b1)
  return product ^ (product >>> 15)
}

const commonWords =
  "the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him into time has look two more write go see number no way could people my than first water been call who oil its now find".split(
    " ",
  )
