/**
 * Blocks of the program that ran, and how often: V8's own counters, read from inside.
 *
 * V8 reports ranges of source with counts, and leaves out every range that ran as often as the one around it. So a
 * block here is the source from one boundary up to the next, of all the boundaries ever reported. A boundary reported
 * for the first time divides a block, and its second part is a separate block from then on.
 *
 * A trait is a block and its count, by size: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, more. An input that runs a loop for the
 * fourth time is new; one that runs it for the hundredth is not. (The sizes are those of "AFL" by Michał Zalewski.)
 */
import assert from "node:assert"
import { Session, type Profiler } from "node:inspector"

/** A block and the size of its count, as a stable number. */
export type Trait = number

/** A block, as a stable number. */
export type BlockId = number

/** The block of a trait. */
export function blockOf(trait: Trait): BlockId {
  return Math.floor(trait / sizes)
}

/** Coverage as the guided run reads it. */
export interface Coverage {
  /** Traits since the last call. */
  traits(): readonly Trait[]
  /** Blocks reported so far: all those in loaded functions, once a part of them ran. */
  readonly known: number
}

/**
 * Counts in all scripts whose URL passes the filter. Scripts must be loaded after its creation: code that V8 compiled
 * earlier has no counters. One at a time in a thread.
 */
export class BlockCoverage implements Coverage, Disposable {
  readonly #session = new Session()
  readonly #isMeasured: (url: string) => boolean
  readonly #scripts = new Map<string, ScriptBlocks>()

  constructor(isMeasured: (url: string) => boolean) {
    this.#isMeasured = isMeasured
    this.#session.connect()
    this.#session.post("Profiler.enable")
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  }

  traits(): readonly Trait[] {
    const traits: Trait[] = []
    for (const { url, functions } of this.#take()) {
      if (!this.#isMeasured(url)) continue
      let script = this.#scripts.get(url)
      if (script === undefined) {
        script = new ScriptBlocks(this.#scripts.size)
        this.#scripts.set(url, script)
      }
      script.addTraits(functions, traits)
    }
    return traits
  }

  get known(): number {
    let known = 0
    for (const script of this.#scripts.values()) known += script.known
    return known
  }

  [Symbol.dispose](): void {
    this.#session.post("Profiler.stopPreciseCoverage")
    this.#session.disconnect()
  }

  #take(): readonly Profiler.ScriptCoverage[] {
    // The session responds in the same thread, so before `post` returns.
    let result: readonly Profiler.ScriptCoverage[] = []
    this.#session.post("Profiler.takePreciseCoverage", (error, response) => {
      if (error) throw error
      ;({ result } = response)
    })
    return result
  }
}

/** More than a script has characters. */
const scriptLengthMax = 2 ** 22

const sizes = 8

/** The blocks of a script, in the order of the source. */
class ScriptBlocks {
  readonly #script: number
  /** The start of each block. */
  readonly #starts: number[] = [0]
  #indexes: ReadonlyMap<number, number> = new Map([[0, 0]])
  /** Starts of blocks inside functions. Outside of them the script runs once, on loading. */
  readonly #known = new Set<number>()

  /** `script` is the script's number among all. */
  constructor(script: number) {
    this.#script = script
  }

  get known(): number {
    return this.#known.size
  }

  /** Functions come outermost first, and so do the ranges of each. */
  addTraits(functions: readonly Profiler.FunctionCoverage[], traits: Trait[]): void {
    const ranges = functions.filter((one) => !isModule(one)).flatMap((one) => one.ranges)
    for (const { startOffset, endOffset } of ranges) {
      this.#divide(startOffset)
      this.#divide(endOffset)
    }
    const counts = new Int32Array(this.#starts.length).fill(-1)
    for (const { startOffset, endOffset, count } of ranges)
      counts.fill(count, this.#indexOf(startOffset), this.#indexOf(endOffset))
    for (const [index, count] of counts.entries()) {
      const start = this.#starts[index] ?? 0
      if (count >= 0) this.#known.add(start)
      if (count > 0) traits.push((this.#script * scriptLengthMax + start) * sizes + sizeOf(count))
    }
  }

  #divide(offset: number): void {
    if (this.#indexes.has(offset)) return
    const next = this.#starts.findIndex((start) => start > offset)
    this.#starts.splice(next < 0 ? this.#starts.length : next, 0, offset)
    this.#indexes = new Map(this.#starts.map((start, index) => [start, index]))
  }

  /** Index of the block that begins there. */
  #indexOf(start: number): number {
    const index = this.#indexes.get(start)
    assert(index !== undefined)
    return index
  }
}

/** The script as a whole is reported as a function without a name. */
function isModule({ functionName, ranges }: Profiler.FunctionCoverage): boolean {
  return functionName === "" && ranges[0]?.startOffset === 0
}

function sizeOf(count: number): number {
  if (count <= 3) return count - 1
  if (count <= 15) return count <= 7 ? 3 : 4
  return count <= 31 ? 5 : count <= 127 ? 6 : 7
}
