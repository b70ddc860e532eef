/**
 * X's OpenAPI document as a measure of answers. `checkedByX` makes an app of which every answer on a path of X is compared
 * with the document's schema for the path and the status; without the recorded data it compares nothing.
 */
import { readFileSync } from "node:fs"
import { vocabularyOf } from "@sluice/api"
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv"
import { expect } from "vitest"
import { hasSharedData, sharedFile } from "./shared-data.testing.ts"
import type { TestResponse, TestApp } from "./test-server.testing.ts"

/** The formats of OpenAPI that JSON Schema lacks, and the one of JSON Schema that is in use. */
export const openApiFormats = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  double: true,
  int32: true,
  int64: true,
} as const

/** The faults that a schema finds in a value, one line for each. */
export function faultsOf(validate: ValidateFunction, value: unknown): readonly string[] {
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }: ErrorObject) =>
    [instancePath, message, JSON.stringify(params)].join(" "),
  )
}

/** As much of the document as is looked at. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<
      Record<
        string,
        {
          readonly properties?: Readonly<Record<string, { readonly $ref?: string }>>
          readonly required?: readonly string[]
        }
      >
    >
    readonly parameters: Readonly<Record<string, Parameter>>
  }
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: Reference }>> }>>
}

interface Reference {
  readonly $ref: string
}

interface Parameter {
  readonly name: string
  readonly schema: { readonly items?: { readonly enum?: readonly string[] } }
}

/** X's document, read at the first call. Only with recorded data. */
export function xDocument(): Document {
  parsed ??= JSON.parse(readFileSync(sharedFile("spec/x-openapi.json"), "utf8")) as Document
  return parsed
}

let parsed: Document | undefined
let ajv: Ajv | undefined

/** Violations by a value of one of X's schemas. */
export function faultsByX(schemaName: string, value: unknown): readonly string[] {
  if (ajv === undefined) {
    ajv = new Ajv({ strict: false, allErrors: true, formats: openApiFormats })
    ajv.addSchema(xDocument(), "x", undefined, false)
  }
  const validate = ajv.getSchema(`x#/components/schemas/${schemaName}`)
  if (validate === undefined) throw new Error(`X has no schema ${schemaName}`)
  return faultsOf(validate, value)
}

/** The values that X's document declares for the parameters of an operation that are lists of names, by parameter. */
export function namesDeclaredByX(path: string, method = "get"): ReadonlyMap<string, readonly string[]> {
  const { paths, components } = xDocument()
  const lists = (paths[path]?.[method]?.parameters ?? []).flatMap((given) => {
    const one = "$ref" in given ? components.parameters[given.$ref.replace(/^.*\//, "")] : given
    const names = one?.schema.items?.enum
    return one === undefined || names === undefined ? [] : [[one.name, names] as const]
  })
  return new Map(lists)
}

/** An answer, and whether its request has the newer names. */
interface ComparedAnswer extends Pick<TestResponse, "status" | "body"> {
  readonly isNew: boolean
}

/** Answers that differ from the document on purpose, each with the reason. */
const knownDifferences: readonly {
  readonly reason: string
  readonly isFor: (answer: ComparedAnswer, fault: string) => boolean
}[] = [
  {
    reason:
      "under the older names, objects come as the source sent them: some metrics have older names, some are not there",
    isFor: ({ isNew }, fault) =>
      !isNew &&
      /\/(public_metrics|scopes|subscription|withheld) must have required property '(\w+_count|copyright|country_codes|followers|subscribes_to_you)'/.test(
        fault,
      ),
  },
  {
    reason: "X sends about:blank for errors that their status says (recorded), and its document has no such type",
    isFor: ({ status, body }) => status >= 400 && typeOf(body) === "about:blank",
  },
  {
    reason: "the document lists too few problem types: refused tokens have none",
    isFor: ({ status, body }) => status >= 400 && typeOf(body).endsWith("/unsupported-authentication"),
  },
]

function typeOf(body: unknown): string {
  return String((body as { type?: unknown }).type)
}

/**
 * The app, each of whose answers with JSON on a path of X must be as X's document says, but for the known differences:
 * the path itself, the schema of its status, and of each error in it.
 */
export function checkedByX<App extends Pick<TestApp, "call">>(app: App): App {
  if (!hasSharedData) return app
  const call: TestApp["call"] = async (path, init) => {
    const answer = await app.call(path, init)
    expect(differencesFromX(init?.method ?? "GET", path, answer), `${init?.method ?? "GET"} ${path}`).toEqual([])
    return answer
  }
  return { ...app, call }
}

/** The faults of an answer by X's document. None for a path that it does not have. */
export function differencesFromX(
  method: string,
  path: string,
  { status, body }: Pick<TestResponse, "status" | "body">,
): readonly string[] {
  const operation = operationAt(method, path)
  if (operation === undefined || body === undefined) return []
  const { content = {} } = operation.responses[String(status)] ?? operation.responses["default"] ?? {}
  const schema = (content["application/problem+json"] ?? content["application/json"])?.schema
  if (schema === undefined) return [`X's document has no answer of status ${status}`]
  const query = new URLSearchParams(path.split("?", 2)[1])
  const isNew = vocabularyOf({
    "post.fields": query.has("post.fields") ? query.getAll("post.fields") : undefined,
    expansions: query.getAll("expansions").flatMap((list) => list.split(",")),
  })
  const compared = { status, body, isNew: isNew === "new" }
  return faultsByX(schema.$ref.replace(/^.*\//, ""), body).filter(
    (fault) => !knownDifferences.some(({ isFor }) => isFor(compared, fault)),
  )
}

function operationAt(method: string, url: string): Operation | undefined {
  const path = url.split("?", 1)[0] ?? ""
  const templates = Object.entries(xDocument().paths).filter(([template]) => templateOf(template).test(path))
  // One without parameters goes before one with them.
  const [found] = templates.toSorted(([a], [b]) => a.split("{").length - b.split("{").length)
  return found?.[1][method.toLowerCase()]
}

function templateOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`)
}
