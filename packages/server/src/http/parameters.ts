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
import {
  listReader,
  nameReader,
  notValid,
  refused,
  valueOf,
  type ReadText,
  type TextFault,
  type TextReader,
} from "../model/parameter-text.ts"
import { invalidParameters, type Problem, type RequestFault } from "../model/problem.ts"
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
  /** 0: an empty text is for the route to refuse. */
  readonly minLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly enum?: readonly string[]
  readonly "x-listed"?: readonly string[]
  readonly pattern?: string
  /** The narrower pattern of X, which a refusal names. */
  readonly "x-named-pattern"?: string
  readonly format?: string
  readonly items?: ParameterSchema
}

/** The schema of a query string. */
interface ParametersSchema {
  readonly properties: Readonly<Record<string, ParameterSchema>>
  readonly required?: readonly string[]
  readonly "x-ordered"?: readonly (readonly [string, string])[]
}

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
  const readers = new Map(
    Object.entries(properties).map(([name, one]) => [
      name,
      {
        read: readerFor(one),
        isInteger: one.type === "integer",
        isList: one.type === "array",
        mayBeEmpty: one.minLength === 0,
      },
    ]),
  )
  const names = { ofPath: pathParameters, ofQuery: [...readers.keys()] }
  const nothingGiven: Verdict = { value: Object.freeze({}) }

  return (given) => {
    if (given.size === 0 && required.length === 0) return nothingGiven
    const value: Record<string, unknown> = {}
    const faults: RequestFault[] = []
    for (const [name, texts] of given) {
      const outcome = readParameter(name, texts, readers.get(name), names)
      if ("value" in outcome) value[name] = outcome.value
      else faults.push(...outcome.faults.map((fault) => ({ ...fault, parameters: { [shown(name)]: asGiven(texts) } })))
    }
    for (const name of required) {
      if (!given.has(name)) faults.push({ message: canNotBeEmpty(name), parameters: { [name]: [] } })
    }
    for (const [first, second] of ordered) faults.push(...orderFaults(value, first, second))
    return faults.length === 0 ? { value } : { error: invalidParameters(atMost(faults)) }
  }
}

/** Names of the parameters of an endpoint. */
interface ParameterNames {
  readonly ofPath: readonly string[]
  readonly ofQuery: readonly string[]
}

/** How a parameter is read. */
interface ParameterReader {
  readonly read: TextReader
  readonly isInteger: boolean
  readonly isList: boolean
  readonly mayBeEmpty: boolean
}

function readParameter(
  name: string,
  texts: readonly string[],
  parameter: ParameterReader | undefined,
  names: ParameterNames,
): ReadText {
  if (parameter === undefined) return { faults: [unknownParameter(name, names)] }
  const { read, isInteger, isList, mayBeEmpty } = parameter
  if (texts.length > 1 && !isList) {
    const detail = `It is given ${texts.length} times: give it once.`
    return refused(`Duplicate parameters are not allowed: the \`${name}\` query parameter`, detail)
  }
  const text = texts.join(",")
  if (text === "" && !isInteger && !mayBeEmpty) return refused(canNotBeEmpty(name))
  if (text.includes(undecodable))
    return { faults: [notValid(name, decodable(text), "Its percent-encoding is broken.")] }
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
      if ("faults" in outcome) {
        faults.push(...outcome.faults.map((fault) => ({ ...fault, parameters: { [name]: asGiven([text]) } })))
      }
    }
    return faults.length === 0 ? { value: given } : { error: invalidParameters(faults) }
  }
}

function readerFor(schema: ParameterSchema): TextReader {
  switch (schema.type) {
    case "integer":
      return integerReader(schema)
    case "boolean":
      return readBoolean
    case "array":
      return listReaderFor(schema)
    default:
      return stringReader(schema)
  }
}

