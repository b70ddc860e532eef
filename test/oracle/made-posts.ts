/**
 * Posts made from a seed: what the oracle sends in, and the little that it knows of them.
 *
 * A post is a function of the seed and its number, and its id holds that number; so the oracle keeps no posts, and
 * can say of any id that comes back whether it made it, what it says, and which rules it matches. It knows the
 * latter because it put the keywords in, not because it can read a rule.
 */
import { seededRandom } from "./seeded-random.ts"

/** A post, and what must come of it. */
export interface MadePost {
  readonly id: string
  readonly authorId: string
  readonly text: string
  /** Tags of the rules that it matches; empty when it matches none. */
  readonly tags: readonly string[]
  /** Its envelope: one line of NDJSON, without the line feed. */
  readonly line: string
}

/** The rules of the oracle's app: a keyword each, which is also the tag. */
export const ruleTags = ["lighthouse", "tide"] as const

/** Who writes the posts. */
export const authorIds = ["5001", "5002", "5003", "5004", "5005"] as const

/** First millisecond of a snowflake. Source: X's announcement of snowflake ids. */
const snowflakeEpochMs = 1_288_834_974_657

/** When the first post was made: 2026-01-01. The others follow, a millisecond apart. */
const firstAtMs = 1_767_225_600_000

/** Words that no rule asks for: near misses of the keywords, other scripts, and signs of two and four bytes. */
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
