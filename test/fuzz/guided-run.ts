/**
 * Fuzzing guided by coverage.
 *
 *     corpus ── pick two, change ──► 128 inputs ── a check of each ──► a fault? minimise it, and stop
 *       ▲                                │
 *       │          the batch ran a new block: halve it until it is one input ─┐
 *       └──────── the first few ran one a number of times of a new size ──────┘
 *
 * The run keeps inputs that reach further and changes them again, so that it arrives at rare structures in likely
 * steps. The corpus has the shortest known input of each trait, and picks traits with few inputs more often: otherwise
 * a new one is lost among a thousand that lead nowhere.
 *
 * Reading V8's counters costs as much as thirty checks, hence the batch; but counts mean something for one input alone,
 * hence the few that are examined one by one.
 */
import type { Draw } from "../../packages/rules/src/testing/draw.testing.ts"
import type { Fault } from "../../packages/rules/src/testing/rule-invariants.testing.ts"
import { endsWithin, findWithin } from "../../packages/rules/src/testing/time-limit.testing.ts"
import { blockOf, type BlockId, type Coverage, type Trait } from "./block-coverage.ts"
import { minimised, type Json } from "./simpler-json.ts"

/** The subject of fuzzing. Inputs are JSON, so that a failing one can be printed and minimised. */
export interface Target<Input extends Json> {
  readonly name: string
  /** First inputs; not empty. */
  readonly seeds: readonly Input[]
  /** Returns the changed input, perhaps with a part of `other`. */
  mutate(input: Input, other: Input, draw: Draw): Input
  /** The invariant that the input breaks; undefined without one. Deterministic. */
  fault(input: Input): Fault | undefined
}

/** The result of a run. */
export interface Outcome<Input extends Json> {
  /** Inputs generated and checked, the seeds included. */
  readonly executions: number
  /** Blocks that the seeds ran, that all inputs ran, and that V8 reported. */
  readonly blocks: { readonly seeds: number; readonly covered: number; readonly known: number }
  /** Distinct inputs kept. */
  readonly corpusSize: number
  /** The first fault, with its input minimised. */
  readonly failure?: { readonly input: Input; readonly fault: Fault }
}

/**
 * Options of a run. The same draws give nearly the same run: V8's counts depend a little on the code that it has
 * compiled already.
 */
export interface RunOptions {
  readonly coverage: Coverage
  readonly draw: Draw
  /** Called after each batch. */
  readonly isOver: (executions: number) => boolean
  /** An input that takes longer is a fault. Generous, as the machine may be busy. */
  readonly inputMsMax?: number
}

const batchSize = 128

/** Inputs of a batch that are examined one by one. */
const lookedAt = 16

/** Runs until it finds a fault or `isOver` returns true. */
export function guidedRun<Input extends Json>(
  target: Target<Input>,
  { coverage, draw, isOver, inputMsMax = 2000 }: RunOptions,
): Outcome<Input> {
  const corpus = new Corpus(target.seeds)
  let executions = 0
  let seeds = 0

  const outcome = (failure?: { input: Input; fault: Fault }): Outcome<Input> => ({
    executions,
    blocks: { seeds, covered: corpus.blocks.size, known: coverage.known },
    corpusSize: corpus.size,
    ...(failure && { failure }),
  })

  const look = (input: Input): void => {
    target.fault(input)
    corpus.take(input, coverage.traits())
  }

  /** Examines the inputs that run a new block. */
  const halve = (inputs: readonly Input[]): void => {
    const [only] = inputs
    if (only !== undefined && inputs.length === 1) {
      look(only)
      return
    }
    const middle = inputs.length >>> 1
    for (const half of [inputs.slice(0, middle), inputs.slice(middle)]) {
      for (const input of half) target.fault(input)
      if (corpus.hasNewBlock(coverage.traits())) halve(half)
    }
  }

  const seedFailure = firstFailure(target, target.seeds, inputMsMax)
  executions += target.seeds.length
  if (seedFailure) return outcome(seedFailure)
  // Discards traits of earlier code, such as the loading of modules.
  coverage.traits()
  for (const input of target.seeds) look(input)
  seeds = corpus.blocks.size

  while (!isOver(executions)) {
    const inputs = Array.from({ length: batchSize }, () => target.mutate(corpus.pick(draw), corpus.pick(draw), draw))
    const failure = firstFailure(target, inputs, inputMsMax)
    executions += inputs.length
    if (failure) return outcome(failure)
    const traits = coverage.traits()
    if (corpus.hasNewBlock(traits)) {
      halve(inputs)
      // Some blocks run once in a lifetime, such as those that fill a table, and no half shows them again.
      corpus.addBlocks(traits)
    }
    for (const input of inputs.slice(0, lookedAt)) look(input)
  }
  return outcome()
}

/** The shortest known input of a trait, and the number of inputs that had it. */
interface Example<Input extends Json> {
  input: Input
  length: number
  times: number
}

/** Inputs worth changing again. At most as many as traits, which the size of the program bounds. */
class Corpus<Input extends Json> {
  readonly #seeds: readonly Input[]
  readonly #examples = new Map<Trait, Example<Input>>()
  readonly #list: Example<Input>[] = []
  readonly #blocks = new Set<BlockId>()

  constructor(seeds: readonly Input[]) {
    this.#seeds = seeds
  }

  get blocks(): ReadonlySet<BlockId> {
    return this.#blocks
  }

  get size(): number {
    return new Set(this.#list.map((example) => example.input)).size
  }

  hasNewBlock(traits: readonly Trait[]): boolean {
    return traits.some((trait) => !this.#blocks.has(blockOf(trait)))
  }

  addBlocks(traits: readonly Trait[]): void {
    for (const trait of traits) this.#blocks.add(blockOf(trait))
  }

  take(input: Input, traits: readonly Trait[]): void {
    this.addBlocks(traits)
    const { length } = JSON.stringify(input)
    for (const trait of traits) {
      const example = this.#examples.get(trait)
      if (example === undefined) {
        const first = { input, length, times: 1 }
        this.#examples.set(trait, first)
        this.#list.push(first)
        continue
      }
      example.times++
      if (length >= example.length) continue
      example.input = input
      example.length = length
    }
  }

  /** The example of the rarest of a few traits, and now and then a seed. */
  pick(draw: Draw): Input {
    if (this.#list.length === 0 || draw.isOneIn(8)) return draw.oneOf(this.#seeds)
    let rarest = draw.oneOf(this.#list)
    for (let more = draw.below(6); more > 0; more--) {
      const example = draw.oneOf(this.#list)
      if (example.times < rarest.times) rarest = example
    }
    return rarest.input
  }
}

function firstFailure<Input extends Json>(
  target: Target<Input>,
  inputs: readonly Input[],
  inputMsMax: number,
): { readonly input: Input; readonly fault: Fault } | undefined {
  const found = findWithin(inputMsMax, inputs.length, (index) => target.fault(inputs[index] as Input) !== undefined)
  if (found === undefined) return undefined
  const input = inputs[found.index] as Input
  if (found.isOverrun) {
    const fault = { invariant: "a check ends", detail: `not within ${inputMsMax} ms` }
    const isSlow = (one: Input): boolean => !endsWithin(inputMsMax, () => void target.fault(one))
    return { input: minimised(input, isSlow, 100), fault }
  }
  const first = target.fault(input)
  const isSame = (one: Input): boolean => target.fault(one)?.invariant === first?.invariant
  const smallest = minimised(input, isSame)
  const fault = target.fault(smallest) ?? {
    invariant: "a check says the same every time",
    detail: "it did not",
  }
  return { input: smallest, fault }
}
