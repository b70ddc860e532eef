/**
 * The declarations of `@sluice/api` without typebox: each `Static<typeof Schema>` becomes the type that it stands for,
 * and the schemas themselves are left out. `@sluice/client` contains these, since it depends on nothing.
 */
import { parseSync, type Statement } from "oxc-parser"

/** The part of JSON schema that the schemas of the API use. */
interface Schema {
  readonly type?: "object" | "array" | "string" | "number" | "integer" | "boolean" | "null"
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly string[]
  /** There when the schema has a type of its own: of these, the names of its `enum`. */
  readonly "~unsafe"?: null
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

/**
 * The text of a declaration file of the API, without the parts that need typebox. `schemas` are the exports of the
 * compiled module next to it. Throws when a reference to typebox would remain.
 */
export function withoutTypebox(path: string, text: string, schemas: Readonly<Record<string, unknown>>): string {
  if (!text.includes('"typebox"')) return text
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${String(errors[0]?.message)}`)
  const leftOut: string[] = []
  let begin = 0
  const plain = program.body.map((statement) => {
    // Comments before a statement stay with it; those of a schema move to the type of its name, which follows.
    const comments = text.slice(begin, statement.start)
    begin = statement.end
    const own = text.slice(statement.start, statement.end)
    const name = /^(?:export )?declare const (\w+):/.exec(own)?.[1]
    const isOfLeftOut = name !== undefined && leftOut.some((other) => own.includes(`typeof ${other}`))
    if (!isOfLeftOut && !isOfTypebox(statement, own)) return comments + plainText(own, schemas)
    if (name !== undefined) leftOut.push(name)
    return text.startsWith(`export type ${name ?? ""} =`, begin + 1) ? comments.trimEnd() : ""
  })
  const result = plain.join("")
  if (/\bType\.|typebox"|\bStatic\b|\bTProperties\b/.test(result)) {
    throw new Error(`${path}: the declarations still refer to typebox.`)
  }
  // Without any export it would not be a module.
  return `${result.trim()}\n${/^export /m.test(result) ? "" : "export {}\n"}`
}

function isOfTypebox(statement: Statement, text: string): boolean {
  if (statement.type === "ImportDeclaration") return statement.source.value === "typebox"
  const isValue =
    statement.type === "VariableDeclaration" ||
    (statement.type === "ExportNamedDeclaration" && statement.declaration?.type === "VariableDeclaration")
  return isValue && /\bType\.|\bTProperties\b/.test(text)
}

function plainText(text: string, schemas: Readonly<Record<string, unknown>>): string {
  return text.replaceAll(/\bStatic<typeof (\w+)>/g, (_, name: string) => {
    const schema = schemas[name]
    if (schema === undefined) throw new Error(`The schema ${name} is not exported.`)
    return typeText(schema as Schema, "")
  })
}

/** The type of the values that a schema allows, as typebox infers it. */
function typeText(schema: Schema, indent: string): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map((one) => typeText(one, indent)).join(" | ")
  if ("const" in schema) return JSON.stringify(schema.const)
  if ("~unsafe" in schema && schema.enum !== undefined)
    return schema.enum.map((name) => JSON.stringify(name)).join(" | ")
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type
    case "number":
    case "integer":
      return "number"
    case "array":
      return `Array<${typeText(schema.items ?? {}, indent)}>`
    case "object":
      return objectText(schema, indent)
    case undefined:
      return "unknown"
    default:
      throw new Error(`No type is known for ${JSON.stringify(schema)}.`)
  }
}

function objectText({ properties = {}, required = [], patternProperties }: Schema, indent: string): string {
  const inner = `${indent}    `
  const [pattern] = Object.values(patternProperties ?? {})
  if (pattern !== undefined) return `Record<string, ${typeText(pattern, indent)}>`
  const members = Object.entries(properties).map(([name, schema]) => {
    const doc = schema.description === undefined ? "" : `${inner}/** ${schema.description} */\n`
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)
    return `${doc}${inner}${key}${required.includes(name) ? "" : "?"}: ${typeText(schema, inner)};\n`
  })
  return members.length === 0 ? "{}" : `{\n${members.join("")}${indent}}`
}
