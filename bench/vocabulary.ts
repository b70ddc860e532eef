/** What posts hold, by how many of them hold it: what rules about these posts would name. */
import { parseRule } from "../packages/rules/src/index.ts"
import type { PostFacts } from "../packages/rules/src/index.ts"

/** What can be drawn: operators that a post has values for. */
const valueKinds = [
  "keyword",
  "phrase",
  "hashtag",
  "mention",
  "from",
  "to",
  "retweets_of",
  "url",
  "url_title",
  "url_contains",
  "bio",
  "bio_name",
  "bio_location",
  "context",
  "entity",
  "place",
  "place_country",
  "conversation_id",
  "in_reply_to_tweet_id",
  "retweets_of_tweet_id",
  "lang",
] as const

/** An operator that a post has values for. */
export type ValueKind = (typeof valueKinds)[number]

/** A clause, and the share (0 to 1) of the posts of which it holds. */
export type Clause = { readonly text: string; readonly share: number }

/** The clauses of each kind; a kind of which no post has a value has none. */
export type Vocabulary = Readonly<Record<ValueKind, Clauses>>

/** Clauses of one kind, to be drawn by their frequency. */
class Clauses {
  readonly #clauses: readonly Clause[]
  /** For each clause, the shares up to it added up. */
  readonly #sums: Float64Array

  constructor(clauses: readonly Clause[]) {
    this.#clauses = clauses
    this.#sums = new Float64Array(clauses.length)
    let sum = 0
    for (const [index, { share }] of clauses.entries()) this.#sums[index] = sum += share
  }

  get size(): number {
    return this.#clauses.length
  }

  /** The clause at this fraction (0 to 1, exclusive) of all that the posts hold; undefined when there is none. */
  at(fraction: number): Clause | undefined {
    const sought = fraction * (this.#sums.at(-1) ?? 0)
    let [low, high] = [0, this.#sums.length - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sums[middle] ?? 0) > sought) high = middle
      else low = middle + 1
    }
    return this.#clauses[low]
  }
}

/**
 * The clauses that hold of the posts, as rules write them. Left out are those that hold of more than a share
 * `shareMax` of the posts (but for countries and languages, which are few), and what a rule cannot say.
 */
export function vocabularyOf(posts: readonly PostFacts[], shareMax: number): Vocabulary {
  const clausesOf = (kind: ValueKind): Clauses => {
    const counts = new Map<string, number>()
    // Of phrases, an eighth of the posts has more than enough.
    const counted = kind === "phrase" ? posts.filter((_, index) => index % 8 === 0) : posts
    for (const post of counted)
      for (const text of new Set(textsOf[kind](post))) counts.set(text, (counts.get(text) ?? 0) + 1)
    const isFew = kind === "lang" || kind === "place_country"
    const clauses: Clause[] = []
    for (const [text, count] of counts) {
      const share = count / counted.length
      if ((isFew || share <= shareMax) && maySay(text, kind)) clauses.push({ text: ownCopy(text), share })
    }
    return new Clauses(clauses)
  }
  return Object.fromEntries(valueKinds.map((kind) => [kind, clausesOf(kind)])) as Vocabulary
}

function maySay(text: string, kind: ValueKind): boolean {
  return parseRule(kind === "lang" ? `beside ${text}` : text).ok
}

/** A string that holds on to no longer one it was cut from. */
function ownCopy(text: string): string {
  return Buffer.from(text).toString()
}

const textsOf: Readonly<Record<ValueKind, (post: PostFacts) => readonly string[]>> = {
  keyword: (post) => runsOf(post, 1),
  phrase: (post) => [...runsOf(post, 2), ...runsOf(post, 3)].map((run) => `"${run}"`),
  hashtag: (post) => post.keys("hashtag").map(({ key }) => `#${key}`),
  mention: (post) => post.keys("mention").map(({ key }) => `@${key}`),
  from: (post) => usernames(post, "from"),
  to: (post) => usernames(post, "to"),
  retweets_of: (post) => usernames(post, "retweets_of"),
  url: (post) => hostsOf(post).map((host) => `url:"${host}"`),
  url_title: (post) => wordsOf(post, "title").map((word) => `url_title:"${word}"`),
  url_contains: (post) => hostsOf(post).map((host) => `url_contains:"${host.split(".").at(-2) ?? host}"`),
  bio: (post) => wordsOf(post, "bio").map((word) => `bio:"${word}"`),
  bio_name: (post) => wordsOf(post, "name").map((word) => `bio_name:"${word}"`),
  bio_location: (post) => wordsOf(post, "location").map((word) => `bio_location:"${word}"`),
  context: (post) => post.keys("context").map(({ key }) => `context:${key}`),
  entity: (post) => post.keys("entity").map(({ key }) => `entity:"${key}"`),
  place: (post) => post.keys("place").map(({ key }) => `place:"${key}"`),
  place_country: (post) => post.keys("place_country").map(({ key }) => `place_country:${key}`),
  conversation_id: (post) => post.keys("conversation_id").map(({ key }) => `conversation_id:${key}`),
  in_reply_to_tweet_id: (post) => post.keys("in_reply_to_tweet_id").map(({ key }) => `in_reply_to_tweet_id:${key}`),
  retweets_of_tweet_id: (post) => post.keys("retweets_of_tweet_id").map(({ key }) => `retweets_of_tweet_id:${key}`),
  lang: (post) => post.keys("lang").map(({ key }) => `lang:${key}`),
}

/** So many neighbours among the words that somebody wrote, as text; letters that touch count as one word of two. */
function runsOf(post: PostFacts, length: number): readonly string[] {
  const runs: string[] = []
  for (const { where, tokens } of post.passages("text")) {
    if (where === "url") continue
    for (let from = 0; from < tokens.length; from++) {
      const words: string[] = []
      let at = from
      while (words.length < length && at < tokens.length && tokens[at]?.text !== "") {
        let word = tokens[at++]?.text ?? ""
        if (tokens[at]?.glued === true) word += tokens[at++]?.text ?? ""
        words.push(word)
      }
      if (words.length === length) runs.push(words.join(" "))
    }
  }
  return runs
}

function wordsOf(post: PostFacts, zone: "title" | "bio" | "name" | "location"): readonly string[] {
  return post.passages(zone).flatMap(({ tokens }) => tokens.flatMap(({ text }) => (text === "" ? [] : text)))
}

/** Users are keyed by name and by id; people write the name. */
function usernames(post: PostFacts, name: "from" | "to" | "retweets_of"): readonly string[] {
  return post.keys(name).flatMap(({ key }) => (/^\d+$/.test(key) ? [] : `${name}:${key}`))
}

function hostsOf(post: PostFacts): readonly string[] {
  return post.linkTexts().flatMap((link) => {
    const host = /^(?:https?:\/\/)?(?:www\.)?([^/?#:]+\.[^/?#:]+)/.exec(link)?.[1]
    return host === undefined ? [] : host
  })
}
