/**
 * Parameters of the query string and of the path, validated against the JSON schema that `/openapi.json` shows.
 *
 * A parser that makes an object, and a validator that coerces its values, would accept what no caller meant: `max_results=1e3`
 * and `0x10` become numbers, one of two equal names disappears, `ids[]` becomes a list. Here all values of a name are kept
 * until they are validated, values are read strictly, and every fault is reported at once, in X's words where they are
 * known. So a validator of JSON values, as bodies have it, would not help: most faults are of the text. Two forms are
 * accepted because X's SDK for Python sends them: a list as several parameters of one name, and a boolean as `True`.
 */
import assert from "node:assert/strict"
import { idPattern } from "@sluice/api/schemas"
import { isDateTime, instant } from "../model/date-time.ts"
import { isId } from "../model/ids.ts"
import { invalidRequests, type Problem, type RequestFault } from "../model/problem.ts"
import { truncate } from "../model/truncate.ts"

/** A validator's result in Fastify's form: the value that the route's handler receives, or the refusal. */
export type Verdict = { readonly value: unknown } | { readonly error: Problem }

/** Maximum number of faults that one refusal reports. Ours. */
export const faultsMax = 20

/** Parameters as the client gave them: the values of each name, in order. */
export type GivenParameters = ReadonlyMap<string, readonly string[]>

const none: GivenParameters = new Map()

/** Splits and decodes a query string without `?`. Text that cannot be decoded is kept, and marked for the validator. */
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

/** Marks text that cannot be decoded. No decoded text holds half of a surrogate pair. */
const undecodable = "\uD800"

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undecodable + text
  }
}

/** The schema of a parameter. */
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

/** Converts the text of one parameter to its value, or returns the fault. */
type Reader = (text: string, name: string) => { readonly value: unknown } | { readonly fault: Fault }
type Fault = Omit<RequestFault, "parameters">

/** Names of the parameters in the path of a route, in order. */
export function pathParametersOf(route = ""): readonly string[] {
  return Array.from(route.matchAll(/:(\w+)/g), ([, name = ""]) => name)
}

/**
 * Compiles a validator of what `splitQuery` returns. The value is an object that holds only the parameters given. The names
 * of the parameters in the path stand first where a refusal lists all names, as in X's.
 */
export function compileQuery(schema: unknown, pathParameters: readonly string[]): (given: GivenParameters) => Verdict {
  const { properties, required = [], "x-ordered": ordered = [] } = schema as ParametersSchema
  assert(required.length === 0, "a query parameter is always optional")
  const readers = new Map(
    Object.entries(properties).map(([name, one]) => [name, { read: readerFor(one), isList: one.type === "array" }]),
  )
  const names = { ofPath: pathParameters, ofQuery: [...readers.keys()] }
  const nothingGiven: Verdict = { value: Object.freeze({}) }

  return (given) => {
    if (given.size === 0) return nothingGiven
    const value: Record<string, unknown> = {}
    const faults: RequestFault[] = []
    for (const [name, texts] of given) {
      const outcome = readParameter(name, texts, readers.get(name), names)
      if ("value" in outcome) value[name] = outcome.value
      else faults.push({ ...outcome.fault, parameters: { [shown(name)]: texts.slice(0, faultsMax).map(shown) } })
    }
    for (const [first, second] of ordered) faults.push(...orderFaults(value, first, second))
    return faults.length === 0 ? { value } : { error: invalidRequests(atMost(faults)) }
  }
}

/** Names of the parameters of an endpoint. */
interface ParameterNames {
  readonly ofPath: readonly string[]
  readonly ofQuery: readonly string[]
}

function readParameter(
  name: string,
  texts: readonly string[],
  parameter: { readonly read: Reader; readonly isList: boolean } | undefined,
  names: ParameterNames,
): ReturnType<Reader> {
  if (parameter === undefined) return { fault: unknownParameter(name, names) }
  const { read, isList } = parameter
  if (texts.length > 1 && !isList) {
    const detail = `It is given ${texts.length} times: give it once.`
    return refused(`Duplicate parameters are not allowed: the \`${name}\` query parameter`, detail)
  }
  const text = texts.join(",")
  if (text === "") return refused(`The \`${name}\` query parameter can not be empty`)
  if (text.includes(undecodable)) return notValid(name, text, "Its percent-encoding is broken.")
  return read(text, name)
}

/** Compiles a validator of the parameters of a path, which Fastify has decoded. */
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
    if (!/^(?:0|-?[1-9][0-9]*)$/.test(text)) return notValid(name, text, "It is a whole number, in decimal digits.")
    const value = Number(text)
    if (value >= minimum && value <= maximum) return { value }
    return refused(`${the(name, text)} is not between ${minimum} and ${maximum}`)
  }
}

