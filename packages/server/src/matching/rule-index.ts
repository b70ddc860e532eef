/**
 * The live rules of all apps, in memory, kept level with the store by following its changes.
 *
 * It catches up before posts are matched (`followed-rules.ts`), so a rule whose addition was confirmed applies to every
 * post that comes after it, and each post is matched by exactly one version of every ruleset: what changes up to `seq`
 * have made of them. While all rules are read anew nothing is matched.
 *
 * It remembers what posts say about places and links, in the order in which they come, and reads the newest stored
 * ones when it is made (`stored-posts.ts`).
 */
import { setImmediate as nextRound } from "node:timers/promises"
import type { Envelope } from "@sluice/api"
import { EarlierPosts, parseRule, readPost, RuleMatcher, type Rule } from "@sluice/rules"
import { WalkedPost } from "@sluice/rules/walk"
import type { AppId, RuleId } from "../model/ids.ts"
import type { PostMatch } from "../model/match.ts"
import type { StoredRule } from "../model/rule.ts"
import { systemClock, type Clock } from "../runtime/clock.ts"
import type { Embeddings } from "../runtime/embeddings.ts"
import { keepErrorClasses } from "../runtime/error-codec.ts"
import { systemRandom, type Random } from "../runtime/random.ts"
import { FollowedRules, type RuleChangeSource } from "./followed-rules.ts"
import { ListedRules } from "./listed-rules.ts"
import { embeddingsIn, Similarities, type Similarity } from "./similarities.ts"
import { readStoredPosts, type PostSource } from "./stored-posts.ts"

/** The source of rules and of earlier posts: the part of a store that the index needs. */
export interface RuleSource extends RuleChangeSource, PostSource {}

/** Most refused rules that are reported. Ours: as many as of damaged records. */
const refusedReportedMax = 1_000

/** Rules need similarities, and there is no endpoint for them: they would silently match nothing. */
export class EmbeddingsMissing extends Error {
  override readonly name = "EmbeddingsMissing"
}

keepErrorClasses(EmbeddingsMissing)

/** Rules that are filed in a round of the event loop, some 2 ms. Ours. */
const turnFilingsMax = 1_000

/** Options of an index. */
interface RuleIndexOptions {
  readonly embeddings?: Embeddings | undefined
  /** Steps that the rules of one app may take for a post; rules beyond it are not evaluated. Absent: any number. */
  readonly ruleStepsPerAppMax?: number
  readonly clock?: Pick<Clock, "monotonicMs">
  /** Makes the key under which rules are hashed, so that no app can construct rules that collide. Default: the system's. */
  readonly random?: Pick<Random, "bytes">
  /**
   * Whether the index is made although a read of the source failed with this: without the rules, which are read again
   * when it is to catch up, and nothing is matched until then; or without what earlier posts said. Absent: it is not.
   */
  readonly survives?: (error: unknown) => boolean
}

/** Rules of an app that were not evaluated for posts, since others of the app had used all of its steps. */
export interface SkippedRules {
  readonly appId: AppId
  /** Posts for which some rules were not evaluated. */
  readonly posts: number
  /** Rules that were not evaluated, over these posts. */
  readonly rules: number
  readonly lastPostId: string
}

