/**
 * Any number of rules, of the shapes that people give them, about the given posts.
 *
 * The shapes are those of 206 real rules (`rules.ndjson` of the shared data: 242, of which 206 are accepted):
 *
 *     core          one clause 62 %, clauses joined by a space 9 %, one OR group 31 %, some of them with another clause
 *     clauses       keyword 36 %, hashtag 16 %, from: 13 %, to: 5 %, retweets_of: 4 %, place: 3 %, context: 3 %, areas 3 %,
 *                   phrase, mention, url: and conversation_id: 2 % each, the others 1 % or less each
 *     OR groups     2 branches 55 %, 3 11 %, 4 and 5 8 %, 6 to 10 14 %, 11 to 20 9 %, up to 94 3 %; in 71 % of the groups all
 *                   branches are of one kind; of all branches 48 % are hashtags, 14 % mentions, 13 % phrases, 12 %
 *                   keywords, 7 % from:, 2 % clauses joined by a space
 *     in addition   -is:retweet 17 %, has: 17 %, lang: 15 %, is: 4 %, -keyword 3 %, -phrase, -is:quote and sample: 1 % each
 *
 * The values come from the posts, drawn by frequency, and this differs from life in one respect: of all values in the
 * posts of a day, 16,000 posts hold only the common ones, so that every rule would match many of them. Here as there, a
 * rule that matches too much gets one more clause until it is narrow enough (`shareMax`). So clauses joined by a space
 * are more frequent than above. The usual rules have one operator in 18 % of cases, two in 32 %, three in 24 %, four in
 * 11 %.
 *
 * Clauses that name no value to look up (areas, numbers of followers, `url_contains:`) appear only where a rule is
 * narrowed, never alone as in 5 of the 206: a matcher must evaluate such rules on every post, and a bench in which they
 * took most of the time would measure nothing else.
 */
import type { Clause, ValueKind, Vocabulary } from "./vocabulary.ts"

/** Options of the mix. The same options give the same rules. */
export type RuleMix = {
  readonly vocabulary: Vocabulary
  readonly seed: number
  /**
   * Share of the posts that a rule may match, as its author guesses; some guess four times as many, others a quarter.
   */
  readonly shareMax: number
}

/** Rules as text, without end; `parseRule` accepts each. */
export function* ruleTexts({ vocabulary, seed, shareMax }: RuleMix): Generator<string, never> {
  const author = new Author(vocabulary, randomFractions(seed))
  for (;;) yield author.rule(shareMax)
}

/**
 * Rules of keywords alone, some of them negated, as every search engine can express them: the rarest first, without
 * end.
 */
export function* keywordRuleTexts({ vocabulary, seed, shareMax }: RuleMix): Generator<string, never> {
  const author = new Author(vocabulary, randomFractions(seed))
  for (;;) yield author.keywordRule(shareMax)
}

/** The text of a rule, and the share of the posts that its author expects it to match. */
type Draft = { readonly text: string; readonly share: number }

/** Weighted choices. */
type Odds<Choice> = readonly (readonly [weight: number, choice: Choice])[]

/** The mix narrows no rule further. */
const clausesMax = 6

const cores: Odds<ValueKind> = [
  [62, "keyword"],
  [28, "hashtag"],
  [22, "from"],
  [8, "to"],
  [7, "retweets_of"],
  [5, "place"],
  [5, "context"],
  [3, "phrase"],
  [3, "mention"],
  [3, "url"],
  [3, "conversation_id"],
  [2, "bio"],
  [2, "in_reply_to_tweet_id"],
  [2, "place_country"],
  [1, "retweets_of_tweet_id"],
  [1, "entity"],
  [1, "bio_name"],
  [1, "bio_location"],
  [1, "url_title"],
]

const groupShare = 0.31

const groupSizes: Odds<readonly [least: number, most: number]> = [
  [36, [2, 2]],
  [7, [3, 3]],
  [5, [4, 5]],
  [9, [6, 10]],
  [6, [11, 20]],
  [2, [21, 94]],
]

/** The kinds of a group's branches; one row is chosen for each group. */
const groups: Odds<Odds<ValueKind>> = [
  [20, [[1, "hashtag"]]],
  [14, [[1, "keyword"]]],
  [9, [[1, "from"]]],
  [2, [[1, "to"]]],
  [2, [[1, "bio"]]],
  [
    7,
    [
      [4, "hashtag"],
      [1, "keyword"],
    ],
  ],
  [
    7,
    [
      [1, "mention"],
      [1, "phrase"],
    ],
  ],
  [
    3,
    [
      [1, "keyword"],
      [1, "phrase"],
    ],
  ],
  [
    2,
    [
      [1, "from"],
      [1, "mention"],
    ],
  ],
]

const joinedBranchShare = 0.02

const narrowing: Odds<ValueKind | "area" | "count"> = [
  [62, "keyword"],
  [18, "hashtag"],
  [5, "phrase"],
  [4, "mention"],
  [3, "from"],
  [2, "context"],
  [2, "place_country"],
  [2, "area"],
  [1, "count"],
  [1, "url_contains"],
]

