/** Generated posts, for benches that need more posts than the real ones, or posts of one size. */

const firstId = 1_900_000_000_000_000_000n
/** From one id to the next: a millisecond, as ids of X count. */
const idStep = 4_194_304n

/** Author of every generated post. */
export const madeAuthor = "7"

/** Word of every generated post. */
export const madeWord = "sluicebench"

/** Id of the generated post of this number. */
function madeId(index: number): string {
  return (firstId + BigInt(index) * idStep).toString()
}

/** Options of generated posts. */
interface MadeOptions {
  readonly wordCount?: number
  /** The author's description; by default the text of the post, so that the author changes with every post. */
  readonly profile?: string
}

/**
 * An envelope as a line of NDJSON; with 30 words about 1,450 bytes, like the mean of real envelopes with their
 * includes cut. With 110 words, a delivery of its default fields has about 1.2 KB.
 */
export function madeEnvelope(index: number, { wordCount = 30, profile }: MadeOptions = {}): string {
  const id = madeId(index)
  const words = Array.from({ length: wordCount }, (_, word) =>
    word === 0 ? madeWord : `word${(index * 31 + word * 7919) % 20_000}`,
  ).join(" ")
  return `${JSON.stringify({
    data: {
      id,
      text: words,
      author_id: madeAuthor,
      created_at: new Date(1_740_000_000_000 + index).toISOString(),
      conversation_id: id,
      lang: "en",
      edit_history_tweet_ids: [id],
      public_metrics: { retweet_count: 1, reply_count: 2, like_count: 3, quote_count: 4 },
      entities: {
        annotations: Array.from({ length: 3 }, (_, start) => ({
          start,
          end: start + 5,
          probability: 0.9,
          type: "Place",
        })),
      },
    },
    includes: {
      users: [{ id: madeAuthor, username: "author", name: "Author", description: profile ?? words, verified: false }],
    },
  })}\n`
}

/** Returns generated envelopes one after the other, each once. */
export class MadePosts {
  readonly #options: MadeOptions
  #next = 0

  constructor(options: MadeOptions = {}) {
    this.#options = options
  }

  /** The next posts, as NDJSON. */
  take(count: number): string {
    const lines = Array.from({ length: count }, (_, at) => madeEnvelope(this.#next + at, this.#options))
    this.#next += count
    return lines.join("")
  }
}
