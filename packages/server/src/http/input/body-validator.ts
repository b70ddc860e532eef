/**
 * JSON bodies, validated against the schema that `/openapi.json` shows. A refusal reports every fault, each with its location
 * in the body.
 *
 * TypeBox compiles the schemas and finds the faults; X's words for them are chosen here. A member that is null counts as
 * absent, since many serialisers write null for what is not set.
 */
import { idPattern } from "@sluice/api/schemas"
import type { TLocalizedValidationError } from "typebox/error"
import { Format } from "typebox/format"
import { Compile, Pointer } from "typebox/schema"
import { Settings } from "typebox/system"
import { isDateTime } from "../../model/date-time.ts"
import { isId } from "../../model/ids.ts"
import { invalidRequest, invalidRequests, Problem, type RequestFault } from "../../model/problem.ts"
import { truncate } from "../../model/truncate.ts"
import { faultsMax, type Verdict } from "../parameters.ts"
import { parseJson } from "./strict-json.ts"

Format.Set("id", isId)
Format.Set("date-time", isDateTime)
// TypeBox finds some faults twice.
Settings.Set({ maxErrors: 2 * faultsMax })

/** The keywords that this file reads itself. TypeBox enforces all others too. */
interface Schema {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean
  readonly items?: Schema
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly "x-optional"?: boolean
  readonly "x-takes-integers"?: boolean
}

/** Compiles a validator of bodies as bytes. An empty body, or null, becomes `undefined` where the schema says `x-optional`. */
export function compileBody(given: unknown): (bytes: Uint8Array | null | undefined) => Verdict {
  const schema = withIdFormat(given)
  const isOptional = schema["x-optional"] === true
  // Compiled for the first body: a server is ready sooner.
  let compiled: ReturnType<typeof Compile> | undefined
  return (bytes) => {
    if (bytes === null || bytes === undefined || bytes.length === 0) {
      return isOptional
        ? { value: undefined }
        : { error: invalidRequest("The request has no body: a JSON object is due.") }
    }
    try {
      const value = parseJson(bytes, schema)
      if (value === null && isOptional) return { value: undefined }
      prune(value, schema)
      const validator = (compiled ??= Compile(schema))
      if (validator.Check(value)) return { value }
      const [, errors] = validator.Errors(value)
      return { error: invalidRequests(faultsOf(errors, schema, value)) }
    } catch (error) {
      if (error instanceof Problem) return { error }
      throw error
    }
  }
}

/** The schema with `isId` for ids, as the pattern that X publishes does not bound their value. */
function withIdFormat(schema: unknown): Schema {
  return JSON.parse(JSON.stringify(schema), (_name, part: { readonly pattern?: unknown } | null) => {
    if (part?.pattern !== idPattern) return part
    const { pattern: _pattern, ...others } = part
    return { ...others, type: "string", format: "id" }
  }) as Schema
}

/**
 * Removes members that are null, and the excess of arrays that are too long and of members that are unknown. TypeBox visits
 * all of a body even after it has found as many faults as are reported: a megabyte would take it half a second.
 */
function prune(value: unknown, schema: Schema): void {
  const { properties = {}, additionalProperties, items, maxItems = Infinity } = schema
  if (Array.isArray(value)) {
    value.length = Math.min(value.length, maxItems + 1)
    for (const item of value) prune(item, items ?? {})
  } else if (typeof value === "object" && value !== null) {
    let unknown = 0
    for (const [name, member] of Object.entries(value)) {
      const isKnown = Object.hasOwn(properties, name)
      if (!isKnown && additionalProperties === false) unknown += 1
      if (isKnown ? member === null : unknown > faultsMax) Reflect.deleteProperty(value, name)
      else prune(member, properties[name] ?? {})
    }
  }
}

/** The first fault of each location, in X's words. */
function faultsOf(
  errors: readonly TLocalizedValidationError[],
  schema: Schema,
  body: unknown,
): readonly RequestFault[] {
  const faults = new Map<string, RequestFault | readonly RequestFault[]>()
  for (const error of errors) {
    // An unknown member is a fault of its own (`boolean`), and then one of its object.
    if (error.keyword === "additionalProperties" || faults.has(error.instancePath)) continue
    faults.set(error.instancePath, faultsAt(locate(error.instancePath, schema, body), error))
  }
  return [...faults.values()].flat().slice(0, faultsMax)
}

/** The place of a fault in a body. */
interface Location {
  /** Without indices, as X names parameters: `add.value`. Empty for the body itself. */
  readonly path: string
  /** With indices: `add[1].value`. */
  readonly shown: string
  readonly value: unknown
  readonly schema: Schema
  /** The schema of the object or array that holds it. */
  readonly parent: Schema
}

function locate(instancePath: string, schema: Schema, body: unknown): Location {
  let location: Location = { path: "", shown: "", value: body, schema, parent: {} }
  for (const key of Pointer.Indices(instancePath)) {
    const { path, shown, value, schema: parent } = location
    const isItem = Array.isArray(value)
    location = {
      path: isItem ? path : join(path, truncate(key)),
      shown: isItem ? `${shown}[${key}]` : join(shown, truncate(key)),
      value: Reflect.get(value as object, key),
      schema: (isItem ? parent.items : parent.properties?.[key]) ?? {},
      parent,
    }
  }
  return location
}

function faultsAt(location: Location, error: TLocalizedValidationError): RequestFault | readonly RequestFault[] {
  const { path, shown, value, schema, parent } = location
  switch (error.keyword) {
    case "required":
      return error.params.requiredProperties.map((name) => ({
        parameters: { [join(path, name)]: [] },
        message: "field is required",
        detail: `\`${join(shown, name)}\` is missing.`,
      }))
    case "boolean": {
      const names = Object.keys(parent.properties ?? {}).map((name) => `\`${name}\``)
      return mismatch(location, `is not known here; known are ${names.join(", ")}`)
    }
    case "type":
      return mismatch(
        location,
        schema.format === "id" && typeof value === "number"
          ? "must be a string: numbers lose digits of ids, so write it in double quotes"
          : `must be ${typeNames[schema.type ?? ""] ?? schema.type}`,
      )
    case "format":
      return error.params.format === "id"
        ? notAnId(path, shown, String(value))
        : mismatch(location, "must be a moment in RFC 3339, such as 2026-01-31T12:00:00Z")
    case "enum":
      return mismatch(location, `must be one of ${error.params.allowedValues.join(", ")}`)
    case "minItems":
      return mismatch(location, `must hold at least ${error.params.limit}`)
    case "maxItems":
      return mismatch(location, `must hold at most ${error.params.limit}`)
    case "minimum":
    case "maximum":
      return mismatch(location, `must be between ${schema.minimum} and ${schema.maximum}`)
    default:
      return mismatch(location, error.message)
  }
}

const typeNames: Readonly<Record<string, string>> = {
  object: "an object",
  array: "an array",
  string: "a string",
  integer: "a whole number",
  boolean: "true or false",
}

/** Source: tweepy#1942 for the end of the message. */
function notAnId(path: string, shown: string, value: string): RequestFault {
  return {
    parameters: { [path]: [truncate(value)] },
    message: `\`${path}\` value [${truncate(value)}] is not a valid Long`,
    detail: `\`${shown}\` must be 1 to 19 decimal digits.`,
  }
}

/** X's message for everything else. Source: captures. */
function mismatch({ path, shown }: Location, what: string): RequestFault {
  return {
    parameters: path === "" ? {} : { [path]: [] },
    message: "JSON doesn't match expected schema",
    detail: `${shown === "" ? "The body" : `\`${shown}\``} ${what}.`,
  }
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`
}
