/**
 * Parameters of the query string and of the path, judged by the same JSON schema that `/openapi.json` shows.
 *
 * The usual way, a parser that makes an object and a validator that coerces it, lets through what no caller
 * meant: `max_results=1e3` and `0x10` are numbers to it, of two equal names one disappears, `ids[]` becomes a
 * list. Here the names stay a list until they are judged, values are read strictly, and every fault is reported
 * at once, in X's words where they are known.
 */
import assert from "node:assert/strict"
import { idPattern } from "@sluice/api"
import { isDateTime } from "../model/date-time.ts"
import { isId } from "../model/ids.ts"
import { invalidRequests, type Problem, type RequestFault } from "../model/problem.ts"
import { shortened } from "./render-problem.ts"

/** Parameters as they were given: each name's values, in order. */
export type GivenParameters = ReadonlyMap<string, readonly string[]>

/** What a validator of Fastify answers. */
export type Verdict = { readonly value: unknown } | { readonly error: Problem }

/** Most faults of one request that are told; the rest is counted. */
const faultsMax = 20

const none: GivenParameters = new Map()

/** A query string without `?`, cut up and decoded. What cannot be decoded stays as it is, marked for the judge. */
export function splitQuery(text: string): GivenParameters {
  if (text === "") return none
  const given = new Map<string, string[]>()
  for (const part of text.split("&")) {
    if (part === "") continue
    const at = part.indexOf("=")
    const name = decoded(at < 0 ? part : part.slice(0, at))
    const value = at < 0 ? "" : decoded(part.slice(at + 1))
    const values = given.get(name)
    if (values === undefined) given.set(name, [value])
    else values.push(value)
  }
  return given
}

/** No text that decodes properly holds this, so it can stand for "cannot be decoded". */
const undecodable = "\uD800"

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undecodable + text
  }
}

/** A parameter's schema, as far as parameters have any. */
interface ParameterSchema {
  readonly type: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly format?: string
  readonly items?: ParameterSchema
}

/** The schema of a query string. */
interface ParametersSchema {
  readonly properties: Readonly<Record<string, ParameterSchema>>
  readonly required?: readonly string[]
  readonly "x-ordered"?: readonly (readonly [string, string])[]
}

/** Reads one value, or says what is wrong with it. */
type Reader = (text: string, name: string) => { readonly value: unknown } | { readonly fault: Fault }
type Fault = Omit<RequestFault, "parameters">

/** Judges query strings that `splitQuery` has cut up. The value is an object that holds only what was given. */
export function compileQuery(schema: unknown): (given: GivenParameters) => Verdict {
  const { properties, required = [], "x-ordered": ordered = [] } = schema as ParametersSchema
  assert(required.length === 0, "a query parameter is always optional")
  const readers = new Map(Object.entries(properties).map(([name, one]) => [name, readerFor(one)]))
  const names = [...readers.keys()]
  const nothingGiven: Verdict = { value: Object.freeze({}) }

  return (given) => {
    if (given.size === 0) return nothingGiven
    const value: Record<string, unknown> = {}
    const faults: RequestFault[] = []
    for (const [name, texts] of given) {
      const outcome = readParameter(name, texts, readers.get(name), names)
      if ("value" in outcome) value[name] = outcome.value
      else
        faults.push({ ...outcome.fault, parameters: { [shown(name)]: texts.slice(0, faultsMax).map(shown) } })
    }
    for (const [first, second] of ordered) faults.push(...orderFaults(value, first, second))
    return faults.length === 0 ? { value } : { error: invalidRequests(atMost(faults)) }
  }
}

function readParameter(
  name: string,
  texts: readonly string[],
  read: Reader | undefined,
  names: readonly string[],
): ReturnType<Reader> {
  if (read === undefined) return { fault: unknownParameter(name, names) }
  const [text = ""] = texts
  if (texts.length > 1) {
    return {
      fault: {
        message: `The \`${name}\` query parameter is given ${texts.length} times`,
        detail: "Give it once.",
      },
    }
  }
  if (text === "") return { fault: { message: `The \`${name}\` query parameter can not be empty` } }
  if (text.startsWith(undecodable)) return notValid(name, text, "Its percent-encoding is broken.")
  return read(text, name)
}

/** Judges the parameters of a path, which Fastify has decoded. */
export function compilePath(schema: unknown): (given: Readonly<Record<string, string>>) => Verdict {
  const readers = Object.entries((schema as ParametersSchema).properties).map(
    ([name, one]) => [name, readerFor(one)] as const,
  )
  return (given) => {
    const faults: RequestFault[] = []
    for (const [name, read] of readers) {
      const text = given[name] ?? ""
      const outcome = read(text, name)
      if ("fault" in outcome) faults.push({ ...outcome.fault, parameters: { [name]: [shown(text)] } })
    }
    return faults.length === 0 ? { value: given } : { error: invalidRequests(faults) }
  }
}

