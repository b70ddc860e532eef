/**
 * Posts generated from a seed: the oracle's input, and its knowledge of it.
 *
 * A post is a function of the seed and its number, and its id contains that number; so the oracle stores no posts, and
 * can decide for any id whether it made it, and with which text and matching rules. It knows the rules because it
 * inserted their keywords, not because it can read a rule.
 */
import { seededRandom } from "./seeded-random.ts"

/** A post, and its expected matches. */
export interface MadePost {
  readonly id: string
  readonly authorId: string
  readonly text: string
  /** Tags of the rules that it matches; empty without one. */
  readonly tags: readonly string[]
  /** Its envelope: one line of NDJSON, without the line feed. */
  readonly line: string
}

/** The rules of the oracle's app: a keyword each, which is also the tag. */
export const ruleTags = ["lighthouse", "tide"] as const

/** Authors of the posts. */
export const authorIds = ["5001", "5002", "5003", "5004", "5005"] as const

/** First millisecond of a snowflake. Source: X's announcement of snowflake ids. */
const snowflakeEpochMs = 1_288_834_974_657

/** Time of the first post: 2026-01-01. The others follow, a millisecond apart. */
const firstAtMs = 1_767_225_600_000

/** Words of no rule: near misses of the keywords, other scripts, and characters of two and four bytes. */
const fillers = [
  "harbour",
  "wind",
  "lighthouses",
  "tides",
  "light-house",
  "#untide",
  "море",
  "海風",
  "مرسى",
  "café",
  "🌊",
  "at",
  "dawn",
  "the",
  "keeper's",
  "log",
  "says",
  '"calm"',
  "&",
  "still",
] as const

/** Post number `index`, from 0, of a seed. */
export function makePost(seed: number, index: number): MadePost {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const atMs = firstAtMs + index
  const id = String((BigInt(atMs - snowflakeEpochMs) << 22n) | BigInt(seed & 0x3fffff))
  const authorId = pick(authorIds)
  const chance = random()
  const tags = ruleTags.filter((_, number) => (number === 0 ? chance < 0.35 : chance > 0.25 && chance < 0.5))
  const words = Array.from({ length: 3 + Math.floor(random() * 8) }, () => pick<string>(fillers))
  for (const tag of tags) {
    const word = random() < 0.3 ? tag.toUpperCase() : tag
    words.splice(Math.floor(random() * (words.length + 1)), 0, word)
  }
  const text = words.join(" ")
  const data = { id, text, author_id: authorId, created_at: new Date(atMs).toISOString() }
  const users = [{ id: authorId, name: `Keeper ${authorId}`, username: `keeper${authorId}` }]
  return { id, authorId, text, tags, line: JSON.stringify({ data, includes: { users } }) }
}

/** The post with this id, when the seed has one. */
export function madePostOf(seed: number, id: string): MadePost | undefined {
  if (!/^\d{1,19}$/.test(id)) return undefined
  const index = Number(BigInt(id) >> 22n) + snowflakeEpochMs - firstAtMs
  if (!Number.isSafeInteger(index) || index < 0) return undefined
  const post = makePost(seed, index)
  return post.id === id ? post : undefined
}
