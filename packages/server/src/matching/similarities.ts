/**
 * Similarities in meaning between posts and the texts of `embedding:` in rules.
 *
 * The vector of a rule's text is kept for as long as a rule has the text; those of posts are fetched batch by batch
 * and dropped. A text of a rule that has no vector yet is sent with the next batch, so a server starts, and a rule is
 * indexed, whether the endpoint is up or not; only a batch needs it.
 */
import type { Envelope } from "@sluice/api"
import type { Operator, Rule } from "@sluice/rules"
import { EmbeddingsUnavailable, type Embeddings } from "../runtime/embeddings.ts"

/** The part of a rule that `embedding:` makes. */
export type EmbeddingOperator = Extract<Operator, { kind: "embedding" }>

/** Cosine of a post and a rule's text, -1 to 1, to six places; undefined when the post has no text to compare. */
export type Similarity = (ruleText: string) => number | undefined

/** The vector of each post of a batch, in order; undefined when the post has no text to compare. */
export type PostVectors = readonly (Float32Array | undefined)[]

/** Most characters of a post that are compared, from its beginning: models take little more. Ours. */
const textCharactersMax = 2_000

/** Similarities of posts to the texts of the rules that were added. */
export class Similarities {
  readonly #embeddings: Embeddings
  readonly #texts = new Map<string, { users: number; vector?: Float32Array }>()

  constructor(embeddings: Embeddings) {
    this.#embeddings = embeddings
  }

  /** Counts a rule that compares posts with the text. */
  add(text: string): void {
    const known = this.#texts.get(text)
    if (known === undefined) this.#texts.set(text, { users: 1 })
    else known.users += 1
  }

  /** Drops a text with its last rule. */
  remove(text: string): void {
    const known = this.#texts.get(text)
    if (known === undefined) return
    known.users -= 1
    if (known.users === 0) this.#texts.delete(text)
  }

  /** False when a text has no vector yet: then no post may be compared. */
  get isComplete(): boolean {
    return this.#missing().length === 0
  }

  /** Fetches the vectors of these posts, and those of texts that have none. Throws `EmbeddingsUnavailable`. */
  async fetch(envelopes: readonly Envelope[]): Promise<PostVectors> {
    const texts = envelopes.map(comparedText)
    const distinct = [...new Set(texts.filter((text) => text !== undefined))]
    const missing = this.#missing()
    const vectors = await this.#embeddings.of([...missing, ...distinct])
    for (const [at, text] of missing.entries()) {
      const [known, vector] = [this.#texts.get(text), vectors[at]]
      if (known !== undefined && vector !== undefined) known.vector = vector
    }
    const slots = new Map(distinct.map((text, at) => [text, missing.length + at]))
    return texts.map((text) => (text === undefined ? undefined : vectors[slots.get(text) ?? -1]))
  }

  /** The similarities of each post, in order. Throws `EmbeddingsUnavailable` when sizes of vectors differ. */
  compare(posts: PostVectors): readonly Similarity[] {
    this.#rejectMixedSizes(posts)
    return posts.map((post) => this.#similarityOf(post))
  }

  #missing(): readonly string[] {
    return Array.from(this.#texts).flatMap(([text, { vector }]) => (vector === undefined ? [text] : []))
  }

  /** The endpoint may have changed to another model: then its earlier vectors are useless. */
  #rejectMixedSizes(posts: PostVectors): void {
    const vectors = [...Array.from(this.#texts.values(), ({ vector }) => vector), ...posts]
    const sizes = new Set(vectors.flatMap((vector) => vector?.length ?? []))
    if (sizes.size <= 1) return
    for (const known of this.#texts.values()) delete known.vector
    throw new EmbeddingsUnavailable(`responded with vectors of another size than before: ${[...sizes].join(", ")}`, {
      mayPass: true,
    })
  }

  #similarityOf(post: Float32Array | undefined): Similarity {
    if (post === undefined) return () => undefined
    return (text) => {
      const vector = this.#texts.get(text)?.vector
      return vector === undefined ? undefined : cosine(vector, post)
    }
  }
}

/** The `embedding:` operators of a rule, from left to right. None of them is negated: rules are parsed so. */
export function embeddingsIn(rule: Rule): readonly EmbeddingOperator[] {
  switch (rule.kind) {
    case "any":
    case "all":
      return rule.rules.flatMap(embeddingsIn)
    case "not":
      return embeddingsIn(rule.rule)
    case "embedding":
      return [rule]
    default:
      return []
  }
}

/** The text of a post; of a repost that of its original, since its own is cut off. Undefined when it is blank. */
function comparedText({ data, includes }: Envelope): string | undefined {
  const original = objectsOf(data.referenced_tweets).find(({ type }) => type === "retweeted")
  const included = original && objectsOf(includes?.tweets).find(({ id }) => id === original.id)
  const text = typeof included?.text === "string" ? included.text : data.text
  return text.trim() === "" ? undefined : text.slice(0, textCharactersMax)
}

/** The objects of an untyped list; none when it is no list. */
function objectsOf(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(list)) return []
  return list.filter((item) => typeof item === "object" && item !== null)
}

/**
 * The cosine of two vectors of length 1, rounded so that the similarity of a text to itself is 1 despite floating-point
 * errors.
 */
function cosine(left: Float32Array, right: Float32Array): number {
  let sum = 0
  for (let at = 0; at < left.length; at++) sum += (left[at] ?? 0) * (right[at] ?? 0)
  return Math.round(sum * 1e6) / 1e6
}
