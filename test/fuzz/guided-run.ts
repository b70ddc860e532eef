/**
 * Fuzzing that is led by what it reaches.
 *
 *     corpus ── pick two, change ──► 128 inputs ── a check of each ──► a fault? minimise it, and stop
 *       ▲                                │
 *       │          the batch ran a new block: halve it until it is one input ─┐
 *       └──────── the first few ran one a number of times of a new size ──────┘
 *
 * What reaches further is kept and changed again, so that rare structures are come by in steps of which
 * each is likely. Reading V8's counters costs as much as thirty checks, hence the batch; but numbers of
 * times mean something for one input alone, hence the few that are looked at one by one.
 */
import type { Draw } from "../../packages/rules/src/draw.testing.ts"
import type { Fault } from "../../packages/rules/src/rule-invariants.testing.ts"
import { endsWithin, findWithin } from "../../packages/rules/src/time-limit.testing.ts"
import type { BlockCount, Coverage } from "./block-coverage.ts"
import { minimised, type Json } from "./simpler-json.ts"

/** What is fuzzed. Inputs are JSON, so that a failing one can be printed and made smaller. */
export interface Target<Input extends Json> {
  readonly name: string
  /** Where to begin; not empty. */
  readonly seeds: readonly Input[]
  /** The input changed; `other` is what a part may be taken from. */
  mutate(input: Input, other: Input, draw: Draw): Input
  /** What the input broke; undefined when nothing. Says the same every time. */
  fault(input: Input): Fault | undefined
}

/** What a run came to. */
export interface Outcome<Input extends Json> {
  /** Inputs made and checked, the seeds included. */
  readonly executions: number
  /** After the seeds alone. */
  readonly blocksBySeeds: BlockCount
  readonly blocks: BlockCount
  readonly corpusSize: number
  /** The first fault, with its input minimised. */
  readonly failure?: { readonly input: Input; readonly fault: Fault }
}

/** How a run is led. */
export interface RunOptions {
  readonly coverage: Coverage
  readonly draw: Draw
  /** Asked after each batch. */
  readonly isOver: (executions: number) => boolean
  /** An input that alone takes longer is a fault. Generous, as the machine may be busy. */
  readonly inputMsMax?: number
}

const batchSize = 128

/** Of a batch, how many are looked at one by one. */
const lookedAt = 16

/** At the bound a new input takes the place of an old one. */
const corpusMax = 4096

/** Of the corpus, those that half of the inputs are made from. */
const youngest = 32

/** Runs until a fault is found or it is over. Without a fault, a run of the same draws is the same again. */
export function guidedRun<Input extends Json>(
  target: Target<Input>,
  { coverage, draw, isOver, inputMsMax = 2000 }: RunOptions,
): Outcome<Input> {
  coverage.forget()
  const corpus = target.seeds.map(kept)
  let executions = 0
  let blocksBySeeds = coverage.count()

  const outcome = (failure?: { input: Input; fault: Fault }): Outcome<Input> => ({
    executions,
    blocksBySeeds,
    blocks: coverage.count(),
    corpusSize: corpus.length,
    ...(failure && { failure }),
  })

  const keep = (input: Input): void => {
    if (corpus.length < corpusMax) corpus.push(kept(input))
    else corpus[draw.below(corpusMax)] = kept(input)
  }

  const isNews = (input: Input): boolean => {
    target.fault(input)
    return coverage.learn()
  }

  /** Those of the inputs that run a block which none has run. */
  const halve = (inputs: readonly Input[]): void => {
    const [only] = inputs
    if (only !== undefined && inputs.length === 1) {
      if (isNews(only)) keep(only)
      return
    }
    const middle = inputs.length >>> 1
    for (const half of [inputs.slice(0, middle), inputs.slice(middle)]) {
      for (const input of half) target.fault(input)
      if (coverage.newBlocks().length > 0) halve(half)
    }
  }

  const pick = (): Input => {
    const from = draw.isOneIn(2) ? Math.max(0, corpus.length - youngest) : 0
    const any = (): Kept<Input> => corpus[from + draw.below(corpus.length - from)] as Kept<Input>
    const [one, other] = [any(), any()]
    return one.length < other.length ? one.input : other.input
  }

  const seedFailure = firstFailure(target, target.seeds, inputMsMax)
  executions += target.seeds.length
  if (seedFailure) return outcome(seedFailure)
  coverage.learn()
  blocksBySeeds = coverage.count()

  while (!isOver(executions)) {
    const inputs = Array.from({ length: batchSize }, () => target.mutate(pick(), pick(), draw))
    const failure = firstFailure(target, inputs, inputMsMax)
    executions += inputs.length
    if (failure) return outcome(failure)
    const blocks = coverage.newBlocks()
    if (blocks.length > 0) {
      halve(inputs)
      // Some run once in a lifetime, such as those that fill a table, and no half shows them again.
      coverage.waive(blocks)
    }
    for (const input of inputs.slice(0, lookedAt)) if (isNews(input)) keep(input)
  }
  return outcome()
}

/** Of two inputs the shorter is changed: long ones reach more, cost more, and grow. */
interface Kept<Input extends Json> {
  readonly input: Input
  readonly length: number
}

function kept<Input extends Json>(input: Input): Kept<Input> {
  return { input, length: JSON.stringify(input).length }
}

function firstFailure<Input extends Json>(
  target: Target<Input>,
  inputs: readonly Input[],
  inputMsMax: number,
): { readonly input: Input; readonly fault: Fault } | undefined {
  const found = findWithin(
    inputMsMax,
    inputs.length,
    (index) => target.fault(inputs[index] as Input) !== undefined,
  )
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
