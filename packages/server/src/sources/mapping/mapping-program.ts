/**
 * The operator's mapping: a JSONata expression that makes the small shape of `conversion/mapped-item.ts` of an item.
 *
 * Bounds hold for each item: 20 ms of a processor's time, 100 levels of evaluation, 10,000 elements of a sequence, 256 KiB
 * of result. They end every loop that is written in the expression. A function of the library that does not return, such
 * as a regular expression that never ends, is ended from outside: by the end of the thread (`threaded-mapper.ts`).
 *
 * The time of a processor counts, not that of the wall: a machine that is busy elsewhere makes no item fail.
 */
import type { Expression } from "jsonata"
import { truncate } from "../../model/truncate.ts"
import { faultLine, faultOf, skippedLine, textOf, type ItemFault, type SourceItem } from "./source-item.ts"
import type { MappedLine } from "./item-mapper.ts"

/** Most time of a processor that an item may take, in ms. Ours. */
const itemMsMax = 20

/** Most levels of evaluation. Ours. */
const depthMax = 100

/** Most elements of a sequence that the expression makes. Ours. */
const sequenceMax = 10_000

/** Most UTF-16 units of a result. Ours. */
const resultCharactersMax = 262_144

/** Time by the clock after which an attempt is looked at first: a little more, since a thread has never all of it. Ours. */
const attemptMsMin = 25

/** Longest time by the clock for one attempt: beyond it the time of a processor does not count. Ours. */
const attemptMsMax = 400

/** A mapping that cannot be compiled. The message says what is wrong, and where. */
export class InvalidMapping extends Error {
  override readonly name = "InvalidMapping"
}

/** A compiled mapping. */
export interface MappingProgram {
  /** The line of an item. One call at a time. Throws nothing for what the item holds. */
  map(item: SourceItem): Promise<MappedLine>
}

/** Bounds of the lines that a mapping makes. */
export interface MappingBounds {
  /** Most bytes of an item. */
  readonly itemBytesMax: number
  /** Most bytes of a line. */
  readonly lineBytesMax: number
}

/** Says why a line cannot become a post; undefined when it can. */
type CheckLine = (line: string) => ItemFault | undefined

/**
 * Compiles a mapping. Throws `InvalidMapping`. A line in which `check` finds a fault becomes that of its item with the
 * fault, so that a dead letter keeps the item as it came.
 */
export async function compileMapping(
  text: string,
  bounds: MappingBounds,
  check: CheckLine = () => undefined,
): Promise<MappingProgram> {
  const { default: jsonata } = await import("jsonata")
  const limits = { timeout: attemptMsMin, stack: depthMax, sequence: sequenceMax }
  let expression: Expression
  try {
    expression = jsonata(text, limits)
  } catch (error) {
    throw new InvalidMapping(placed(error, text), { cause: error })
  }
  // It would compile the text of an item.
  expression.registerFunction("eval", () => {
    throw new MappingFault("Mapping Failed", "The function $eval is not available.")
  })
  const attempt = async (input: unknown, event: string | undefined): Promise<unknown> => {
    const begunAt = process.threadCpuUsage()
    try {
      return await expression.evaluate(input, { event: event ?? null })
    } catch (error) {
      if (codeOf(error) !== timeoutCode) throw error
      const { user, system } = process.threadCpuUsage(begunAt)
      throw (user + system) / 1_000 >= itemMsMax || limits.timeout >= attemptMsMax
        ? new MappingFault("Mapping Too Slow", `The mapping took more than ${itemMsMax} ms.`)
        : new HeldUp()
    }
  }
  const evaluate = async (input: unknown, event: string | undefined): Promise<unknown> => {
    limits.timeout = attemptMsMin
    // The second attempt is for the first item: code that runs for the first time is slow.
    for (let slow = 0; ;) {
      try {
        return await attempt(input, event)
      } catch (error) {
        if (error instanceof HeldUp) limits.timeout *= 2
        else if (error instanceof MappingFault && error.title === "Mapping Too Slow" && slow === 0) slow += 1
        else throw error
      }
    }
  }
  const checked = (item: SourceItem, mapped: MappedLine): MappedLine => {
    const fault = check(mapped.line)
    if (fault === undefined) return mapped
    const { cursor } = mapped
    return { line: faultLine({ ...item, cursor, fault }, bounds.lineBytesMax), cursor }
  }
  return {
    async map(item) {
      try {
        return await mapItem(item, bounds, { evaluate, checked })
      } catch (error) {
        const fault = error instanceof MappingFault ? error.fault : failureOf(error, text)
        return { line: faultLine({ ...item, fault }, bounds.lineBytesMax), cursor: item.cursor }
      }
    },
  }
}