/** Clauses that a rule gets in addition, each with the share (0 to 1) of the rules that get one. */
const additions: readonly (readonly [share: number, texts: Odds<string>])[] = [
  [0.175, [[1, "-is:retweet"]]],
  [
    0.17,
    [
      [13, "has:media"],
      [5, "has:links"],
      [5, "has:geo"],
      [4, "has:images"],
      [2, "has:video_link"],
      [2, "has:hashtags"],
      [2, "has:mentions"],
      [2, "has:cashtags"],
    ],
  ],
  [
    0.04,
    [
      [3, "is:verified"],
      [2, "is:reply"],
      [2, "is:quote"],
      [1, "is:retweet"],
    ],
  ],
  [0.01, [[1, "-is:quote"]]],
  [0.005, [[1, "-is:nullcast"]]],
  [0.01, [[1, "sample:15"]]],
]

const langShare = 0.15

const negated: readonly (readonly [share: number, kind: ValueKind])[] = [
  [0.03, "keyword"],
  [0.015, "keyword"],
  [0.01, "phrase"],
  [0.005, "url"],
]

class Author {
  readonly #vocabulary: Vocabulary
  readonly #chance: () => number

  constructor(vocabulary: Vocabulary, chance: () => number) {
    this.#vocabulary = vocabulary
    this.#chance = chance
  }

  rule(shareMax: number): string {
    const core = this.#chance() < groupShare ? this.#group() : this.#draw(this.#choose(cores))
    const clauses = [core.text]
    const bearable = this.#about(shareMax)
    for (let { share } = core; share > bearable && clauses.length < clausesMax;) {
      const clause = this.#narrowing()
      clauses.push(clause.text)
      share *= clause.share
    }
    for (const [share, texts] of additions) if (this.#chance() < share) clauses.push(this.#choose(texts))
    if (this.#chance() < langShare) clauses.push(this.#draw("lang").text)
    for (const [share, kind] of negated) if (this.#chance() < share) clauses.push(`-${this.#draw(kind).text}`)
    return clauses.join(" ")
  }

  keywordRule(shareMax: number): string {
    const words = [this.#draw("keyword")]
    const bearable = this.#about(shareMax)
    for (let share = words[0]?.share ?? 0; share > bearable && words.length < clausesMax;) {
      const word = this.#draw("keyword")
      words.push(word)
      share *= word.share
    }
    const clauses = words.toSorted((left, right) => left.share - right.share).map(({ text }) => text)
    for (const [share, kind] of negated)
      if (kind === "keyword" && this.#chance() < share) clauses.push(`-${this.#draw(kind).text}`)
    return clauses.join(" ")
  }

  #about(value: number): number {
    return value * 4 ** (2 * this.#chance() - 1)
  }

  #group(): Draft {
    const [least, most] = this.#choose(groupSizes)
    const kinds = this.#choose(groups)
    const size = least + Math.floor(this.#chance() * (most - least + 1))
    const branches: Draft[] = []
    while (branches.length < size) branches.push(this.#branch(kinds))
    return {
      text: `(${branches.map(({ text }) => text).join(" OR ")})`,
      share: Math.min(
        1,
        branches.reduce((sum, { share }) => sum + share, 0),
      ),
    }
  }

  #branch(kinds: Odds<ValueKind>): Draft {
    const first = this.#draw(this.#choose(kinds))
    if (this.#chance() >= joinedBranchShare) return first
    const second = this.#draw("keyword")
    return { text: `(${first.text} ${second.text})`, share: first.share * second.share }
  }

  #narrowing(): Draft {
    const kind = this.#choose(narrowing)
    if (kind === "area") return { text: this.#area(), share: 0.01 }
    if (kind === "count") return { text: this.#count(), share: 0.3 }
    return this.#draw(kind)
  }

  /** An area in the inhabited latitudes. */
  #area(): string {
    const longitude = Math.round(this.#chance() * 340 - 170)
    const latitude = Math.round(this.#chance() * 100 - 40)
    return this.#chance() < 0.5
      ? `point_radius:[${longitude} ${latitude} 25mi]`
      : `bounding_box:[${longitude} ${latitude} ${longitude + 0.3} ${latitude + 0.3}]`
  }

  #count(): string {
    const least = 10 ** (2 + Math.floor(this.#chance() * 4))
    return this.#chance() < 0.5 ? `followers_count:${least}` : `tweets_count:${least}..${least * 10}`
  }

  /** Falls back to words where the posts have no value of the kind. */
  #draw(kind: ValueKind): Clause {
    const clause = this.#vocabulary[kind].at(this.#chance()) ?? this.#vocabulary.keyword.at(this.#chance())
    if (clause === undefined) throw new Error("posts without words")
    return clause
  }

  #choose<Choice>(odds: Odds<Choice>): Choice {
    let left = this.#chance() * odds.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of odds) {
      left -= weight
      if (left < 0) return choice
    }
    throw new Error("nothing to choose from")
  }
}

/** Numbers from 0 to 1, exclusive, the same for the same seed. Park and Miller's generator. */
function randomFractions(seed: number): () => number {
  const modulus = 2_147_483_647
  let state = (seed % (modulus - 1)) + 1
  return () => {
    state = (state * 48_271) % modulus
    return state / modulus
  }
}
