/**
 * The positions of the words of one post by term, and the evaluation of phrases and proximities with them.
 *
 *     post   the cat saw the dog          the ─► 0 3    cat ─► 1    saw ─► 2    dog ─► 4
 *
 * Evaluation begins at the rarest word, so that a word that fills the post costs nothing if another one occurs once.
 * The definitions, simple and slow, are in `phrase.ts` and `near.ts`.
 *
 * Reading a position, or a word of a query, is a step. Steps are counted, because they bound the work that untrusted
 * rules and posts can cause (`rule-cost.ts`).
 */

import { nearWordsMax, textGap } from "../text/near.ts"

/** A proximity, or a long phrase, by terms. */
export type NearPlan = {
  /** For each word its term, shifted left by one; the lowest bit is set if it must touch the word before it. */
  readonly words: Int32Array
  /**
   * Three integers for each run of touching words: index of the first, number of words, index of the last equal run
   * before it or -1.
   */
  readonly runs: Int32Array
  readonly distance: number
}

/** Greater than every position. */
const nowhere = 0x7fffffff

/**
 * The positions of the current post. Each token is two integers: its term with whether it is glued, and its term
 * without skin tone.
 */
export class WordPositions {
  #steps = 0
  #tokens: Int32Array = new Int32Array(0)
  #tokensLength = 0
  #present: Int32Array = new Int32Array(0)
  #presentCount = 0
  #isIndexed = false
  /** Bucket of each present term. */
  #buckets = new Int32Array(64)
  /** Start of the positions of each bucket; they end at the start of the next. */
  #begins = new Int32Array(64)
  #positions = new Int32Array(256)
  // For each run of the current query: the next position of its anchor, the end of these positions, the index of the
  // anchor among its words, and the next position of the run.
  readonly #next = new Int32Array(nearWordsMax)
  readonly #end = new Int32Array(nearWordsMax)
  readonly #anchor = new Int32Array(nearWordsMax)
  readonly #start = new Int32Array(nearWordsMax)

  /** Steps taken so far, over all posts. */
  get steps(): number {
    return this.#steps
  }

  /** Number of positions of the post, gaps included. */
  get length(): number {
    return this.#tokensLength / 2
  }

  /** Sets the current post: its tokens and its terms, with the number of integers in use of each. */
  begin(tokens: Int32Array, tokensLength: number, present: Int32Array, presentCount: number): void {
    this.#tokens = tokens
    this.#tokensLength = tokensLength
    this.#present = present
    this.#presentCount = presentCount
    this.#isIndexed = false
  }

