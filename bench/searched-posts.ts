/**
 * Made posts to search: users who write, reply, quote and repost, in words that are as frequent as those of a language.
 *
 *     rank of a word      0      1      2   …   199,999     frequency 1 / (rank + 2.7), Zipf's law as Mandelbrot has it
 *     share of the posts  35 %   29 %   24 %
 *
 * A quarter are reposts, a fifth replies, a tenth quotes; an eighth are in another script. A post is a function of its
 * number, so a million of them take no memory, and their ids rise evenly over the time that they span.
 */
import { snowflakeEpochMs } from "../packages/api/src/snowflake.ts"
import { sendPosts, type MeasuredApp } from "./app-client.ts"

/** Words that exactly this share of the posts have, in English, none of them a repost. */
export const marks = {
  /** One in ten. */
  frequent: "oneinten",
  /** One in a thousand. */
  selective: "oneinthousand",
  /** One in ten thousand. */
  rare: "oneinmyriad",
} as const

const wordCount = 200_000
/** Posts of the time to each user, on average. */
const postsPerUser = 20
/** Share of the words that stand after a certain other one, as in a language: otherwise no phrase would be frequent. */
const boundShare = 0.25
const lowBits = 22n
const weekMs = 7 * 86_400_000

type Kind = "post" | "repost" | "reply" | "quote"

/** The posts of some time; a week if not said otherwise. */
export class SearchedPosts {
  readonly count: number
  /** The first post has this time, Unix ms. */
  readonly startMs: number
  readonly #msPerPost: number
  readonly #userCount: number

  constructor({ count, endMs, spanMs = weekMs }: { count: number; endMs: number; spanMs?: number }) {
    this.count = count
    this.startMs = endMs - spanMs
    this.#msPerPost = spanMs / count
    this.#userCount = Math.ceil(count / postsPerUser)
  }

  /** Envelopes of the posts from this number up to another, as NDJSON. */
  lines(from: number, to: number): string {
    return Array.from({ length: to - from }, (_, at) => `${this.#line(from + at)}\n`).join("")
  }

