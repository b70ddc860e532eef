/**
 * The live rules of all apps, in memory, kept level with the store by following its changes.
 *
 * It catches up before posts are matched, so a rule whose addition was answered takes part in whatever comes in after
 * it, and each post is matched by exactly one version of every ruleset.
 *
 * It remembers what posts tell of places and links, in the order in which they come, and reads the newest stored
 * ones when it is made: a repost matches by the place of its original over a restart too.
 */
import type { Envelope, MatchingRule } from "@sluice/api"
import { EarlierPosts, parseRule, readPost, RuleMatcher, type Rule } from "@sluice/rules"
import type { AppId, RuleId } from "../model/ids.ts"
import type { PostMatch } from "../model/match.ts"
import type { StoredPost } from "../model/post.ts"
import type { RuleChange, StoredRule } from "../model/rule.ts"
import type { Embeddings } from "../runtime/embeddings.ts"
import { embeddingsIn, Similarities, type EmbeddingOperator, type Similarity } from "./similarities.ts"

/** Where rules come from, and posts of earlier times: the part of a store that the index needs. */
export interface RuleSource {
  allRules(): Promise<{ readonly rules: readonly StoredRule[]; readonly seq: number }>
  ruleChanges(after: number, limit: number): Promise<readonly RuleChange[]>
  recentPosts(limit: number): Promise<readonly StoredPost[]>
}

/** Rules that ask for similarities, where none can be had: they would silently match nothing. */
export class EmbeddingsMissing extends Error {
  override readonly name = "EmbeddingsMissing"
}

/** Most changes read at once. */
const changesMax = 1_000

/** Newest posts that are read again for what they tell. Ours: they cost 0.1 to 0.3 s of a start. */
const earlierPostsMax = 5_000

/** What of a rule goes into a match, made once. */
interface IndexedRule {
  readonly appId: AppId
  readonly matching: MatchingRule
  /** Its texts that posts are compared with; most rules have none. */
  readonly embeddings: readonly EmbeddingOperator[]
}

/** The rules, and what posts match. */
export class RuleIndex {
  readonly #source: RuleSource
  readonly #similarities: Similarities | undefined
  readonly #matcher = new RuleMatcher()
  readonly #earlier = new EarlierPosts()
  /** By the matcher's number. */
  readonly #rules: (IndexedRule | undefined)[] = []
  readonly #numbers = new Map<RuleId, number>()
  #seq = 0

  private constructor(source: RuleSource, embeddings: Embeddings | undefined) {
    this.#source = source
    this.#similarities = embeddings && new Similarities(embeddings)
  }

  /**
   * The index of every rule that the source has now. Throws `EmbeddingsMissing` when one of them needs embeddings
   * and there are none.
   */
  static async load(
    source: RuleSource,
    { embeddings }: { readonly embeddings?: Embeddings | undefined } = {},
  ): Promise<RuleIndex> {
    const index = new RuleIndex(source, embeddings)
    const { rules, seq } = await source.allRules()
    for (const rule of rules) index.#add(rule)
    index.#seq = seq
    await index.catchUp()
    // Oldest first, so that the newest are remembered longest.
    for (const post of (await source.recentPosts(earlierPostsMax)).toReversed()) index.#learnAgain(post)
    return index
  }

  /** The change of rulesets up to which the index has taken everything in. */
  get seq(): number {
    return this.#seq
  }

  /** Number of rules, of all apps. */
  get size(): number {
    return this.#matcher.size
  }

  /** Number of rules that every post is tested against, since they have no selective term. */
  get scanned(): number {
    return this.#matcher.scanListLength
  }

  /** Rules that were compared with a post, over all posts since the index was made. */
  get candidates(): number {
    return this.#matcher.candidatesTotal
  }

