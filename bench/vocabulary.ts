/** Values of posts by frequency: the values that rules about these posts would name. */
import { parseRule } from "../packages/rules/src/index.ts"
import type { PostFacts } from "../packages/rules/src/index.ts"

/** Operators that a post has values for. */
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

/** A clause, and the share (0 to 1) of the posts that it matches. */
export type Clause = { readonly text: string; readonly share: number }

/** The clauses of each kind; empty for a kind without values. */
export type Vocabulary = Readonly<Record<ValueKind, Clauses>>

/** Clauses of one kind, drawn by frequency. */
class Clauses {
  readonly #clauses: readonly Clause[]
  /** For each clause, the sum of the shares up to it. */
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

  /** The clause at this fraction (0 to 1, exclusive) of the sum of all shares; undefined without clauses. */
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
 * The clauses that match the posts, as rules write them. Leaves out values that a rule cannot express, and clauses that
 * match more than a share `shareMax` of the posts (except countries and languages, which are few).
 */
export function vocabularyOf(posts: readonly PostFacts[], shareMax: number): Vocabulary {
  const clausesOf = (kind: ValueKind): Clauses => {
    const counts = new Map<string, number>()
    // An eighth of the posts has more than enough phrases.
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
  return parseRule(kind === "lang" ? `word ${text}` : text).ok
}

/** A copy that keeps no longer string alive from which it was cut. */
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

/** Runs of this many neighbouring words, as text; adjacent letters count as one word of two. */
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

/** Posts name a user by name and by id; people write the name. */
function usernames(post: PostFacts, name: "from" | "to" | "retweets_of"): readonly string[] {
  return post.keys(name).flatMap(({ key }) => (/^\d+$/.test(key) ? [] : `${name}:${key}`))
}

function hostsOf(post: PostFacts): readonly string[] {
  return post.linkTexts().flatMap((link) => {
    const host = /^(?:https?:\/\/)?(?:www\.)?([^/?#:]+\.[^/?#:]+)/.exec(link)?.[1]
    return host === undefined ? [] : host
  })
}