  /** The ids of so many posts, evenly spread over all. */
  someIds(count: number): readonly string[] {
    return Array.from({ length: count }, (_, at) => this.#id(Math.floor(((at + 0.5) * this.count) / count)))
  }

  /** Usernames of so many users. */
  someUsernames(count: number): readonly string[] {
    // Those of low numbers write most, so all of them have.
    return Array.from({ length: count }, (_, at) => usernameOf(at))
  }

  #line(number: number): string {
    const chance = new Chance(number)
    const kind = kindOf(number)
    const [author, other] = [this.#userOf(number), this.#earlierOf(number, chance)]
    const data = this.#post(number, chance, kind === "reply" ? `@${usernameOf(this.#userOf(other))} ` : "")
    const users = [this.#user(author, number)]
    const tweets: Members[] = []
    if (kind !== "post") {
      const [id, earlier] = [this.#id(other), this.#post(other, new Chance(other))]
      const type = { repost: "retweeted", reply: "replied_to", quote: "quoted" }[kind]
      data["referenced_tweets"] = [{ type, id }]
      if (this.#userOf(other) !== author) users.push(this.#user(this.#userOf(other), number))
      tweets.push(earlier)
      if (kind === "repost") {
        const username = usernameOf(this.#userOf(other))
        data["text"] = `RT @${username}: ${String(earlier["text"])}`.slice(0, 140)
        data["lang"] = earlier["lang"]
        data["entities"] = { mentions: [{ start: 3, end: 4 + username.length, username }] }
      } else if (kind === "reply") {
        data["in_reply_to_user_id"] = userId(this.#userOf(other))
        data["conversation_id"] = id
      }
    }
    return JSON.stringify({ data, includes: { users, ...(tweets.length > 0 && { tweets }) } })
  }

  #post(number: number, chance: Chance, before = ""): Members {
    const id = this.#id(number)
    const isMarked = number % 10 === 7
    const isOther = !isMarked && chance.next() < 0.125
    const words = wordsOf(chance, isOther)
    if (isMarked) words.push(marks.frequent)
    if (number % 1_000 === 517) words.push(marks.selective)
    if (number % 10_000 === 517) words.push(marks.rare)
    const tag = chance.next() < 0.2 ? wordOf(rankAt(chance.next()), false) : undefined
    const link = chance.next() < 0.15 ? linkOf(chance) : undefined
    const text = [before + words.join(" "), tag && `#${tag}`, link?.url].filter(Boolean).join(" ")
    return {
      id,
      text,
      author_id: userId(this.#userOf(number)),
      created_at: new Date(this.#atMs(number)).toISOString(),
      conversation_id: id,
      lang: isOther ? "ru" : isMarked || chance.next() < 0.8 ? "en" : "es",
      edit_history_tweet_ids: [id],
      possibly_sensitive: false,
      reply_settings: "everyone",
      public_metrics: { retweet_count: number % 9, reply_count: number % 4, like_count: number % 70, quote_count: 0 },
      ...((tag !== undefined || link !== undefined || before !== "") && {
        entities: {
          ...(tag !== undefined && {
            hashtags: [{ start: text.indexOf("#"), end: text.indexOf("#") + tag.length + 1, tag }],
          }),
          ...(before !== "" && { mentions: [{ start: 0, end: before.length - 1, username: before.slice(1, -1) }] }),
          ...(link !== undefined && { urls: [link] }),
        },
      }),
      ...(chance.next() < 0.3 && { context_annotations: [annotationOf(chance)] }),
    }
  }

  /** Followers come and go: the object of a user is another one each day. */
  #user(user: number, number: number): Members {
    const chance = new Chance(-user - 1)
    const day = Math.floor((this.#atMs(number) - this.startMs) / 86_400_000)
    const id = userId(user)
    return {
      id,
      username: usernameOf(user),
      name: `${wordOf(rankAt(chance.next()), false)} ${wordOf(user % 5_000, false)}`,
      description: wordsOf(chance, false).slice(0, 12).join(" "),
      created_at: new Date(1_300_000_000_000 + user * 1_000).toISOString(),
      verified: user % 50 === 0,
      protected: false,
      profile_image_url: `https://img.example.com/profile_images/${id}/${wordOf(user, false)}_normal.jpg`,
      public_metrics: {
        followers_count: (user % 5_000) + day,
        following_count: user % 700,
        tweet_count: user % 9_000,
        listed_count: user % 5,
      },
    }
  }

  /** Some write much more than others. */
  #userOf(number: number): number {
    return Math.floor(this.#userCount * new Chance(number ^ 0x5bd1_e995).next() ** 2)
  }

  /** A post before this one that is no repost, reply or quote; itself if there is none. */
  #earlierOf(number: number, chance: Chance): number {
    const cycle = Math.floor(number / kindCycle) - 1 - Math.floor(chance.next() * 500)
    return Math.max(0, cycle) * kindCycle + plainPlace
  }

  #atMs(number: number): number {
    return Math.floor(this.startMs + number * this.#msPerPost)
  }

  /** A time, then 22 bits in which ids of X differ from one another. */
  #id(number: number): string {
    const low = BigInt((scrambled(number) & 0x3f_f000) | (number & 0xfff))
    return ((BigInt(this.#atMs(number) - snowflakeEpochMs) << lowBits) | low).toString()
  }
}

const perBody = 5_000

/** Sends the posts in bodies, one after the other. */
export async function sendAll(app: MeasuredApp, posts: SearchedPosts): Promise<void> {
  for (let from = 0; from < posts.count; from += perBody) {
    const to = Math.min(posts.count, from + perBody)
    await sendPosts(app, posts.lines(from, to), to - from)
  }
}

type Members = Record<string, unknown>

/** Kinds repeat after so many posts, of which this one is a plain post. */
const kindCycle = 20
const plainPlace = 12

function kindOf(number: number): Kind {
  const place = number % kindCycle
  if (number < kindCycle) return "post"
  return place < 5 ? "repost" : place < 9 ? "reply" : place < 11 ? "quote" : "post"
}

function userId(user: number): string {
  return String(20_000_000 + user * 7_919)
}

function usernameOf(user: number): string {
  return `${wordOf(user % 5_000, false)}_${user}`
}

/** The word of a rank, the most frequent first: it is in a third of all posts. */
export function frequentWord(rank: number): string {
  return wordOf(rank, false)
}

/** The rank of the word that often stands after another one. */
export function boundTo(rank: number): number {
  return (rank * 7 + 3) % 2_000
}

/** Six to thirty words, often a word after that to which it is bound. */
function wordsOf(chance: Chance, isOther: boolean): string[] {
  let rank = rankAt(chance.next())
  return Array.from({ length: 6 + Math.floor(chance.next() * 25) }, () => {
    rank = chance.next() < boundShare ? boundTo(rank) : rankAt(chance.next())
    return wordOf(rank, isOther)
  })
}

const consonants = ["bdfghklmnprstvz", "бдфгхклмнпрствз"] as const
const vowels = ["aeiou", "аеиоу"] as const
const syllables = 75

/** Syllables: the more frequent a word, the shorter. */
function wordOf(rank: number, isOther: boolean): string {
  const script = isOther ? 1 : 0
  let word = ""
  for (let rest = rank + 1; rest > 0; rest = Math.floor((rest - 1) / syllables)) {
    const syllable = (rest - 1) % syllables
    word += `${consonants[script][syllable % 15]}${vowels[script][Math.floor(syllable / 15)]}`
  }
  return word
}

/** For each rank, the sum of the frequencies up to it. */
const sums = new Float64Array(wordCount)
for (let [rank, sum] = [0, 0]; rank < wordCount; rank++) sums[rank] = sum += 1 / (rank + 2.7)

/** The rank at this fraction (0 to 1, exclusive) of the sum of all frequencies. */
function rankAt(fraction: number): number {
  const sought = fraction * (sums.at(-1) ?? 0)
  let [low, high] = [0, wordCount - 1]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sums[middle] ?? 0) > sought) high = middle
    else low = middle + 1
  }
  return low
}

function linkOf(chance: Chance) {
  const [host, page] = [wordOf(Math.floor(chance.next() ** 2 * 3_000), false), wordOf(rankAt(chance.next()), false)]
  const short = Math.floor(chance.next() * 2 ** 32).toString(36)
  return {
    start: 0,
    end: 23,
    url: `https://t.co/${short}`,
    expanded_url: `https://${host}.example.com/${page}/${short}`,
    display_url: `${host}.example.com/${page}`,
    title: wordsOf(chance, false).slice(0, 5).join(" "),
  }
}

function annotationOf(chance: Chance): Members {
  const [domain, entity] = [Math.floor(chance.next() * 60), Math.floor(chance.next() ** 3 * 20_000)]
  return {
    domain: { id: String(domain), name: wordOf(domain, false) },
    entity: { id: String(10_000 + entity), name: `${wordOf(entity, false)} ${wordOf(domain, false)}` },
  }
}

/** Numbers by chance, from 0 to 1, exclusive, the same ones for the same seed: mulberry32. */
class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = scrambled(seed)
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0
    return scrambled(this.#state) / 2 ** 32
  }
}

/** 32 bits that neighbouring numbers do not have in common. */
function scrambled(number: number): number {
  let bits = Math.imul(number ^ (number >>> 15), number | 1)
  bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
  return (bits ^ (bits >>> 14)) >>> 0
}