const readBoolean: Reader = (text, name) => {
  const word = text.toLowerCase()
  return word === "true" || word === "false"
    ? { value: word === "true" }
    : refused(`${the(name, text)} is not one of [true,false]`)
}

function listReader(schema: ParameterSchema): Reader {
  const { items, minItems = 0, maxItems = Infinity, uniqueItems = false } = schema
  assert(items !== undefined && minItems <= 1, "a list says what it is of")
  const readItem = readerFor(items)
  return (text, name) => {
    const parts = text.split(",")
    if (parts.length > maxItems) {
      return refused(`The \`${name}\` query parameter has ${parts.length} values, at most ${maxItems} are allowed`)
    }
    const seen = new Set<unknown>()
    const values: unknown[] = []
    for (const part of parts) {
      if (part === "") return notValid(name, text, "Between two commas, and after the last, there must be a value.")
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
      values.has(text) ? { value: text } : refused(`${the(name, text)} is not one of [${[...values].join(",")}]`)
  }
  if (schema.format === "date-time") {
    return (text, name) =>
      isDateTime(text)
        ? { value: text }
        : notValid(name, text, "It is a moment as RFC 3339 writes it, such as 2026-01-31T12:00:00Z.")
  }
  if (schema.pattern === idPattern) {
    return (text, name) => (isId(text) ? { value: text } : notAnId(name, text))
  }
  assert(schema.pattern === undefined, "no parameter has a pattern of its own")
  return (text) => ({ value: text })
}

/** The fault of two parameters in the wrong order, when both are given and each is valid. */
function orderFaults(value: Readonly<Record<string, unknown>>, first: string, second: string): readonly RequestFault[] {
  const low = value[first]
  const high = value[second]
  if (typeof low !== "string" || typeof high !== "string" || isOrdered(low, high)) return []
  return [isId(low) ? idsInDisorder(first, low, second, high) : timesInDisorder(first, low, second, high)]
}

function idsInDisorder(first: string, low: string, second: string, high: string): RequestFault {
  const message = `${the(first, low)} is after the \`${second}\` query parameter value [${high}]`
  return { message, parameters: { [first]: [low], [second]: [high] } }
}

/** X's words, and times as X repeats them: in UTC, without seconds that are zero. Source: a recorded 400. */
function timesInDisorder(first: string, low: string, second: string, high: string): RequestFault {
  const [start, end] = [shortInstant(low), shortInstant(high)]
  const message = `Invalid '${first}':'${start}'. '${first}' must be before '${second}':${end}`
  return { message, parameters: { [first]: [start], [second]: [end] } }
}

function shortInstant(text: string): string {
  return instant(Date.parse(text)).replace(/(?::00)?\.000Z$/, "Z")
}

function isOrdered(low: string, high: string): boolean {
  return isId(low) ? BigInt(low) <= BigInt(high) : Date.parse(low) <= Date.parse(high)
}

function unknownParameter(name: string, { ofPath, ofQuery }: ParameterNames): Fault {
  const message = `The query parameter [${shown(name)}] is not one of [${[...ofPath, ...ofQuery].join(",")}]`
  if (ofQuery.length === 0) return { message, detail: "This endpoint takes no query parameters." }
  return /\[.*\]$/.test(name)
    ? { message, detail: "Give several values as one list with commas, under a plain name." }
    : { message }
}

/** X's words for text that is not an id, and ours for a number above the largest id. */
function notAnId(name: string, text: string): { readonly fault: Fault } {
  const detail = "An id is 1 to 19 decimal digits, up to 9223372036854775807."
  return new RegExp(idPattern).test(text)
    ? notValid(name, text, detail)
    : refused(`${the(name, text)} does not match ${idPattern}`, detail)
}

function notValid(name: string, text: string, detail: string): { readonly fault: Fault } {
  return refused(`${the(name, text)} is not valid`, detail)
}

function refused(message: string, detail?: string): { readonly fault: Fault } {
  return { fault: { message, ...(detail !== undefined && { detail }) } }
}

function the(name: string, text: string): string {
  return `The \`${name}\` query parameter value [${shown(text)}]`
}

/** The client's text, as a response may repeat it. */
function shown(text: string): string {
  return truncate(text.replaceAll(undecodable, ""))
}

function atMost(faults: readonly RequestFault[]): readonly RequestFault[] {
  if (faults.length <= faultsMax) return faults
  const left = faults.length - faultsMax
  return [...faults.slice(0, faultsMax), { message: `${left} more parameters are wrong`, parameters: {} }]
}