function readerFor(schema: ParameterSchema): Reader {
  switch (schema.type) {
    case "integer":
      return integerReader(schema)
    case "boolean":
      return readBoolean
    case "array":
      return listReader(schema)
    default:
      return stringReader(schema)
  }
}

function integerReader({ minimum = -Infinity, maximum = Infinity }: ParameterSchema): Reader {
  return (text, name) => {
    if (!/^(?:0|-?[1-9][0-9]*)$/.test(text))
      return notValid(name, text, "It is a whole number, in decimal digits.")
    const value = Number(text)
    if (value >= minimum && value <= maximum) return { value }
    return { fault: { message: `${the(name, text)} is not between ${minimum} and ${maximum}` } }
  }
}

const readBoolean: Reader = (text, name) =>
  text === "true" || text === "false"
    ? { value: text === "true" }
    : { fault: { message: `${the(name, text)} is not one of [true,false]` } }

function listReader({
  items,
  minItems = 0,
  maxItems = Infinity,
  uniqueItems = false,
}: ParameterSchema): Reader {
  assert(items !== undefined && minItems <= 1, "a list says what it is of")
  const readItem = readerFor(items)
  return (text, name) => {
    const parts = text.split(",")
    if (parts.length > maxItems) {
      return {
        fault: {
          message: `The \`${name}\` query parameter has ${parts.length} values, at most ${maxItems} are allowed`,
        },
      }
    }
    const seen = new Set<unknown>()
    const values: unknown[] = []
    for (const part of parts) {
      if (part === "")
        return notValid(name, text, "Between two commas, and after the last, there must be a value.")
      const outcome = readItem(part, name)
      if ("fault" in outcome) return outcome
      if (seen.has(outcome.value)) {
        if (uniqueItems) return notValid(name, part, "It is given more than once.")
        continue
      }
      seen.add(outcome.value)
      values.push(outcome.value)
    }
    return { value: values }
  }
}

function stringReader(schema: ParameterSchema): Reader {
  if (schema.enum !== undefined) {
    const values = new Set(schema.enum)
    return (text, name) =>
      values.has(text)
        ? { value: text }
        : { fault: { message: `${the(name, text)} is not one of [${[...values].join(",")}]` } }
  }
  if (schema.format === "date-time") {
    return (text, name) =>
      isDateTime(text)
        ? { value: text }
        : notValid(name, text, "It is a moment as RFC 3339 writes it, such as 2026-01-31T12:00:00Z.")
  }
  if (schema.pattern === idPattern) {
    return (text, name) =>
      isId(text)
        ? { value: text }
        : notValid(name, text, "An id is 1 to 19 decimal digits, up to 9223372036854775807.")
  }
  assert(schema.pattern === undefined, "no parameter has a pattern of its own")
  return (text) => ({ value: text })
}

/** Neither comes after the other, where both are given and were fine each by itself. */
function orderFaults(
  value: Readonly<Record<string, unknown>>,
  first: string,
  second: string,
): readonly RequestFault[] {
  const low = value[first]
  const high = value[second]
  if (typeof low !== "string" || typeof high !== "string" || isOrdered(low, high)) return []
  const message = `${the(first, low)} is after the \`${second}\` query parameter value [${high}]`
  return [{ message, parameters: { [first]: [low], [second]: [high] } }]
}

function isOrdered(low: string, high: string): boolean {
  return isId(low) ? BigInt(low) <= BigInt(high) : Date.parse(low) <= Date.parse(high)
}

function unknownParameter(name: string, names: readonly string[]): Fault {
  const message = `The query parameter [${shown(name)}] is not one of [${names.join(",")}]`
  if (names.length === 0) return { message, detail: "This endpoint takes no query parameters." }
  return /\[.*\]$/.test(name)
    ? { message, detail: "Give several values as one list with commas, under a plain name." }
    : { message }
}

function notValid(name: string, text: string, detail: string): { readonly fault: Fault } {
  return { fault: { message: `${the(name, text)} is not valid`, detail } }
}

function the(name: string, text: string): string {
  return `The \`${name}\` query parameter value [${shown(text)}]`
}

/** What the caller wrote, as it may be repeated to them. */
function shown(text: string): string {
  return shortened(text.replace(undecodable, ""))
}

function atMost(faults: readonly RequestFault[]): readonly RequestFault[] {
  if (faults.length <= faultsMax) return faults
  const left = faults.length - faultsMax
  return [...faults.slice(0, faultsMax), { message: `${left} more parameters are wrong`, parameters: {} }]
}