  /** Like `hasPhrase` of `phrase.ts`, for words that are `count` integers of the page. All of them must be present. */
  hasPhrase(page: Int32Array, begin: number, count: number): boolean {
    if (!this.#isIndexed) this.#index()
    const rarest = this.#rarestOf(page, begin, begin + count) - begin
    const bucket = this.#bucketOf(page[begin + rarest] ?? 0)
    const end = this.#begins[bucket + 1] ?? 0
    for (let index = this.#begins[bucket] ?? 0; index < end; index++)
      if (this.#startsAt(page, begin, count, (this.#positions[index] ?? 0) - rarest)) return true
    return false
  }

  /** Maximum steps of `hasPhrase` for these words. */
  phraseStepsMax(page: Int32Array, begin: number, count: number): number {
    if (!this.#isIndexed) this.#index()
    const bucket = this.#bucketOf(page[this.#rarestOf(page, begin, begin + count)] ?? 0)
    return count * (1 + this.#countOf(bucket))
  }

  /**
   * Like `hasNear` of `near.ts`. All words must be present.
   *
   * For one `at`, every run must start between `at + i` and `at + i + distance`, where i is the index of its first
   * word. The first possible starts increase with `at`. So a run that starts after its range gives a lower bound for
   * `at`, and the values below it are skipped.
   */
  hasNear({ words, runs, distance }: NearPlan): boolean {
    if (runs.length === 0) return false
    if (!this.#isIndexed) this.#index()
    const rarest = this.#startRuns(words, runs)
    const rarestBegin = runs[rarest * 3] ?? 0
    for (let at = -textGap; ;) {
      const start = this.#seek(words, runs, rarest, at + rarestBegin)
      if (start === nowhere) return false
      at = Math.max(at, start - rarestBegin - distance)
      const behind = this.#nextStart(words, runs, distance, at)
      if (behind === at) return true
      if (behind === nowhere) return false
      at = behind
    }
  }

  /** A lower bound for `at`, from the first run that starts after its range; `at` if there is no such run. */
  #nextStart(words: Int32Array, runs: Int32Array, distance: number, at: number): number {
    for (let run = 0; run * 3 < runs.length; run++) {
      const begin = runs[run * 3] ?? 0
      const equal = runs[run * 3 + 2] ?? -1
      const free = equal < 0 ? 0 : (this.#start[equal] ?? 0) + (runs[equal * 3 + 1] ?? 0)
      const start = this.#seek(words, runs, run, Math.max(at + begin, free))
      if (start === nowhere) return nowhere
      if (start > at + begin + distance) return start - begin - distance
    }
    return at
  }

  /** Resets the runs to the beginning of the post. Returns the run with the rarest anchor. */
  #startRuns(words: Int32Array, runs: Int32Array): number {
    let rarest = 0
    let fewest = nowhere
    for (let run = 0; run * 3 < runs.length; run++) {
      const begin = runs[run * 3] ?? 0
      const anchor = this.#rarestOf(words, begin, begin + (runs[run * 3 + 1] ?? 0))
      const bucket = this.#bucketOf(words[anchor] ?? 0)
      this.#anchor[run] = anchor - begin
      this.#next[run] = this.#begins[bucket] ?? 0
      this.#end[run] = this.#begins[bucket + 1] ?? 0
      this.#start[run] = -1
      if (this.#countOf(bucket) >= fewest) continue
      fewest = this.#countOf(bucket)
      rarest = run
    }
    return rarest
  }

  /** The first position, at `from` or after it, at which the run starts. `from` must not decrease between calls. */
  #seek(words: Int32Array, runs: Int32Array, run: number, from: number): number {
    this.#steps++
    const known = this.#start[run] ?? -1
    if (known >= 0 && known >= from) return known
    const begin = runs[run * 3] ?? 0
    const length = runs[run * 3 + 1] ?? 0
    const anchor = this.#anchor[run] ?? 0
    const end = this.#end[run] ?? 0
    const isPlain = length === 1 && ((words[begin] ?? 0) & 1) === 0
    let index = this.#firstAt(this.#next[run] ?? 0, end, from + anchor)
    if (!isPlain) while (index < end && !this.#startsAt(words, begin, length, this.#at(index) - anchor)) index++
    this.#next[run] = index
    const start = index < end ? this.#at(index) - anchor : nowhere
    this.#start[run] = start
    return start
  }

  /**
   * Index of the first position from `begin` to `end` that is at least `least`; `end` if there is none. Galloping
   * search.
   */
  #firstAt(begin: number, end: number, least: number): number {
    if (begin >= end || this.#at(begin) >= least) return begin
    let low = begin
    let high = begin + 1
    for (let stride = 2; high < end && this.#at(high) < least; stride *= 2) {
      this.#steps++
      low = high
      high = Math.min(high + stride, end)
    }
    while (high - low > 1) {
      this.#steps++
      const middle = (low + high) >> 1
      if (this.#at(middle) < least) low = middle
      else high = middle
    }
    return high
  }

  #at(index: number): number {
    return this.#positions[index] ?? 0
  }

  /** True if the words begin at the position. Words of other zones have other terms, and gaps have none. */
  #startsAt(page: Int32Array, begin: number, count: number, at: number): boolean {
    const tokens = this.#tokens
    for (let index = 0; index < count; index++) {
      this.#steps++
      const word = page[begin + index] ?? 0
      const token = tokens[(at + index) * 2] ?? 0
      const isEqual = token >>> 1 === word >>> 1 || tokens[(at + index) * 2 + 1] === word >>> 1
      if (!isEqual || (token & 1) < (word & 1)) return false
    }
    return true
  }

  /** Index of the word with the fewest positions. */
  #rarestOf(page: Int32Array, begin: number, end: number): number {
    let rarest = begin
    let fewest = nowhere
    for (let index = begin; index < end; index++) {
      this.#steps++
      const count = this.#countOf(this.#bucketOf(page[index] ?? 0))
      if (count >= fewest) continue
      fewest = count
      rarest = index
    }
    return rarest
  }

  #bucketOf(word: number): number {
    return this.#buckets[word >>> 1] ?? 0
  }

  #countOf(bucket: number): number {
    return (this.#begins[bucket + 1] ?? 0) - (this.#begins[bucket] ?? 0)
  }

  /** Called once for a post, when the first phrase or proximity is evaluated. */
  #index(): void {
    this.#isIndexed = true
    this.#assignBuckets()
    const [begins, buckets, tokens] = [this.#begins, this.#buckets, this.#tokens]
    begins.fill(0, 0, this.#presentCount + 2)
    // Counting sort. Counts are stored one bucket further on, so that filling in leaves each start in start.
    for (let at = 0; at < this.#tokensLength; at += 2) {
      const term = (tokens[at] ?? 0) >>> 1
      const toneless = tokens[at + 1] ?? 0
      if (term !== 0) begins[(buckets[term] ?? 0) + 2] = (begins[(buckets[term] ?? 0) + 2] ?? 0) + 1
      if (toneless !== 0) begins[(buckets[toneless] ?? 0) + 2] = (begins[(buckets[toneless] ?? 0) + 2] ?? 0) + 1
    }
    for (let bucket = 2; bucket <= this.#presentCount + 1; bucket++)
      begins[bucket] = (begins[bucket] ?? 0) + (begins[bucket - 1] ?? 0)
    const total = begins[this.#presentCount + 1] ?? 0
    if (this.#positions.length < total) this.#positions = new Int32Array(total * 2)
    for (let at = 0; at < this.#tokensLength; at += 2) {
      this.#addPosition((tokens[at] ?? 0) >>> 1, at >> 1)
      this.#addPosition(tokens[at + 1] ?? 0, at >> 1)
    }
  }

  #assignBuckets(): void {
    if (this.#begins.length < this.#presentCount + 2) this.#begins = new Int32Array((this.#presentCount + 2) * 2)
    let highest = 0
    for (let index = 0; index < this.#presentCount; index++) highest = Math.max(highest, this.#present[index] ?? 0)
    if (this.#buckets.length <= highest) this.#buckets = new Int32Array((highest + 1) * 2)
    for (let index = 0; index < this.#presentCount; index++) this.#buckets[this.#present[index] ?? 0] = index
  }

  #addPosition(term: number, position: number): void {
    if (term === 0) return
    const bucket = (this.#buckets[term] ?? 0) + 1
    const index = this.#begins[bucket] ?? 0
    this.#positions[index] = position
    this.#begins[bucket] = index + 1
  }
}