/** The rules, and what posts match. */
export class RuleIndex {
  readonly #followed: FollowedRules
  readonly #similarities: Similarities | undefined
  readonly #matcher: RuleMatcher
  /** Apps by the number under which the matcher knows them as owners; kept when their last rule goes. */
  readonly #apps: AppId[] = []
  readonly #owners = new Map<AppId, number>()
  /** Not returned by `takeSkipped` yet. */
  #skipped = new Map<AppId, { posts: number; rules: number; lastPostId: string }>()
  readonly #earlier = new EarlierPosts()
  /** The post that is walked now. It reads what earlier ones said. */
  readonly walked = new WalkedPost(this.#earlier)
  /** By the matcher's number. */
  readonly #rules = new ListedRules()
  readonly #numbers = new Map<RuleId, number>()
  /** Rules that an earlier version took and this one refuses, and why. */
  readonly #refused = new Map<RuleId, string>()
  #omitted = 0

  private constructor(source: RuleSource, { embeddings, ruleStepsPerAppMax, random = systemRandom }: RuleIndexOptions) {
    this.#followed = new FollowedRules(source, {
      has: (rule) => this.#has(rule),
      add: (rule) => this.#add(rule),
      remove: (id) => this.#remove(id),
      ids: () => [...this.#numbers.keys(), ...this.#refused.keys()],
    })
    const [first = 0, second = 0] = new Int32Array(Uint8Array.from(random.bytes(8)).buffer)
    this.#matcher = new RuleMatcher({
      hashKey: [first, second],
      ...(ruleStepsPerAppMax !== undefined && { ownerStepsMax: ruleStepsPerAppMax }),
    })
    this.#similarities = embeddings && new Similarities(embeddings)
  }

  /**
   * The index of every rule that the source has now. Throws `EmbeddingsMissing` when one of them needs embeddings
   * and there are none, and what a read of the source throws that it does not survive.
   */
  static async load(source: RuleSource, options: RuleIndexOptions = {}): Promise<RuleIndex> {
    const index = new RuleIndex(source, options)
    const matcher = index.#matcher
    matcher.deferFiling()
    const { clock = systemClock, survives = () => false } = options
    const readOrSurvive = async (read: () => Promise<void>): Promise<void> => {
      try {
        await read()
      } catch (error) {
        if (!survives(error)) throw error
      }
    }
    await readOrSurvive(() => index.catchUp())
    const learners = { matcher, earlier: index.#earlier, walked: index.walked, clock }
    await readOrSurvive(() => readStoredPosts(source, learners))
    while (!matcher.fileDeferred(turnFilingsMax)) await nextRound()
    return index
  }

  /** True when the rules are those of `seq`. While it is false, nothing is matched. */
  get isWhole(): boolean {
    return this.#followed.isWhole
  }

  /** The change of rulesets up to which the index has applied all changes. */
  get seq(): number {
    return this.#followed.seq
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

  /** Rules that posts matched and that their matches do not name, over all posts since the index was made. */
  get omitted(): number {
    return this.#omitted
  }

  /** Rules that match nothing, since this version refuses what an earlier one took; each with the reason. At most 1,000. */
  get refused(): readonly string[] {
    return Array.from(
      this.#refused.entries().take(refusedReportedMax),
      ([id, reason]) => `rule ${id} (refused by this version: ${reason})`,
    )
  }

  /**
   * Takes in what has changed before the call; of many or long rules a part in each round of the event loop. Those who
   * call while it runs share the next one: what it has read may be older than their call.
   */
  catchUp(): Promise<void> {
    return this.#followed.catchUp()
  }

  /**
   * Returns the matches of a post, as `match` does. The post has been walked, or is an envelope. Returns undefined
   * where only `match` can say: while the rules are read anew, or when one of them asks for similarities.
   */
  matchNow(post: WalkedPost | Envelope): readonly PostMatch[] | undefined {
    if (!this.#followed.isWhole || this.#needsSimilarity()) return undefined
    if (!(post instanceof WalkedPost)) return this.#matchOf(post, undefined)
    post.teach()
    return this.#matchesOf(this.#matcher.matchWalked(post), post, undefined)
  }

  #needsSimilarity(): boolean {
    return this.#similarities !== undefined && this.#matcher.requiredFields.has("similarity")
  }

  /**
   * Returns the matches of each post, in order: its rules by app, within an app oldest rule first, empty when it
   * matches none. `pause` is called after each post, and awaited when it returns a promise. Throws
   * `EmbeddingsUnavailable` when a rule asks for similarities and they are not available.
   */
  async match(
    envelopes: readonly Envelope[],
    pause: () => Promise<void> | undefined = () => undefined,
  ): Promise<readonly (readonly PostMatch[])[]> {
    const matches: (readonly PostMatch[])[] = []
    while (matches.length < envelopes.length) {
      if (!this.#followed.isWhole) await this.catchUp()
      await this.#matchUntilChange(envelopes.slice(matches.length), pause, matches)
    }
    return matches
  }

  /** Adds the matches of these posts, or of the first of them when rules change in a pause. */
  async #matchUntilChange(
    envelopes: readonly Envelope[],
    pause: () => Promise<void> | undefined,
    matches: (readonly PostMatch[])[],
  ): Promise<void> {
    const vectors = this.#needsSimilarity() ? await this.#similarities?.fetch(envelopes) : undefined
    // A rule may have come in meanwhile.
    while (this.#similarities?.isComplete === false) await this.#similarities.fetch([])
    const similarities = vectors && this.#similarities?.compare(vectors)
    const seq = this.#followed.seq
    if (!this.#followed.isWhole) return
    for (const [at, envelope] of envelopes.entries()) {
      matches.push(this.#matchOf(envelope, similarities?.[at]))
      const resting = pause()
      if (resting === undefined) continue
      await resting
      // Vectors are forgotten too when another batch finds that the endpoint has another model.
      if (!this.#followed.isWhole || this.#followed.seq !== seq || this.#isWithoutVectors()) return
    }
  }

  #isWithoutVectors(): boolean {
    return this.#similarities?.isComplete === false
  }

  #matchOf(envelope: Envelope, similarity: Similarity | undefined): readonly PostMatch[] {
    this.#earlier.learn(envelope)
    const earlier = this.#earlier
    const post = readPost(envelope, similarity === undefined ? { earlier } : { earlier, similarity })
    return this.#matchesOf(this.#matcher.match(post), envelope.data, similarity)
  }

  #matchesOf(
    numbers: readonly number[],
    post: { readonly id: string },
    similarity: Similarity | undefined,
  ): readonly PostMatch[] {
    for (const { owner, rules } of this.#matcher.skippedRules) this.#noteSkipped(owner, rules, post.id)
    if (numbers.length === 0) return []
    const rulesSeq = this.#followed.seq
    const matches: PostMatch[] = []
    for (const [owner, matched] of this.#rules.byOwner(numbers)) {
      const appId = this.#apps[owner]
      if (appId === undefined) continue
      const { rules, omitted } = this.#rules.list(matched, similarity)
      this.#omitted += omitted
      matches.push({ appId, rulesSeq, rules, ...(omitted > 0 && { omitted }) })
    }
    return matches
  }

  /** Rules not evaluated since the last call, by app; empty as long as no app takes more steps than it has. */
  takeSkipped(): readonly SkippedRules[] {
    if (this.#skipped.size === 0) return []
    const taken = Array.from(this.#skipped, ([appId, counts]) => ({ appId, ...counts }))
    this.#skipped = new Map()
    return taken
  }

  #noteSkipped(owner: number, rules: number, lastPostId: string): void {
    const appId = this.#apps[owner]
    if (appId === undefined) return
    const before = this.#skipped.get(appId) ?? { posts: 0, rules: 0 }
    this.#skipped.set(appId, { posts: before.posts + 1, rules: before.rules + rules, lastPostId })
  }

  #ownerOf(appId: AppId): number {
    const known = this.#owners.get(appId)
    if (known !== undefined) return known
    const owner = this.#apps.push(appId) - 1
    this.#owners.set(appId, owner)
    return owner
  }

  #has({ id, tag }: StoredRule): boolean {
    const number = this.#numbers.get(id)
    // A rule's value never changes.
    return number !== undefined && this.#rules.matching(number)?.tag === tag
  }

  #add(stored: StoredRule): void {
    this.#remove(stored.id)
    const rule = this.#parse(stored)
    if (rule === undefined) return
    const { id, appId, tag } = stored
    const owner = this.#ownerOf(appId)
    const number = this.#matcher.add(rule, owner)
    const embeddings = embeddingsIn(rule)
    this.#rules.set(number, owner, { id, tag: tag ?? "" }, embeddings)
    this.#numbers.set(id, number)
    for (const { value } of embeddings) this.#similarities?.add(value)
  }

  /** A rule that does not parse is left out and reported; the others are served. */
  #parse(stored: StoredRule): Rule | undefined {
    const parsed = parseRule(stored.value, { lengthMax: Number.POSITIVE_INFINITY, embeddings: true })
    if (!parsed.ok) {
      this.#refused.set(stored.id, parsed.problems[0]?.message ?? "no reason")
      return undefined
    }
    if (this.#similarities === undefined && embeddingsIn(parsed.rule).length > 0) {
      throw new EmbeddingsMissing(`Stored rule ${stored.id} has embedding:, and there is no endpoint for it.`)
    }
    return parsed.rule
  }

  #remove(id: RuleId): void {
    this.#refused.delete(id)
    const number = this.#numbers.get(id)
    if (number === undefined) return
    this.#numbers.delete(id)
    this.#matcher.remove(number)
    for (const { value } of this.#rules.embeddings(number)) this.#similarities?.remove(value)
    this.#rules.delete(number)
  }
}
