/**
 * The schemas of `/openapi.json` by their names: each is written once, under `components`, and referred to where it is
 * used. Generators name their types after them; in line, every response would become an anonymous type of its own.
 */
import * as api from "@sluice/api/schemas"

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** Bodies and what they hold: an exported object schema. Queries and path parameters become parameters. */
const namesBySchema: ReadonlyMap<string, string> = new Map(
  Object.entries(api as Readonly<Record<string, unknown>>)
    .filter(([name, value]) => isObjectSchema(value) && !/(Query|Params)$/.test(name))
    .map(([name, value]) => [identity(plain(value as object)), name]),
)

/** The document with its schemas named. */
export function withNamedSchemas(document: object): Record<string, unknown> {
  const { components, ...rest } = plain(document) as { components?: Record<string, Json> } & Record<string, Json>
  const schemas: Record<string, Json> = {}
  const named = referring(rest, schemas)
  const sorted = Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return { ...(named as object), components: { ...components, schemas: sorted } }
}

/** The value with a reference in place of each named schema, which is added to `used`. */
function referring(value: Json, used: Record<string, Json>): Json {
  if (value === null || typeof value !== "object") return value
  const name = namesBySchema.get(identity(value))
  if (name === undefined) return withReferences(value, used)
  // Once is enough, and none uses itself.
  if (used[name] === undefined) used[name] = withReferences(value, used)
  return { $ref: `#/components/schemas/${name}` }
}

function withReferences(value: Json, used: Record<string, Json>): Json {
  if (value === null || typeof value !== "object") return value
  if (Array.isArray(value)) return value.map((item: Json) => referring(item, used))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, referring(item, used)]))
}

/** Equal for equal schemas. `@fastify/swagger` writes a constant as an enumeration of one, and orders members anew. */
function identity(schema: Json): string {
  return JSON.stringify(schema, (_key, value: Json) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value
    const { const: constant, ...rest } = value as Readonly<Record<string, Json>>
    const members = Object.entries({ ...rest, ...(constant !== undefined && { enum: [constant] }) })
    return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}

function plain(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

function isObjectSchema(value: unknown): boolean {
  return typeof value === "object" && value !== null && "type" in value && value.type === "object"
}