function integerReader({ minimum = -Infinity, maximum = Infinity }: ParameterSchema): TextReader {
  return (text, name) => {
    if (!/^(?:0|-?[1-9][0-9]*)$/.test(text))
      return refused(`${valueOf(name, text)} is not a valid Int`, "It is a whole number, in decimal digits.")
    const value = Number(text)
    if (value >= minimum && value <= maximum) return { value }
    return refused(`${valueOf(name, text)} is not between ${minimum} and ${maximum}`)
  }
}

const readBoolean: TextReader = (text, name) => {
  const word = text.toLowerCase()
  return word === "true" || word === "false"
    ? { value: word === "true" }
    : refused(`${valueOf(name, text)} is not one of [true,false]`)
}

function listReaderFor(schema: ParameterSchema): TextReader {
  const { items, minItems = 1, maxItems = Infinity, uniqueItems = false } = schema
  assert(
    items?.enum !== undefined || items?.pattern !== undefined,
    "a list says what its values are, none of them empty",
  )
  return listReader({ valuesMin: minItems, valuesMax: maxItems, isUnique: uniqueItems }, readerFor(items))
}

function stringReader(schema: ParameterSchema): TextReader {
  const { enum: names, format, pattern } = schema
  if (names !== undefined) return nameReader(names, schema["x-listed"])
  if (format === "date-time") {
    return (text, name) =>
      isDateTime(text)
        ? { value: text }
        : { faults: [notValid(name, text, "It is a moment as RFC 3339 writes it, such as 2026-01-31T12:00:00Z.")] }
  }
  if (pattern === undefined) return (text) => ({ value: text })
  const form = new RegExp(pattern)
  const isAnId = pattern === idPattern
  const named = schema["x-named-pattern"] ?? pattern
  return (text, name) => {
    if (!form.test(text)) return refused(`${valueOf(name, text)} does not match ${named}`, isAnId ? anId : undefined)
    return !isAnId || isId(text) ? { value: text } : { faults: [notValid(name, text, anId)] }
  }
}

const anId = "An id is 1 to 19 decimal digits, up to 9223372036854775807."

/** The fault of two parameters in the wrong order, when both are given and each is valid. */
function orderFaults(value: Readonly<Record<string, unknown>>, first: string, second: string): readonly RequestFault[] {
  const low = value[first]
  const high = value[second]
  if (typeof low !== "string" || typeof high !== "string" || isOrdered(low, high)) return []
  return [isId(low) ? idsInDisorder(first, low, second, high) : timesInDisorder(first, low, second, high)]
}

function idsInDisorder(first: string, low: string, second: string, high: string): RequestFault {
  const message = `${valueOf(first, low)} is after the \`${second}\` query parameter value [${high}]`
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
  return isId(low) ? BigInt(low) <= BigInt(high) : Date.parse(low) < Date.parse(high)
}

function unknownParameter(name: string, { ofPath, ofQuery }: ParameterNames): TextFault {
  const message = `The query parameter [${shown(name)}] is not one of [${[...ofPath, ...ofQuery].join(",")}]`
  if (ofQuery.length === 0) return { message, detail: "This endpoint takes no query parameters." }
  return /\[.*\]$/.test(name)
    ? { message, detail: "Give several values as one list with commas, under a plain name." }
    : { message }
}

/** X's words for a required parameter that is absent, and for one without a text. */
function canNotBeEmpty(name: string): string {
  return `The \`${name}\` query parameter can not be empty`
}

/** The client's texts, as a refusal repeats them. */
function asGiven(texts: readonly string[]): readonly string[] {
  return texts.slice(0, faultsMax).map(decodable)
}

/** The client's name or text, as a message may repeat it. */
function shown(text: string): string {
  return truncate(decodable(text))
}

function decodable(text: string): string {
  return text.replaceAll(undecodable, "")
}

function atMost(faults: readonly RequestFault[]): readonly RequestFault[] {
  if (faults.length <= faultsMax) return faults
  const left = faults.length - faultsMax
  return [...faults.slice(0, faultsMax), { message: `${left} more parameters are wrong`, parameters: {} }]
}
