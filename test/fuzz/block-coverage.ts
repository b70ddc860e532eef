/**
 * Which blocks of the program ran, and how often: V8's own counters, read from inside.
 *
 * V8 tells ranges of source with counts, and leaves out every range that ran as often as the one
 * around it. So a block here is the source from one boundary up to the next, of all the boundaries
 * ever told: a boundary told for the first time halves a block, and both halves have the past of the
 * whole, as until then they always ran equally often.
 *
 * Counts are remembered by size: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, more. An input that takes a loop
 * round for the fourth time is news; one that takes it round for the hundredth is not. (The sizes are
 * those of "AFL" by Michał Zalewski.)
 */
import assert from "node:assert"
import { Session, type Profiler } from "node:inspector"

/** A block: the script it is in, and its number there at the moment. */
interface Block {
  readonly script: ScriptBlocks
  readonly start: number
}

/** Blocks of all scripts, counted. */
export interface BlockCount {
  /** Ran at least once. */
  readonly covered: number
  /** Told of by V8: all those in functions that were entered. */
  readonly known: number
}

/** What the guided run asks. */
export interface Coverage {
  /** Takes in what ran since the last question; whether any block ran for the first time, or a number of times of a new size. */
  learn(): boolean
  /** Blocks that ran since the last question and never before. They stay new until learnt or waived. */
  newBlocks(): readonly Block[]
  /** From now on the blocks count as having run. */
  waive(blocks: readonly Block[]): void
  count(): BlockCount
  /** Begins anew: only what ran before the first time, which is loading the modules, is covered. */
  forget(): void
}

/**
 * Counts in all scripts whose URL passes. Scripts must be loaded after this is made: what V8 has compiled
 * before has no counters. One at a time in a thread.
 */
export class BlockCoverage implements Coverage, Disposable {
  readonly #session = new Session()
  readonly #isMeasured: (url: string) => boolean
  readonly #scripts = new Map<string, ScriptBlocks>()
  #isLoading = true

  constructor(isMeasured: (url: string) => boolean) {
    this.#isMeasured = isMeasured
    this.#session.connect()
    this.#session.post("Profiler.enable")
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  }

  learn(): boolean {
    let isNew = false
    for (const script of this.#take()) if (script.learn()) isNew = true
    return isNew
  }

  newBlocks(): readonly Block[] {
    return this.#take().flatMap((script) => script.newStarts().map((start) => ({ script, start })))
  }

  waive(blocks: readonly Block[]): void {
    for (const { script, start } of blocks) script.waive(start)
  }

  count(): BlockCount {
    let covered = 0
    let known = 0
    for (const script of this.#scripts.values()) {
      covered += script.coveredCount
      known += script.knownCount
    }
    return { covered, known }
  }

  forget(): void {
    this.#take()
    for (const script of this.#scripts.values()) script.forget({ isLoading: this.#isLoading })
    this.#isLoading = false
  }

  [Symbol.dispose](): void {
    this.#session.post("Profiler.stopPreciseCoverage")
    this.#session.disconnect()
  }

  /** Scripts in which something ran since the last time, with their counts filled in. */
  #take(): readonly ScriptBlocks[] {
    // The session answers in the same thread, so before `post` returns.
    let result: readonly Profiler.ScriptCoverage[] = []
    this.#session.post("Profiler.takePreciseCoverage", (error, answer) => {
      if (error) throw error
      ;({ result } = answer)
    })
    return result.flatMap(({ url, functions }) => {
      if (!this.#isMeasured(url)) return []
      let script = this.#scripts.get(url)
      if (script === undefined) this.#scripts.set(url, (script = new ScriptBlocks()))
      script.fill(functions)
      return [script]
    })
  }
}

const anySize = 0xff

/** Covered, but no input's doing. */
const ranInLoading = 0x100

/** The blocks of a script, in the order of the source. */
class ScriptBlocks {
  /** Where each block begins. */
  readonly #starts: number[] = [0]
  #indexes: ReadonlyMap<number, number> = new Map([[0, 0]])
  /** A bit for each size of count with which the block ever ran. */
  readonly #sizes: number[] = [0]
  /** How often each ran lately. */
  #counts: Uint32Array = new Uint32Array(1)

  get knownCount(): number {
    return this.#starts.length
  }

  get coveredCount(): number {
    return this.#sizes.filter((sizes) => sizes !== 0).length
  }

  /** Functions come outermost first, and so do the ranges of each. */
  fill(functions: readonly Profiler.FunctionCoverage[]): void {
    const ranges = functions.flatMap((one) => one.ranges)
    for (const { startOffset, endOffset } of ranges) {
      this.#divide(startOffset)
      this.#divide(endOffset)
    }
    this.#counts = new Uint32Array(this.#starts.length)
    for (const { startOffset, endOffset, count } of ranges)
      this.#counts.fill(count, this.#indexOf(startOffset), this.#indexOf(endOffset))
  }

  learn(): boolean {
    let isNew = false
    for (const [index, count] of this.#counts.entries()) {
      const size = sizeOf(count)
      const sizes = this.#sizes[index] ?? 0
      if ((sizes & size) === size) continue
      this.#sizes[index] = sizes | size
      isNew = true
    }
    return isNew
  }

  newStarts(): readonly number[] {
    return this.#starts.filter(
      (_, index) => this.#counts[index] !== 0 && !((this.#sizes[index] ?? 0) & anySize),
    )
  }

  waive(start: number): void {
    const index = this.#indexOf(start)
    this.#sizes[index] = (this.#sizes[index] ?? 0) | 1
  }

  forget({ isLoading }: { isLoading: boolean }): void {
    for (const [index, sizes] of this.#sizes.entries())
      this.#sizes[index] = isLoading && this.#counts[index] !== 0 ? ranInLoading : sizes & ranInLoading
  }

  #divide(offset: number): void {
    if (this.#indexes.has(offset)) return
    const next = this.#starts.findIndex((start) => start > offset)
    const index = next < 0 ? this.#starts.length : next
    this.#starts.splice(index, 0, offset)
    this.#sizes.splice(index, 0, this.#sizes[index - 1] ?? 0)
    this.#indexes = new Map(this.#starts.map((start, at) => [start, at]))
  }

  /** Of the block that begins there. */
  #indexOf(start: number): number {
    const index = this.#indexes.get(start)
    assert(index !== undefined)
    return index
  }
}

function sizeOf(count: number): number {
  if (count <= 3) return [0, 1, 2, 4][count] ?? 0
  if (count <= 31) return count <= 7 ? 8 : count <= 15 ? 16 : 32
  return count <= 127 ? 64 : 128
}