  /** Takes in what has changed since the last time. */
  async catchUp(): Promise<void> {
    for (;;) {
      const changes = await this.#source.ruleChanges(this.#seq, changesMax)
      for (const change of changes) {
        // Two who catch up at once read the same changes; a change takes effect once.
        if (change.seq <= this.#seq) continue
        if (change.kind === "added") this.#add(change.rule)
        else this.#remove(change.ruleId)
        this.#seq = change.seq
      }
      if (changes.length < changesMax) return
    }
  }

  /**
   * What each post matches, in order: its rules by app, within an app oldest rule first, empty when it matches none.
   * Throws `EmbeddingsUnavailable` when a rule asks for similarities and they cannot be had.
   */
  async match(envelopes: readonly Envelope[]): Promise<readonly (readonly PostMatch[])[]> {
    const asks = this.#matcher.asks.has("similarity")
    const vectors = asks ? await this.#similarities?.fetch(envelopes) : undefined
    // A rule may have come in meanwhile.
    while (this.#similarities?.isComplete === false) await this.#similarities.fetch([])
    // From here on nothing waits: the rules stay as they are until the last post.
    const similarities = vectors && this.#similarities?.compare(vectors)
    return envelopes.map((envelope, at) => this.#matchOf(envelope, similarities?.[at]))
  }

  #matchOf(envelope: Envelope, similarity: Similarity | undefined): readonly PostMatch[] {
    this.#earlier.learn(envelope)
    const earlier = this.#earlier
    const post = readPost(envelope, similarity === undefined ? { earlier } : { earlier, similarity })
    const numbers = this.#matcher.match(post)
    if (numbers.length === 0) return []
    const found = numbers.flatMap((number) => this.#rules[number] ?? [])
    const byApp = Map.groupBy(found.toSorted(byAge), ({ appId }) => appId)
    return Array.from(byApp, ([appId, rules]: [AppId, IndexedRule[]]) => ({
      appId,
      rules: rules.map((rule) => asMatching(rule, similarity)),
    }))
  }

  #add(stored: StoredRule): void {
    this.#remove(stored.id)
    const rule = this.#parse(stored)
    const number = this.#matcher.add(rule)
    const { id, appId, tag } = stored
    const embeddings = embeddingsIn(rule)
    this.#rules[number] = { appId, matching: { id, ...(tag !== undefined && { tag }) }, embeddings }
    this.#numbers.set(id, number)
    for (const { value } of embeddings) this.#similarities?.add(value)
  }

  #parse(stored: StoredRule): Rule {
    const parsed = parseRule(stored.value, { lengthMax: Number.POSITIVE_INFINITY, embeddings: true })
    // A rule is stored only when it parses, and what parses once must go on to: this is ours, not the caller's.
    if (!parsed.ok) {
      throw new Error(`Stored rule ${stored.id} does not parse: ${parsed.problems[0]?.message}`)
    }
    if (this.#similarities === undefined && embeddingsIn(parsed.rule).length > 0) {
      throw new EmbeddingsMissing(`Stored rule ${stored.id} has embedding:, and there is no endpoint for it.`)
    }
    return parsed.rule
  }

  #remove(id: RuleId): void {
    const number = this.#numbers.get(id)
    if (number === undefined) return
    this.#numbers.delete(id)
    this.#matcher.remove(number)
    for (const { value } of this.#rules[number]?.embeddings ?? []) this.#similarities?.remove(value)
    this.#rules[number] = undefined
  }

  /** Most posts tell nothing, and looking for the words is faster than reading the post. */
  #learnAgain({ json }: StoredPost): void {
    if (json.includes('"places"') || json.includes('"unwound_url"')) this.#earlier.learn(JSON.parse(json))
  }
}

function byAge({ matching: a }: IndexedRule, { matching: b }: IndexedRule): number {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : 1)
}

/** With the most similar of the rule's texts that the post is similar enough to, if there is any. */
function asMatching({ matching, embeddings }: IndexedRule, similarity: Similarity | undefined): MatchingRule {
  const holding = embeddings.flatMap(({ value, threshold }) => {
    const found = similarity?.(value) ?? Number.NEGATIVE_INFINITY
    return found >= threshold ? [{ embedding_similarity: found, embedding_threshold: threshold }] : []
  })
  const [nearest] = holding.toSorted((a, b) => b.embedding_similarity - a.embedding_similarity)
  return nearest === undefined ? matching : { ...matching, ...nearest }
}
