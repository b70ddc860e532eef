/**
 * JSON bodies, judged by the schema that `/openapi.json` shows: every fault at once, each with its place.
 *
 * Only the keywords that our schemas use are understood; a schema with any other does not compile, so that
 * nothing stands in the description that is not enforced.
 */
import assert from "node:assert/strict"
import { idPattern } from "@sluice/api"
import { isDateTime } from "../model/date-time.ts"
import { isId } from "../model/ids.ts"
import { invalidRequest, invalidRequests, type RequestFault } from "../model/problem.ts"
import { parseJson } from "./strict-json.ts"
import { Problem } from "../model/problem.ts"
import type { Verdict } from "./query-parameters.ts"
import { shortened } from "./render-problem.ts"

/** Most faults of one body that are told. */
const faultsMax = 20

/** Collects what is wrong with `value`. `path` has no indices, as X names parameters; `place` has them. */
type Check = (value: unknown, path: string, place: string, faults: RequestFault[]) => void

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly "x-optional"?: boolean
}

const understood = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "pattern",
  "format",
  "enum",
  "description",
  "x-optional",
])

/** Judges bodies, as bytes. No body at all is taken, as `undefined`, where the schema says `x-optional`. */
export function compileBody(schema: unknown): (bytes: Uint8Array | null | undefined) => Verdict {
  const check = checkFor(schema as Schema)
  const isOptional = (schema as Schema)["x-optional"] === true
  return (bytes) => {
    if (bytes === null || bytes === undefined || bytes.length === 0) {
      return isOptional
        ? { value: undefined }
        : { error: invalidRequest("The request has no body: a JSON object is due.") }
    }
    try {
      const value = parseJson(bytes)
      const faults: RequestFault[] = []
      check(value, "", "", faults)
      return faults.length === 0 ? { value } : { error: invalidRequests(faults.slice(0, faultsMax)) }
    } catch (error) {
      if (error instanceof Problem) return { error }
      throw error
    }
  }
}

function checkFor(schema: Schema): Check {
  const unknown = Object.keys(schema).filter((keyword) => !understood.has(keyword))
  assert(unknown.length === 0, `body schemas do not know ${unknown.join(", ")}`)
  switch (schema.type) {
    case "object":
      return objectCheck(schema)
    case "array":
      return arrayCheck(schema)
    case "string":
      return stringCheck(schema)
    case "integer":
      return integerCheck(schema)
    case "boolean":
      return booleanCheck
    default:
      throw new assert.AssertionError({ message: `body schemas do not know the type ${schema.type}` })
  }
}

function objectCheck({ properties = {}, required = [], additionalProperties = true }: Schema): Check {
  const checks = new Map(Object.entries(properties).map(([name, one]) => [name, checkFor(one)]))
  const names = [...checks.keys()].map((name) => `\`${name}\``).join(", ")
  return (value, path, place, faults) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      faults.push(mismatch(path, place, "must be an object"))
      return
    }
    for (const name of required) {
      if (!Object.hasOwn(value, name)) {
        faults.push({
          parameters: { [join(path, name)]: [] },
          message: "field is required",
          detail: `\`${join(place, name)}\` is missing.`,
        })
      }
    }
    for (const [name, member] of Object.entries(value)) {
      if (faults.length >= faultsMax) return
      const check = checks.get(name)
      if (check !== undefined) check(member, join(path, name), join(place, name), faults)
      else if (!additionalProperties) {
        faults.push(
          mismatch(
            join(path, shortened(name)),
            join(place, shortened(name)),
            `is not known here; known are ${names}`,
          ),
        )
      }
    }
  }
}

function arrayCheck({ items, minItems = 0, maxItems = Infinity }: Schema): Check {
  assert(items !== undefined, "an array says what it is of")
  const check = checkFor(items)
  return (value, path, place, faults) => {
    if (!Array.isArray(value)) {
      faults.push(mismatch(path, place, "must be an array"))
      return
    }
    if (value.length < minItems) faults.push(mismatch(path, place, `must hold at least ${minItems}`))
    if (value.length > maxItems) {
      faults.push(mismatch(path, place, `must hold at most ${maxItems}`))
      return
    }
    for (const [index, item] of value.entries()) {
      if (faults.length >= faultsMax) return
      check(item, path, `${place}[${index}]`, faults)
    }
  }
}

function stringCheck({ pattern, format, enum: values }: Schema): Check {
  assert(pattern === undefined || pattern === idPattern, "the only pattern is that of ids")
  assert(format === undefined || format === "date-time", "the only format is that of moments")
  return (value, path, place, faults) => {
    if (typeof value === "string") {
      if (pattern !== undefined && !isId(value)) faults.push(notAnId(path, place, value))
      if (values?.includes(value) === false) {
        faults.push(mismatch(path, place, `must be one of ${values.join(", ")}`))
      }
      if (format !== undefined && !isDateTime(value)) {
        faults.push(mismatch(path, place, "must be a moment in RFC 3339, such as 2026-01-31T12:00:00Z"))
      }
    } else if (pattern !== undefined && typeof value === "number") {
      faults.push(
        mismatch(path, place, "must be a string: numbers lose digits of ids, so write it in double quotes"),
      )
    } else {
      faults.push(mismatch(path, place, "must be a string"))
    }
  }
}

function integerCheck({ minimum = -Infinity, maximum = Infinity }: Schema): Check {
  return (value, path, place, faults) => {
    if (!Number.isInteger(value)) faults.push(mismatch(path, place, "must be a whole number"))
    else if ((value as number) < minimum || (value as number) > maximum) {
      faults.push(mismatch(path, place, `must be between ${minimum} and ${maximum}`))
    }
  }
}

const booleanCheck: Check = (value, path, place, faults) => {
  if (typeof value !== "boolean") faults.push(mismatch(path, place, "must be true or false"))
}

/** Source: tweepy#1942 for the end of the message. */
function notAnId(path: string, place: string, value: string): RequestFault {
  return {
    parameters: { [path]: [shortened(value)] },
    message: `\`${path}\` value [${shortened(value)}] is not a valid Long`,
    detail: `\`${place}\` must be 1 to 19 decimal digits.`,
  }
}

/** X's message for everything else. Source: captures. */
function mismatch(path: string, place: string, what: string): RequestFault {
  return {
    parameters: path === "" ? {} : { [path]: [] },
    message: "JSON doesn't match expected schema",
    detail: `${place === "" ? "The body" : `\`${place}\``} ${what}.`,
  }
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`
}