/** The code that the library gives to an evaluation that takes too long. */
const timeoutCode = "D1012"

/** The machine gave the thread too little time. */
class HeldUp extends Error {}

/** Why an item is not mapped. */
class MappingFault extends Error {
  readonly title: ItemFault["title"]

  constructor(title: ItemFault["title"], message: string) {
    super(message)
    this.title = title
  }

  get fault(): ItemFault {
    return { title: this.title, detail: this.message }
  }
}

/** The expression, and the check of what it makes of an item. */
interface Program {
  readonly evaluate: (input: unknown, event: string | undefined) => Promise<unknown>
  readonly checked: (item: SourceItem, mapped: MappedLine) => MappedLine
}

async function mapItem(item: SourceItem, bounds: MappingBounds, { evaluate, checked }: Program): Promise<MappedLine> {
  const { bytes, cursor, event, keepsCursor = false } = item
  const fault = item.fault ?? faultOf(bytes, bounds.itemBytesMax)
  if (fault !== undefined) throw new MappingFault(fault.title, fault.detail)
  const result = await evaluate(parsedItem(textOf(bytes)), event)
  if (result === undefined || result === null) return { line: skippedLine(item), cursor }
  const shape = shapeOf(result, cursor)
  if (keepsCursor) shape.cursor = cursor
  const line = lineOf(shape)
  if (Buffer.byteLength(line) > bounds.lineBytesMax) throw tooLarge()
  const last = shape.cursor
  const position = typeof last === "number" ? String(last) : typeof last === "string" ? last : undefined
  return checked(item, { line, cursor: position })
}

/** A whole number of so many digits loses some of them as a number of JavaScript. */
const longNumber = /\d{16}/

/** The value of a JSON text. Whole numbers that cannot be held exactly, as many ids are, become text. */
function parsedItem(text: string): unknown {
  try {
    return longNumber.test(text) ? (JSON.parse(text, exactly) as unknown) : (JSON.parse(text) as unknown)
  } catch (error) {
    const reason = truncate((error as Error).message.toWellFormed())
    throw new MappingFault("Invalid JSON", `The item is not JSON: ${reason}`)
  }
}

function exactly(_name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || source === undefined) return value
  return /^-?\d+$/.test(source) ? source : value
}

type Shape = Record<string, unknown> & { cursor?: unknown }

/** The result with the position of the item, unless it has one of its own. */
function shapeOf(result: unknown, cursor: string | undefined): Shape {
  if (typeof result !== "object" || Array.isArray(result)) {
    const kind = Array.isArray(result) ? "an array" : `a ${typeof result}`
    throw new MappingFault("Mapping Failed", `The mapping gave ${kind}, and must give an object, or nothing.`)
  }
  const shape: Shape = { ...result }
  // Lines of faults begin so. See `source-item.ts`.
  delete shape["error"]
  delete shape["skipped"]
  shape.cursor ??= cursor
  return shape
}

/** The result as JSON. Functions are refused: one holds all that the expression knows. */
function lineOf(shape: Shape): string {
  let characters = 0
  const count = (name: string, value: unknown): unknown => {
    characters += name.length + (typeof value === "string" ? value.length : 1)
    if (characters > resultCharactersMax) throw tooLarge()
    if (isFunction(value)) {
      throw new MappingFault("Mapping Failed", `The mapping gave a function as \`${truncate(name)}\`.`)
    }
    return value
  }
  const line = JSON.stringify(shape, count)
  if (line.length > resultCharactersMax) throw tooLarge()
  return line
}

function tooLarge(): MappingFault {
  return new MappingFault("Mapping Failed", `The result has more than ${resultCharactersMax / 1024} KiB.`)
}

function isFunction(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "function"
  return "_jsonata_lambda" in value || "_jsonata_function" in value
}

function failureOf(error: unknown, text: string): ItemFault {
  return { title: "Mapping Failed", detail: truncate(placed(error, text)) }
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined
}

/** The message of an error of the library, which is no `Error`, with its place in the expression. */
function placed(error: unknown, text: string): string {
  const { message, position } = error as { readonly message?: unknown; readonly position?: unknown }
  const words = (typeof message === "string" ? message : String(error)).toWellFormed()
  if (typeof position !== "number") return words
  const before = text.slice(0, position).split("\n")
  return `line ${before.length}, column ${before.at(-1)?.length ?? 0}: ${words}`
}
